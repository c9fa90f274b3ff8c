"""Weights for domains: `mix` gives them as exact fractions, `temperature` derives them from the sizes of the domains.

Counts are integers, so all are multiplied by the common denominator of the weights (`PretokenCounts.scale`), and so is
the minimum count of learning: nothing is rounded, and no text is counted again. A domain of weight 2 counts as if its
files were there twice. Temperature T gives a domain of n bytes a share in proportion to n^(1/T): 1 changes nothing,
large values make all domains equal (Conneau and Lample 2019, 1901.07291, with alpha = 1/T); the largest domain has
weight 1, the others four significant digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import takewhile
from math import lcm
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from slmtok.errors import OptionError, Setting, UnknownName, suggestion, unknown_name
from slmtok.option_values import MAX_WEIGHT, parse_temperature, parse_weight

if TYPE_CHECKING:
    from slmtok.options import TrainOptions

_DIGITS = 4
_NO_GLOB = "GLOB"
_MAX_NAMES = 8
"""Domains that an error names by the names of files."""
_NAME = re.compile(r"[\w.-]+")
_EXACT = Context(prec=40)


def domain_weights(
    sizes: Mapping[str, int], mix: Mapping[str, Any], temperature: float | str | None
) -> dict[str, Fraction]:
    """The weight of each domain, given its size in bytes; domains that `mix` does not name keep 1.

    Raises `UnknownName`, `OptionError`, `WrongType`.
    """
    if not sizes:
        raise _no_domains(mix)
    if mix and temperature is not None:
        raise OptionError(
            (Setting("mix"), " together with ", Setting("temperature")),
            limit="one of them",
            fix="leave one out",
            option="mix",
        )
    return _by_size(sizes, temperature) if temperature is not None else _by_mix(sizes, mix)


def check_named(options: TrainOptions, sources: Sequence[str] = ()) -> None:
    """For weighted options: raises `OptionError` for those of a text without named domains, before the text is read.

    sources: the files of the corpus. Raises `UnknownName` for a weighted domain that is not named; its name
    may be that of some of them.
    """
    if not options.domains:
        raise _no_domains(options.mix or {}, sources)
    known = options.domain_names
    meant = {name: glob_of(name, sources) for name in options.mix or {} if name not in known}
    if sources and meant:
        error = _unknown_domain(options.mix or {}, next(iter(meant)), known)
        if _NO_GLOB not in meant.values():
            error.fix = (Setting("domains", meant), " beside the others")
        raise error
    if sources and options.mix:
        _refuse_empty(options, sources)


def _refuse_empty(options: TrainOptions, sources: Sequence[str]) -> None:
    """Raises `OptionError` for a weight of the files of no domain where there are none; a note names other domains."""
    from slmtok.corpus.paths import domain_of
    from slmtok.options import OTHER_DOMAIN

    value, known = (options.mix or {}).get(OTHER_DOMAIN), options.domain_names
    # Weight 0 leaves a domain out.
    if value is None or not parse_weight(OTHER_DOMAIN, value):
        return
    filled = {known[each] for each in {domain_of(options, source) for source in sources}}
    if OTHER_DOMAIN not in filled:
        given = Setting("mix", {OTHER_DOMAIN: value})
        raise OptionError(
            (given, f" has no effect: each file of the corpus is of a domain other than {OTHER_DOMAIN!r}"),
            limit=f"domains with files: {', '.join(each for each in known if each in filled)}",
            fix=("leave ", given, " out"),
            option="mix",
        )


def _unknown_domain(mix: Mapping[str, Any], name: str, known: Iterable[str]) -> UnknownName:
    """The error for a weight of no domain; its fix names the one that is meant, or whose name begins alike."""
    free = [each for each in known if each not in mix]
    alike = [each for each in free if each.startswith(name) or name.startswith(each)]
    meant = suggestion(name, free) or (alike[0] if len(alike) == 1 else None)
    error = unknown_name("domain", name, known)
    if meant:
        error.fix = (Setting("mix", {meant if each == name else each: weight for each, weight in mix.items()}),)
    return error


def _no_domains(mix: Mapping[str, Any], sources: Sequence[str] = ()) -> OptionError:
    """The error for weights without domains; its fix names one domain for each name in `mix`."""
    from slmtok.corpus.globs import matches

    names = mix or _names_in(sources)
    globs = {name: glob_of(name, sources) for name in names} or ({"NAME": _NO_GLOB} if sources else {"wiki": "*wiki*"})
    found = [f"{glob} matches {sum(matches(source, glob) for source in sources)}" for glob in globs.values()]
    counted = f"; of {len(sources)}, {', '.join(found)}" if sources and _NO_GLOB not in globs.values() else ""
    return OptionError(
        "the corpus has no domains to weight",
        where=(Setting("mix"), ", ", Setting("temperature")),
        limit="domains that were named when the corpus was counted",
        fix=(
            Setting("domains", globs),
            f", with the text that is counted: globs of its files{counted}",
        ),
        option="mix",
    )


def _names_in(sources: Sequence[str]) -> list[str]:
    """The names that files suggest for their domains: of the folders in which they differ, else their own.

    None for one name, and for more than `_MAX_NAMES`.
    """
    paths = [PurePath(source) for source in sources]
    parts = [path.parts for path in paths]
    level = len([*takewhile(lambda names: len({*names}) == 1, zip(*parts, strict=False))])
    folders = dict.fromkeys(each[level] for each in parts if len(each) > level + 1)
    names = [*folders] if len(folders) > 1 else list(dict.fromkeys(path.name.partition(".")[0] for path in paths))
    are_distinct = len(folders) > 1 or len(names) == len(sources)
    return names if are_distinct and 1 < len(names) <= _MAX_NAMES and all(map(_NAME.fullmatch, names)) else []


def glob_of(name: str, sources: Sequence[str]) -> str:
    """The glob that the name of a domain stands for: itself, the file or folder of that name, or files named like it.

    `_NO_GLOB` where none of these matches a file among the `sources`.
    """
    from slmtok.corpus.globs import matches

    globs = [name] if any(char in name for char in "*?[") else [name, f"{name}.*", f"{name}/**", f"*{name}*"]
    if not sources:
        return globs[-1]
    return next((glob for glob in globs if any(matches(source, glob) for source in sources)), _NO_GLOB)


def common_denominator(weights: Mapping[str, Fraction]) -> int:
    """The factor that makes all weights integers. Raises `OptionError` where it is too large."""
    scale = lcm(*(weight.denominator for weight in weights.values()))
    if scale > MAX_WEIGHT:
        raise OptionError(
            f"the weights have the common denominator {scale}", limit=f"{MAX_WEIGHT}", fix="round them", option="mix"
        )
    return scale


def _by_mix(sizes: Mapping[str, int], mix: Mapping[str, Any]) -> dict[str, Fraction]:
    weights = dict.fromkeys(sizes, Fraction(1))
    for name, value in mix.items():
        if name not in weights:
            raise _unknown_domain(mix, name, weights)
        weights[name] = parse_weight(name, value)
    if not any(weights.values()):
        raise OptionError(
            (Setting("mix"), " leaves no domain"),
            limit="one weight above 0",
            fix=(Setting("mix", {"code": 0.5}),),
            option="mix",
        )
    return weights


def _by_size(sizes: Mapping[str, int], value: float | str) -> dict[str, Fraction]:
    temperature: Decimal = parse_temperature(value)
    largest = max(sizes.values())
    return {
        name: Fraction(_power(Decimal(largest) / Decimal(size), 1 - 1 / temperature)) if size else Fraction(1)
        for name, size in sizes.items()
    }


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    return Context(prec=_DIGITS).plus(_EXACT.power(base, exponent))
