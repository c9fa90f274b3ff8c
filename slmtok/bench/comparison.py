"""slmtok against peers on the user's own text: fresh processes, interleaved rounds, no times if ids differ.

The reference is slmtok: the vocabulary is the user's, and peers load it as ranks. Numbers are medians over the rounds;
a round runs every engine once.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from slmtok import atomic
from slmtok.bench import measure
from slmtok.bench.engines import ENGINES, installed_version
from slmtok.bench.source import save_documents, write_source
from slmtok.errors import (
    CorpusTooSmall,
    InternalError,
    MissingExtra,
    OptionError,
    Setting,
    UnknownName,
    Unreadable,
    begun_name,
    suggestion,
)
from slmtok.files import opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Progress
    from slmtok.bench.source import Source
    from slmtok.tokenizer import Tokenizer

REFERENCE = "slmtok"
_HUGGING_FACE = ("hf", "huggingface", "hugging-face", "hugging_face", "transformers")
"""What users call the package `tokenizers`."""
TIMEOUT_SECONDS = 1800.0
"""Limit of one measurement."""
SHOWN_IDS = 5
"""Ids in the description of a difference."""

Row = dict[str, Any]


@dataclass
class Comparison:
    """`rows`: one an engine, slmtok first, empty if ids differ; `differences`: engine -> first differing id."""

    rows: list[Row] = field(default_factory=list)
    differences: dict[str, Row] = field(default_factory=dict)
    tokens: int = 0
    sha256: str = ""


def peer_names() -> list[str]:
    """The packages that have an adapter."""
    return [name for name, entry in ENGINES.items() if entry.encodes and name != REFERENCE]


def check_peers(names: Sequence[str]) -> None:
    """Raises `UnknownName` for a peer without an adapter, `MissingExtra` with pip's line for one not installed."""
    known = peer_names()
    if any(name not in known for name in names):
        raise _unknown_peers(names, known)
    absent = [name for name in names if installed_version(name) is None]
    if absent:
        line = " ".join(f"{name}=={ENGINES[name].version}" for name in absent)
        raise MissingExtra(
            f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed",
            where="--against",
            fix=f"pip install {line}",
            peers=absent,
        )


