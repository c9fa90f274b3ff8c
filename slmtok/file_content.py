"""What the first bytes of a file are: text, or something that must not be read as text by mistake."""

from __future__ import annotations

import codecs
import os
import re
import shlex
from typing import NamedTuple

from slmtok.errors import Setting
from slmtok.path_arguments import free_name

HEAD_BYTES = 512


class Content(NamedTuple):
    """What a file is.

    read_by: what to change to read it, None where nothing helps. encoded: it may be text. packed: it holds files.
    integers: it may hold ids.
    """

    name: str
    read_by: str | Setting | None = None
    encoded: bool = False
    packed: bool = False
    integers: bool = False

    @property
    def is_no_text(self) -> bool:
        """Whether nothing makes text of the file."""
        return self.read_by is None or str(self.read_by).startswith(NAME_THE_TEXT)


def _text_in(encoding: str) -> Content:
    return Content(f"text in {encoding.upper()}", Setting("encoding", encoding), encoded=True)


def suffixed(suffix: str) -> str:
    """The remedy for compressed data under another name."""
    return f"give its name the suffix {suffix}"


SUFFIXES_OF_DATA = {suffixed(suffix): suffix for suffix in (".gz", ".zst", ".xz")}
"""By the remedy, the suffix of compressed data that slmtok reads."""
BINARY = Content("binary data (it has zero bytes)", encoded=True)
GIT_LFS_POINTER = Content("a Git LFS pointer", "git lfs pull")
"""A few lines that stand for a file in a repository, until Git LFS fetches it."""
ARROW = Content("arrow")
SQLITE = Content("an SQLite database")
_PICKLE = Content("a pickle")
_NUMPY, _INTEGERS = Content("a numpy array"), Content("a numpy array", integers=True)
_NUMPY_OF_INTEGERS = re.compile(rb"\x93NUMPY.{2,8}\{'descr': '[<>|=][iu]", re.DOTALL)
NAME_THE_TEXT = "name the text"
"""Begins the remedy for a file of which nothing makes text."""
CHECKPOINT = Content("a checkpoint of PyTorch", NAME_THE_TEXT)
_TORCH = re.compile(rb"PK\x03\x04.{26}[^/]{1,200}/data\.pkl", re.DOTALL)
"""`torch.save` writes a zip archive whose first entry is NAME/data.pkl."""
_SAFETENSORS = re.compile(rb".{5}\0{3}\{[\" ]", re.DOTALL)
"""The length of the header in 8 bytes, and its JSON. The length may begin as a pickle does."""
_TENSORS = Content("a file of tensors (safetensors)", NAME_THE_TEXT)
SENTENCEPIECE = Content("a SentencePiece model", f"{NAME_THE_TEXT} that it was trained on")
_SENTENCEPIECE_HEAD = re.compile(rb"\n[\x02-\x7f]\n[\x01-\x7f](<unk>|<pad>|<s>)")
"""The first piece of such a model, which is a protobuf message."""
_MAGIC_NUMBERS = {
    b"\x7fELF": Content("an ELF program"),
    b"MZ\x90\0": Content("a Windows program"),
    b"\x89PNG": Content("a PNG image"),
    b"\xff\xd8\xff": Content("a JPEG image"),
    b"GIF8": Content("a GIF image"),
    b"%PDF-": Content("a PDF document"),
    b"SQLite format 3": SQLITE,
    b"PAR1": Content("parquet", Setting("format", "parquet")),
    b"ARROW1": ARROW,
    b"\x93NUMPY": _NUMPY,
    b"\x89HDF": Content("an HDF5 file"),
    **{bytes([0x80, protocol]): _PICKLE for protocol in range(2, 6)},
    b"{\\rtf": Content("an RTF document", "save it as plain text in UTF-8 from its program"),
    b"PK\x03\x04": Content("a zip archive", packed=True),
    b"PK\x05\x06": Content("a zip archive", packed=True),
    b"BZh": Content("bzip2 data", packed=True),
    b"7z\xbc\xaf": Content("a 7z archive", packed=True),
    b"Rar!\x1a\x07": Content("a rar archive", packed=True),
    b"\x04\x22\x4d\x18": Content("lz4 data", packed=True),
    b"version https://git-lfs.github.com/spec/": GIT_LFS_POINTER,
    b"\x1f\x8b": Content("gzip data", suffixed(".gz")),
    b"\x28\xb5\x2f\xfd": Content("zstd data", suffixed(".zst")),
    b"\xfd7zXZ": Content("xz data", suffixed(".xz")),
    # Longer marks first: that of UTF-16 begins that of UTF-32.
    b"\xff\xfe\0\0": _text_in("utf-32"),
    b"\0\0\xfe\xff": _text_in("utf-32"),
    b"\xff\xfe": _text_in("utf-16"),
    b"\xfe\xff": _text_in("utf-16"),
}
_TAR, _TAR_AT = Content("a tar archive", packed=True), 257
_PICKLE_0 = re.compile(rb"\([ld]p0\n|\(?V[^\n]*\np0\n|c\w+\n\w+\np0\n")
"""A pickle of protocol 0 is ASCII: a list, a dict, a text, a tuple or an object."""
_OWN_MAGIC = b"SLM"
"""Of counts, digests and shards, which commands name more exactly."""


