"""What a file holds by its first bytes: text, or something that must not be read as text by mistake.

`check_texts` looks at the head of each regular file before any work begins. Named formats `text` and `lines` read any
bytes.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import shlex
import stat
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from glob import escape
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from slmtok import file_kinds
from slmtok.corpus.database_texts import texts_of_database
from slmtok.corpus.formats import FORMAT_NAMES, arrow_as_parquet, format_of, not_text
from slmtok.corpus.json_values import loads
from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import (
    COMPRESSED,
    UTF_8,
    bare_suffix,
    close_pipe,
    compression,
    head_of_next_pipe,
    head_of_pipe,
    is_plain,
    look_into_pipe,
    open_head,
)
from slmtok.corpus.suffixes import SUFFIXES
from slmtok.corpus.template import template_of
from slmtok.corpus.text_commands import to_utf_8
from slmtok.corpus.text_kinds import (
    EPUB,
    MARKUP_SUFFIXES,
    NOTEBOOK,
    OPEN_DOCUMENT,
    RTF,
    WORD,
    KindFound,
    kind_of,
    markup_of,
    remedy_of,
)
from slmtok.corpus.text_kinds import HEAD_BYTES as KIND_BYTES
from slmtok.corpus.unpacking import decompressed, key_of_table, unpacked
from slmtok.corpus.windows import check_window
from slmtok.errors import CorpusTooSmall, Message, MissingInput, OptionError, Setting, SlmtokError, Unreadable
from slmtok.file_content import (
    ARROW,
    BINARY,
    GIT_LFS_POINTER,
    HEAD_BYTES,
    NAME_THE_TEXT,
    SQLITE,
    SUFFIXES_OF_DATA,
    Content,
    content_of,
    is_utf_8,
    suffixed,
)
from slmtok.file_kinds import DIGESTS, LAYOUT, MANIFEST, SHARD, is_hugging_face_model, is_run, kind_of_file, run_of
from slmtok.files import MAX_FILE_BYTES, free_name, read_file
from slmtok.options import ReadOptions, option_specs
from slmtok.record_texts import text_in

UNUSUAL = {"carriage return": b"\r", "byte order mark": BOM_UTF8, "zero byte": b"\0"}
"""Characters that are rarely meant to be learned: reports say how many a corpus has."""
_DECOMPRESS = {
    "gzip data": "gzip -dc",
    "zstd data": "zstd -dc",
    "xz data": "xz -dc",
    "bzip2 data": "bzip2 -dc",
    "lz4 data": "lz4 -dc",
}
"""The program that decompresses such data of stdin, where no name says what they are."""
_ZIP_MAGIC = b"PK\x03\x04"
_MAX_TYPE_BYTES = 100
_TABLE = "save it as CSV in UTF-8 from the spreadsheet program"
_PROSE = "save it as plain text in UTF-8 from its program"
_EPUB = Content(EPUB.name, "take the text of its pages")
_OFFICE = {
    "xl/workbook.xml": Content("an Excel workbook", _TABLE),
    ".spreadsheet": Content("an OpenDocument spreadsheet", _TABLE),
    "word/document.xml": Content(WORD.name, _PROSE),
    ".opendocument.text": Content(OPEN_DOCUMENT.name, _PROSE),
    "ppt/presentation.xml": Content("a PowerPoint presentation", _PROSE),
    "epub+zip": _EPUB,
}
"""Documents that are zip archives: a file in the archive, or the end of its MIME type, and what each is."""
_PROGRAMS = {kind.name: kind for kind in (RTF, WORD, OPEN_DOCUMENT)}
"""Documents of prose, which a program makes text of that may not be installed."""
_DOCUMENTS = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".epub")
"""Suffixes of documents that are zip archives of XML."""
_OWN_SUFFIXES = (".json", ".ipynb", ".lock", ".bin", ".digests", "merges.txt")
MAX_GLOBS = 32
"""Globs up to which an error leaves out what is not text."""
_MAX_UNPACKED = 4
"""Archives and compressed files that are unpacked by commands of their own."""
_MAX_NAMED_TEXTS = 4
"""Files whose text was packed, up to which an error names them."""
_MAX_FOLDER_CHECKS = 256
"""Files of a folder that are opened to refuse those of slmtok."""
_FIXES: dict[str, str] = {
    file_kinds.TOKENIZER: "name the text; slmtok slice and slmtok extend make other sizes of one",
    file_kinds.LOCK: "name the text of that tokenizer",
    DIGESTS: "name the counts or the text; slmtok audit --leak reads digests",
    **dict.fromkeys((SHARD, MANIFEST, LAYOUT), "name the text that was packed"),
}
"""What the user of a file that is no text probably wanted; `name the text` of other kinds."""
_PACKED = (SHARD, MANIFEST, LAYOUT)
"""Files of a folder in which nothing is text, so that all of it is left out."""
_HUGGING_FACE = (
    ("", re.compile(rb'\s*\{\s*"version"\s*:\s*"1\.0"\s*,\s*"truncation"'), "a tokenizer of Hugging Face"),
    ("vocab.json", re.compile(rb'\s*\{(\s*"([^"\\]|\\.)+"\s*:\s*\d+\s*[,}]){3}'), "a vocabulary of Hugging Face"),
    ("merges.txt", re.compile(rb"#version: ?0"), "the merges of a tokenizer of Hugging Face"),
)
"""Files of tokenizers of Hugging Face: the end of the name, the beginning of the content, what each is."""
_OWN_TOKENIZER = b'{"format":"slmtok-tokenizer",'
_TOKENIZER_OF_HF = ("tokenizer.json", "tokenizer_config.json")
"""Files of a folder that `save_pretrained` and `slmtok export` write."""
_LEFT_BY_PROGRAMS = {
    **dict.fromkeys(("_SUCCESS", "_committed_*", "_started_*"), Content("a mark that Spark leaves beside its data")),
    **dict.fromkeys(("desktop.ini", "Thumbs.db"), Content("a file that Windows leaves in folders")),
}
"""Names of files that programs leave in folders of text, and what they are."""
_FETCH_AGAIN = "fetch the file again"
_DOWNLOAD = Content("a download that is not complete", "fetch it again")
_DOWNLOADS = (".crdownload", ".opdownload", ".part", ".partial", ".download")
"""How names of files end that browsers and other programs have not fetched to the end, behind a suffix of data."""
_SUFFIXES = (*chain(*SUFFIXES.values()), *COMPRESSED)
_MAY_BE_A_PAGE = f"{_FETCH_AGAIN}: it may be the page of an error"
_NOTEBOOKS = "*.ipynb"
_FIRST_KEY = re.compile(rb'\s*\{\s*"[^"\\]{1,100}"\s*:')
_FIRST_OF_ARRAY = re.compile(rb'\s*\[\s*(?:\{\s*"[^"\\]{1,100}"\s*:|"(?:[^"\\]|\\.)*(?:"\s*,\s*"|\Z))', re.DOTALL)


def check_texts(paths: Sequence[str], options: ReadOptions, *, is_any_read: bool = True) -> None:
    """Raises `OptionError` for files that are not text. Files that cannot be read are left to their reader.

    Raises `Unreadable` for a file whose name alone says that it is compressed. is_any_read: whether formats `text` and
    `lines` read any bytes.
    """
    found = _other_contents(paths, options, is_any_read=is_any_read)
    if len(found) == len(paths) == 1:
        # What its name says is an error of its own.
        format_of(paths[0], options)
    if found:
        error = _not_text(found, paths, options)
        close_pipe()
        raise error


def check_next_pipe(path: str, options: ReadOptions) -> None:
    """As `check_texts` for a pipe whose turn comes: of several, only the first is looked into before that."""
    if head_of_next_pipe(path):
        check_texts([path], options)


def _other_contents(paths: Sequence[str], options: ReadOptions, *, is_any_read: bool = True) -> dict[str, Content]:
    """The files that are not text, and what each is. Raises as `check_texts` for compressed names."""
    for path in paths:
        if compression(path) != "plain":
            _check_compressed(path)
        elif _is_without_size(path):
            raise Unreadable(
                f"{path!r} has text, and the system says that it has 0 bytes",
                where=path,
                limit="files with a size; others as /proc has them are piped in",
                fix=f"name - and pipe it in: cat {shlex.quote(path)} | slmtok ... -",
                path=path,
            )
    if is_any_read and options.format in ("text", "lines") and options.encoding == UTF_8:
        return {}
    look_into_pipe(paths)
    zeros_are_text = options.encoding != UTF_8 or "\0" in (options.separator or "")
    found: dict[str, Content] = {}
    for path in paths:
        left = _left_by_programs(path) if len(paths) > 1 else None
        content = _LEFT_BY_PROGRAMS[left] if left else _content_of_file(path, options)
        if path.endswith(_DOWNLOADS) and Path(path).stem.endswith(_SUFFIXES):
            content = _DOWNLOAD
        if content is not None and not (content.encoded and zeros_are_text):
            found[path] = content
    return found


def _left_by_programs(path: str) -> str | None:
    """The pattern of `_LEFT_BY_PROGRAMS` that the name of a file has; else None."""
    name = os.path.basename(path)  # noqa: PTH119  (a corpus may have 100,000 files)
    stem, line, number = name.rpartition("_")
    pattern = f"{stem}_*" if stem and line and number.isdecimal() else name
    return pattern if pattern in _LEFT_BY_PROGRAMS else None


def _globs_of(found: Collection[str], paths: Sequence[str]) -> list[str]:
    """The globs that leave out files which are no text and none of the other files: of a program, a suffix, or names.

    found: the files that are no text; paths: all files of the corpus.
    """
    texts = [path for path in paths if path not in found]
    suffixes = {Path(path).suffix for path in texts}
    names = names_among(found, texts)
    of_suffix = {
        path: f"*{escape(suffix)}" for path in found if (suffix := Path(path).suffix) and suffix not in suffixes
    }
    return list(dict.fromkeys(_left_by_programs(path) or of_suffix.get(path, name) for path, name in names.items()))


def names_among(found: Collection[str], texts: Collection[str]) -> dict[str, str]:
    """The glob that matches each of these files and none of the texts: its name; its path where a text has the name."""
    names = {os.path.basename(path) for path in texts}  # noqa: PTH119  (a corpus may have 100,000 files)
    paths = {path: Path(path) for path in found}
    return {path: escape(each.as_posix() if each.name in names else each.name) for path, each in paths.items()}


def _is_left_out(content: Content) -> bool:
    """Whether no option and no other name makes text of a file."""
    is_document = content in _OFFICE.values() or content.name in _PROGRAMS
    return content.is_no_text or is_document or content is _DOWNLOAD


def _content_of_file(path: str, options: ReadOptions) -> Content | None:
    """What a source is that cannot be read in its format; of parquet, what stands in its place."""
    if options.format == "auto" and (what := not_text(path)):
        return ARROW if what == "arrow" else Content(what, packed=True)
    entry = format_of(path, options)
    is_parquet = entry.name == "parquet"
    # Compressed files are looked at as they are before; parquet is not compressed.
    head = head_of_pipe(path) or head_of(path, options if not is_parquet else ReadOptions(format="text"))
    content = content_of(head)
    if content is not None and content.packed and head.startswith(_ZIP_MAGIC):
        content = _office_document(path) or content
    if path == STDIN and content is not None and content.name in _DECOMPRESS:
        inner = content_of(_decompressed_head(content.name))
        content = inner if inner is not None and inner.packed else content
    if is_parquet and content not in (GIT_LFS_POINTER, ARROW):
        content = None
    # A table without a header may begin with a page.
    is_page = entry.records and not (entry.name in ("csv", "tsv") and template_of(options).numbered)
    if content is None and is_page and (language := markup_of(path, head)):
        return Content(language, _MAY_BE_A_PAGE)
    return content


def _office_document(path: str) -> Content | None:
    """The document of an office program that a zip archive is; None for another archive, and for a stream."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(path) as archive:
            names = {*archive.namelist()}
            kind = archive.read("mimetype")[:_MAX_TYPE_BYTES] if "mimetype" in names else b""
    except (OSError, BadZipFile, RuntimeError, ValueError, NotImplementedError):
        return None
    return next((each for mark, each in _OFFICE.items() if mark in names or kind.endswith(mark.encode())), None)


