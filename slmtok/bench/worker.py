"""The process behind `slmtok bench`: `python -m slmtok.bench.worker JOB` measures one engine and prints one line.

The job names the engine, the vocabulary, the file of documents, the threads, and where to leave the ids (or nowhere).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from slmtok.bench import texts, work
from slmtok.bench.base import UnsupportedError
from slmtok.bench.registry import engine
from slmtok.bench.source import Source


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """The numbers, or `skipped` with the reason."""
    import numpy as np

    work.pin(job["threads"])
    documents = texts.load(Path(job["documents"]))
    try:
        numbers, ids = work.encode(engine(job["engine"]), Source(**job["source"]), documents, job["threads"])
    except (UnsupportedError, ImportError) as reason:
        return {"skipped": str(reason)}
    if job["ids"]:
        np.save(job["ids"], ids)
    return numbers


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(measure(json.loads(sys.argv[1]))) + "\n")
