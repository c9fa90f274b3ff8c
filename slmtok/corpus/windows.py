"""Windows of compressed files: the text before a position that a decoder keeps, of each file that is read at once."""

from __future__ import annotations

import shlex

from slmtok.corpus.formats import format_of
from slmtok.corpus.streams import compression
from slmtok.corpus.unpacking import DECOMPRESS
from slmtok.errors import Unreadable
from slmtok.options import ReadOptions

MAX_WINDOW_BYTES = 1 << 27
"""The limit of the engine's decoders; `xz -9` writes half of it."""
_MAX_ZSTD_LONG_BYTES = 1 << 31
"""The largest window that `zstd --long` writes."""
_MAX_XZ_BYTES = (1 << 32) - 1
"""The largest dictionary of xz."""
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_XZ_MAGIC = b"\xfd7zXZ\0"
_XZ_HEADER_BYTES = 12
_LZMA2 = 0x21


def check_window(path: str, head: bytes) -> None:
    """Raises `Unreadable` for a compressed file whose first frame needs a dictionary of its own, or a window above the
    limit of the engine.
    """
    name = format_of(path, ReadOptions()).name
    format_option = "" if name == "text" else f" --format {name}"
    if compression(path) == "zst" and (dictionary := _dictionary_id(head)):
        raise Unreadable(
            f"{path!r} needs the dictionary with which it was compressed, number {dictionary}",
            where=path,
            fix=f"name - and pipe it in: zstd -dc -D DICTIONARY {shlex.quote(path)} | slmtok ... -{format_option}",
            path=path,
        )
    window, largest = _window_of(path, head), _MAX_XZ_BYTES if compression(path) == "xz" else _MAX_ZSTD_LONG_BYTES
    if window > largest:
        raise Unreadable(
            f"{path!r} needs a window of {window >> 20:,} MiB to decompress",
            where=path,
            limit=f"{largest >> 20:,} MiB, the largest window that zstd --long writes",
            fix="fetch the file again: its header is damaged",
            path=path,
        )
    if window <= MAX_WINDOW_BYTES:
        return
    decompress, needs, usual = DECOMPRESS[compression(path)], "dictionary", "is read; xz -9 writes 64 MiB"
    if compression(path) == "zst":
        needs, usual = "window", "zstd writes without --long"
        decompress += f" --long={(window - 1).bit_length()}"
    raise Unreadable(
        f"{path!r} needs a {needs} of {window >> 20:,} MiB to decompress",
        where=path,
        limit=f"{MAX_WINDOW_BYTES >> 20} MiB, the largest {needs} that {usual}",
        fix=f"name - and pipe it in: {decompress} {shlex.quote(path)} | slmtok ... -{format_option}",
        path=path,
    )


def _window_of(path: str, head: bytes) -> int:
    """The first window of a compressed file in bytes; 0 where its head does not say it."""
    kind = compression(path)
    if kind == "zst" and head.startswith(_ZSTD_MAGIC):
        return _zstd_window(head)
    return _xz_dictionary(head) if kind == "xz" and head.startswith(_XZ_MAGIC) else 0


def _zstd_window(head: bytes) -> int:
    """The window of the first frame of zstd data in bytes (RFC 8878, 3.1.1.1); 0 for a header that is not complete."""
    descriptor, *rest = head[len(_ZSTD_MAGIC) :] or b"\0"
    if not rest:
        return 0
    if not descriptor & 0x20:
        base = 1 << (10 + (rest[0] >> 3))
        return base + base // 8 * (rest[0] & 7)
    # A single segment: its window is its content, whose size follows the id of the dictionary.
    begin = (0, 1, 2, 4)[descriptor & 3]
    return int.from_bytes(bytes(rest[begin : begin + (1, 2, 4, 8)[descriptor >> 6]]), "little")


def _dictionary_id(head: bytes) -> int:
    """The number of the dictionary of the first frame of zstd data; 0 for none."""
    if not head.startswith(_ZSTD_MAGIC) or len(head) <= len(_ZSTD_MAGIC):
        return 0
    descriptor = head[len(_ZSTD_MAGIC)]
    # The byte of the window is left out in a single segment.
    begin = len(_ZSTD_MAGIC) + (1 if descriptor & 0x20 else 2)
    return int.from_bytes(head[begin : begin + (0, 1, 2, 4)[descriptor & 3]], "little")


def _xz_dictionary(head: bytes) -> int:
    """The dictionary of the first block of xz data in bytes (xz-file-format 1.2.1, 3.1 and 5.3.1); 0 for no block.

    Its filter LZMA2 is the last one; those before it, and the two sizes, have few bytes.
    """
    block = head[_XZ_HEADER_BYTES:]
    if len(block) < 2 or not block[0]:
        return 0
    at = block.find(bytes([_LZMA2, 1]), 2, (block[0] + 1) * 4)
    if at < 0 or at + 2 >= len(block) or (bits := block[at + 2]) > 40:
        return 0
    return _MAX_XZ_BYTES if bits == 40 else (2 | bits & 1) << (bits // 2 + 11)
