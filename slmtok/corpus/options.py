"""`ReadOptions`: how a corpus is read and how much of it, judged once. Names are those of the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from slmtok.checks import U64, check_int
from slmtok.corpus.paths import matches
from slmtok.corpus.template import Template
from slmtok.errors import OptionError, WrongType

if TYPE_CHECKING:
    from typing_extensions import Self

Document: TypeAlias = Literal["file", "line"]
OTHER = "other"
"""The domain of documents that no glob claims, where domains are named."""
MOST_DOMAINS = 65_535


class MoreReading(TypedDict, total=False):
    """The arguments of `ReadOptions` that `slmtok.train` and `slmtok.count` hand on as they are."""

    separator: str | None
    text_template: str | None
    exclude: Sequence[str]
    domains: Mapping[str, str | Sequence[str]]
    sample: float | None
    seed: int
    max_docs: int | None
    streaming: bool
    cache_dir: str | os.PathLike[str] | None


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a corpus, and how much of it.

    format: a name in `FORMATS`; "auto" goes by the name of each file.
    document: what a document of a text file is, the file or each line. separator: text files are cut at this string
        instead, which belongs to no document.
    text_key: the field or column that is the text. text_template: several of them in one text, such as
        "{title}\\n{body}"; `{1}` and `{2}` are the columns of a tsv without a header line.
    skip_malformed: leave out records that the format does not allow, and count them.
    exclude: globs of files to leave out. domains: name to glob, or to several; the first that matches a file counts.
    sample: the share of documents that is read, by a hash of each and of `seed`: whatever their order, and so that a
        smaller share is part of a larger one.
    doc_cap: characters of a document. max_docs, max_bytes, max_chars: of the whole corpus.
    streaming, cache_dir: for Hugging Face data sets: whether to read while downloading, and where downloads are kept.
    """

    format: str = "auto"
    document: Document = "file"
    separator: str | None = None
    text_key: str = "text"
    text_template: str | None = None
    skip_malformed: bool = False
    exclude: Sequence[str] = ()
    domains: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    sample: float | None = None
    seed: int = 0
    doc_cap: int | None = None
    max_docs: int | None = None
    max_bytes: int | None = None
    max_chars: int | None = None
    streaming: bool = False
    cache_dir: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Raises `UnknownName`, `OptionError`, `WrongType`."""
        from slmtok.corpus.formats import check_format

        check_format(self.format)
        if self.document not in ("file", "line"):
            raise OptionError(
                f"document={self.document!r} is unknown",
                limit="file, line",
                fix="document='line' makes each line of a text file a document",
                option="document",
            )
        if not isinstance(self.text_key, str):
            raise WrongType(
                f"text_key= must be the name of a field, not {type(self.text_key).__name__}", fix="text_key='text'"
            )
        _check_separator(self.separator, self.document)
        object.__setattr__(self, "exclude", _globs(self.exclude, "exclude"))
        object.__setattr__(self, "domains", _domains(self.domains))
        object.__setattr__(self, "sample", _share(self.sample))
        object.__setattr__(self, "seed", check_int("seed", self.seed))
        for name in ("doc_cap", "max_docs", "max_bytes", "max_chars"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_int(name, value, 1, U64))
        if self.text_template is not None and self.template and self.text_key != type(self).text_key:
            raise OptionError(
                f"text_key={self.text_key!r} beside text_template={self.text_template!r}",
                limit="one of them says what the text is",
                fix="leave text_key= out",
                option="text_key",
            )

    @cached_property
    def template(self) -> Template:
        """What a record's text is made of. Raises `OptionError`."""
        if self.text_template is None:
            return Template.of_field(self.text_key)
        return Template.parse(self.text_template)

    @cached_property
    def domain_names(self) -> tuple[str, ...]:
        """The names of all domains, in order; none where none are named. The last one is what no glob claims."""
        names = tuple(self.domains)
        return names if not names or OTHER in names else (*names, OTHER)

    def domain_of(self, source: str) -> int:
        """The index in `domain_names` of a file's domain; 0 where none are named."""
        for index, globs in enumerate(self.domains.values()):
            if any(matches(source, glob) for glob in globs):
                return index
        return self.domain_names.index(OTHER) if self.domain_names else 0

    def excluded(self, source: str) -> bool:
        """Whether a file is to be left out."""
        return any(matches(source, glob) for glob in self.exclude)

    @property
    def selects(self) -> bool:
        """Whether some documents are left out or shortened, so that a file is not read as it stands."""
        return any(
            value is not None for value in (self.sample, self.doc_cap, self.max_docs, self.max_bytes, self.max_chars)
        )

    def unlimited(self) -> Self:
        """The same without the limits that the engine's counter keeps itself: `doc_cap`, `max_bytes`, `max_chars`."""
        return replace(self, doc_cap=None, max_bytes=None, max_chars=None)

    def recorded(self) -> dict[str, Any]:
        """What artefacts say of how their corpus was read: all that can change a document or leave it out.

        Options beyond the first four stand there only where they are used.
        """
        record: dict[str, Any] = {
            "format": self.format,
            "document": self.document,
            "text_key": self.text_key,
            "skip_malformed": self.skip_malformed,
        }
        for name in ("separator", "text_template", "sample", "doc_cap", "max_docs", "max_bytes", "max_chars"):
            if getattr(self, name) is not None:
                record[name] = getattr(self, name)
        if self.sample is not None:
            record["seed"] = self.seed
        if self.exclude:
            record["exclude"] = list(self.exclude)
        if self.domains:
            record["domains"] = {name: list(globs) for name, globs in self.domains.items()}
        return record


def _check_separator(separator: object, document: str) -> None:
    if separator is None:
        return
    if not isinstance(separator, str):
        raise WrongType(f"separator= must be a str, not {type(separator).__name__}", fix="separator='<|endoftext|>'")
    if not separator:
        raise OptionError(
            "separator= is empty, which is between any two bytes",
            limit="at least one character",
            fix="separator='<|endoftext|>', or document='line'",
            option="separator",
        )
    if document == "line":
        raise OptionError(
            f"document='line' beside separator={separator!r}",
            limit="one of them says where a document ends",
            fix="leave document= out",
            option="separator",
        )


def _globs(value: object, name: str) -> tuple[str, ...]:
    globs = (value,) if isinstance(value, str) else value
    if not isinstance(globs, Sequence) or not all(isinstance(glob, str) for glob in globs):
        raise WrongType(f"{name}= takes globs, not {value!r}", limit="a list of str", fix=f"{name}='*.min.js'")
    if not all(globs):
        raise OptionError(f"{name}= has an empty glob", limit="at least one character", fix="leave it out", option=name)
    return tuple(globs)


def _domains(value: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) and name for name in value):
        raise WrongType(
            f"domains= maps names to globs, it is {value!r}", limit="a dict", fix="domains={'code': 'src/**/*.py'}"
        )
    if len(value) > MOST_DOMAINS:
        raise OptionError(
            f"domains= names {len(value)} domains", limit=f"at most {MOST_DOMAINS}", fix="join some", option="domains"
        )
    return {name: _globs(globs, "domains") for name, globs in value.items()}


def _share(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongType(f"sample= must be a share, not {type(value).__name__} {value!r}", fix="sample=0.1")
    if not 0 < value <= 1:
        raise OptionError(
            f"sample={value} is no share of the documents",
            limit="above 0, at most 1",
            fix="sample=0.1 for a tenth",
            option="sample",
        )
    return float(value)
