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
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slmtok import file_kinds
from slmtok.corpus.formats import FORMAT_NAMES, UNPACK, format_of
from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import UTF_8, compression, open_head, stdin
from slmtok.errors import CorpusTooSmall, Message, MissingInput, OptionError, Setting, Unreadable
from slmtok.file_kinds import DIGESTS, LAYOUT, MANIFEST, SHARD, is_hugging_face_model, is_run, kind_of_file
from slmtok.options import ReadOptions

HEAD_BYTES = 512
UNUSUAL = {"carriage return": b"\r", "byte order mark": BOM_UTF8, "zero byte": b"\0"}
"""Characters that are rarely meant to be learned: reports say how many a corpus has."""


class Content(NamedTuple):
    """What a file is.

    read_by: what to change to read it, None where nothing helps. encoded: it may be text. packed: it holds files.
    """

    name: str
    read_by: str | Setting | None = None
    encoded: bool = False
    packed: bool = False


def _text_in(encoding: str) -> Content:
    return Content(f"text in {encoding.upper()}", Setting("encoding", encoding), encoded=True)


def _suffixed(suffix: str) -> str:
    return f"give its name the suffix {suffix}"


_BINARY = Content("binary data (it has zero bytes)", encoded=True)
_PICKLE = Content("a pickle")
_CHECKPOINT = Content("a checkpoint of PyTorch", "name the text")
_TORCH = re.compile(rb"PK\x03\x04.{26}[^/]{1,200}/data\.pkl", re.DOTALL)
"""`torch.save` writes a zip archive whose first entry is NAME/data.pkl."""
_MAGIC_NUMBERS = {
    b"\x7fELF": Content("an ELF program"),
    b"MZ\x90\0": Content("a Windows program"),
    b"\x89PNG": Content("a PNG image"),
    b"\xff\xd8\xff": Content("a JPEG image"),
    b"GIF8": Content("a GIF image"),
    b"%PDF-": Content("a PDF document"),
    b"SQLite format 3": Content("an SQLite database"),
    b"PAR1": Content("parquet", Setting("format", "parquet")),
    b"ARROW1": Content("arrow"),
    b"\x93NUMPY": Content("a numpy array"),
    b"\x89HDF": Content("an HDF5 file"),
    **{bytes([0x80, protocol]): _PICKLE for protocol in range(2, 6)},
    b"{\\rtf": Content("an RTF document"),
    b"PK\x03\x04": Content("a zip archive", packed=True),
    b"PK\x05\x06": Content("a zip archive", packed=True),
    b"BZh": Content("bzip2 data", packed=True),
    b"7z\xbc\xaf": Content("a 7z archive", packed=True),
    b"Rar!\x1a\x07": Content("a rar archive", packed=True),
    b"\x1f\x8b": Content("gzip data", _suffixed(".gz")),
    b"\x28\xb5\x2f\xfd": Content("zstd data", _suffixed(".zst")),
    b"\xfd7zXZ": Content("xz data", _suffixed(".xz")),
    # Longer marks first: that of UTF-16 begins that of UTF-32.
    b"\xff\xfe\0\0": _text_in("utf-32"),
    b"\0\0\xfe\xff": _text_in("utf-32"),
    b"\xff\xfe": _text_in("utf-16"),
    b"\xfe\xff": _text_in("utf-16"),
}
_DECOMPRESS = {
    "gzip data": "gzip -dc",
    "zstd data": "zstd -dc",
    "xz data": "xz -dc",
    "bzip2 data": "bzip2 -dc",
}
"""The program that decompresses such data of stdin, where no name says what they are."""
_TAR, _TAR_AT = Content("a tar archive", packed=True), 257
_PICKLE_0 = re.compile(rb"\([ld]p0\n|\(?V[^\n]*\np0\n|c\w+\n\w+\np0\n")
"""A pickle of protocol 0 is ASCII: a list, a dict, a text, a tuple or an object."""
_DOCUMENTS = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".epub")
"""Suffixes of documents that are zip archives of XML."""
_OWN_SUFFIXES = (".json", ".lock", ".bin", ".digests", "merges.txt")
_MAX_FOLDER_CHECKS = 256
"""Files of a folder that are opened to refuse those of slmtok."""
_FIXES: dict[str, str] = {
    file_kinds.TOKENIZER: "name the text; slmtok slice and slmtok extend make other sizes of one",
    file_kinds.LOCK: "slmtok reproduce trains it again",
    DIGESTS: "name the counts or the text; slmtok audit --leak reads digests",
    **dict.fromkeys((SHARD, MANIFEST, LAYOUT), "name the text that was packed"),
}
"""What the user of a file that is no text probably wanted; `name the text` of other kinds."""
_PACKED = (SHARD, MANIFEST, LAYOUT)
"""Files of a folder in which nothing is text, so that leaving one out does not help."""
_HUGGING_FACE = (
    ("", re.compile(rb'\s*\{\s*"version"\s*:\s*"1\.0"\s*,\s*"truncation"'), "a tokenizer of Hugging Face"),
    ("vocab.json", re.compile(rb'\s*\{(\s*"([^"\\]|\\.)+"\s*:\s*\d+\s*[,}]){3}'), "a vocabulary of Hugging Face"),
    ("merges.txt", re.compile(rb"#version: ?0"), "the merges of a tokenizer of Hugging Face"),
)
"""Files of tokenizers of Hugging Face: the end of the name, the beginning of the content, what each is."""
_OWN_TOKENIZER = b'{"format":"slmtok-tokenizer",'
_FIRST_KEY = re.compile(rb'\s*\{\s*"[^"\\]{1,100}"\s*:')
_OWN_MAGIC = b"SLM"
"""Of counts, digests and shards, which commands name more exactly."""