def _unknown_peers(names: Sequence[str], known: Sequence[str]) -> UnknownName:
    """The error for all names without an adapter; its fix keeps the others."""
    unknown = [name for name in names if name not in known]
    meant = {name: _meant_peer(name, known) for name in unknown}
    measured = ",".join(dict.fromkeys(filter(None, (meant.get(name, name) for name in names))))
    notes = ["tokenizers is the package of Hugging Face"] if any(map(_is_hugging_face, unknown)) else []
    if absent := [name for name in unknown if not meant[name]]:
        notes.append(f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not measured")
    if REFERENCE in names:
        notes = [f"{REFERENCE} is always measured"]
    return UnknownName(
        f"unknown peer{'s' * (len(unknown) > 1)} {', '.join(map(repr, unknown))}",
        limit=f"known: {', '.join(sorted(known))}",
        fix=(
            (Setting("against", measured), *(f"; {note}" for note in notes))
            if measured
            else f"leave --against out: {notes[0]}"
            if REFERENCE in names
            else "use one of them"
        ),
        name=unknown[0],
    )


def meant_peers(names: Sequence[str], known: Sequence[str]) -> str | None:
    """The names, as `--against` takes them, with those that are meant; None where one stands for none."""
    found = [name if name in known else _meant_peer(name, known) for name in names]
    return ",".join(dict.fromkeys(filter(None, found))) if all(found) else None


def _meant_peer(name: str, known: Sequence[str]) -> str | None:
    return "tokenizers" if _is_hugging_face(name) else suggestion(name, known) or begun_name(name, known)


def _is_hugging_face(name: str) -> bool:
    return name.lower() in _HUGGING_FACE


def work_folder() -> AbstractContextManager[Path]:
    """A new folder for documents, ranks and ids. Removes the folders of killed processes of this user."""
    return atomic.temporary_folder(Path(tempfile.gettempdir()) / "slmtok-bench")


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
    """Measures slmtok and `peers`, which `check_peers` has validated.

    name: the public encoding whose ranks the tokenizer has, else "own".

    Raises `OptionError` for a peer that cannot load this vocabulary, `InternalError` for one that fails.
    """
    with work_folder() as folder:
        save_documents(folder / "documents", documents)
        source = write_source(tokenizer, folder, name=name)
        runner = _Runner(folder, source, [REFERENCE, *peers], threads, rounds, progress)
        first = runner.round(save_ids=True)
        own = first[REFERENCE]
        differences = _differences(folder, first, tokenizer, source, documents)
        if differences:
            return Comparison(differences=differences, tokens=own["tokens"], sha256=own["sha256"])
        results = [first, *(runner.round() for _ in range(rounds - 1))]
        _check_deterministic(results)
        rows = [summary(engine, [result[engine] for result in results]) for engine in first]
        for row in rows:
            row["ratio_first"] = row["first"] / rows[0]["first"]
            row["ratio_third"] = row["third"] / rows[0]["third"]
        return Comparison(rows, tokens=own["tokens"], sha256=own["sha256"])


@dataclass
class _Runner:
    folder: Path
    source: Source
    engines: Sequence[str]
    threads: int
    rounds: int
    progress: Progress | None
    done: int = 0

    def round(self, *, save_ids: bool = False) -> dict[str, Row]:
        """One measurement of each engine."""
        return {engine: self._measure(engine, save_ids) for engine in self.engines}

    def _measure(self, engine: str, save_ids: bool) -> Row:
        job = {
            "engine": engine,
            "source": self.source.to_dict(),
            "documents": str(self.folder / "documents"),
            "threads": self.threads,
            "ids": str(self.folder / f"{engine}.ids.npy") if save_ids else "",
        }
        result = measure.run_job("slmtok.bench.measure", job, threads=self.threads, timeout=TIMEOUT_SECONDS)
        self.done += 1
        if self.progress is not None:
            self.progress("measure", self.done, self.rounds * len(self.engines))
        if "skipped" in result:
            raise OptionError(
                f"{engine} {result['skipped']}",
                where="--against",
                fix=f"leave {engine} out of --against, or give another tokenizer with -t",
                option="against",
                peer=engine,
            )
        if "failed" in result:
            raise InternalError(
                f"{engine} failed: {result['failed']}",
                where=f"the process that loads {engine} and encodes the text three times",
                fix=f"leave {engine} out of --against",
                peer=engine,
            )
        return result


def _check_deterministic(rounds: Sequence[dict[str, Row]]) -> None:
    """Raises `InternalError` for an engine whose ids differ between rounds."""
    for number, results in enumerate(rounds, 1):
        for engine, result in results.items():
            if result["sha256"] != rounds[0][engine]["sha256"]:
                raise InternalError(
                    f"{engine} gave other ids in round {number} than in round 1",
                    where="processes that encode the same text",
                    fix=f"leave {engine} out of --against" if engine != REFERENCE else "report it with the text",
                    peer=engine,
                )


def _differences(
    folder: Path, first: dict[str, Row], tokenizer: Tokenizer, source: Source, documents: Sequence[str]
) -> dict[str, Row]:
    import numpy as np

    def ids_of(engine: str) -> NDArray[np.uint32]:
        path = folder / f"{engine}.ids.npy"
        try:
            with opened(path) as file:
                found: NDArray[np.uint32] = np.load(file)
        except (ValueError, EOFError):
            raise Unreadable(
                f"the temporary file {str(path)!r} is not as it was written",
                where=str(folder),
                fix="run the same command again, with another TMPDIR if it fails again",
                path=str(path),
            ) from None
        return found

    expected = ids_of(REFERENCE)
    lengths = {id - source.shift: len(token) for id, token in tokenizer.vocabulary.items()}
    found: dict[str, Row] = {}
    for engine, result in first.items():
        if result["sha256"] != first[REFERENCE]["sha256"]:
            difference = first_difference(ids_of(engine), expected, lengths, documents)
            found[engine] = {**(difference or {}), "tokens": result["tokens"]}
    return found


def first_difference(
    ids: NDArray[np.uint32], expected: NDArray[np.uint32], lengths: Mapping[int, int], documents: Sequence[str]
) -> Row | None:
    """The first differing id with its document and byte; None if both are equal. `lengths`: bytes of each id.

    Both sequences spell the same bytes before they differ, so the number of bytes identifies the document.
    """
    import numpy as np

    shared = min(len(ids), len(expected))
    if len(ids) == len(expected) and bool((ids == expected).all()):
        return None
    unequal = np.nonzero(ids[:shared] != expected[:shared])[0]
    index = int(unequal[0]) if len(unequal) else shared
    byte = sum(lengths[id] for id in expected[:index].tolist())
    number = 0
    while number < len(documents) - 1 and byte >= len(documents[number].encode()):
        byte -= len(documents[number].encode())
        number += 1
    return {
        "id": index,
        "document": number,
        "byte": byte,
        "got": ids[index : index + SHOWN_IDS].tolist(),
        "expected": expected[index : index + SHOWN_IDS].tolist(),
    }


def describe_difference(difference: Mapping[str, Any]) -> str:
    """A difference as a sentence; documents count from 0."""
    got, expected = (" ".join(map(str, difference[key])) for key in ("got", "expected"))
    return f"from byte {difference['byte']} of document {difference['document']} on: {got} where {expected} is right"


def summary(engine: str, rounds: Sequence[Row]) -> Row:
    """The medians of one engine; seconds, bytes, 10^6 bytes a second."""
    row: Row = {"engine": engine, "version": installed_version(engine), "gives": rounds[0]["form"]}
    for key in ("load", "first", "third"):
        row[key] = median(result[key] for result in rounds)
        if row[key] <= 0 and key != "load":
            raise CorpusTooSmall(
                f"{engine} encoded the text in less time than a step of the clock, and so has no speed",
                where=f"the median of the {key} call in {len(rounds)} rounds",
                fix="measure a larger text; where its time is 0 as well, the clock of this machine stands still",
            )
    first = [result["first"] for result in rounds]
    row["spread"] = (max(first) - min(first)) / row["first"]
    row["mb_per_s_first"] = rounds[0]["bytes"] / row["first"] / 1e6
    row["mb_per_s_third"] = rounds[0]["bytes"] / row["third"] / 1e6
    row["peak"] = int(median(result["peak"] for result in rounds))
    return row


def machine() -> dict[str, Any]:
    """The processor, the cores that this process may use, the version of Python."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"processor": processor(), "cores": cores, "python": platform.python_version()}


def processor() -> str:
    """The name of the processor, or of its architecture if the system has no other."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
