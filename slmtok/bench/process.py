"""A measurement in a fresh process: a job as JSON in, one line of JSON out.

A job that fails, or takes longer than it may, gives a result with the key `failed` and the reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def run(
    module: str, job: Mapping[str, Any], *, threads: int, limit: float, folder: Path | None = None
) -> dict[str, Any]:
    """Runs `python -m module` with a job. Rayon is told the number of threads, since few engines can be."""
    line = [sys.executable, "-m", module, json.dumps(dict(job))]
    done = start(line, limit=limit, folder=folder, environment=_environment(threads))
    if isinstance(done, str):
        return {"failed": done}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def start(
    line: Sequence[str], *, limit: float, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str] | str:
    """A command to its end, or the reason why it came to none."""
    try:
        done = subprocess.run(
            line, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return f"too slow: more than {limit:g} s"
    if done.returncode:
        return _told(done.stderr) or f"status {done.returncode} without a message"
    return done


def _told(stderr: str) -> str:
    """The line that says what went wrong: the last one, but for what some libraries write below it, indented."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if not line[0].isspace() and not line.endswith(":")]
    return (telling or lines or [""])[-1]


def _environment(threads: int) -> dict[str, str]:
    rayon = {"RAYON_NUM_THREADS": str(threads)} if threads else {}
    return {**os.environ, **rayon, "TOKENIZERS_PARALLELISM": "false" if threads == 1 else "true"}
