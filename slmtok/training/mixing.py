"""Weights for domains: `mix` gives them as exact fractions, `temperature` derives them from the sizes of the domains.

Counts are whole numbers, so all are multiplied by the common denominator of the weights (`PretokenCounts.scale`), and
so is the least count when something is learned: nothing is rounded, and no text is counted anew. A domain of weight 2
counts as if its files were there twice. Temperature T gives a domain of n bytes a share in proportion to n^(1/T): 1
leaves everything as it is, large values make all domains alike (Conneau and Lample 2019, 1901.07291, with alpha =
1/T); the largest domain has weight 1, the others four significant digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from slmtok import _engine
from slmtok.errors import OptionError, WrongType, unknown_name

if TYPE_CHECKING:
    from slmtok.training.counts import PretokenCounts

MOST = 10**9
"""The largest common denominator of weights, and the largest weight."""
_DIGITS = 4
_EXACT = Context(prec=40)
_FIX = "give code=1/2, for instance"


def mixed(
    counts: PretokenCounts, mix: Mapping[str, Fraction | float | str] | None, temperature: float | str | None
) -> PretokenCounts:
    """Counts whose domains have weights; domains that `mix` does not name keep 1.

    Raises `UnknownName` for a domain that is not there, `OptionError`, `WrongType`, `CountOverflow`.
    """
    if not counts.parts:
        raise OptionError(
            "the counts have no domains that could be given weights",
            where="mix=, temperature=",
            limit="domains that were named when the corpus was counted",
            fix="slmtok count corpus/ --domain 'code=*.py' -o all.counts",
            option="mix",
        )
    weights = of_temperature(counts, temperature) if temperature is not None else of_mix(counts, mix or {})
    if mix and temperature is not None:
        raise OptionError("mix= and temperature= together", limit="one of them", fix="leave one out", option="mix")
    scale = lcm(*(weight.denominator for weight in weights.values()))
    if scale > MOST:
        raise OptionError(
            f"the weights have the common denominator {scale}", limit=f"{MOST}", fix="round them", option="mix"
        )
    parts = [(part.native, int(weights[part.name] * scale)) for part in counts.parts]
    told = [f"{name}={weight}" for name, weight in sorted(weights.items())]
    native = _engine.weighted_counts(counts.native.pattern, parts)
    return replace(
        counts, native=native, scale=scale, options={**counts.options, "mix": told}, totals_read=counts.totals
    )


def of_mix(counts: PretokenCounts, mix: Mapping[str, Fraction | float | str]) -> dict[str, Fraction]:
    """The weight of each domain. Raises `UnknownName`, `OptionError`, `WrongType`."""
    weights = {part.name: Fraction(1) for part in counts.parts}
    for name, value in mix.items():
        if name not in weights:
            raise unknown_name("domain", name, weights)
        weights[name] = weight(name, value)
    if not any(weights.values()):
        raise OptionError("mix= leaves no domain", limit="one weight above 0", fix=_FIX, option="mix")
    return weights


def weight(name: str, value: object) -> Fraction:
    """A weight as a fraction: `0.5`, "0.5", "1/3". Raises `OptionError`, `WrongType`."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)):
        raise WrongType(f"mix= gives {name!r} the weight {value!r}", limit="a number", fix=_FIX)
    try:
        found = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1)
    if not 0 <= found <= MOST:
        raise OptionError(
            f"mix= gives {name!r} the weight {value!r}",
            limit=f"0 to {MOST}, as 2, 0.5 or 1/3",
            fix=_FIX,
            option="mix",
        )
    return found


def of_temperature(counts: PretokenCounts, value: float | str) -> dict[str, Fraction]:
    """The weight of each domain, by its bytes. Raises `OptionError`."""
    temperature = judged(value)
    sizes = {part.name: part.bytes for part in counts.parts}
    largest = max(sizes.values())
    return {
        name: Fraction(_power(Decimal(largest) / Decimal(size), 1 - 1 / temperature)) if size else Fraction(1)
        for name, size in sizes.items()
    }


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    return Context(prec=_DIGITS).plus(_EXACT.power(base, exponent))


def judged(value: object) -> Decimal:
    """A temperature. Raises `OptionError`."""
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        found = Decimal(0)
    if not Decimal("0.1") <= found <= 1000:
        raise OptionError(
            f"temperature={value} is out of range",
            limit="0.1 to 1000; 1 leaves the domains as they are",
            fix="temperature=2",
            option="temperature",
        )
    return found
