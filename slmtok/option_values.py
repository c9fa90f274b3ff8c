"""What values of options may be: from the text of a flag to a value (`parse_...`), and from any value to a sound one.

Checks take (name, value), give the value as it is kept, and raise `OptionError` or `WrongType`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from slmtok.checks import MUST_BE_PATH, U64, check_int, check_output_name, integer_meant, is_text
from slmtok.errors import InvalidSpecials, Message, OptionError, Setting, WrongType, suggestion, value_text
from slmtok.foreign_options import any_of, closest, rule_of_share, split_of_share
from slmtok.sizes import parse_size
from slmtok.text_encodings import is_of_several, similar_codec, text_codec

MAX_DOMAINS = 65_535
MAX_WEIGHT = 10**9
MIN_MEMORY_BYTES = 100_000_000
"""The smallest memory limit: most of it is the interpreter and the blocks being read."""

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "0": "\0", "\\": "\\"}


def wrong_type(name: str, value: object, wanted: str, example: object, remark: str = "") -> WrongType:
    """The error for a value of a type that the option does not take, with a valid value; `remark` stands behind it."""
    shown = value_text(value)
    found = shown if shown.startswith(f"{type(value).__name__}(") else f"{type(value).__name__} {shown}"
    fix: Message = (Setting(name, example), *[remark] * bool(remark))
    return WrongType((Setting(name), f" {wanted}, not {found}"), fix=fix, option=name)


def size_meant(value: object) -> int | None:
    """The size of a vocabulary that a value in the place of options is; None for one that is no whole number."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    is_whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    return int(value) if is_whole else None  # type: ignore[call-overload]


def instead_of_options(cls: str, value: object) -> str:
    """The remedy for a value in the place of an object of options: for the name of an output, what writes it."""
    calls = {"CountOptions": "slmtok.count(corpus)", "TrainOptions": "slmtok.train(corpus, vocab_size=8192)"}
    if cls in calls and isinstance(value, (str, os.PathLike)):
        return f"{calls[cls]}.save({os.fspath(value)!r}) writes it; options are given by keyword"
    return "**options, without options=" if isinstance(value, Mapping) else "pass options by keyword instead"


def parse_escapes(text: str) -> str:
    r"""Text as a shell passes it: `\n`, `\t`, `\r`, `\f`, `\0` and `\\` become the characters that they stand for."""
    return re.sub(r"\\([ntrf0\\])", lambda match: _ESCAPES[match[1]], text)


def escape(text: str) -> str:
    """The inverse of `parse_escapes`."""
    return "".join(next((rf"\{key}" for key, made in _ESCAPES.items() if made == each), each) for each in text)


def parse_bytes(text: str) -> int:
    """A size such as 5000, 20MB or 1GiB. Raises `ValueError`."""
    size = parse_size(text)
    if size is None:
        if unit := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt])[a-z]+", text, re.IGNORECASE):
            raise ValueError(f"takes a size in bytes such as {unit[1]}{unit[2].upper()}B, not {text!r}")
        raise ValueError(f"takes a size such as 5000, 20MB or 1GiB, not {text!r}")
    return size


def parse_count(text: str) -> int:
    """A number such as 5000, 1e5, 20k or 2M, without a unit of bytes. Raises `ValueError`."""
    return _parse_counts([text])[0]


_BILLIONS = re.compile(r"(?<=\d)\s*[bB](?=\s*$)", re.ASCII)
"""`1B` is a billion where no bytes are counted."""


def _parse_counts(parts: Sequence[str]) -> tuple[int, ...]:
    meant = [_BILLIONS.sub("G", part) for part in parts]
    counts = []
    for part in meant:
        count = parse_size(part)
        if count is None or part.strip()[-1:] in "bB":
            size = "" if count is None else ", which is a size in bytes"
            raise ValueError(f"takes a number such as 5000, 20k or 2M, not {part!r}{size}")
        counts.append(count)
    if meant != [*parts]:
        raise ValueError(f"takes a number such as {','.join(meant)}, not {','.join(parts)!r}")
    return tuple(counts)


