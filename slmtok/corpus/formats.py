"""The registry of corpus formats. To add one, write its file and its entry in `FORMATS`.

The engine cuts text into documents, lines or records, and parses plain JSONL. A format that it does not know brings a
parser for its lines, or reads its files in Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from slmtok.corpus.paths import HUGGING_FACE
from slmtok.corpus.selection import Skipped
from slmtok.corpus.streams import COMPRESSED, bare_suffix, compression
from slmtok.corpus.suffixes import SUFFIXES
from slmtok.corpus.template import LineParser
from slmtok.corpus.unpacking import key_of_table, unpacked
from slmtok.errors import OptionError, Setting
from slmtok.files import free_name, read_file
from slmtok.options import ReadOptions

if TYPE_CHECKING:
    from slmtok.corpus.text_columns import TextColumn
    from slmtok.corpus.text_kinds import KindFound

MakeParser: TypeAlias = Callable[[str, ReadOptions], LineParser]
ReadRows: TypeAlias = Callable[[str, ReadOptions, Skipped], Iterator[bytes]]
ReadColumns: TypeAlias = "Callable[[str, ReadOptions, Skipped], Iterator[bytes | TextColumn]]"


@dataclass(frozen=True)
class Format:
    """One format: its name and file suffixes, and how its documents are found.

    engine: how the engine cuts its files; None where `rows` reads them in Python. parser: makes the parser for lines
    that the engine cannot parse. columns: reads the documents of `rows` as columns of text. records: whether documents
    are made of named fields.
    """

    name: str
    suffixes: tuple[str, ...]
    engine: Literal["text", "jsonl", "records"] | None = None
    terminator: bytes | None = None
    parser: MakeParser | None = None
    rows: ReadRows | None = None
    columns: ReadColumns | None = None
    records: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether a file is one document."""
        return self.engine == "text" and self.terminator is None


# Their modules are imported when a file of the format is read: most runs read none.


def _jsonl(name: str, options: ReadOptions) -> LineParser:
    from slmtok.corpus import jsonl

    return jsonl.parser(name, options)


def _tsv(name: str, options: ReadOptions) -> LineParser:
    from slmtok.corpus import tsv

    return tsv.parser(name, options)