def content_of(head: bytes) -> Content | None:
    """What a file with these first bytes is; None for text in UTF-8 or another encoding that contains ASCII."""
    if _TORCH.match(head):
        return _CHECKPOINT
    for magic, content in _MAGIC_NUMBERS.items():
        if head.startswith(magic):
            return content
    if head[_TAR_AT:].startswith(b"ustar"):
        return _TAR
    if _PICKLE_0.match(head):
        return _PICKLE
    if b"\0" not in head or head.startswith(_OWN_MAGIC):
        return None
    # ASCII in UTF-16 without a byte order mark: every other byte is 0.
    for parity, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) >= 4 and not any(head[parity::2]) and all(head[1 - parity :: 2]):
            return _text_in(encoding)
    return _BINARY


def check_texts(paths: Sequence[str], options: ReadOptions) -> None:
    """Raises `OptionError` for files that are not text. Files that cannot be read are left to their reader.

    Raises `Unreadable` for a file whose name alone says that it is compressed.
    """
    for path in paths:
        if compression(path) != "plain":
            _check_compressed(path)
    if options.format in ("text", "lines") and options.encoding == UTF_8:
        return
    zeros_are_text = options.encoding != UTF_8 or "\0" in (options.separator or "")
    found: dict[str, Content] = {}
    for path in paths:
        content = content_of(_head(path, options))
        if content is not None and not (content.encoded and zeros_are_text):
            found[path] = content
    if found:
        raise _not_text(found, len(paths), options)