def parse_share(text: str) -> float:
    """A share such as 0.1 or 10%. Raises `ValueError`."""
    text = text.strip()
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ValueError(f"takes a share such as 0.1 or 10%, not {text!r}") from None


def parse_pair(text: str) -> tuple[str, str]:
    """`NAME=VALUE`. Raises `ValueError`."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ValueError(f"takes NAME=VALUE, not {text!r}")
    return name, value


def parse_special(text: str) -> tuple[str, str]:
    """`ROLE=SPELLING`, with escapes. Raises `ValueError`, also for two pairs in one, `user=<|user|>,tool=<|tool|>`, and
    for JSON.
    """
    from slmtok.specials import divided_pairs

    if divided_pairs(text) != [text]:
        raise ValueError(f"takes one ROLE=SPELLING, not {text!r}")
    role, spelling = parse_pair(text)
    return role, parse_escapes(spelling)


def collect_lists(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Pairs as a dict from name to all its values."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def collect_once(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Raises `ValueError` where a name stands twice."""
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"names {twice!r} twice")
    return dict(pairs)


def parse_counts_list(text: str) -> tuple[int, ...]:
    """`20000,2M` as numbers. Raises `ValueError`."""
    return _parse_counts(text.split(","))


def parse_token_file(path: str) -> tuple[bytes, ...]:
    """The tokens of a file, one a line. Raises `MissingInput`, `Unreadable`, `OptionError`."""
    from slmtok.token_text import read_tokens

    return read_tokens(path)


_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "shift_jis")


def check_encoding(name: str, value: object) -> str:
    """The usual name of a text encoding that Python knows."""
    found = text_codec(check_str(name, value, "utf-16"))
    if found is None:
        near = similar_codec(str(value))
        raise OptionError(
            (Setting(name, value), " is not an encoding of text"),
            limit=f"the encodings of Python: {', '.join(_ENCODINGS)}, ...",
            # UTF-8 in its place would read a text that is not UTF-8 as invalid bytes.
            fix=(Setting(name, near),) if near else ("name the encoding of the text, or leave it out for UTF-8",),
            option=name,
            unknown_encoding=None if near and not is_of_several(str(value)) else str(value),
        )
    return found


def check_separator(name: str, value: object) -> object:
    """A str that is not empty."""
    if not check_str(name, value, "<|endoftext|>"):
        raise OptionError(
            (Setting(name), " is empty, which is between any two bytes"),
            limit="at least one character",
            fix=("leave ", Setting(name), " out, or ", Setting("document", "line")),
            option=name,
            empty_separator=True,
        )
    return value


FILTERS: dict[str, Callable[[str], str]] = {
    "strip": str.strip,
    "lstrip": str.lstrip,
    "rstrip": str.rstrip,
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "oneline": lambda text: " ".join(text.split()),
}
"""What a field of a template may be passed through, `{title|strip|lower}`."""
_FOREIGN_FILTERS = {"trim": "strip", "ltrim": "lstrip", "rtrim": "rstrip", "downcase": "lower", "upcase": "upper"}
"""Filters of Jinja and Liquid, and ours that do the same."""


