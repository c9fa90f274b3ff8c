"""Layout `llmc`: 256 32-bit numbers of header, then two-byte ids; each document begun by `bos`.

When to pick it: for llm.c and modded-nanogpt. Price: raw bytes are forgotten. Promises: the header holds magic
20240520, version 1 and the number of ids; a file holds at most 2^31 - 1 of them, as its 32-bit field does.
"""

from __future__ import annotations

import struct
from pathlib import Path

from slmtok.errors import CorruptFile, InvalidOption
from slmtok.shards.layouts.base import Layout, TokenFile, Writing, need_u16, raw_ids, split_in, write_blocks

MAGIC, VERSION, HEADER_BYTES = 20240520, 1, 1024


def write(writing: Writing) -> list[str]:
    """A file for each shard. Raises `InvalidOption` for what the header cannot say."""
    need_u16(writing.shards.manifest["n_vocab"], "llmc")
    names = []
    for split in writing.shards.splits:
        for number, shard in enumerate(writing.shards.shards[split]):
            if len(shard.ids) >= 1 << 31:
                raise InvalidOption(
                    f"{shard.name} has {len(shard.ids):,} ids",
                    limit=f"{(1 << 31) - 1:,} in a file of the layout llmc",
                    fix="shard_tokens=1000000000, or less",
                    option="shard_tokens",
                )
            names.append(f"{split}_{number:06d}.bin")
            with (writing.folder / names[-1]).open("wb") as file:
                file.write(struct.pack("<3i", MAGIC, VERSION, len(shard.ids)).ljust(HEADER_BYTES, b"\0"))
                write_blocks(file, iter([shard.ids]))
    return names


def read(path: Path, wide: bool) -> TokenFile:
    """The ids of one file. Raises `CorruptFile` where header and size disagree."""
    with path.open("rb") as file:
        head = file.read(12)
    magic, version, tokens = struct.unpack("<3i", head) if len(head) == 12 else (0, 0, 0)
    if (magic, version) != (MAGIC, VERSION) or path.stat().st_size != HEADER_BYTES + 2 * tokens:
        raise CorruptFile(
            f"{path} is no file of llm.c: magic {magic}, version {version}, {tokens:,} ids in the header",
            where=str(path),
            limit=f"magic {MAGIC}, version {VERSION}, and as many two-byte ids as the header says",
            fix="name a file that llm.c's own scripts, or slmtok pack --output-format llmc, wrote",
            path=str(path),
        )
    return TokenFile(raw_ids(path, wide=False, skip=HEADER_BYTES))


def split_of(name: str, head: bytes) -> str | None:
    """Known by the magic, whatever the name; `train` unless the name says `val`."""
    return (split_in(name) or "train") if head.startswith(struct.pack("<i", MAGIC)) else None


LAYOUT = Layout("llmc", "bos", "train_000000.bin, … with the header of llm.c", write, read, split_of, narrow=True)
