"""Definitions: what is measured, as data in `definitions/*.yaml`, and the expected ids.

A list in one of the fields of `AXES` makes a definition for each value, whose name contains the field in braces;
`threads`, `texts`, `sizes` and `output` make cells within one. Engines in `slow` run in two rounds only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.corpora import HOSTILE, is_corpus
from slmtok.bench.engines import ENGINES, engine

FOLDER = Path(__file__).with_name("definitions")
EXPECTED = FOLDER / "expected.yaml"
FAMILIES = ("encode", "calls", "own", "train", "scaling", "hostile")
TASKS = ("encode", "calls", "count", "train", "hostile-encode", "hostile-train", "machine")
MACHINE = "machine"
"""The pseudo-engine of the task of this name, which measures the machine."""
AXES = ("corpus", "encoding", "vocab", "piece", "limit")
SLOW_ROUNDS = 2


@dataclass(frozen=True, kw_only=True)
class Job:
    """One measurement of one engine in one process. `limit` is in characters, `size` in bytes."""

    definition: str
    task: str
    engine: str
    threads: int
    corpus: str = ""
    limit: int = 0
    piece: int = 0
    encoding: str = ""
    pattern: str = ""
    vocab: int = 0
    text: str = ""
    size: int = 0
    output: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The fields, for another process."""
        return asdict(self)

    @property
    def expected_key(self) -> str:
        """The key of its ids or merges in `expected.yaml`; empty if no reference defines them."""
        if self.task == "train":
            tie_break = engine(self.engine).tie_break
            return f"{self.corpus} {self.limit} {self.vocab} {self.pattern} {tie_break}" if tie_break else ""
        if self.task not in ("encode", "calls"):
            return ""
        vocabulary = f"own-{self.vocab}-{self.pattern}" if self.encoding == "own" else self.encoding
        return f"{self.corpus} {self.limit} {self.piece} {vocabulary}"


@dataclass(frozen=True)
class Definition:
    """Jobs that are compared with one another. `family`: its file; `slow`: engines of two rounds."""

    name: str
    jobs: tuple[Job, ...]
    analysis: str
    slow: frozenset[str] = frozenset()
    family: str = "encode"


def load(content: dict[str, Any], family: str = "encode") -> Iterator[Definition]:
    """The definitions of a YAML entry. Raises ValueError for an unknown name."""
    axes = [axis for axis in AXES if isinstance(content.get(axis), list)]
    for values in product(*(content[axis] for axis in axes)):
        chosen = {**content, **dict(zip(axes, values, strict=True))}
        short = {**chosen, "encoding": str(chosen.get("encoding", "")).removesuffix("_base")}
        yield _load({**chosen, "name": content["name"].format(**short)}, family)


def _load(content: dict[str, Any], family: str) -> Definition:
    entry = dict(content)
    name, analysis, engines = entry.pop("name"), entry.pop("analysis"), entry.pop("engines")
    slow, threads = frozenset(entry.pop("slow", ())), _as_list(entry.pop("threads"))
    texts, sizes = entry.pop("texts", [""]), entry.pop("sizes", [0])
    outputs = _as_list(entry.pop("output", ""))
    allowed = {MACHINE} if entry["task"] == MACHINE else set(ENGINES)
    unknown = set(engines) - allowed or slow - set(engines) or set(texts) - {"", *HOSTILE}
    has_text = is_corpus(entry.get("corpus", "")) or texts != [""] or entry["task"] == MACHINE
    if entry["task"] not in TASKS or unknown or not has_text:
        raise ValueError(f"{name}: unknown task, engine, corpus or text")
    jobs = tuple(
        Job(definition=name, engine=engine, threads=number, text=text, size=size, output=output, **entry)
        for text, size, number, output, engine in product(texts, sizes, threads, outputs, engines)
    )
    return Definition(name, jobs, analysis, slow, family)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def definitions(part: str = "") -> list[Definition]:
    """All definitions whose name contains `part`, in the order of the files and their entries."""
    import yaml

    entries = [
        (entry, family)
        for family in FAMILIES
        for entry in yaml.safe_load((FOLDER / f"{family}.yaml").read_text(encoding="utf-8"))
    ]
    return [found for entry, family in entries for found in load(entry, family) if part in found.name]


def expected() -> dict[str, dict[str, Any]]:
    """Number and sha256 of the ids of each text and encoding, and of the merges of each training."""
    import yaml

    return dict(yaml.safe_load(EXPECTED.read_text(encoding="utf-8")) or {}) if EXPECTED.is_file() else {}


def small(definition: Definition) -> Definition:
    """The same on a little text that slmtok generates: shows that everything runs, measures nothing."""
    jobs = tuple(
        replace(
            job,
            corpus=job.corpus and ("stories" if job.corpus not in HOSTILE else job.corpus),
            limit=20_000 if job.task == "calls" else 100_000,
            vocab=min(job.vocab, 1000),
            size=job.size // 1000,
        )
        for job in definition.jobs
    )
    return replace(definition, jobs=jobs)
