"""`Arm`: one tokenizer of an ablation, with its data. All arms hold the same documents."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slmmodel.data import RunData
from slmmodel.data.packing import Ints, count_inputs
from slmmodel.data.source import TokenSource, blocks_of
from slmmodel.errors import Mismatch, MissingInput


@dataclass(frozen=True)
class Part:
    """The documents of a split under one tokenizer."""

    source: TokenSource
    nbytes: Ints = field(init=False)
    """int64 [D]: raw bytes of each document"""
    inputs: Ints = field(init=False)
    """int64 [D]: pairs of id and next id of each document"""

    def __post_init__(self) -> None:
        blocks = list(blocks_of(self.source))
        object.__setattr__(self, "nbytes", np.concatenate([block.nbytes() for block in blocks]))
        object.__setattr__(self, "inputs", count_inputs(np.concatenate([block.lengths() for block in blocks])))

    @property
    def bytes_per_token(self) -> float:
        """Raw bytes of the documents for each input."""
        return float(self.nbytes.sum()) / max(1, int(self.inputs.sum()))

    def about(self) -> dict[str, Any]:
        """Digest, number and bytes of the documents: the same for every tokenizer."""
        return {
            "digest": self.source.documents_digest,
            "documents": len(self.nbytes),
            "bytes": int(self.nbytes.sum()),
        }


@dataclass(frozen=True)
class Arm:
    """One tokenizer of an ablation."""

    name: str
    data: RunData
    path: str
    """of the packed training data"""
    val_path: str
    """`auto`, or the path of packed validation data"""
    train: Part = field(init=False)
    val: Part = field(init=False)

    def __post_init__(self) -> None:
        """Raises `MissingInput` without validation documents."""
        if self.data.val is None:
            raise MissingInput(
                f"arm {self.name!r} has no validation documents",
                where=self.path,
                fix="pack with a split (slmtok pack --val 5%), or name validation data: --val DATA for each arm",
                path=self.path,
            )
        object.__setattr__(self, "train", Part(self.data.train))
        object.__setattr__(self, "val", Part(self.data.val))


def _fix_of_documents(a: Arm, b: Arm) -> str:
    """What compares two arms of different documents: one text for both tokenizers, or a run on each of two corpora."""
    if a.data.vocab.fingerprint == b.data.vocab.fingerprint:
        runs = [f"slm train {shlex.quote(arm.path)} -o {name}" for arm, name in ((a, "A"), (b, "B"))]
        scored = [f"slm eval {name} --on TEXT --losses {name}.losses" for name in "AB"]
        commands = " && ".join([*runs, *scored, "slm compare A.losses B.losses"])
        return f"both have one tokenizer; to compare corpora: {commands}"
    flags = f" {a.data.train.pack_flags}" if a.data.train.pack_flags else ""
    # An ablation has no choice of specials around a document.
    taken = "" if "bos" in flags or "eos" in flags else flags
    packed = f"slmtok pack TEXT -t A -t B{flags} -o 'NEW/{{name}}'"
    return (
        f"give both the same text: {packed}; or text in the place of the arms: slm ablate -t A -t B --text TEXT{taken}"
    )


def check_same_documents(arms: Sequence[Arm]) -> None:
    """Raises `Mismatch` unless all arms hold the same documents in the same order."""
    first = arms[0]
    for arm in arms[1:]:
        for split in ("train", "val"):
            ours, theirs = getattr(first, split), getattr(arm, split)
            digests = (ours.source.documents_digest, theirs.source.documents_digest)
            differ = np.flatnonzero(ours.nbytes != theirs.nbytes) if len(ours.nbytes) == len(theirs.nbytes) else None
            if digests[0] == digests[1] and differ is not None and not differ.size:
                continue
            sizes = " and ".join(f"{len(part.nbytes):,} of {int(part.nbytes.sum()):,} bytes" for part in (ours, theirs))
            where = f"{split} documents: {sizes}"
            if differ is not None and differ.size:
                doc = int(differ[0])
                where += f"; document {doc:,} has {int(ours.nbytes[doc]):,} and {int(theirs.nbytes[doc]):,} bytes"
            raise Mismatch(
                f"arms {first.name!r} and {arm.name!r} hold different documents",
                where=where,
                limit="an ablation compares tokenizers on the same documents",
                fix=_fix_of_documents(first, arm),
                split=split,
            )
