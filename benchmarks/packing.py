"""`python -m benchmarks.packing CORPUS... [--docs N] [--rounds R]`: packing beside what people write in Python.

Four ways from the same documents to ids on disk, in turns, each in a process of its own whose whole time counts:

* `pack`: the command `slmtok pack`, as it is typed; nothing is told to it but `--val none`.
* `encode_files`: our engine on text files that are unpacked already, one a document's line; a bound for the above.
* `loop`: Hugging Face `tokenizers`, a document at a time, `list.extend`, and `torch.save` of each 1000 documents.
* `map`: `datasets.map(batched=True, num_proc=2)` with the same tokenizer, into its Arrow files.

Ids are compared first (a digest of all of them, framed); ways that differ get no time. CORPUS is what `slmtok pack`
reads. The vocabulary is trained on them unless `-t` names one. `--kill` also stops one run at four fifths with SIGKILL
and tells what the same command takes then. Ratios count, not times, on a machine that others use.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import slmtok
from benchmarks.packing_ways import WAYS
from slmtok.corpus import ReadOptions, find, read
from slmtok.formats.hf import tokenizer_json


def prepare(folder: Path, corpus: list[str], docs: int | None, tokenizer: str | None) -> dict[str, Any]:
    """The documents as jsonl.zst and as lines of JSON strings, the vocabulary in both spellings."""
    import zstandard

    options = ReadOptions(max_docs=docs)
    n_docs = n_bytes = 0
    packed = zstandard.ZstdCompressor(level=3)
    with (
        (folder / "docs.jsonl.zst").open("wb") as file,
        packed.stream_writer(file) as stream,
        (folder / "docs.jsonl").open("wb") as plain,
        (folder / "docs.txt").open("wb") as text,
    ):
        for document in read(find(corpus, options), options):
            line = json.dumps({"text": document.text.decode()}, ensure_ascii=False).encode() + b"\n"
            stream.write(line)
            plain.write(line)
            text.write(document.text.replace(b"\n", b" ") + b"\n")
            n_docs, n_bytes = n_docs + 1, n_bytes + len(document.text)
    tok = slmtok.load(tokenizer) if tokenizer else slmtok.train(str(folder / "docs.jsonl"), vocab=8192)
    tok.save(folder / "tok.json")
    (folder / "hf.json").write_text(json.dumps(tokenizer_json(tok)), encoding="utf-8")
    return {"documents": n_docs, "bytes": n_bytes, "n_vocab": tok.n_vocab}


def measure(way: str, folder: Path) -> dict[str, Any]:
    """Seconds of one process from its start to its end, and the digest of what it wrote, taken afterwards."""
    out = folder / f"out-{way}"
    shutil.rmtree(out, ignore_errors=True)
    begun = time.perf_counter()
    used = os.times()
    subprocess.run(WAYS[way].command(folder, out), check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - begun, os.times()
    cpu = after.children_user + after.children_system - used.children_user - used.children_system
    digest = hashlib.sha256()
    for ids in WAYS[way].ids(out):
        digest.update(ids.astype("<u4").tobytes())
    shutil.rmtree(out, ignore_errors=True)
    return {"seconds": seconds, "cpu": cpu, "digest": digest.hexdigest()}


def killed(folder: Path, whole: float) -> float:
    """Seconds that the same command takes after it was killed at four fifths of `whole` seconds."""
    out = folder / "out-killed"
    shutil.rmtree(out, ignore_errors=True)
    command = WAYS["pack"].command(folder, out)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(0.8 * whole)
    process.kill()
    process.wait()
    begun = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing", description=__doc__.split("\n\n")[0])
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--docs", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("-t", "--tokenizer")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        about = prepare(folder, given.corpus, given.docs, given.tokenizer)
        print(json.dumps(about))
        runs: dict[str, list[dict[str, Any]]] = {way: [] for way in given.ways}
        for _ in range(given.rounds):
            for way in given.ways:
                runs[way].append(measure(way, folder))
                print(way, json.dumps(runs[way][-1]), flush=True)
        report(about, runs)
        if given.kill:
            whole = statistics.median(run["seconds"] for run in runs["pack"])
            again = killed(folder, whole)
            print(f"killed at 80 %: {again:.2f} s of {whole:.2f} s, {again / whole:.0%}")


def report(about: dict[str, Any], runs: dict[str, list[dict[str, Any]]]) -> None:
    """A line a way: median seconds, documents and megabytes a second, and how many times slower than pack."""
    wanted = {run["digest"] for run in runs.get("pack", []) + runs.get("loop", [])}
    if len(wanted) > 1:
        sys.exit("ids differ: no times")
    own = statistics.median(run["seconds"] for run in runs["pack"]) if "pack" in runs else None
    for way, found in runs.items():
        digests = {run["digest"] for run in found}
        if WAYS[way].same_documents and not digests <= wanted:
            print(f"{way:<13} ids differ, no time")
            continue
        seconds = statistics.median(run["seconds"] for run in found)
        cpu = statistics.median(run["cpu"] for run in found)
        times = f"{seconds / own:7.2f} x pack" if own else ""
        print(
            f"{way:<13} {seconds:8.2f} s {cpu:8.2f} s cpu {about['documents'] / seconds:12,.0f} documents/s "
            f"{about['bytes'] / seconds / 1e6:8.1f} MB/s {times}"
        )


if __name__ == "__main__":
    main()
