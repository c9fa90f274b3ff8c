"""The expected ids and merges, computed by tiktoken and by the reference trainers, as number and digest.

Also the documents that a peer's newer Unicode tables split otherwise. They are left out for all engines; with them
that peer could not be measured on their corpora.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise

import yaml

from benchmarks import corpora
from benchmarks.definition import EXPECTED, Job, definitions, expected
from benchmarks.worker import merges_digest
from slmtok.bench.engines import engine
from slmtok.bench.measure import digest

HEAD = """\
# Written by `python -m benchmarks expect`: tiktoken's ids for each corpus, limit, piece and encoding;
# the merges of rustbpe (tie-break rank) and tokenizers (tie-break hf) for each corpus, limit, size and pattern.
"""
LEFT_OUT_HEAD = """\
# Written by `python -m benchmarks left-out`: numbers of the documents of each corpus that hold characters which
# Unicode 17 knows and Unicode 16 does not. gigatoken splits them otherwise, so they are left out for all engines.
"""
REFERENCES = {"rank": "rustbpe", "hf": "tokenizers"}


def write_expected(part: str) -> None:
    """Computes the keys of all definitions whose name contains `part`; other keys stay unchanged."""
    jobs = {job.expected_key: job for found in definitions() for job in found.jobs if job.expected_key}
    wanted = {job.expected_key for found in definitions(part) for job in found.jobs}
    known = {key: value for key, value in expected().items() if key in jobs}
    for key in sorted(wanted & set(jobs)):
        known[key] = _compute(jobs[key])
        print(key, known[key], file=sys.stderr)
        lines = [
            f"{key}: {{{', '.join(f'{name}: {value}' for name, value in known[key].items())}}}" for key in sorted(known)
        ]
        EXPECTED.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def _compute(job: Job) -> dict[str, object]:
    if job.task == "train":
        corpus = corpora.text_file(job.corpus, limit=job.limit)
        reference = engine(REFERENCES[str(engine(job.engine).tie_break)])
        return merges_digest(reference.train(corpus, job.vocab, job.pattern, job.threads))
    oracle = engine("tiktoken")
    oracle.load(corpora.vocabulary(job.encoding, job.corpus, limit=job.limit, vocab=job.vocab, pattern=job.pattern))
    ids = oracle.ids(oracle.encode(corpora.documents(job.corpus, piece=job.piece, limit=job.limit), 1))
    return {"tokens": len(ids), "sha256": digest(ids)}


def write_left_out() -> None:
    """Writes the numbers of the documents to leave out."""
    lines = []
    for corpus in corpora.SHARED:
        records = corpora.records(corpus)
        changed = set(_changed(set().union(*map(set, records))))
        numbers = [number for number, text in enumerate(records) if changed.intersection(text)]
        lines.append(f"{corpus}: {yaml.safe_dump(numbers, default_flow_style=True).strip()}")
        print(f"{lines[-1]} of {len(records)} documents, for {len(changed)} characters", file=sys.stderr)
    corpora.LEFT_OUT.write_text(LEFT_OUT_HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def _changed(characters: set[str]) -> Iterator[str]:
    """Characters that `regex`, which has the tables of Unicode 17, splits otherwise than our patterns."""
    import regex

    from slmtok._engine import Pattern

    ours = [Pattern(name) for name in ("gpt2", "cl100k", "o200k")]
    theirs = [regex.compile(pattern.regex.replace("}+", "}")) for pattern in ours]
    for character in characters:
        text = f"a{character}B{character} {character}1{character}"
        data = text.encode()
        for our, their in zip(ours, theirs, strict=True):
            edges = our.split(data).tolist()
            pieces = [data[start:end].decode() for start, end in pairwise(edges)]
            if pieces != their.findall(text):
                yield character
                break