def _is_without_size(path: str) -> bool:
    """Whether a file has content and no size, as those below /proc."""
    try:
        found = os.stat(path)  # noqa: PTH116  (a corpus may have 100,000 files)
        return stat.S_ISREG(found.st_mode) and not found.st_size and open_head(path, 1) != b""
    except (OSError, MissingInput, Unreadable):
        return False


def _check_compressed(path: str) -> None:
    """Raises `Unreadable` for text, or another kind of file, under a name for compressed data."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            head = file.read(HEAD_BYTES) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return
    content, suffix = content_of(head), Path(path).suffix
    if not head and os.path.isfile(path):  # noqa: PTH113
        raise Unreadable(
            f"{path!r} has 0 bytes, and its name ends in {suffix}, which is compressed data",
            where=path,
            limit="compressed data of an empty text have some bytes too",
            fix=_FETCH_AGAIN,
            path=path,
        )
    # A browser decompresses a page that is meant to be one.
    if content is None and bare_suffix(path) not in MARKUP_SUFFIXES and (language := markup_of(path, head)):
        content = Content(language, _MAY_BE_A_PAGE)
    check_window(path, head)
    if not head or (content is not None and (content.encoded or content.read_by == suffixed(suffix.lower()))):
        return
    if content is None and not is_utf_8(head):
        return
    inner = content_of(_decompressed_head(content.name, head=head)) if content else None
    packed = next((each for each in (content, inner) if each and each.packed), None)
    bare = path.removesuffix(suffix)
    if content and isinstance(content.read_by, Setting):
        bare = f"{bare.removesuffix('.parquet')}.parquet"
    fix: str | Setting = f"mv {shlex.quote(path)} {shlex.quote(free_name(bare))}"
    if content and (packed or not isinstance(content.read_by, Setting)):
        fix = unpacked([path], packed.name) if packed else _remedy(path, content.read_by or NAME_THE_TEXT)
    raise Unreadable(
        f"{path!r} is {content.name if content else 'text'}, and its name ends in {suffix}, which is compressed data",
        where=path,
        fix=(fix,),
        path=path,
    )


def refuse_own_files(corpus: Sequence[str], found: Sequence[str], options: ReadOptions) -> None:
    """Raises `OptionError` for a file of slmtok or a run of slm, which would be read as text, unless `format` is given.

    corpus: the arguments; found: the sources that they name.
    """
    if options.format != "auto":
        return
    for path in corpus:
        if is_run(path):
            raise OptionError(f"{path!r} is a run of slm, not text", where="the corpus", fix="name the text", path=path)
        is_tokenizer = all(os.path.isfile(os.path.join(path, name)) for name in _TOKENIZER_OF_HF)  # noqa: PTH113, PTH118
        if is_hugging_face_model(path) or is_tokenizer:
            fact = f"{path!r} is a {'model' if is_hugging_face_model(path) else 'tokenizer'} of Hugging Face, not text"
            raise OptionError(fact, where="the corpus", fix="name the text", path=path)
    named, checks = set(corpus), 0
    refused: list[OptionError] = []
    for path in found:
        is_named = path in named
        if not is_named and (checks >= _MAX_FOLDER_CHECKS or not path.endswith(_OWN_SUFFIXES)):
            continue
        checks += not is_named
        error = _own_file(path, named, options)
        if error is not None and error.fields["glob"] is None:
            raise error
        refused += [error] if error is not None else []
    if refused:
        globs = {str(error.fields["path"]): str(error.fields["glob"]) for error in refused}
        names = names_among(globs, [path for path in found if path not in globs])
        globs = {path: names[path] if glob == Path(path).name else glob for path, glob in globs.items()}
        if {*globs.values()} == {_NOTEBOOKS} and len(globs) == len(found):
            refused[0].fix = remedy_of(NOTEBOOK, [*globs], found)
            raise refused[0]
        # The glob of a folder covers its other files.
        folders = {path: f"{Path(path).parent.name}/*" for path in globs}
        needed = dict.fromkeys(folder if folder in globs.values() else globs[path] for path, folder in folders.items())
        refused[0].fix = _leave_out([*needed])
        raise refused[0]


def _leave_out(globs: Sequence[str]) -> tuple[str | Setting, ...]:
    """The fix that leaves out files of a corpus which are no text."""
    if len(globs) > 1:
        return Setting("exclude", tuple(globs)), " leave them out"
    return Setting("exclude", globs[0]), f" leaves {'its folder' if globs[0].endswith(('/*', '/**')) else 'it'} out"


def _own_file(path: str, named: Collection[str], options: ReadOptions) -> OptionError | None:
    """The error for a file of slmtok, a notebook, or a file of a tokenizer of Hugging Face; None for another one.

    Its field `glob` leaves the file out, where it lies in a folder of the corpus; else it is None.
    """
    kind, is_named = kind_of_file(path), path in named
    head = head_of(path, options) if kind in (file_kinds.UNKNOWN, file_kinds.TOKENIZER) else b""
    if kind == file_kinds.UNKNOWN and path.endswith(".ipynb") and head.lstrip().startswith(b"{"):
        error = _no_corpus(path, "a notebook", None if is_named else _NOTEBOOKS)
        error.limit = (Setting("format", "text"), " reads its JSON as text, outputs and images included")
        error.fix = remedy_of(NOTEBOOK, [path], []) if is_named else error.parts["fix"]
        return error
    if kind == file_kinds.UNKNOWN and (what := _of_hugging_face(path, head)):
        return _no_corpus(path, what, None if is_named else Path(path).name)
    is_ours = kind in file_kinds.NAMES and kind != file_kinds.COUNTS
    is_certain = kind in (SHARD, DIGESTS) or head.startswith(_OWN_TOKENIZER)
    if not is_ours or not (is_certain or path.endswith((".json", ".lock"))):
        return None
    is_meant = is_named or (kind in _PACKED and not _is_below(path, named))
    glob = f"{Path(path).parent.name}/*" if kind in _PACKED else Path(path).name
    if (run := run_of(path)) and _is_below(f"{run}/any", named):
        # Its tables and tensors are no text either.
        glob = f"{Path(run).name}/**"
    fix: Message = _FIXES.get(kind, "name the text")
    if kind in _PACKED and (texts := packed_texts(Path(path).parent)):
        fix = (f"{fix}: {shlex.join(texts)}", *_packed_with(Path(path).parent, options))
    return _no_corpus(path, file_kinds.NAMES[kind], None if is_meant else glob, fix)


def packed_texts(folder: Path) -> list[str]:
    """The files whose text was packed into a folder; none where its manifest names none that exist."""
    try:
        names = [str(each["name"]) for each in _plan_of(folder)["sources"]]
    except (SlmtokError, ValueError, LookupError, TypeError, RecursionError):
        return []
    is_short = len(names) <= _MAX_NAMED_TEXTS
    return names if is_short and all(os.path.isfile(name) for name in names) else []  # noqa: PTH113


def _plan_of(folder: Path) -> Any:
    """The plan in the manifest of packed data. Raises what reading raises, `ValueError`, `LookupError`, `TypeError`."""
    return json.loads(read_file(str(folder / "manifest.json"), MAX_FILE_BYTES["manifest"]))["plan"]


def _packed_with(folder: Path, options: ReadOptions) -> Iterator[str | Setting]:
    """The options with which a folder was packed, as they stand behind its text.

    Options that the call lacks, or sets itself, are left out.
    """
    with suppress(SlmtokError, ValueError, LookupError, TypeError, RecursionError):
        recorded = _plan_of(folder)["options"]
        frame = {role: False for role in ("bos", "eos") if role not in recorded["frame"]}
        recorded = {**recorded, **recorded["read"], **frame}
        before = ", with "
        for name, _, spec in option_specs(type(options)):
            value = recorded.get(spec.key or name, spec.default)
            value = tuple(value) if isinstance(value, list) else value
            # --exclude left files out that are not among the texts.
            if name != "exclude" and value != spec.default and getattr(options, name) == spec.default:
                yield before
                yield Setting(name, value)
                before = ", "


def _no_corpus(path: str, what: str, glob: str | None, fix: Message = "name the text") -> OptionError:
    """The error for a file that is no text; `glob` leaves it out of the folder in which it lies, else `fix`."""
    if glob is not None:
        fix = _leave_out([glob])
    return OptionError(
        f"{path} is {what}, not text",
        where="the corpus",
        limit=(Setting("format", "text"), " reads such a file as text"),
        fix=fix,
        option="corpus",
        path=path,
        glob=glob,
    )


def _is_below(path: str, corpus: Collection[str]) -> bool:
    """Whether the folder of a file is not named itself, but lies below one that is."""
    folders = {Path(each) for each in corpus if Path(each).is_dir()}
    return Path(path).parent not in folders and not folders.isdisjoint(Path(path).parents)


def _of_hugging_face(path: str, head: bytes) -> str | None:
    """What a file of a tokenizer of Hugging Face is; None for other files."""
    return next((what for name, begin, what in _HUGGING_FACE if path.endswith(name) and begin.match(head)), None)


class RecordsFound(NamedTuple):
    """path: of a source whose records of JSON are read as text. format: the one that reads them."""

    path: str
    format: str

    @property
    def fact(self) -> str:
        """What the source is."""
        name, what = "stdin" if self.path == STDIN else self.path, _JSON_NAMES[self.format]
        return f"{name} looks like {what}, and its JSON was read as text"


_JSON_NAMES = {"jsonl": "JSON lines", "json": "an array of JSON"}


def records_as_text(paths: Sequence[str], options: ReadOptions) -> RecordsFound | None:
    """The first source that is read as text, because its name has no format, and looks like records; else None."""
    if options.format != "auto":
        return None
    texts = (path for path in paths[:_MAX_FOLDER_CHECKS] if format_of(path, options).engine == "text")
    heads = ((path, head_of_pipe(path) or text_head_of(path, options)) for path in texts)
    found = ((path, _format_of_records(head)) for path, head in heads)
    return next((RecordsFound(path, format) for path, format in found if format), None)


def _format_of_records(head: bytes) -> str | None:
    return "jsonl" if begins_with_record(head) else "json" if _begins_with_array(head) else None


def _begins_with_array(head: bytes) -> bool:
    """Whether a text is an array of JSON with texts or records; of a longer text the beginning is looked at."""
    head = head.removeprefix(BOM_UTF8)
    if not head.lstrip().startswith(b"["):
        return False
    if len(head) >= HEAD_BYTES - len(BOM_UTF8):
        # An array on each line is not one array.
        return _FIRST_OF_ARRAY.match(head) is not None and not head.partition(b"\n")[0].rstrip().endswith(b"]")
    try:
        value = loads(head)
    except (ValueError, RecursionError):
        return False
    first = value[0] if value else None
    return isinstance(first, str) or (isinstance(first, dict) and _has_text(first))


def ids_among(paths: Sequence[str], options: ReadOptions) -> str | None:
    """The first source that is read as text and looks like lines of ids, as `slmtok encode` writes them; else None."""
    texts = (path for path in paths[:_MAX_FOLDER_CHECKS] if format_of(path, options).engine == "text")
    return next((path for path in texts if _ID_LINE.match(text_head_of(path, options))), None)


_ID_LINE = re.compile(rb"(?:[1-9][0-9]{0,5} ){16,}[0-9 \n]*\Z")
"""The beginning of a file of ids, of which 16 are on the first line."""


def begins_with_record(head: bytes) -> bool:
    """Whether the first line is a JSON object with text in it; of a longer line the first key is looked at."""
    line, end, _ = head.partition(b"\n")
    if not end and len(head) >= HEAD_BYTES:
        return _FIRST_KEY.match(line) is not None
    try:
        record = loads(line) if line.lstrip().startswith(b"{") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and _has_text(record)


def _has_text(record: dict[str, Any]) -> bool:
    """Whether a record has text in a field, or in the records of one, such as messages."""
    nested = {name: value for name, value in record.items() if isinstance(value, (dict, list))}
    return any(isinstance(value, str) for value in record.values()) or text_in(nested, "row") is not None


def refuse_counts(paths: Sequence[str]) -> None:
    """Raises `OptionError` for a counts file among the sources of a text."""
    for path in paths:
        if path.endswith(".counts") and kind_of_file(path) == file_kinds.COUNTS:
            raise OptionError(
                f"{path} is a counts file, not text",
                where="the corpus",
                fix=f"slmtok.PretokenCounts.load({path!r}), or name the text that was counted",
                option="corpus",
                path=path,
            )


def counts_below(paths: Sequence[str], named: Collection[str]) -> list[str]:
    """The counts files, by their suffix and content, among the sources of folders and globs."""
    found = [path for path in paths if path.endswith(".counts") and path not in named]
    return [path for path in found if kind_of_file(path) == file_kinds.COUNTS]


def kind_among(paths: Sequence[str], options: ReadOptions) -> KindFound | None:
    """The first kind of text other than prose among the sources that are read as text, with its sources.

    None where there is none. Of a large corpus the first files are looked at.
    """
    if options.format != "auto":
        return None
    texts = (path for path in paths[:_MAX_FOLDER_CHECKS] if format_of(path, options).engine == "text")
    kinds = ((path, kind_of(path, text_head_of(path, options, KIND_BYTES))) for path in texts)
    found = [(path, kind) for path, kind in kinds if kind is not None]
    first = found[0][1] if found else None
    return first and KindFound(first, [path for path, kind in found if kind is first])


def list_among(paths: Sequence[str], options: ReadOptions) -> str | None:
    """The first source that is read as text and that `names_of_files` takes for a list; else None."""
    if options.format != "auto":
        return None
    texts = (path for path in paths[:_MAX_FOLDER_CHECKS] if format_of(path, options).engine == "text")
    return next((path for path in texts if names_of_files(path)), None)


def names_of_files(path: str) -> list[str]:
    """The lines at the beginning of a source, if each is the name of a file or folder that exists; else none."""
    options = ReadOptions(format="text")
    if not os.path.lexists(os.fsdecode(head_of(path, options).partition(b"\n")[0].rstrip(b"\r")).replace("\0", "")):
        return []
    head = head_of(path, options, _BEGINNING_BYTES)
    lines = head.split(b"\n")[: -1 if path == STDIN or len(head) == _BEGINNING_BYTES else None]
    names = [os.fsdecode(line.rstrip(b"\r")) for line in lines if line.strip()]
    return names if len(names) > 1 and all("\0" not in name and os.path.exists(name) for name in names) else []  # noqa: PTH110


_BEGINNING_BYTES = 1 << 16
"""Of a file in which names of files or a separator are looked for."""


def is_in_texts(text: str, paths: Sequence[str], options: ReadOptions) -> bool:
    """Whether a text occurs near the beginning of a file that is read as text."""
    heads = (text_head_of(path, options, _BEGINNING_BYTES) for path in paths[:_MAX_FOLDER_CHECKS] if path != STDIN)
    return bool(text) and any(text.encode() in head for head in heads)


def is_white_space(paths: Sequence[str], options: ReadOptions) -> int:
    """The bytes of a corpus of plain files whose text is white space alone; 0 for another one, and for a large one."""
    size = 0
    for path in paths:
        head = head_of(path, options, _BEGINNING_BYTES) if is_plain(path) else b""
        size += len(head)
        if head.strip() or (path == STDIN or not head) or size >= _BEGINNING_BYTES:
            return 0
    return size


def head_of(path: str, options: ReadOptions, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of the text in a file; b"" where they are not looked at: pipes, parquet, data sets."""
    try:
        name = format_of(path, options).name
    except OptionError:
        # The name is of no format, and the file may have been read as text.
        name = "text"
    if name in ("parquet", "hugging_face"):
        return b""
    try:
        is_read = path == STDIN or stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  (a corpus may have 100,000 files)
        return open_head(path, size) if is_read else b""
    except (OSError, MissingInput, Unreadable):
        return b""


