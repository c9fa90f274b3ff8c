"""The corpus options, in one place: a command that takes them says `@with_corpus` and gets them judged, as `read`.

`with_corpus` puts one option of the command line for each field of `ReadOptions` where the function has its parameter
`read`, so all commands spell, explain and judge them alike.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from slmtok.cli import _numbers, _options
from slmtok.corpus import ReadOptions

CORPUS = _options.CORPUS
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}


def unescaped(value: Any) -> str:
    r"""A string as shells pass it: `\n`, `\t`, `\r`, `\0` and `\\` are the characters that they stand for."""
    return re.sub(r"\\([ntr0\\])", lambda match: _ESCAPES[match[1]], str(value))


def _share(value: Any) -> float:
    text = str(value).strip()
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise typer.BadParameter(f"takes a share such as 0.1 or 10%, not {str(value)!r}") from None


def _domain(value: Any) -> str:
    name, equals, glob = str(value).partition("=")
    if not (name and equals and glob):
        raise typer.BadParameter(f"takes NAME=GLOB, not {str(value)!r}")
    return str(value)


def _text(name: str, metavar: str, told: str) -> Any:
    """An option that is a string with escapes."""
    return typer.Option(name, metavar=metavar, parser=unescaped, help=told, show_default=False, rich_help_panel=CORPUS)


def _many(name: str, metavar: str, told: str, **more: Any) -> Any:
    """An option that may be given several times."""
    return typer.Option(name, metavar=metavar, help=told, show_default=False, rich_help_panel=CORPUS, **more)


_Separator = Annotated[
    str | None, _text("--separator", "STRING", "Cut text files into documents at this string, such as '<|endoftext|>'.")
]
_TextTemplate = Annotated[
    str | None,
    _text(
        "--text-template",
        "TEMPLATE",
        r"Several fields in one text: '{title}\n{body}'; {1}, {2} are columns of a tsv without a header.",
    ),
]
_Exclude = Annotated[
    list[str] | None, _many("--exclude", "GLOB", "Leave these files out, such as '*.min.js'. Repeat for several.")
]
_Domains = Annotated[
    list[str] | None,
    _many(
        "--domain",
        "NAME=GLOB",
        "Documents of these files belong to this domain. Repeat for several; the first that matches counts.",
        parser=_domain,
    ),
]
_Sample = Annotated[
    float | None,
    typer.Option(
        "--sample",
        metavar="SHARE",
        parser=_share,
        help="Read this share of the documents (0.1, 10%), chosen by a hash of each, whatever their order.",
        show_default=False,
        rich_help_panel=CORPUS,
    ),
]
_Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", parser=_numbers.whole, help="Which documents --sample takes.", rich_help_panel=CORPUS
    ),
]
_MaxDocs = Annotated[
    int | None,
    typer.Option(
        "--max-docs",
        metavar="N",
        parser=_numbers.size,
        help="Read no more documents than this (1000, 2M).",
        show_default=False,
        rich_help_panel=CORPUS,
    ),
]
_Streaming = Annotated[
    bool,
    typer.Option("--streaming", help="Read hf: data sets while they download.", rich_help_panel=CORPUS),
]
_CacheDir = Annotated[
    str | None,
    typer.Option(
        "--cache-dir",
        metavar="DIR",
        help="Where hf: data sets are kept after download.",
        show_default="that of the package datasets",
        rich_help_panel=CORPUS,
    ),
]

CORPUS_OPTIONS: dict[str, tuple[Any, Any]] = {
    "format": (_options.Format, "auto"),
    "text_key": (_options.TextKey, "text"),
    "text_template": (_TextTemplate, None),
    "document": (_options.Documents, "file"),
    "separator": (_Separator, None),
    "exclude": (_Exclude, None),
    "domains": (_Domains, None),
    "sample": (_Sample, None),
    "seed": (_Seed, 0),
    "max_docs": (_MaxDocs, None),
    "max_bytes": (_options.MaxBytes, None),
    "max_chars": (_options.MaxChars, None),
    "doc_cap": (_options.DocCap, None),
    "skip_malformed": (_options.SkipMalformed, False),
    "streaming": (_Streaming, False),
    "cache_dir": (_CacheDir, None),
}
"""Each field of `ReadOptions` as an option: its annotation, and its default."""


def with_corpus_as(**defaults: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As `with_corpus`, with other defaults for some options."""
    return lambda command: with_corpus(command, defaults)


def with_corpus(command: Callable[..., Any], defaults: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The command with all corpus options in place of its parameter `read`. Options that it has itself win."""
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    usual = CORPUS_OPTIONS.items()
    others = defaults or {}
    options = {name: (kind, others.get(name, default)) for name, (kind, default) in usual if name not in own}
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name != "read":
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        parameters.extend(
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for key, (annotation, default) in options.items()
        )

    @wraps(command)
    def wrapped(**given: Any) -> Any:
        read = {name: given.pop(name) for name in options}
        return command(read=judged(read), **given)

    wrapped.__dict__.pop("__wrapped__", None)
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def judged(read: dict[str, Any]) -> ReadOptions:
    """The options as the command line gives them. Raises what `ReadOptions` raises."""
    domains: dict[str, list[str]] = {}
    for value in read.get("domains") or ():
        name, _, glob = value.partition("=")
        domains.setdefault(name, []).append(glob)
    return ReadOptions(**{**read, "exclude": tuple(read.get("exclude") or ()), "domains": domains})
