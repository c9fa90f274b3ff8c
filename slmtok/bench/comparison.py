"""slmtok beside peers on somebody's own text: fresh processes, taking turns, and no times where ids differ.

What is right is what slmtok gives: the vocabulary is the user's, and peers get it as ranks. Numbers are medians over
the rounds; a round runs every engine once.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from slmtok.bench import process, texts
from slmtok.bench.differ import first_difference
from slmtok.bench.registry import ENGINES, installed
from slmtok.bench.source import prepare
from slmtok.errors import InternalError, InvalidOption, MissingExtra, unknown_name

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.bench.source import Source
    from slmtok.tokenizer import Tokenizer

OWN = "slmtok"
LIMIT = 1800.0
"""Seconds that one measurement may take."""

Row = dict[str, Any]


@dataclass
class Comparison:
    """`rows`: one an engine, slmtok first, empty where ids differ; `differences`: engine to where its ids part."""

    rows: list[Row] = field(default_factory=list)
    differences: dict[str, Row] = field(default_factory=dict)
    tokens: int = 0
    sha256: str = ""


def check_peers(names: Sequence[str]) -> None:
    """Raises `UnknownName` for a peer without an adapter, `MissingExtra` with pip's line for one not installed."""
    known = [name for name, entry in ENGINES.items() if entry.encodes and name != OWN]
    for name in names:
        if name not in known:
            raise unknown_name("peer", name, known)
    absent = [name for name in names if installed(name) is None]
    if absent:
        line = " ".join(ENGINES[name].requirement(name) for name in absent)
        raise MissingExtra(
            f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed",
            where="--against",
            fix=f"pip install {line}",
            peers=absent,
        )


def compare(
    tokenizer: Tokenizer,
    documents: Sequence[str],
    peers: Sequence[str],
    *,
    name: str = "own",
    rounds: int = 5,
    threads: int = 1,
    progress: Progress | None = None,
) -> Comparison:
    """Measures slmtok and `peers`, which `check_peers` has found in order.

    name: of a public encoding whose ranks the tokenizer has, else "own".

    Raises `InvalidOption` for a peer that cannot have this vocabulary, `InternalError` for one that fails.
    """
    with tempfile.TemporaryDirectory(prefix="slmtok-bench-") as place:
        folder = Path(place)
        texts.save(folder / "documents", documents)
        source = prepare(tokenizer, folder, name=name)
        measured = _Rounds(folder, source, [OWN, *peers], threads, rounds, progress)
        first = measured.round(keep_ids=True)
        differences = _differences(folder, first, tokenizer, source, documents)
        found = Comparison(differences=differences, tokens=first[OWN]["tokens"], sha256=first[OWN]["sha256"])
        if not differences:
            every = [first, *(measured.round() for _ in range(rounds - 1))]
            _steady(every)
            found.rows = [summary(engine, [results[engine] for results in every]) for engine in first]
            for row in found.rows:
                row["ratio_first"] = row["first"] / found.rows[0]["first"]
                row["ratio_third"] = row["third"] / found.rows[0]["third"]
        return found


@dataclass
class _Rounds:
    folder: Path
    source: Source
    engines: Sequence[str]
    threads: int
    rounds: int
    progress: Progress | None
    done: int = 0

    def round(self, *, keep_ids: bool = False) -> dict[str, Row]:
        """One measurement of each engine."""
        return {engine: self._measure(engine, keep_ids) for engine in self.engines}

    def _measure(self, engine: str, keep_ids: bool) -> Row:
        job = {
            "engine": engine,
            "source": self.source.to_dict(),
            "documents": str(self.folder / "documents"),
            "threads": self.threads,
            "ids": str(_ids(self.folder, engine)) if keep_ids else "",
        }
        result = process.run("slmtok.bench.worker", job, threads=self.threads, limit=LIMIT)
        self.done += 1
        if self.progress is not None:
            self.progress("measure", self.done, self.rounds * len(self.engines))
        if "skipped" in result:
            raise InvalidOption(
                f"{engine} {result['skipped']}",
                where="--against",
                fix=f"leave {engine} out of --against, or give another tokenizer with -t",
                option="against",
                peer=engine,
            )
        if "failed" in result:
            raise InternalError(
                f"{engine} failed: {result['failed']}",
                where=f"a process that loads {engine} and encodes the text three times",
                fix=f"leave {engine} out of --against",
                peer=engine,
            )
        return result


def _steady(rounds: Sequence[dict[str, Row]]) -> None:
    """Raises `InternalError` for an engine whose ids are not the same in every round."""
    for number, results in enumerate(rounds, 1):
        for engine, result in results.items():
            if result["sha256"] != rounds[0][engine]["sha256"]:
                raise InternalError(
                    f"{engine} gave other ids in round {number} than in round 1",
                    where="processes that encode the same text",
                    fix=f"leave {engine} out of --against" if engine != OWN else "report it with the text",
                    peer=engine,
                )


def _ids(folder: Path, engine: str) -> Path:
    return folder / f"{engine}.ids.npy"


def _differences(
    folder: Path, first: dict[str, Row], tokenizer: Tokenizer, source: Source, documents: Sequence[str]
) -> dict[str, Row]:
    import numpy as np

    right = np.load(_ids(folder, OWN))
    lengths = {id - source.shift: len(token) for id, token in tokenizer.vocabulary.items()}
    found: dict[str, Row] = {}
    for engine, result in first.items():
        if result["sha256"] != first[OWN]["sha256"]:
            difference = first_difference(np.load(_ids(folder, engine)), right, lengths, documents)
            found[engine] = {**(difference or {}), "tokens": result["tokens"]}
    return found


def summary(engine: str, rounds: Sequence[Row]) -> Row:
    """One engine's rounds as one row; seconds, bytes, 10^6 bytes a second."""
    row: Row = {"engine": engine, "version": installed(engine), "gives": rounds[0]["form"]}
    for key in ("load", "first", "third"):
        row[key] = median(result[key] for result in rounds)
    row["spread"] = (max(result["first"] for result in rounds) - min(result["first"] for result in rounds)) / row[
        "first"
    ]
    row["mb_per_s_first"] = rounds[0]["bytes"] / row["first"] / 1e6
    row["mb_per_s_third"] = rounds[0]["bytes"] / row["third"] / 1e6
    row["peak"] = int(median(result["peak"] for result in rounds))
    return row


def machine() -> dict[str, Any]:
    """Processor, cores that this process may use, Python."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"processor": processor(), "cores": cores, "python": platform.python_version()}


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