_MAX_BYTES_OF_ASCII = 4
"""Of a character of ASCII in any encoding: in UTF-32."""


def text_head_of(path: str, options: ReadOptions, size: int = HEAD_BYTES) -> bytes:
    """The same in UTF-8, whatever the encoding in which the file is read; less than `size` for a whole file alone."""
    if options.encoding == UTF_8:
        return head_of(path, options, size)
    head = head_of(path, options, size * _MAX_BYTES_OF_ASCII)
    try:
        text = codecs.getincrementaldecoder(options.encoding)("replace").decode(head)
    except (LookupError, UnicodeError):
        return head
    # Decoders of UTF-16 whose name has the order of bytes keep the mark.
    return text.removeprefix("\ufeff").encode("utf-8", "replace")[:size]


def leave_out_all(paths: Sequence[str], options: ReadOptions, globs: Sequence[str]) -> Message:
    """The fix that leaves out what `globs` match and every file that is no text, of which `paths` are the others.

    Raises as `check_texts` for compressed names.
    """
    return _leave_out_all(_other_contents(paths, options), paths, options, globs)


def _leave_out_all(
    found: Mapping[str, Content], paths: Sequence[str], options: ReadOptions, globs: Sequence[str] = ()
) -> tuple[str | Setting, ...]:
    """`leave_out_all` for the files in `found`. For a file that an option can read, the fix names the option."""
    left_out = {path: content for path, content in found.items() if _is_left_out(content)}
    others = {path: content for path, content in found.items() if path not in left_out}
    globs = [*globs, *_globs_of(left_out, paths)]
    if len(globs) > MAX_GLOBS:
        return ("move what is not text out of the corpus",)
    fix = _leave_out(list(dict.fromkeys(globs)))
    if not others:
        return fix
    rest = _not_text(others, [path for path in paths if path not in left_out], options).parts["fix"] or ""
    return (*fix, f", and for {next(iter(others))!r}: ", *((rest,) if isinstance(rest, str) else rest))