def parse_template(text: object) -> tuple[tuple[bytes, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The (literals, fields, filters of each field) of a text template: `literals[0] fields[0] ... literals[-1]`.

    Raises `OptionError` for a template without a field or with stray braces, `WrongType`.
    """
    import string

    name, example = "text_template", "{NAME}"
    literals, names, filters = [b""], [], []
    try:
        for literal, found, spec, conversion in string.Formatter().parse(check_str(name, text, "{title}\n{body}")):
            literals[-1] += literal.encode()
            if found is None:
                continue
            field, *chain = found.split("|")
            if not field or spec or conversion:
                example = _without_specs(str(text)) or example
                raise ValueError("a field is a name in braces, perhaps with filters: {title|strip|lower}")
            unknown = next((each for each in chain if each not in FILTERS), None)
            if unknown is not None:
                example = re.sub(r"\|(\w+)(?=[|}])", _filter_meant, str(text))
                raise ValueError(f"{unknown!r} is no filter ({', '.join(FILTERS)})")
            names.append(field)
            filters.append(tuple(chain))
            literals.append(b"")
    except ValueError as error:
        if example == "{NAME}":
            example = _with_braces(str(text)) or example
        raise OptionError(
            (Setting(name, text), f" is not a template: {error}"),
            limit="text with names of fields in braces; {{ and }} are literal braces",
            fix=(Setting(name, example),),
            option=name,
        ) from None
    if not names:
        raise OptionError(
            (Setting(name, text), " names no field, so all documents would be equal"),
            limit="at least one field in braces",
            fix=(Setting(name, _template_meant(str(text)) or example),),
            option=name,
        )
    return tuple(literals), tuple(names), tuple(filters)


def _filter_meant(found: re.Match[str]) -> str:
    """The filter for a match of one with its bar; nothing for one that has no equivalent."""
    name = found[1]
    near = name if name in FILTERS else _FOREIGN_FILTERS.get(name) or suggestion(name, FILTERS)
    return f"|{near}" if near else ""


BETWEEN_NAMES = re.compile(r"[\s,;|+]+")
"""In a list of names of fields."""
_OTHER_FIELD = re.compile(r"\{\{\s*(\w[\w.|]*)\s*\}\}|%\((\w+)\)s|\$\(?(\w+)\)?")
"""A field as templates of Jinja, printf, shells and awk write it."""

_LABELLED = re.compile(r"(\w:\s+)([^\W\d]\w*)(?=\s*(?:[,;|.]|$)|\s+\w+:)")
"""A word behind a label, `Title: title`, where nothing else is up to the next label."""


def _template_meant(text: str) -> str | None:
    """A list of names as a template, and fields that are written as in other programs or behind labels; or None."""
    names = [name for name in BETWEEN_NAMES.split(text) if name]
    if names and all(map(str.isidentifier, names)):
        return "\n".join(f"{{{name}}}" for name in names)
    meant = _OTHER_FIELD.sub(lambda found: f"{{{found[found.lastindex or 1]}}}", text)
    if meant == text:
        meant = _LABELLED.sub(r"\1{\2}", text)
    return None if meant == text else meant


_UNCLOSED = re.compile(r"(?<!\{)\{(\w[\w.|]*)(?![\w.|}:!])")
_UNOPENED = re.compile(r"(?<![\w.|{])(\w[\w.|]*)\}(?!\})")


def _with_braces(text: str) -> str | None:
    """The template with the other brace of each name that has one alone; None where that makes no template."""
    import string

    meant = _UNOPENED.sub(r"{\1}", _UNCLOSED.sub(r"{\1}", text))
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(meant) if field is not None]
    except ValueError:
        return None
    return meant if meant != text and fields else None


def _without_specs(text: str) -> str | None:
    """The template without conversions and formats, `{price:>10}`, which `str.format` knows; None for another fault."""
    bare = re.sub(r"(?<!\{)\{(\w[^{}!:]*)(![rsa])?(:[^{}]*)?\}", r"{\1}", text)
    return None if bare == text or "{}" in bare else bare


def check_template(name: str, value: object) -> object:
    """A template that `parse_template` takes."""
    parse_template(value)
    return value


def check_globs(name: str, value: object) -> tuple[str, ...]:
    """One glob or several, as a tuple."""
    globs = (value,) if isinstance(value, str) else value
    if not isinstance(globs, Sequence) or not all(isinstance(glob, str) for glob in globs):
        raise wrong_type(name, value, "takes globs", "*.min.js")
    if not all(globs):
        raise OptionError(
            (Setting(name), " has an empty glob"), limit="at least one character", fix="leave it out", option=name
        )
    if any(map(is_text, globs)):
        fix = "globs of files, such as '*.min.js'"
        raise OptionError((Setting(name), " has too long a glob"), where=MUST_BE_PATH, fix=fix, option=name)
    return tuple(globs)


def check_domains(name: str, value: object) -> dict[str, tuple[str, ...]]:
    """A dict from domain to globs."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) and key for key in value):
        raise wrong_type(name, value, "maps names to globs", {"code": "src/**/*.py"})
    if len(value) > MAX_DOMAINS:
        raise OptionError(
            (Setting(name), f" names {len(value)} domains"),
            limit=f"at most {MAX_DOMAINS}",
            fix="join some",
            option=name,
        )
    for globs in value.values():
        if isinstance(globs, (int, float)):
            fact = f" takes globs, not {type(globs).__name__} {globs!r}"
            numbers = {each: number for each, number in value.items() if isinstance(number, (int, float))}
            raise WrongType((Setting(name), fact), fix=globs_or_weight(numbers), option=name)
    return {key: check_globs(name, globs) for key, globs in value.items()}


def globs_or_weight(numbers: Mapping[str, object]) -> Message:
    """The fix for numbers in the place of the globs of domains: the options that take each."""
    fix = _weights_meant(numbers) or (Setting("mix", numbers),)
    are_several = len(numbers) > 1
    return (
        Setting("domains", dict.fromkeys(numbers, "GLOB")),
        f" with {'globs that match their' if are_several else 'a glob that matches its'} files; "
        f"{'their weights' if are_several else 'its weight'} in training {'are' if are_several else 'is'} ",
        *fix,
    )


@contextmanager
def naming_domains(mix: object, domains: object) -> Iterator[None]:
    """Adds to an error about weights that text needs globs of their domains as well, where no option names any."""
    try:
        yield
    except OptionError as error:
        if error.fields.get("option") == "mix" and isinstance(mix, Mapping) and mix and not domains:
            fix = error.parts["fix"]
            parts = fix if isinstance(fix, tuple) else (str(fix),)
            meant = next((each.value for each in parts if isinstance(each, Setting) and each.name == "mix"), mix)
            names = cast("Mapping[str, object]", meant)
            globs = Setting("domains", {name: f"{name}/**" if Path(name).is_dir() else "GLOB" for name in names})
            error.fix = (*parts, "; and for text, globs of its domains: ", globs)
            error.fields["weighted"] = tuple(names)
        raise


def check_sample(name: str, value: object) -> float:
    """A share above 0, at most 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(name, value, "must be a share", _share_meant(value))
    if not 0 < value <= 1:
        fix: Message = (Setting(name, 0.1), " for 10 %")
        if value >= 2 and value == int(value):
            first = (Setting("max_docs", int(value)), f" for the first {int(value)} documents")
            fix = first if value > 100 else (Setting(name, value / 100), f" for {value:g} % of them; ", *first)
        raise OptionError(
            (Setting(name, value), " is not a share of the documents"),
            limit="above 0, at most 1",
            fix=fix,
            option=name,
            value=value,
        )
    return float(value)


def _share_meant(value: object) -> float:
    """The share that a text spells; 0.1 for anything else."""
    try:
        share = parse_share(value) if isinstance(value, str) else 0.0
    except ValueError:
        share = 0.0
    return share if 0 < share <= 1 else 0.1


_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?|100)\s*%", re.ASCII)


def parse_memory(value: object) -> tuple[int | None, float | None]:
    """`memory` as (bytes, None) or (None, percent of the free memory). Raises `OptionError`, `WrongType`."""
    fix = (Setting("memory", "1GB"), ", ", Setting("memory", "50%"), " of the free memory, or a number of bytes")
    limit = "100MB or more"
    if isinstance(value, str):
        percent = _PERCENT.fullmatch(value.strip())
        if percent:
            return None, float(percent[1])
        size = parse_size(value)
        if size is None:
            raise OptionError((Setting("memory", value), " is not a size"), limit=limit, fix=fix, option="memory")
    elif isinstance(value, float) and value.is_integer():
        size = int(value)  # 1e9, as flags take it
    elif isinstance(value, bool) or not hasattr(value, "__index__"):
        size = integer_meant(value) or 0
        if isinstance(value, float) and 0 < value < 1:
            raise wrong_type("memory", value, "takes a size", f"{value * 100:g}%")
        raise wrong_type("memory", value, "takes a size", size if MIN_MEMORY_BYTES <= size < 1 << 63 else "1GB")
    else:
        size = int(value.__index__())
    if size >= 1 << 63:
        limit = "less than 8 EiB"
        raise OptionError((Setting("memory", value), " is out of range"), limit=limit, fix=fix, option="memory")
    if size < MIN_MEMORY_BYTES:
        is_plain = not isinstance(value, str) or value.strip().isdecimal()
        # 512 is meant as 512MB, and 99 as 99GB.
        units = {"MB": 10**6, "GB": 10**9} if is_plain else {}
        meant = [f"{size}{unit}" for unit, n in units.items() if MIN_MEMORY_BYTES <= size * n < 1 << 37] or ["1GB"]
        raise OptionError(
            (Setting("memory", value), " is too small to count in", ": a number alone is bytes" if is_plain else ""),
            limit=limit,
            fix=any_of("memory", meant),
            option="memory",
        )
    return size, None


def check_memory(name: str, value: object) -> object:
    """A size that `parse_memory` takes."""
    parse_memory(value)
    return value


def parse_memory_text(text: str) -> str:
    """A size, or a percentage such as 50%, as it was given. Raises `ValueError`."""
    if not _PERCENT.fullmatch(text.strip()) and parse_size(text) is None:
        raise ValueError(f"takes a size such as 2GB, or a share of the memory up to 100%, not {text!r}")
    return text


def check_str(name: str, value: object, example: str) -> str:
    """`value`, if it is a str. Raises `WrongType`."""
    if not isinstance(value, str):
        error = wrong_type(name, value, "must be a str", example, ", for instance")
        error.fix = _text_held(name, value) or error.parts["fix"]
        raise error
    return value


def _text_held(name: str, value: Any) -> Message | None:
    """The fix with the text in bytes, a list, a compiled pattern or the pattern of a tokenizer; else None."""
    if type(value).__name__ == "Pattern" and isinstance(getattr(value, "pattern", None), (str, bytes)):
        return _source_of(name, value)
    pattern = getattr(value, "pattern", value)
    if name == "pattern" and isinstance(getattr(pattern, "regex", None), str):
        return (Setting(name, pattern.name or pattern.regex),)
    parts = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(each, (str, bytes)) and each for each in parts):
        return None
    try:
        texts = dict.fromkeys(each if isinstance(each, str) else each.decode() for each in parts)
    except UnicodeDecodeError:
        return None
    if name == "text_key" and len(texts) > 1:
        # One of the fields alone would drop the text of the others.
        return (Setting("text_template", " ".join(f"{{{text}}}" for text in texts)),)
    return any_of(name, texts) if 0 < len(texts) <= _MAX_TEXTS else None


_MAX_TEXTS = 8
"""Texts of a list that are shown, each as the value of an option that takes one."""


def check_folder(name: str, value: object) -> str | os.PathLike[str]:
    """`value`, if it is the path of a folder. Raises `WrongType`, `OptionError` for one that no folder has."""
    if not isinstance(value, (str, os.PathLike)):
        raise wrong_type(name, value, "is named by a str or a Path", "folder")
    if not os.fspath(value):
        raise OptionError((Setting(name, value), " is empty"), fix=(Setting(name, "folder"),), option=name)
    check_output_name(os.fspath(value))
    return value


_INLINE_FLAGS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
"""Flags of compiled patterns, of `re` and of `regex`, as a pattern itself has them."""
_ASCII_OF_REGEX = 0x80


def _source_of(name: str, compiled: Any) -> Message:
    """The fix for a compiled pattern: its source with its flags; the one of ASCII is named, which has no such form."""
    source, flags = compiled.pattern, compiled.flags
    source = source.decode("latin-1") if isinstance(source, bytes) else source
    inline = "".join(each for flag, each in _INLINE_FLAGS.items() if flags & flag and not _begins_with(source, each))
    ascii_flag = re.ASCII if isinstance(compiled, re.Pattern) else _ASCII_OF_REGEX
    meant = Setting(name, f"(?{inline}){source}" if inline else source)
    if not (flags & ascii_flag or isinstance(compiled.pattern, bytes)):
        return (meant,)
    return meant, r", with [A-Za-z0-9_] for \w and [0-9] for \d, which match more than ASCII"


def _begins_with(source: str, flag: str) -> bool:
    """Whether a pattern sets a flag at its beginning: `(?is)` sets i and s."""
    found = re.match(r"\(\?([a-z]+)\)", source)
    return found is not None and flag in found[1]


def check_forbid_regex(name: str, value: object) -> str:
    """A regex that is not empty."""
    regex = check_str(name, value, "[0-9]{4}")
    if not regex:
        raise OptionError(
            (Setting(name), " is empty, which matches every token"), limit="a regex", fix="leave it out", option=name
        )
    return regex


def check_required(name: str, tokens: object) -> tuple[bytes, ...]:
    """Required tokens as bytes, in their order, each once."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        example = [tokens] if isinstance(tokens, (str, bytes)) else [" the"]
        error = wrong_type(name, tokens, "takes many tokens", example)
        parts = [part for part in tokens.split(",") if part] if isinstance(tokens, str) else []
        if len(parts) > 1:
            error.fix = (Setting(name, parts), ", or ", Setting(name, [tokens]), " for one token with the comma")
        raise error
    found: dict[bytes, None] = {}
    for index, token in enumerate(tokens):
        if not isinstance(token, (str, bytes, bytearray, memoryview)):
            raise wrong_type(name, token, f"takes str or bytes at index {index}", [" the", b"\n"])
        found[token.encode() if isinstance(token, str) else bytes(token)] = None
    return tuple(found)


def check_special(name: str, value: object) -> dict[str, str]:
    """A dict from role to spelling that makes sound specials."""
    from slmtok.specials import default_specials, role_spellings

    try:
        spellings = role_spellings(value)  # type: ignore[arg-type]  # it checks the type
    except WrongType as error:
        error.fix = f"{name}={error.fix}"
        raise
    try:
        default_specials(spellings)
    except InvalidSpecials as error:
        error.fields["option"] = name
        raise
    return spellings


def parse_weight(domain: str, value: object) -> Any:
    """A domain's weight as a `Fraction`: 0.5, "0.5", "1/3". Raises `OptionError`, `WrongType`."""
    from fractions import Fraction

    # Several pairs in one value: `a=0.5,b=2`.
    parts = [part.partition("=") for part in f"{domain}={value}".split(",")]
    is_list = len(parts) > 1 and all(name and weight for name, _, weight in parts)
    fix: Message = (Setting("mix", {name.strip(): weight for name, _, weight in parts}),)
    fix = fix if is_list else _weight_meant(domain, value)
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)):
        raise wrong_type("mix", value, f"gives {domain!r} a number", {domain: 0.5})
    try:
        found = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1)
    if not 0 <= found <= MAX_WEIGHT:
        raise OptionError(
            (Setting("mix"), f" gives {domain!r} the weight {value!r}"),
            limit=f"0 to {MAX_WEIGHT}, as 2, 0.5 or 1/3: the text of the domain counts that many times",
            fix=fix,
            option="mix",
        )
    return found


