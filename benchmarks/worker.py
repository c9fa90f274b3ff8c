"""One measurement in a process of its own: a job as JSON in, one line of JSON out. Times are seconds."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.hostile import HOSTILE
from benchmarks.job import Job
from slmtok.bench import differ, work
from slmtok.bench.base import UnsupportedError
from slmtok.bench.registry import engine
from slmtok.bench.source import Source, read_ranks


def _given(job: Job) -> tuple[Source, list[str]]:
    source = corpora.vocabulary(job.encoding, job.corpus, limit=job.limit, vocab=job.vocab, pattern=job.pattern)
    return source, corpora.documents(job.corpus, piece=job.piece, limit=job.limit)


def encode(job: Job) -> dict[str, Any]:
    """Load, three batch calls, and the digest of the ids of the first."""
    source, documents = _given(job)
    return work.encode(engine(job.engine), source, documents, job.threads)[0]


def calls(job: Job) -> dict[str, Any]:
    """Load, and one call a document, three times over all of them."""
    source, documents = _given(job)
    return work.calls(engine(job.engine), source, documents, job.output)[0]


def explain(job: Job) -> dict[str, Any]:
    """Where the ids of an engine part from tiktoken's."""
    source, documents = _given(job)
    got, right = (_ids(name, source, documents, job.threads) for name in (job.engine, "tiktoken"))
    lengths = {rank: len(token) for token, rank in read_ranks(source.ranks).items()}
    difference = differ.first_difference(got, right, lengths, documents)
    return {"where": differ.sentence(difference) if difference else "in single calls alone"}


def _ids(name: str, source: Source, documents: list[str], threads: int) -> Any:
    peer = engine(name)
    peer.load(source)
    return peer.ids(peer.encode(documents, threads))


def train(job: Job) -> dict[str, Any]:
    """Training inside this process; the runner adds the time that the process took to start."""
    corpus = corpora.text_file(job.corpus, limit=job.limit)
    merges = engine(job.engine).train(corpus, job.vocab, job.pattern, job.threads)
    ended = time.monotonic()
    return {"bytes": corpus.stat().st_size, **described(merges), "peak": work.highest(), "ended": ended}


def described(merges: list[bytes]) -> dict[str, Any]:
    """Number and digest of what merges made, in order: each with its length before it."""
    joined = b"".join(len(token).to_bytes(4, "little") + token for token in merges)
    return {"merges": len(merges), "sha256": hashlib.sha256(joined).hexdigest()}


def count(job: Job) -> dict[str, Any]:
    """Counting a file, without the import of slmtok."""
    import slmtok

    corpus = corpora.text_file(job.corpus, limit=job.limit)
    slmtok.count(slmtok.Texts(["warm"]), pattern=job.pattern, threads=job.threads)
    first, counts = work.timed(lambda: slmtok.count(str(corpus), pattern=job.pattern, threads=job.threads))
    return {"bytes": corpus.stat().st_size, "first": first, "peak": work.highest(), "distinct": len(counts)}


def hostile_encode(job: Job) -> dict[str, Any]:
    """One document of a hostile text; the bytes that come back must be those that went in."""
    import slmtok

    text = HOSTILE[job.text](job.size)
    corpora.ranks(job.encoding)
    load, tokenizer = work.timed(lambda: slmtok.from_tiktoken(job.encoding))
    first, ids = work.timed(lambda: tokenizer.encode(text))
    if tokenizer.decode_bytes(ids) != text:
        raise ValueError("decoded bytes differ")
    return {"bytes": len(text), "tokens": len(ids), "load": load, "first": first, "peak": work.highest()}


def hostile_train(job: Job) -> dict[str, Any]:
    """Training on one document of a hostile text."""
    import slmtok

    text = HOSTILE[job.text](job.size)
    slmtok.train(slmtok.Texts(["imports are done here"]), vocab=273, allow_smaller=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.txt"
        path.write_bytes(text)
        first, tokenizer = work.timed(
            lambda: slmtok.train(
                str(path),
                vocab=job.vocab,
                pattern=job.pattern,
                max_token_bytes=0,
                allow_smaller=True,
                threads=job.threads,
            )
        )
    return {"bytes": len(text), "merges": tokenizer.n_vocab - 272, "first": first, "peak": work.highest()}


def machine(job: Job) -> dict[str, Any]:
    """Digests of a block in the nearest cache: what threads are worth to work that needs nothing but cores."""
    from concurrent.futures import ThreadPoolExecutor

    block = bytes(1 << 14)

    def digests(number: int) -> None:
        for _ in range(number):
            # Without the lock of the interpreter, from two kilobytes on.
            hashlib.sha256(block).digest()

    with ThreadPoolExecutor(job.threads) as pool:
        share = job.size // len(block) // job.threads
        times = [work.timed(lambda: list(pool.map(digests, [share] * job.threads)))[0] for _ in range(3)]
    return {"bytes": share * job.threads * len(block), "first": times[0], "third": times[2], "peak": work.highest()}


TASKS: dict[str, Callable[[Job], dict[str, Any]]] = {
    "encode": encode,
    "calls": calls,
    "train": train,
    "count": count,
    "hostile-encode": hostile_encode,
    "hostile-train": hostile_train,
    "machine": machine,
    "explain": explain,
}


def main() -> None:
    """Does the job of the first argument."""
    job = Job(**json.loads(sys.argv[1]))
    work.pin(job.threads)
    try:
        result = TASKS[job.task](job)
    except (UnsupportedError, ImportError, corpora.MissingCorpusError) as reason:
        result = {"skipped": f"{type(reason).__name__}: {reason}"}
    print("\n" + json.dumps(result))


if __name__ == "__main__":
    main()