_PIPED = "pipe it through {0}: {0} | slmtok ..."


def _not_text(found: dict[str, Content], paths: Sequence[str], options: ReadOptions) -> OptionError:
    """The error for these files of a corpus. Its fix reads the first, leaves out what is no text, or reads bytes."""
    path, content = next(iter(found.items()))
    number = len(paths)
    entry = None if options.format == "auto" and not_text(path) else format_of(path, options)
    wanted = entry.name if entry is not None and entry.records else "text"
    wanted = "UTF-8" if content.encoded and content is not BINARY else wanted
    fact = f"{'stdin' if path == STDIN else repr(path)} is {content.name}, not {wanted}"
    if len(found) > 1:
        are = "UTF-8" if all(each.encoded and each is not BINARY for each in found.values()) else "text"
        fact = f"{len(found):,} of {number:,} files are not {are}: {path!r} is {content.name}"
    fix: tuple[str | Setting, ...] = ("convert it to text or .jsonl",)
    if content.read_by is not None:
        fix = _way_to_read(path, found)
    if len(found) < number and _is_left_out(content) and len(globs := _globs_of(found, paths)) <= MAX_GLOBS:
        exclude = Setting("exclude", tuple(globs) if len(globs) > 1 else globs[0])
        fix = (exclude,) if content.is_no_text else (*fix, ", or ", exclude)
    alike = [each for each, what in found.items() if what == content]
    if content.packed and Path(path).suffix.lower() not in _DOCUMENTS:
        are_few, place = len(alike) <= _MAX_UNPACKED, "its place" if len(alike) == 1 else "their places"
        # Of a folder, the files that are written are read, too.
        beside = (f" in {place}; in a folder or glob, ", *fix, " instead") if are_few else (", or ", *fix)
        more = beside if len(found) < number else key_of_table(path, options)
        fix = (unpacked(alike if are_few else [path], content.name), *more)
    if content.integers and len(found) == number and path != STDIN:
        text = free_name(f"{Path(path).stem}.txt")
        line = shlex.join(["slmtok", "decode", path, "-t", "TOK", "-o", text])
        fix = (f"if it holds ids, name the text that was encoded, or make it: {line}; if not, convert it to text",)
    if content is ARROW and path != STDIN and (command := arrow_as_parquet(path)):
        fix = (command,)
    texts = texts_of_database(path, options.text_key) if content is SQLITE and is_plain(path) else None
    if texts is not None:
        fix = (texts.remedy,)
    if isinstance(content.read_by, Setting) and content.encoded and len(alike) < number and STDIN not in alike:
        # One encoding is for all files.
        fix = to_utf_8(alike, paths, str(content.read_by.value))
    elif content is not GIT_LFS_POINTER and not str(content.read_by).startswith((NAME_THE_TEXT, _MAY_BE_A_PAGE)):
        fix = (*fix, ", or ", Setting("format", "text"), " to read its bytes as they are")
    if content.read_by == Setting("format", "parquet") and not (is_plain(path) and os.path.isfile(path)):  # noqa: PTH113
        # It is read from its end.
        fix = ("name a .parquet file, uncompressed" + "; cat > FILE.parquet saves stdin" * (path == STDIN),)
    if content.name in _DECOMPRESS and (path == STDIN or head_of_pipe(path)):
        program = _DECOMPRESS[content.name]
        fix = (_PIPED.format(program) if path == STDIN else f"name <({program} FILE) in its place",)
    if len({*map(_is_left_out, found.values())}) > 1:
        fix = _leave_out_all(found, paths, options)
    is_packed = path == STDIN and content.name in _DECOMPRESS
    is_jsonl = is_packed and begins_with_record(_decompressed_head(content.name))
    has_fields = options.text_key != ReadOptions.text_key or options.text_template is not None
    has_format: Message = ("; JSON lines in it need ", Setting("format", "jsonl")) if is_packed else ()
    return OptionError(
        fact,
        limit=texts.fact if texts else (f"UTF-8 text, or records: {', '.join(FORMAT_NAMES)}", *has_format),
        fix=fix,
        option="format" if options.encoding == UTF_8 else "encoding",
        path=path,
        content=content.name,
        files=list(found),
        records=(is_packed and options.format == "auto" and (has_fields or is_jsonl)) or None,
    )


