"""Definitions: what is measured, as data in `definitions/*.yaml`, and the ids that are expected."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks.corpora import HOSTILE
from benchmarks.engines import ENGINES, engine

FOLDER = Path(__file__).with_name("definitions")
EXPECTED = FOLDER / "expected.yaml"
TASKS = ("encode", "count", "train", "hostile-encode", "hostile-train")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One measurement of one engine in one process."""

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

    def to_dict(self) -> dict[str, Any]:
        """For the process that does it."""
        return asdict(self)

    @property
    def expected_key(self) -> str:
        """Under which its ids, or its merges, are known."""
        if self.task == "train":
            return f"{self.corpus} {self.limit} {self.vocab} {self.pattern} {engine(self.engine).ties}"
        return f"{self.corpus} {self.limit} {self.piece} {self.encoding}"


@dataclass(frozen=True)
class Definition:
    """A row of a table: jobs that are compared with one another, and what they show."""

    name: str
    jobs: tuple[Job, ...]
    analysis: str


def load(content: dict[str, Any]) -> Definition:
    """A definition from its YAML. Raises ValueError for what it does not know."""
    entry = dict(content)
    name, analysis, engines = entry.pop("name"), entry.pop("analysis"), entry.pop("engines")
    threads = entry.pop("threads")
    texts, sizes = entry.pop("texts", [""]), entry.pop("sizes", [0])
    if entry["task"] not in TASKS or set(engines) - set(ENGINES) or set(texts) - {"", *HOSTILE}:
        raise ValueError(f"{name}: unknown task, engine or text")
    jobs = [
        Job(definition=name, engine=engine, threads=number, text=text, size=size, **entry)
        for text in texts
        for size in sizes
        for engine in engines
        for number in (threads if isinstance(threads, list) else [threads])
    ]
    return Definition(name, tuple(jobs), analysis)


def definitions(wanted: str = "") -> list[Definition]:
    """All definitions whose name contains `wanted`, files and entries in order."""
    files = [FOLDER / f"{stem}.yaml" for stem in ("encode", "train", "scaling", "hostile")]
    entries = [entry for file in files for entry in yaml.safe_load(file.read_text(encoding="utf-8"))]
    return [definition for definition in map(load, entries) if wanted in definition.name]


def expected() -> dict[str, dict[str, Any]]:
    """Number and sha256 of the ids of each text and encoding, and of the merges of each training."""
    if not EXPECTED.is_file():
        return {}
    return dict(yaml.safe_load(EXPECTED.read_text(encoding="utf-8")) or {})


def small(definition: Definition) -> Definition:
    """The same on a little text that slmtok makes itself: shows that all works, measures nothing."""
    jobs = [
        replace(job, corpus=job.corpus and "stories", limit=100_000, vocab=min(job.vocab, 1000), size=job.size // 1000)
        for job in definition.jobs
    ]
    return Definition(definition.name, tuple(jobs), definition.analysis)
