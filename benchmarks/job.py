"""One measurement: what a process of its own is told to do. Imports little, for that would be measured too."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from slmtok.bench.registry import engine


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
        """For the process that does it."""
        return asdict(self)

    @property
    def expected_key(self) -> str:
        """Under which its ids, or its merges, are known; empty where they are the engine's own affair."""
        if self.task == "train":
            ties = engine(self.engine).ties
            return f"{self.corpus} {self.limit} {self.vocab} {self.pattern} {ties}" if ties else ""
        if self.task not in ("encode", "calls"):
            return ""
        what = f"own-{self.vocab}-{self.pattern}" if self.encoding == "own" else self.encoding
        return f"{self.corpus} {self.limit} {self.piece} {what}"
