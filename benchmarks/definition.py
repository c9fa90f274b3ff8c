"""Definitions: what is measured, as data in `definitions/*.yaml`, and the ids that are expected.

A field that a definition gives as a list makes a definition for each value, where its name has the field in braces;
`threads`, `texts`, `sizes` and `outputs` make cells within one. Engines in `slow` take part in two rounds only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from benchmarks.corpora import known
from benchmarks.hostile import HOSTILE
from benchmarks.job import Job
from slmtok.bench.registry import ENGINES

FOLDER = Path(__file__).with_name("definitions")
EXPECTED = FOLDER / "expected.yaml"
FILES = ("encode", "calls", "own", "train", "scaling", "hostile")
TASKS = ("encode", "calls", "count", "train", "hostile-encode", "hostile-train", "machine")
MACHINE = "machine"
"""What computes in the task of this name: no engine."""
AXES = ("corpus", "encoding", "vocab", "piece", "limit")
SLOW_ROUNDS = 2


@dataclass(frozen=True)
class Definition:
    """Jobs that are compared with one another, and what they show. `slow`: engines of two rounds."""

    name: str
    jobs: tuple[Job, ...]
    analysis: str
    slow: frozenset[str] = frozenset()


def load(content: dict[str, Any]) -> Iterator[Definition]:
    """The definitions of a YAML entry. Raises ValueError for what it does not know."""
    axes = [axis for axis in AXES if isinstance(content.get(axis), list)]
    for values in product(*(content[axis] for axis in axes)):
        chosen = {**content, **dict(zip(axes, values, strict=True))}
        short = {**chosen, "encoding": str(chosen.get("encoding", "")).removesuffix("_base")}
        yield _load({**chosen, "name": content["name"].format(**short)})


def _load(content: dict[str, Any]) -> Definition:
    entry = dict(content)
    name, analysis, engines = entry.pop("name"), entry.pop("analysis"), entry.pop("engines")
    slow, threads = frozenset(entry.pop("slow", ())), _listed(entry.pop("threads"))
    texts, sizes = entry.pop("texts", [""]), entry.pop("sizes", [0])
    outputs = _listed(entry.pop("output", ""))
    allowed = {MACHINE} if entry["task"] == MACHINE else set(ENGINES)
    wrong = set(engines) - allowed or slow - set(engines) or set(texts) - {"", *HOSTILE}
    has_text = known(entry.get("corpus", "")) or texts != [""] or entry["task"] == MACHINE
    if entry["task"] not in TASKS or wrong or not has_text:
        raise ValueError(f"{name}: unknown task, engine, corpus or text")
    jobs = tuple(
        Job(definition=name, engine=engine, threads=number, text=text, size=size, output=output, **entry)
        for text, size, number, output, engine in product(texts, sizes, threads, outputs, engines)
    )
    return Definition(name, jobs, analysis, slow)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def definitions(wanted: str = "") -> list[Definition]:
    """All definitions whose name contains `wanted`, files and entries in order."""
    files = [FOLDER / f"{stem}.yaml" for stem in FILES]
    entries = [entry for file in files for entry in yaml.safe_load(file.read_text(encoding="utf-8"))]
    return [definition for entry in entries for definition in load(entry) if wanted in definition.name]


def expected() -> dict[str, dict[str, Any]]:
    """Number and sha256 of the ids of each text and encoding, and of the merges of each training."""
    if not EXPECTED.is_file():
        return {}
    return dict(yaml.safe_load(EXPECTED.read_text(encoding="utf-8")) or {})


def small(definition: Definition) -> Definition:
    """The same on a little text that slmtok makes itself: shows that all works, measures nothing."""
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