def _decompressed_head(kind: str, path: str = STDIN, head: bytes = b"") -> bytes:
    """The first bytes of such data, or its `head`, decompressed; b"" of a kind that no library of Python reads."""
    import bz2
    import lzma
    import zlib

    kinds: dict[str, Callable[[], Any]] = {
        "gzip data": lambda: zlib.decompressobj(wbits=31),
        "xz data": lzma.LZMADecompressor,
        "bzip2 data": bz2.BZ2Decompressor,
    }
    with suppress(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        return (
            bytes(kinds[kind]().decompress(head or open_head(path, _BEGINNING_BYTES), HEAD_BYTES))
            if kind in kinds
            else b""
        )
    return b""


def _way_to_read(path: str, found: Mapping[str, Content]) -> tuple[str | Setting, ...]:
    """What to do about a file with a remedy of its own; found: all files that are not text."""
    content = found[path]
    if content is _EPUB:
        return remedy_of(EPUB, [each for each, what in found.items() if what is _EPUB], [*found])
    if (kind := _PROGRAMS.get(content.name)) and path != STDIN:
        made = remedy_of(kind, [each for each, what in found.items() if what == content], [*found])
        return (*made, f"; or {_PROSE}")
    inner = SUFFIXES_OF_DATA.get(str(content.read_by))
    if inner and path != STDIN and compression(path) != "plain":
        return (decompressed(path, inner),)
    packed = content_of(_decompressed_head(content.name, path)) if path != STDIN else None
    if packed and packed.packed:
        return (unpacked([path], packed.name),)
    return (_remedy(path, content.read_by or ""),)


def _remedy(path: str, read_by: str | Setting) -> str | Setting:
    """`read_by` of a file: Git fetches what belongs to the repository of its folder, and `mv` gives a suffix."""
    folder = os.path.dirname(path)  # noqa: PTH120  (stdin has none)
    is_elsewhere = read_by == GIT_LFS_POINTER.read_by and folder != ""
    if Path(path).is_file() and (suffix := SUFFIXES_OF_DATA.get(str(read_by))):
        bare = path if compression(path) == "plain" else path.removesuffix(Path(path).suffix)
        renamed = shlex.quote(free_name(bare + suffix))
        return f"mv {shlex.quote(path)} {renamed} # and name {renamed}"
    return f"git -C {shlex.quote(folder)} lfs pull" if is_elsewhere else read_by


_SAMPLED_DOCUMENTS = 10
"""Documents that a proposed sample keeps on average: one that keeps none has a probability of less than 1 in 10,000."""


def no_text(found: str, *, malformed: int | None = 0, sampled: int | None = 0) -> CorpusTooSmall:
    """The error for a corpus without a byte of text; `found` says what there is instead.

    malformed, sampled: records and documents that were left out, None for an unknown number.
    """
    fix: Message = "give text, or name files that hold it"
    if malformed != 0:
        number = "" if malformed is None else f"{malformed:,} "
        found += f"; {number}malformed record{'' if malformed == 1 else 's'} left out"
        fix = ("leave ", Setting("skip_malformed", True), " out to see the first")
    elif sampled == 1:
        found += "; the sample left out the only one"
        paragraphs = (Setting("separator", "\n\n"), " beside it makes a document of each paragraph of a text")
        fix = (*paragraphs, "; or leave ", Setting("sample"), " out, which chooses whole documents")
    elif sampled is None:
        found += "; the sample left out all of them"
        fix = ("a larger ", Setting("sample"), ", or leave it out")
    elif sampled:
        found += f"; the sample left out {sampled:,} documents"
        fix = ("leave ", Setting("sample"), " out")
        if sampled > 2 * _SAMPLED_DOCUMENTS:
            share = float(f"{_SAMPLED_DOCUMENTS / sampled:.2g}")
            fix = (Setting("sample", share), f", which keeps about {_SAMPLED_DOCUMENTS}; or ", *fix)
    return CorpusTooSmall(f"the corpus is empty: {found}", fix=fix)
