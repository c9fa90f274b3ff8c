"""One measurement in a process of its own: a job as JSON in, one line of JSON out.

Times are seconds. `load` is getting ready, `first` the first call, `third` the third, when caches are warm. Peak memory
is what the process reached, less what it had when the text was in memory and nothing had begun.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.definition import Job
from benchmarks.engines import engine
from benchmarks.engines.base import UnsupportedError


def _peak() -> int:
    """Bytes of memory at the highest point so far (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    value = call()
    return time.perf_counter() - begun, value


def encode(job: Job) -> dict[str, Any]:
    """Load, three calls, and the digest of the ids of the first."""
    documents = corpora.documents(job.corpus, piece=job.piece, limit=job.limit)
    size = sum(len(document.encode()) for document in documents)
    ranks = corpora.ranks(job.encoding)
    peer = engine(job.engine)
    before = _peak()
    load, _ = _timed(lambda: peer.load(job.encoding, ranks))
    first, encoded = _timed(lambda: peer.encode(documents, job.threads))
    peak = _peak() - before
    ids = peer.ids(encoded)
    digest = hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest()
    del encoded
    _timed(lambda: peer.encode(documents, job.threads))
    third, _ = _timed(lambda: peer.encode(documents, job.threads))
    return {
        "bytes": size,
        "tokens": len(ids),
        "sha256": digest,
        "form": peer.form,
        "load": load,
        "first": first,
        "third": third,
        "peak": peak,
    }


def train(job: Job) -> dict[str, Any]:
    """Training inside this process; the runner adds the time that the process took to start."""
    corpus = corpora.text_file(job.corpus, limit=job.limit)
    merges = engine(job.engine).train(corpus, job.vocab, job.pattern, job.threads)
    ended = time.monotonic()
    return {"bytes": corpus.stat().st_size, **described(merges), "peak": _peak(), "ended": ended}


def described(merges: list[bytes]) -> dict[str, Any]:
    """Number and digest of what merges made, in order: each with its length before it."""
    joined = b"".join(len(token).to_bytes(4, "little") + token for token in merges)
    return {"merges": len(merges), "sha256": hashlib.sha256(joined).hexdigest()}


def count(job: Job) -> dict[str, Any]:
    """Counting a file, without the import of slmtok."""
    import slmtok

    corpus = corpora.text_file(job.corpus, limit=job.limit)
    slmtok.count(slmtok.Texts(["warm"]), pattern=job.pattern, threads=job.threads)
    first, counts = _timed(lambda: slmtok.count(str(corpus), pattern=job.pattern, threads=job.threads))
    return {"bytes": corpus.stat().st_size, "first": first, "peak": _peak(), "distinct": len(counts)}


def hostile_encode(job: Job) -> dict[str, Any]:
    """One document of a hostile text; the bytes that come back must be those that went in."""
    import slmtok

    text = corpora.HOSTILE[job.text](job.size)
    corpora.ranks(job.encoding)
    load, tokenizer = _timed(lambda: slmtok.from_tiktoken(job.encoding))
    first, ids = _timed(lambda: tokenizer.encode(text))
    if tokenizer.decode_bytes(ids) != text:
        raise ValueError("decoded bytes differ")
    return {"bytes": len(text), "tokens": len(ids), "load": load, "first": first, "peak": _peak()}


def hostile_train(job: Job) -> dict[str, Any]:
    """Training on one document of a hostile text."""
    import slmtok

    text = corpora.HOSTILE[job.text](job.size)
    slmtok.train(slmtok.Texts(["imports are done here"]), vocab=273, allow_smaller=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.txt"
        path.write_bytes(text)
        first, tokenizer = _timed(
            lambda: slmtok.train(
                str(path),
                vocab=job.vocab,
                pattern=job.pattern,
                max_token_bytes=0,
                allow_smaller=True,
                threads=job.threads,
            )
        )
    return {"bytes": len(text), "merges": tokenizer.n_vocab - 272, "first": first, "peak": _peak()}


TASKS: dict[str, Callable[[Job], dict[str, Any]]] = {
    "encode": encode,
    "train": train,
    "count": count,
    "hostile-encode": hostile_encode,
    "hostile-train": hostile_train,
}


def main() -> None:
    """Does the job of the first argument."""
    job = Job(**json.loads(sys.argv[1]))
    if job.threads == 1 and hasattr(os, "sched_setaffinity"):
        # Pinned, so that an engine with threads of its own has one core all the same.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    try:
        result = TASKS[job.task](job)
    except (UnsupportedError, ImportError, corpora.MissingCorpusError) as reason:
        result = {"skipped": f"{type(reason).__name__}: {reason}"}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
