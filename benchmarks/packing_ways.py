"""The ways of `benchmarks.packing`: the command of each, and how the ids that it wrote are read back.

`python -m benchmarks.packing_ways WAY FOLDER OUT` is one of them at work.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BOS, EOS, CHUNK = 1, 2, 1000


@dataclass(frozen=True)
class Way:
    """One way. `same_documents`: whether its ids must be those of the others."""

    command: Callable[[Path, Path], list[str]]
    ids: Callable[[Path], Iterator[Any]]
    same_documents: bool = True


def _own(name: str) -> Callable[[Path, Path], list[str]]:
    return lambda folder, out: [sys.executable, "-m", "benchmarks.packing_ways", name, str(folder), str(out)]


def _pack_command(folder: Path, out: Path) -> list[str]:
    corpus, tok = str(folder / "docs.jsonl.zst"), str(folder / "tok.json")
    return [sys.executable, "-m", "slmtok", "pack", corpus, "-t", tok, "-o", str(out), "--val", "none", "--quiet"]


def _pack_ids(out: Path) -> Iterator[Any]:
    from slmtok.shards import open_shards

    for shard in open_shards(out).shards["train"]:
        yield shard.ids


def _documents(folder: Path) -> Iterator[str]:
    """As such scripts do it: json, a line at a time, from a packed stream."""
    import io

    import zstandard

    with (folder / "docs.jsonl.zst").open("rb") as file:
        stream = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8", newline="\n")
        for line in stream:
            yield json.loads(line)["text"]


def loop(folder: Path, out: Path) -> None:
    """A document at a time, `list.extend`, a `torch.save` of each chunk."""
    import torch
    from tokenizers import Tokenizer

    out.mkdir()
    tokenizer = Tokenizer.from_file(str(folder / "hf.json"))
    ids: list[int] = []
    chunk = 0
    for number, text in enumerate(_documents(folder), 1):
        ids.extend([BOS, *tokenizer.encode(text, add_special_tokens=False).ids, EOS])
        if number % CHUNK == 0:
            torch.save(torch.tensor(ids), out / f"{chunk:06d}.pt")
            ids, chunk = [], chunk + 1
    torch.save(torch.tensor(ids, dtype=torch.int64), out / f"{chunk:06d}.pt")


def _loop_ids(out: Path) -> Iterator[Any]:
    import torch

    for path in sorted(out.glob("*.pt")):
        yield torch.load(path, weights_only=True).numpy()


def mapped(folder: Path, out: Path) -> None:
    """`datasets.map` in batches on two processes."""
    import datasets
    from tokenizers import Tokenizer

    datasets.disable_progress_bars()
    tokenizer = Tokenizer.from_file(str(folder / "hf.json"))

    def encode(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        found = tokenizer.encode_batch_fast(batch["text"], add_special_tokens=False)
        return {"input_ids": [[BOS, *item.ids, EOS] for item in found]}

    corpus = datasets.load_dataset(
        "json", data_files=str(folder / "docs.jsonl"), split="train", cache_dir=str(out / "cache")
    )
    corpus.map(encode, batched=True, num_proc=2, remove_columns=["text"]).save_to_disk(str(out / "data"))


def _mapped_ids(out: Path) -> Iterator[Any]:
    import datasets
    import numpy as np

    for batch in datasets.load_from_disk(str(out / "data")).with_format("arrow").iter(1000):
        column = batch.column("input_ids").combine_chunks()
        yield np.asarray(column.flatten())


def encode_files(folder: Path, out: Path) -> None:
    """Our engine on plain text, a line a document."""
    import slmtok

    out.mkdir()
    tokenizer = slmtok.load(folder / "tok.json")
    tokenizer.encode_files(folder / "docs.txt", out / "ids.bin", document="line", bos=True, eos=True)


def _encode_files_ids(out: Path) -> Iterator[Any]:
    import numpy as np

    yield np.fromfile(out / "ids.bin", dtype="<u2")


WAYS: dict[str, Way] = {
    "pack": Way(_pack_command, _pack_ids),
    "encode_files": Way(_own("encode_files"), _encode_files_ids, same_documents=False),
    "loop": Way(_own("loop"), _loop_ids),
    "map": Way(_own("map"), _mapped_ids),
}

if __name__ == "__main__":
    {"loop": loop, "map": mapped, "encode_files": encode_files}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
