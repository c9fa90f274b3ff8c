"""Files of what was measured of a run: `RUN/eval/NAME.json`, envelopes with the digests of weights and tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slmmodel.checkpoint import EVALUATIONS, RunFolder
from slmmodel.versions import package_version
from slmtok import atomic
from slmtok.cli.output import finite
from slmtok.envelope import Envelope


def to_envelope(kind: str, result: Mapping[str, Any]) -> Envelope:
    """The file of a result with entries `model` and `tokenizer`; its `path` stays outside."""
    inputs = {"weights": result["model"]["weights"], "tokenizer": result["tokenizer"]}
    payload = {name: value for name, value in result.items() if name != "path"}
    return Envelope(kind, inputs, finite(payload), f"slmmodel {package_version()}")


def save(run: RunFolder, kind: str, result: Mapping[str, Any], *, output: str | None, name: str | None = None) -> str:
    """Writes a result to `output`, or into the folder of the run, replacing an earlier one; gives its path."""
    target = Path(output) if output else run.path / EVALUATIONS / (name or f"{kind}.json")
    target.parent.mkdir(exist_ok=True)
    atomic.write(target, to_envelope(kind, result).to_bytes(), force=True)
    return str(target)
