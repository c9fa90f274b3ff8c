"""`python -m benchmarks.loading TEXT... -t TOK [--rounds R]`: text loaded on the fly against `slmtok pack`.

Each text, a file or a folder in any format of `slmtok pack`, is packed and then loaded: one epoch of batches, assembled
as for `slm train` without a training step between them, the opening of the text included. Both are interleaved for R
rounds in one process. Before any time is printed, the scored bytes of the epoch must equal those of the packed data.

A time is the wall clock; `cpu` is processor time over all threads, which other work on the machine hardly changes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import slmtok


class Run(NamedTuple):
    """Scored bytes of the training split, and seconds of wall clock and of all processors."""

    nbytes: int
    wall: float
    cpu: float


def timed(work: Callable[[], int]) -> Run:
    """Runs the work, which returns bytes."""
    wall, cpu = time.perf_counter(), time.process_time()
    nbytes = work()
    return Run(nbytes, time.perf_counter() - wall, time.process_time() - cpu)


def pack(text: Path, tokenizer: slmtok.Tokenizer, out: Path) -> int:
    """`slmtok pack`."""
    from slmmodel.data import open_source
    from slmtok.shards import pack

    pack(text, tokenizer, out, force=True)
    return int(open_source(out, "train").block(0).nbytes().sum())


def load(text: Path, tokenizer: slmtok.Tokenizer, seq_len: int, batch_size: int) -> int:
    """One epoch of batches; the next one is prefetched, as in training."""
    from slmmodel.cli.text import Text
    from slmmodel.cli.text_source import Corpus, corpus_data
    from slmmodel.data import Cursor, Loader

    data = corpus_data(Corpus(Text(tokenizer), [str(text)]))
    loader = Loader(data.train, data.vocab, seq_len=seq_len, batch_size=batch_size)
    nbytes, step = 0, loader.global_batch(Cursor())
    while True:
        keys = step.sequence_keys[step.sequence_keys[:, 0] == 0]
        upcoming = loader.global_batch(step.next)
        batch = loader.batch(keys)
        loader.prefetch(upcoming.sequence_keys)
        nbytes += batch.n_bytes
        if len(keys) < batch_size or upcoming.sequence_keys[0, 0]:
            loader.close()
            return nbytes
        step = upcoming


def compare(text: Path, tokenizer: slmtok.Tokenizer, options: argparse.Namespace) -> str:
    """The medians of a text in one line. Ends the process where the bytes differ."""
    packed: list[Run] = []
    loaded: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            packed.append(timed(lambda: pack(text, tokenizer, Path(folder) / "data")))
            loaded.append(timed(lambda: load(text, tokenizer, options.seq_len, options.batch_size)))
    if len({run.nbytes for run in packed + loaded}) > 1:
        sys.exit(f"{text}: the bytes differ: {sorted({run.nbytes for run in packed + loaded})}")
    speeds = [statistics.median(run.nbytes / run.wall / 1e6 for run in runs) for runs in (packed, loaded)]
    ratios = [
        [getattr(a, name) / getattr(b, name) for a, b in zip(packed, loaded, strict=True)] for name in ("wall", "cpu")
    ]
    wall, cpu = (f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})" for each in ratios)
    return (
        f"{text.name:<20} {packed[0].nbytes / 1e6:7.1f} MB  pack {speeds[0]:6.1f} MB/s  load {speeds[1]:6.1f} MB/s  "
        f"load/pack {wall}, cpu {cpu}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints one line a text."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loading", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXT")
    parser.add_argument("-t", "--tokenizer", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=128)
    options = parser.parse_args(arguments)
    import torch  # noqa: F401  before the first time

    tokenizer = slmtok.load(options.tokenizer)
    for text in options.texts:
        print(compare(text, tokenizer, options), flush=True)


if __name__ == "__main__":
    main()