def _check_compressed(path: str) -> None:
    """Raises `Unreadable` for text, or another kind of file, under a name for compressed data."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            head = file.read(HEAD_BYTES) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return
    content, suffix = content_of(head), Path(path).suffix
    if not head or (content is not None and (content.encoded or content.read_by == _suffixed(suffix.lower()))):
        return
    if content is None and not _is_utf_8(head):
        return
    bare = path.removesuffix(suffix)
    raise Unreadable(
        f"{path!r} is {content.name if content else 'text'}, and its name ends in {suffix}, which is compressed data",
        where=path,
        fix=content.read_by
        if content and isinstance(content.read_by, str)
        else f"mv {shlex.quote(path)} {shlex.quote(bare)}",
        path=path,
    )


def _is_utf_8(head: bytes) -> bool:
    """Whether the beginning of a file is UTF-8; its last character may be incomplete."""
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def refuse_own_files(corpus: Sequence[str], found: Sequence[str], options: ReadOptions) -> None:
    """Raises `OptionError` for a file of slmtok or a run of slm, which would be read as text, unless `format` is given.

    corpus: the arguments; found: the sources that they name.
    """
    if options.format != "auto":
        return
    for path in corpus:
        if is_run(path):
            raise OptionError(f"{path!r} is a run of slm, not text", where="the corpus", fix="name the text", path=path)
        if is_hugging_face_model(path):
            fact = f"{path!r} is a model of Hugging Face, not text"
            raise OptionError(fact, where="the corpus", fix="name the text", path=path)
    named, checks = set(corpus), 0
    for path in found:
        is_named = path in named
        if not is_named and (checks >= _MAX_FOLDER_CHECKS or not path.endswith(_OWN_SUFFIXES)):
            continue
        checks += not is_named
        kind = kind_of_file(path)
        head = _head(path, options) if kind in (file_kinds.UNKNOWN, file_kinds.TOKENIZER) else b""
        if kind == file_kinds.UNKNOWN and (what := _of_hugging_face(path, head)):
            raise OptionError(
                f"{path} is {what}, not text",
                where="the corpus",
                limit=(Setting("format", "text"), " reads such a file as text"),
                fix="name the text" if is_named else (Setting("exclude", Path(path).name), " leaves it out"),
                option="corpus",
                path=path,
            )
        is_ours = kind in file_kinds.NAMES and kind != file_kinds.COUNTS
        is_certain = kind in (SHARD, DIGESTS) or head.startswith(_OWN_TOKENIZER)
        if not is_ours or not (is_certain or path.endswith((".json", ".lock"))):
            continue
        raise OptionError(
            f"{path} is {file_kinds.NAMES[kind]}, not text",
            where="the corpus",
            limit=(Setting("format", "text"), " reads such a file as text"),
            fix=_FIXES.get(kind, "name the text")
            if is_named or kind in _PACKED
            else (Setting("exclude", Path(path).name), " leaves it out"),
            option="corpus",
            path=path,
        )


def _of_hugging_face(path: str, head: bytes) -> str | None:
    """What a file of a tokenizer of Hugging Face is; None for other files."""
    return next((what for name, begin, what in _HUGGING_FACE if path.endswith(name) and begin.match(head)), None)


def json_lines_among(paths: Sequence[str], options: ReadOptions) -> str | None:
    """The first source that is read as text, because its name has no format, and looks like JSON lines; else None."""
    if options.format != "auto":
        return None
    texts = (path for path in paths[:_MAX_FOLDER_CHECKS] if format_of(path, options).engine == "text")
    return next((path for path in texts if _begins_with_record(_head(path, options))), None)


def _begins_with_record(head: bytes) -> bool:
    """Whether the first line is a JSON object with text in it; of a longer line the first key is looked at."""
    line, end, _ = head.partition(b"\n")
    if not end and len(head) >= HEAD_BYTES:
        return _FIRST_KEY.match(line) is not None
    try:
        record = json.loads(line) if line.lstrip().startswith(b"{") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and any(isinstance(value, str) for value in record.values())


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


def _head(path: str, options: ReadOptions) -> bytes:
    """The first bytes of the text in a file; b"" where they are not looked at: pipes, parquet, data sets."""
    if format_of(path, options).name in ("parquet", "hugging_face"):
        return b""
    try:
        if path == STDIN:
            stream = stdin()
            return bytes(stream.peek(HEAD_BYTES)[:HEAD_BYTES]) if hasattr(stream, "peek") else b""
        is_file = stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  (a corpus may have 100,000 files)
        return open_head(path, HEAD_BYTES) if is_file else b""
    except (OSError, MissingInput, Unreadable):
        return b""


def _not_text(found: dict[str, Content], number: int, options: ReadOptions) -> OptionError:
    """The error for these files, of `number` in all. Its fix reads the first, leaves all out, or reads their bytes."""
    path, content = next(iter(found.items()))
    wanted = "UTF-8" if content.encoded and content is not _BINARY else "text"
    fact = f"{'stdin' if path == STDIN else repr(path)} is {content.name}, not {wanted}"
    if len(found) > 1:
        fact = f"{len(found):,} of {number:,} files are not text: {path!r} is {content.name}"
    fix: tuple[str | Setting, ...] = ("convert it to text or .jsonl",)
    if content.read_by is not None:
        fix = (content.read_by,)
    elif len(found) < number:
        globs = dict.fromkeys("*" + Path(name).suffix if Path(name).suffix else Path(name).name for name in found)
        fix = tuple(part for glob in globs for part in (" ", Setting("exclude", glob)))[1:]
    if content.packed and Path(path).suffix.lower() not in _DOCUMENTS:
        fix = (UNPACK, *((", or ", *fix) if len(found) < number else ()))
    fix = (*fix, ", or ", Setting("format", "text"), " to read its bytes as they are")
    if path == STDIN and content.name in _DECOMPRESS:
        fix = (f"{_DECOMPRESS[content.name]} FILE | slmtok ...",)
    return OptionError(
        fact,
        limit=f"UTF-8 text, or records: {', '.join(FORMAT_NAMES)}",
        fix=fix,
        option="format" if options.encoding == UTF_8 else "encoding",
        path=path,
        content=content.name,
        files=list(found),
    )


def no_text(found: str, *, malformed: int | None = 0, is_sampled: bool = False) -> CorpusTooSmall:
    """The error for a corpus without a byte of text; `found` says what there is instead.

    malformed: records that were left out, None for an unknown number. is_sampled: whether a sample left documents out.
    """
    fix: Message = "give text, or name files that hold it"
    if malformed != 0:
        number = "" if malformed is None else f"{malformed:,} "
        found += f"; {number}malformed record{'' if malformed == 1 else 's'} left out"
        fix = ("leave ", Setting("skip_malformed", True), " out to see the first")
    elif is_sampled:
        found += "; the sample left out all of them"
        fix = ("a larger ", Setting("sample"), ", or leave it out")
    return CorpusTooSmall(f"the corpus is empty: {found}", fix=fix)
