"""One measurement in its own process: a job as JSON in, one line of JSON out. Times are seconds."""

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
from benchmarks.definition import Job
from slmtok.bench.comparison import describe_difference, first_difference
from slmtok.bench.engine import UnsupportedError
from slmtok.bench.engines import engine
from slmtok.bench.measure import measure_batches, measure_calls, peak_memory, pin, timed
from slmtok.bench.source import Source, read_ranks


def _inputs(job: Job) -> tuple[Source, list[str]]:
    source = corpora.vocabulary(job.encoding, job.corpus, limit=job.limit, vocab=job.vocab, pattern=job.pattern)
    return source, corpora.documents(job.corpus, piece=job.piece, limit=job.limit)


def encode(job: Job) -> dict[str, Any]:
    """Load, three batch calls, and the digest of the ids of the first."""
    source, documents = _inputs(job)
    return measure_batches(engine(job.engine), source, documents, job.threads)[0]


def calls(job: Job) -> dict[str, Any]:
    """Load, and one call a document, three times over all of them."""
    source, documents = _inputs(job)
    return measure_calls(engine(job.engine), source, documents, job.output)[0]


def explain(job: Job) -> dict[str, Any]:
    """The first id of an engine that differs from tiktoken's."""
    source, documents = _inputs(job)
    got, expected = (_ids(name, source, documents, job.threads) for name in (job.engine, "tiktoken"))
    lengths = {rank: len(token) for token, rank in read_ranks(source.ranks).items()}
    difference = first_difference(got, expected, lengths, documents)
    return {"where": describe_difference(difference) if difference else "only in single calls"}


def _ids(name: str, source: Source, documents: list[str], threads: int) -> Any:
    peer = engine(name)
    peer.load(source)
    return peer.ids(peer.encode(documents, threads))


def train(job: Job) -> dict[str, Any]:
    """Training in this process; the runner adds the start-up time."""
    corpus = corpora.text_file(job.corpus, limit=job.limit)
    merges = engine(job.engine).train(corpus, job.vocab, job.pattern, job.threads)
    ended = time.monotonic()
    return {"bytes": corpus.stat().st_size, **merges_digest(merges), "peak": peak_memory(), "ended": ended}


def merges_digest(merges: list[bytes]) -> dict[str, Any]:
    """Number and digest of the merged tokens in order, each with its length as a prefix."""
    joined = b"".join(len(token).to_bytes(4, "little") + token for token in merges)
    return {"merges": len(merges), "sha256": hashlib.sha256(joined).hexdigest()}


def count(job: Job) -> dict[str, Any]:
    """Counting a file; imports are done before."""
    import slmtok

    corpus = corpora.text_file(job.corpus, limit=job.limit)
    slmtok.count(slmtok.Texts(["import"]), pattern=job.pattern, threads=job.threads)
    first, counts = timed(lambda: slmtok.count(str(corpus), pattern=job.pattern, threads=job.threads))
    return {"bytes": corpus.stat().st_size, "first": first, "peak": peak_memory(), "distinct": len(counts)}


def hostile_encode(job: Job) -> dict[str, Any]:
    """Encoding one document of a hostile text; its decoded bytes must be equal."""
    import slmtok

    text = corpora.HOSTILE[job.text](job.size)
    corpora.ranks(job.encoding)
    load, tokenizer = timed(lambda: slmtok.from_tiktoken(job.encoding))
    first, ids = timed(lambda: tokenizer.encode(text))
    if tokenizer.decode_bytes(ids) != text:
        raise ValueError("decoded bytes differ")
    return {"bytes": len(text), "tokens": len(ids), "load": load, "first": first, "peak": peak_memory()}


def hostile_train(job: Job) -> dict[str, Any]:
    """Training on one document of a hostile text."""
    import slmtok

    text = corpora.HOSTILE[job.text](job.size)
    slmtok.train(slmtok.Texts(["import"]), vocab_size=273, allow_smaller=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.txt"
        path.write_bytes(text)
        first, tokenizer = timed(
            lambda: slmtok.train(
                str(path),
                vocab_size=job.vocab,
                pattern=job.pattern,
                max_token_bytes=0,
                allow_smaller=True,
                threads=job.threads,
            )
        )
    return {"bytes": len(text), "merges": tokenizer.n_vocab - 272, "first": first, "peak": peak_memory()}


def machine(job: Job) -> dict[str, Any]:
    """SHA-256 of a block in the L1 cache: the gain of threads for work that shares neither memory nor locks."""
    from concurrent.futures import ThreadPoolExecutor

    block = bytes(1 << 14)

    def digests(number: int) -> None:
        for _ in range(number):
            # hashlib releases the GIL above 2 KiB.
            hashlib.sha256(block).digest()

    with ThreadPoolExecutor(job.threads) as pool:
        share = job.size // len(block) // job.threads
        times = [timed(lambda: list(pool.map(digests, [share] * job.threads)))[0] for _ in range(3)]
    return {"bytes": share * job.threads * len(block), "first": times[0], "third": times[2], "peak": peak_memory()}


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
    """Runs the job in the first argument."""
    job = Job(**json.loads(sys.argv[1]))
    pin(job.threads)
    try:
        result = TASKS[job.task](job)
    except (UnsupportedError, ImportError, corpora.MissingCorpusError) as reason:
        result = {"skipped": f"{type(reason).__name__}: {reason}"}
    print("\n" + json.dumps(result))


if __name__ == "__main__":
    main()