def content_of(head: bytes) -> Content | None:
    """What a file with these first bytes is; None for text in UTF-8 or another encoding that contains ASCII."""
    if _TORCH.match(head):
        return CHECKPOINT
    if _NUMPY_OF_INTEGERS.match(head):
        return _INTEGERS
    if _SAFETENSORS.match(head):
        return _TENSORS
    if _SENTENCEPIECE_HEAD.match(head):
        return SENTENCEPIECE
    for magic, content in _MAGIC_NUMBERS.items():
        if head.startswith(magic):
            return content
    if head[_TAR_AT:].startswith(b"ustar"):
        return _TAR
    if _PICKLE_0.match(head):
        return _PICKLE
    if b"\0" not in head or head.startswith(_OWN_MAGIC):
        return None
    encoding = _utf_16_without_mark(head)
    return BINARY if encoding is None else _text_in(encoding)


_MIN_HEAD_BYTES = 4
_MIN_SCRIPT_SHARE = 0.9
"""Letters of the most frequent script in a text; read in the wrong order of bytes, letters are of many."""
_SCRIPTS = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK"}
"""Scripts that one text mixes, by the first word of the names of their characters."""
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f")
_FORMATTING = frozenset("\t\n\r\f\xa0\xad\u200b\u200c\u200d\u200e\u200f\u2028\u3000\ufeff")
"""Characters of texts that `str.isprintable` refuses."""


def _utf_16_without_mark(head: bytes) -> str | None:
    """The order of bytes in which a head with zero bytes is text in UTF-16; None for binary data."""
    bare = head.replace(b"\0", b"")
    if len(head) < _MIN_HEAD_BYTES:
        return None
    if 2 * len(bare) > len(head) + 1 and is_utf_8(bare) and _CONTROLS.isdisjoint(bare):
        # Text with some zero bytes in it.
        return None
    texts = {each: text for each in ("utf-16-le", "utf-16-be") if (text := _text_of(head, each))}
    # In the wrong order, letters of ASCII may be CJK.
    return max(texts, key=lambda each: len(texts[each].encode("ascii", "ignore")), default=None)


def _text_of(head: bytes, encoding: str) -> str | None:
    """The characters of a head that is text in an encoding, in letters of one script and ASCII; None for other data."""
    import unicodedata

    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return None
    if not all(char.isprintable() or char in _FORMATTING for char in text):
        return None
    # Words in letters of ASCII stand in texts of all scripts.
    letters = [char for char in text if char.isalpha() and not char.isascii()]
    names = [unicodedata.name(char, "").partition(" ")[0] for char in letters]
    scripts = [_SCRIPTS.get(name, name) for name in names]
    is_one = max(map(scripts.count, {*scripts}), default=0) >= _MIN_SCRIPT_SHARE * len(scripts)
    return text if is_one and any(map(str.isalpha, text)) else None


_UNPACKING = {"gzip data": "gzip", "bzip2 data": "bzip2", "xz data": "xz", "zstd data": "zstd", "lz4 data": "lz4"}
"""The program that unpacks a compressed file, by what it is."""


def text_meant(name: str, content: Content) -> str:
    """What makes the text of a file that `Tokenizer.encode_files` does not read."""
    if isinstance(content.read_by, Setting) and content.read_by.name == "encoding":
        return f"tok.encode_batch([open({name!r}, encoding={content.read_by.value!r}).read()])"
    if (program := _UNPACKING.get(content.name)) is None:
        read = f"tok.encode_batch([open({name!r}, 'rb').read()])"
        return f"{NAME_THE_TEXT}, or {read}, which takes what it reads as it is"
    stem, suffix = os.path.splitext(name)  # noqa: PTH122
    text = free_name(stem if suffix else f"{name}.txt")
    return f"{program} -dc {shlex.quote(name)} > {shlex.quote(text)} in a shell, and name {text!r}"


def is_text(head: bytes) -> bool:
    """Whether a file with these first bytes is text in UTF-8, and not one JSON object, as files of slmtok are."""
    if content_of(head) is not None or not head.strip() or b"\0" in head or head.lstrip().startswith(b"{"):
        return False
    return is_utf_8(head)


def is_utf_8(data: bytes, *, is_whole: bool = False) -> bool:
    """Whether bytes are UTF-8. Those of a head, which are not whole, may end within a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, is_whole)
    except UnicodeDecodeError:
        return False
    return True