def _weight_meant(domain: str, value: object) -> Message:
    """The weight that a wrong one spells: `70%`, `0,5`, `2x`; 0 for a negative one, and an example for other text."""
    weight = _weight_in(str(value))
    if weight is not None:
        is_share = str(value).strip().endswith("%")
        counts = f", which counts its text {weight:g} times and is no share of the corpus" if is_share else ""
        return (Setting("mix", {domain: weight}), counts)
    if str(value).strip().startswith("-"):
        return (Setting("mix", {domain: 0}), ", which leaves its text out")
    return (Setting("mix", {domain: 0.5}), ", which counts its text half, for instance")


def _weight_in(text: str) -> float | None:
    """The weight that `70%`, `0,5` or `2x` spells; None for other text."""
    number = re.fullmatch(r"x?(\d+(?:\.\d+)?)\s*([x%]?)", text.strip().replace(",", "."), re.ASCII)
    weight = float(number[1]) / (100 if number[2] == "%" else 1) if number else MAX_WEIGHT + 1.0
    if weight > MAX_WEIGHT:
        return None
    return int(weight) if weight.is_integer() else weight


def check_mix(name: str, value: object) -> Mapping[str, Any]:
    """A dict from domain to weight; None is empty."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        error = wrong_type(name, value, "maps domains to weights", {"code": 0.5})
        error.fix = (Setting(name, {"code": 0.5}), ", ", Setting("domains", {"code": "*.py"}), ", for instance")
        raise error
    wrong: dict[str, OptionError] = {}
    for domain, weight in value.items():
        try:
            parse_weight(domain, weight)
        except OptionError as error:
            wrong[domain] = error
    for refused in wrong.values():
        if len(wrong) > 1:
            # One remedy for all of them.
            refused.fix = _weights_meant({domain: value[domain] for domain in wrong}) or refused.parts["fix"]
        raise refused
    return value


def _weights_meant(weights: Mapping[str, object]) -> Message | None:
    """The weights that several wrong ones spell; None where one of them spells none."""
    found = {domain: _weight_in(str(value)) for domain, value in weights.items()}
    if any(weight is None for weight in found.values()):
        return None
    are_shares = any("%" in str(value) for value in weights.values())
    return (Setting("mix", found), ", which say how often text counts and are no shares of the corpus" * are_shares)


def parse_temperature(value: object) -> Any:
    """A temperature as a `Decimal`. Raises `OptionError`."""
    from decimal import Decimal, InvalidOperation

    try:
        found = Decimal(str(value))
    except InvalidOperation:
        found = Decimal(0)
    if found.is_nan() or not Decimal("0.1") <= found <= 1000:
        raise OptionError(
            (Setting("temperature", value), " is out of range"),
            limit="0.1 to 1000; 1 leaves the domains as they are",
            fix=(Setting("temperature", 2), " for domains that are named, or leave it out"),
            option="temperature",
        )
    return found


def check_temperature(name: str, value: object) -> object:
    """A number that `parse_temperature` takes."""
    parse_temperature(value)
    return value


VAL_RULE = re.compile(r"(hash|tail):(\d+(?:\.\d{1,4})?)%")
"""A validation split by a share of the documents."""


def check_val(name: str, value: object) -> str:
    """A rule for the validation split."""
    share = split_of_share(value) if rule_of_share(str(value)) else None
    if not isinstance(value, str):
        error = wrong_type(name, value, "must be a str", "none" if value is None or value is False else "auto")
        error.fix = share or error.parts["fix"]
        raise error
    match = VAL_RULE.fullmatch(value)
    if value in ("auto", "none") or (value.startswith("files:") and len(value) > 6 and not is_text(value)):
        return value
    if match and float(match[2]) == 100:
        raise OptionError(
            (Setting(name, value), " is not a rule for a validation split: it leaves no training data"),
            limit="hash:P% and tail:P%, with P from 0.0001 to 99.9999",
            fix=(Setting(name, "none"), " for all of it in one split, which slm eval --on takes whole"),
            option=name,
        )
    if not match or not 0 < float(match[2]) < 100:
        meant, where = (None, None) if share else _val_meant(value)
        fix = (Setting(name, meant), "; files:GLOB is for files of the corpus" if where else "") if meant else None
        raise OptionError(
            (Setting(name, value), " is not a rule for a validation split"),
            where=where,
            limit="auto, none, hash:P%, tail:P%, files:GLOB, with P from 0.0001 to 99.9999, at most four decimals",
            fix=share or fix or any_of(name, ("auto", "none", "tail:10%")),
            option=name,
            validation_file=value if meant and (where or meant == f"files:{value}") else None,
        )
    return value


def _val_meant(rule: str) -> tuple[str | None, str | None]:
    """(rule, place): what a misspelt rule, or the name of a file, stands for.

    The place says of a file that it does not exist. The rule is None for a text that is like no rule.
    """
    if is_text(rule):
        return None, MUST_BE_PATH
    kind, colon, rest = rule.partition(":")
    if colon and (meant := closest(kind, ("hash", "tail", "files"))) and meant != kind and rest:
        return ("files:" + rest if meant == "files" else rule_of_share(f"{meant}:{rest}") or "auto"), None
    if rule and not colon and Path(rule).is_dir():
        return f"files:{rule}", None
    if colon or not Path(rule).suffix:
        return closest(rule, ("auto", "none")), None
    if Path(rule).exists():
        return f"files:{rule}", None
    return "auto", f"there is no file {rule!r}"


DEFAULT_DROPOUT = 0.1
"""The rate that `dropout` alone stands for, and that of Provilkov, Emelianenko and Voita (2020)."""


def check_inference(name: str, value: object) -> str:
    """How a vocabulary cuts text: `merges`, `longest`, or `dropout:P` with 0 < P <= 1; `dropout` gets the usual P."""
    rule = check_str(name, value, "longest")
    if rule in ("merges", "longest"):
        return rule
    if rule == "dropout":
        return f"dropout:{DEFAULT_DROPOUT}"
    if dropout_rate(rule) is None:
        raise OptionError(
            (Setting(name, rule), " is not a way to cut text"),
            limit="merges, longest, dropout:P, with P above 0 and up to 1",
            fix=_inference_meant(name, rule),
            option=name,
        )
    return rule


def _inference_meant(name: str, rule: str) -> Message:
    """The way to cut text that a wrong one is most like; a rate alone, and one that is none, are those of dropout."""
    default = f"dropout:{DEFAULT_DROPOUT}"
    if "bpe" in rule.lower() and "dropout" not in rule.lower():
        return (Setting(name, "merges"),)
    if found := re.search(r"(\d*\.?\d+)(%?)$", rule, re.ASCII):
        rate = float(found[1]) / (100 if found[2] else 1)
        return (Setting(name, f"dropout:{rate:g}" if 0 < rate <= 1 else default),)
    known = ("merges", "longest", "dropout")
    meant = "dropout" if "dropout" in rule.lower() else closest(rule.partition(":")[0], known)
    if meant is None:
        return any_of(name, ("merges", "longest", default))
    return (Setting(name, default if meant == "dropout" else meant),)


def dropout_rate(inference: str) -> float | None:
    """P of `dropout:P`; None for anything else."""
    kind, _, number = inference.partition(":")
    if kind != "dropout" or not re.fullmatch(r"0?\.\d{1,6}|1(?:\.0+)?", number):
        return None
    return float(number) or None


def check_subsets(name: str, value: object) -> tuple[int, ...]:
    """Different numbers of documents, in ascending order."""
    given = [value] if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) else list(value)
    meant = _numbers_meant(given)
    if given == [value] or any(isinstance(each, bool) or not hasattr(each, "__index__") for each in given):
        raise wrong_type(name, value, "takes a list of numbers of documents", meant or [20000])
    try:
        numbers = [check_int(name, number, 1) for number in given]
    except OptionError as error:
        error.fix = (Setting(name, meant),) if meant else ("leave ", Setting(name), " out")
        raise
    if len(set(numbers)) < len(numbers):
        raise OptionError(
            (Setting(name), " names a number twice"), fix=(Setting(name, sorted(set(numbers))),), option=name
        )
    return tuple(sorted(numbers))


def _numbers_meant(values: Iterable[object]) -> list[int]:
    """The numbers that values spell, in text with commas between: `100,200`, and `20,000` as one number."""
    found = []
    for value in values:
        parts = value.split(",") if isinstance(value, str) else [value]
        numbers = [_number_meant(part) for part in parts]
        found += numbers if all(numbers) else [_number_meant(value)]
    return [number for number in found if 0 < number <= U64]


def _number_meant(value: object) -> int:
    """The number that a value is or spells; 0 for others."""
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return int(value.__index__())
    return integer_meant(value.strip() if isinstance(value, str) else value) or 0


def check_recordable(name: str, value: object) -> None:
    """Raises `OptionError` for a str with half of a surrogate pair, which no JSON file can record."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise OptionError(
            (Setting(name), f" has {value!r}, which is not UTF-8"),
            limit="options are recorded in JSON",
            fix="give it in UTF-8",
            option=name,
        ) from None
    inner = [*value, *value.values()] if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
    for item in inner:
        check_recordable(name, item)