def _parquet(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    from slmtok.corpus import arrow

    return arrow.read_parquet(path, options, skipped)


def _parquet_columns(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes | TextColumn]:
    from slmtok.corpus import arrow

    return arrow.read_parquet_columns(path, options, skipped)


def _json(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    from slmtok.corpus import json_file

    return json_file.read_json(path, options, skipped)


def _csv(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    from slmtok.corpus import csv_file

    return csv_file.read_csv(path, options, skipped)


def _hugging_face(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    from slmtok.corpus import arrow

    return arrow.read_hugging_face(path, options, skipped)


def _hugging_face_columns(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes | TextColumn]:
    from slmtok.corpus import arrow

    return arrow.read_hugging_face_columns(path, options, skipped)


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format("text", SUFFIXES["text"], "text"),
        Format("lines", SUFFIXES["lines"], "text", b"\n"),
        Format("jsonl", SUFFIXES["jsonl"], "jsonl", parser=_jsonl, records=True),
        Format("json", SUFFIXES["json"], rows=_json, records=True),
        Format("tsv", SUFFIXES["tsv"], "records", parser=_tsv, records=True),
        Format("csv", SUFFIXES["csv"], rows=_csv, records=True),
        Format("parquet", SUFFIXES["parquet"], rows=_parquet, columns=_parquet_columns, records=True),
        Format("hugging_face", (), rows=_hugging_face, columns=_hugging_face_columns, records=True),
    )
}
FORMAT_NAMES = tuple(entry.name for entry in FORMATS.values() if entry.suffixes)
"""What `format` may be besides "auto"."""
_NOT_TEXT = {
    ".arrow": "arrow",
    ".zip": "a zip archive",
    **dict.fromkeys((".tar", ".tgz", ".txz", ".tbz", ".tbz2"), "a tar archive"),
    ".bz2": "bzip2 data",
    ".br": "brotli data",
}
"""Suffixes of files that no format reads, and what they are."""


def not_text(path: str) -> str | None:
    """What a file is by its name, where no format reads it; else None."""
    suffix = bare_suffix(path)
    is_tar = suffix == ".bz2" and Path(path).stem.lower().endswith(".tar")
    return "a tar archive" if is_tar else _NOT_TEXT.get(suffix)


_ARROW_MAGIC = b"ARROW1"


def is_corpus_name(path: str) -> bool:
    """Whether the name of a file says that it holds documents: records, or compressed text or records."""
    suffix = bare_suffix(path)
    kind = next((each for each in FORMATS.values() if suffix in each.suffixes), None)
    return kind is not None and kind.name != "json" and (kind.records or compression(path) != "plain")


def arrow_as_parquet(path: str) -> str | None:
    """The command that writes a file of Arrow as parquet; None for one that is compressed or not there."""
    if not Path(path).is_file() or compression(path) != "plain":
        return None
    # A stream has no such mark.
    opened = "open_file" if read_file(path, len(_ARROW_MAGIC)) == _ARROW_MAGIC else "open_stream"
    made = free_name(f"{path.removesuffix(Path(path).suffix)}.parquet")
    table = f"pyarrow.ipc.{opened}(open({path!r}, 'rb')).read_all()"
    program = f"import pyarrow.ipc, pyarrow.parquet; pyarrow.parquet.write_table({table}, {made!r})"
    return f"python -c {shlex.quote(program)} # and name {shlex.quote(made)}"


def format_of(path: str, options: ReadOptions) -> Format:
    """The format of one file. An unknown suffix means text. Raises `OptionError` for archives."""
    if path.startswith(HUGGING_FACE):
        return FORMATS["hugging_face"]
    if options.format != "auto":
        found = FORMATS[options.format]
    else:
        suffix = bare_suffix(path)
        if what := not_text(path):
            fix = (arrow_as_parquet(path) or "convert it to parquet") if what == "arrow" else unpacked([path], what)
            raise OptionError(
                f"{path!r} is {what}, which slmtok cannot read",
                limit=f"formats: {', '.join(FORMAT_NAMES)}, each also as {', '.join(COMPRESSED)}",
                fix=(
                    fix,
                    *key_of_table(path, options),
                    ", or ",
                    Setting("format", "text"),
                    " to read its bytes as they are",
                ),
                option="format",
                path=path,
            )
        found = next((known for known in FORMATS.values() if suffix in known.suffixes), FORMATS["text"])
    if found.name == "text" and options.separator is not None:
        return Format("text", (), "text", options.separator.encode())
    if found.name == "text" and options.document == "line":
        return FORMATS["lines"]
    return found


def _check_hub_options(found: Sequence[Format], options: ReadOptions) -> None:
    """Raises `OptionError` for options of Hugging Face data sets without one."""
    name = "streaming" if options.streaming else "cache_dir" if options.cache_dir is not None else None
    if name is not None and all(entry.name != "hugging_face" for entry in found):
        raise OptionError(
            (Setting(name, getattr(options, name)), " has no effect without a data set of Hugging Face"),
            limit="hf:NAME",
            fix=("leave ", Setting(name), " out"),
            option=name,
        )


def check_fields(
    paths: Iterable[str],
    options: ReadOptions,
    records_in: Callable[[], str | None] = lambda: None,
    kind_in: Callable[[], KindFound | None] = lambda: None,
    *,
    is_key_given: bool = False,
) -> None:
    """Raises `OptionError` for options of one kind of source that the corpus does not have.

    records_in: the format of records that are read as text, because no name has it, by their content.
    kind_in: what `contents.kind_among` finds. is_key_given: whether the key was named, which may equal the default.
    """
    paths = list(paths)
    found = [format_of(path, options) for path in paths]
    _check_hub_options(found, options)
    if options.document == "line" and found and all(entry.records for entry in found):
        raise OptionError(
            (Setting("document", "line"), " splits text files, and the corpus has none"),
            limit="text; a record is a document",
            fix=("leave ", Setting("document"), " out"),
            option="document",
        )
    if options.separator is not None and all(entry.name != "text" for entry in found):
        raise OptionError(
            (Setting("separator", options.separator), " splits text files, and the corpus has none"),
            limit="text",
            fix=("leave ", Setting("separator"), " out"),
            option="separator",
        )
    if options.skip_malformed and found and not any(entry.records or entry.name == "hugging_face" for entry in found):
        raise OptionError(
            (Setting("skip_malformed", True), " leaves out records, and the corpus has none"),
            limit=", ".join(name for name in FORMAT_NAMES if FORMATS[name].records),
            fix=("leave ", Setting("skip_malformed"), " out"),
            option="skip_malformed",
        )
    is_default = options.text_key == ReadOptions.text_key and options.text_template is None and not is_key_given
    if is_default or any(entry.records for entry in found):
        return
    name = "text_key" if options.text_template is None else "text_template"
    without: tuple[Setting | str, ...] = ("leave ", Setting(name), " out")
    looks_like = records_in()
    if not looks_like and (found_kind := kind_in()):
        kind = found_kind.kind
        told = f"{kind.name}, whose {kind.parts} would be learned as text"
        without = (*found_kind.remedy(paths, options.encoding), f" without the option: {found_kind.paths[0]} is {told}")
    raise OptionError(
        (Setting(name, getattr(options, name)), " names a field, and no file of the corpus has records"),
        limit=", ".join(name for name in FORMAT_NAMES if FORMATS[name].records),
        fix=(Setting("format", looks_like),) if looks_like else without,
        option=name,
    )
