"""Rank files as dicts. An address is looked up in tiktoken's cache folder, never on the network."""

from __future__ import annotations

import hashlib
import os
from binascii import a2b_base64
from pathlib import Path

from slmtok.errors import CorruptFile, MissingInput

__all__ = ["dump_tiktoken_bpe", "load_tiktoken_bpe"]


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Token to rank. Raises `InvalidRanks` with the line, `CorruptFile` for another sha256, `MissingInput`."""
    from slmtok.files import read_limited

    path = _local(tiktoken_bpe_file)
    data = read_limited(path, "rank table")
    digest = hashlib.sha256(data).hexdigest()
    if expected_hash is not None and digest != expected_hash:
        raise CorruptFile(
            f"{str(path)!r} is not the file that was expected",
            where=f"its sha256 is {digest}, expected {expected_hash}",
            fix="delete it and fetch it again",
            path=str(path),
        )
    return _parse(data, str(path))


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Writes a rank file in the order of ranks, over an old one if there is one, as tiktoken does."""
    from slmtok import atomic
    from slmtok.formats.tiktoken import write_ranks

    atomic.write(tiktoken_bpe_file, write_ranks(bpe_ranks), force=True)


def _local(file: str | os.PathLike[str]) -> Path:
    """The file on this machine, for an address the copy in tiktoken's cache. Raises `MissingInput`."""
    from slmtok.formats.tiktoken import cache_folder

    if "://" not in str(file):
        return Path(file)
    folder = cache_folder()
    cached = folder / hashlib.sha1(str(file).encode(), usedforsecurity=False).hexdigest() if folder else None
    if cached is None or not cached.is_file():
        raise MissingInput(
            f"{str(file)!r} is not on this machine, and nothing is fetched from the network",
            where=f"no {cached}" if cached else "TIKTOKEN_CACHE_DIR is empty: no cache is used",
            fix="fetch it once and name the local file, or set TIKTOKEN_CACHE_DIR",
            path=str(file),
        )
    return cached


def _parse(data: bytes, source: str) -> dict[bytes, int]:
    from slmtok.formats.tiktoken import rank_error

    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[a2b_base64(token)] = int(rank)
        except ValueError:
            raise rank_error(line, "is no token and rank", source, number) from None
    return ranks
