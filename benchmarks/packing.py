"""`python -m benchmarks.packing CORPUS... [--docs N] [--rounds R] [--kill 0.8]`: `slmtok pack` against Python loops.

Four methods turn the same documents into ids on disk, interleaved, each in a process of its own, start-up included:

* `pack`: the command `slmtok pack --val none`.
* `encode_files`: our engine on decompressed text, one document a line; a lower bound for `pack`.
* `loop`: Hugging Face `tokenizers`, one document a call, `list.extend`, and `torch.save` of every 1,000 documents.
* `map`: `datasets.map(batched=True, num_proc=2)` with the same tokenizer, into Arrow files.

A digest of all ids is compared first; if ids differ there are no times. `-t` names the tokenizer; by default it is
trained on the documents. `--kill SHARE` also kills `pack` (SIGKILL) at that share of its time and runs the command
again. It checks that the folder is equal byte by byte and that finished shards were not rewritten, and prints the time
of the second call relative to the whole: at most 40 % after a kill at 80 %. On a shared machine only ratios are valid.
"""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import io
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BOS, EOS, DOCUMENTS_PER_FILE = 1, 2, 1000


@dataclass(frozen=True)
class Method:
    """`ids` reads what `run` wrote into a folder; without `run` it is the command `pack`.

    `same_documents`: its ids must equal those of `pack`.
    """

    ids: Callable[[Path], Iterator[Any]]
    run: Callable[[Path, Path], None] | None = None
    same_documents: bool = True


def command(method: str, folder: Path, out: Path) -> list[str]:
    """The command of a method, from the texts in `folder` to ids in `out`."""
    if METHODS[method].run is not None:
        return [sys.executable, "-m", "benchmarks.packing", "--run", method, str(folder), str(out)]
    corpus, tok = str(folder / "docs.jsonl.zst"), str(folder / "tok.json")
    return [sys.executable, "-m", "slmtok", "pack", corpus, "-t", tok, "-o", str(out), "--val", "none", "--quiet"]


def _pack_ids(out: Path) -> Iterator[Any]:
    from slmtok.shards import open_shards

    for shard in open_shards(out).shards["train"]:
        yield shard.ids


def run_loop(folder: Path, out: Path) -> None:
    """The method `loop`."""
    import torch
    import zstandard
    from tokenizers import Tokenizer

    out.mkdir()
    tokenizer = Tokenizer.from_file(str(folder / "hf.json"))
    ids: list[int] = []
    files = 0
    with (folder / "docs.jsonl.zst").open("rb") as file:
        lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8", newline="\n")
        for number, line in enumerate(lines, 1):
            ids.extend([BOS, *tokenizer.encode(json.loads(line)["text"], add_special_tokens=False).ids, EOS])
            if number % DOCUMENTS_PER_FILE == 0:
                torch.save(torch.tensor(ids), out / f"{files:06d}.pt")
                ids, files = [], files + 1
    torch.save(torch.tensor(ids, dtype=torch.int64), out / f"{files:06d}.pt")


def _loop_ids(out: Path) -> Iterator[Any]:
    import torch

    for path in sorted(out.glob("*.pt")):
        yield torch.load(path, weights_only=True).numpy()


def run_map(folder: Path, out: Path) -> None:
    """The method `map`."""
    import datasets
    from tokenizers import Tokenizer

    datasets.disable_progress_bars()
    tokenizer = Tokenizer.from_file(str(folder / "hf.json"))

    def encode(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        encoded = tokenizer.encode_batch_fast(batch["text"], add_special_tokens=False)
        return {"input_ids": [[BOS, *item.ids, EOS] for item in encoded]}

    corpus = datasets.load_dataset(
        "json", data_files=str(folder / "docs.jsonl"), split="train", cache_dir=str(out / "cache")
    )
    corpus.map(encode, batched=True, num_proc=2, remove_columns=["text"]).save_to_disk(str(out / "data"))


def _map_ids(out: Path) -> Iterator[Any]:
    import datasets
    import numpy as np

    for batch in datasets.load_from_disk(str(out / "data")).with_format("arrow").iter(1000):
        yield np.asarray(batch.column("input_ids").combine_chunks().flatten())


def run_encode_files(folder: Path, out: Path) -> None:
    """The method `encode_files`."""
    import slmtok

    out.mkdir()
    tokenizer = slmtok.load(folder / "tok.json")
    tokenizer.encode_files(folder / "docs.txt", out / "ids.bin", document="line", bos=True, eos=True)


def _encode_files_ids(out: Path) -> Iterator[Any]:
    import numpy as np

    yield np.fromfile(out / "ids.bin", dtype="<u2")


METHODS: dict[str, Method] = {
    "pack": Method(_pack_ids),
    "encode_files": Method(_encode_files_ids, run_encode_files, same_documents=False),
    "loop": Method(_loop_ids, run_loop),
    "map": Method(_map_ids, run_map),
}


def prepare(folder: Path, corpus: list[str], docs: int | None, tokenizer: str | None) -> dict[str, Any]:
    """Writes the documents as jsonl, jsonl.zst and lines, and the vocabulary in both formats."""
    import zstandard

    import slmtok
    from slmtok.corpus import find, read
    from slmtok.formats.hf import tokenizer_json
    from slmtok.options import ReadOptions

    options = ReadOptions(max_docs=docs)
    n_docs = n_bytes = 0
    compressor = zstandard.ZstdCompressor(level=3)
    with (
        (folder / "docs.jsonl.zst").open("wb") as file,
        compressor.stream_writer(file) as stream,
        (folder / "docs.jsonl").open("wb") as plain,
        (folder / "docs.txt").open("wb") as text,
    ):
        for document in read(find(corpus, options), options):
            line = json.dumps({"text": document.text.decode()}, ensure_ascii=False).encode() + b"\n"
            stream.write(line)
            plain.write(line)
            text.write(document.text.replace(b"\n", b" ") + b"\n")
            n_docs, n_bytes = n_docs + 1, n_bytes + len(document.text)
    tok = slmtok.load(tokenizer) if tokenizer else slmtok.train(str(folder / "docs.jsonl"), vocab_size=8192)
    tok.save(folder / "tok.json")
    (folder / "hf.json").write_text(json.dumps(tokenizer_json(tok)), encoding="utf-8")
    return {"documents": n_docs, "bytes": n_bytes, "n_vocab": tok.n_vocab}


def measure(method: str, folder: Path) -> dict[str, Any]:
    """Seconds of one process from start to end, and the digest of the ids that it wrote."""
    out = folder / f"out-{method}"
    before = os.times()
    seconds = _timed(command(method, folder, out))
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    digest = hashlib.sha256()
    for ids in METHODS[method].ids(out):
        digest.update(ids.astype("<u4").tobytes())
    shutil.rmtree(out)
    return {"seconds": seconds, "cpu": cpu, "digest": digest.hexdigest()}


def _timed(command: list[str], kill_after: float | None = None) -> float:
    """Seconds of one process, killed after `kill_after` seconds if given."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    if kill_after is not None:
        time.sleep(kill_after)
        process.kill()
    code = process.wait()
    seconds = time.perf_counter() - start
    if code not in (0, 0 if kill_after is None else -signal.SIGKILL):
        sys.exit(f"exit status {code} after {seconds:.2f} s")
    return seconds


def kill_and_resume(folder: Path, share: float) -> str:
    """Packs; packs again, killed at `share` of that time, and resumes; compares the folders."""
    whole, out = folder / "whole", folder / "killed"
    seconds = _timed(command("pack", folder, whole))
    _timed(command("pack", folder, out), share * seconds)
    if (out / "manifest.json").exists():
        return f"not killed: it ended before {share:.0%} of {seconds:.2f} s"
    inodes = {}
    if (out / "journal.jsonl").exists():
        entries = [json.loads(line) for line in (out / "journal.jsonl").read_bytes().split(b"\n")[:-1]]
        names = [f"{shard['name']}.bin" for entry in entries for shard in entry["shards"]]
        inodes = {name: (out / name).stat().st_ino for name in names}
    rest = _timed(command("pack", folder, out))
    names = sorted(path.name for path in whole.iterdir())
    compared = filecmp.cmpfiles(whole, out, names, shallow=False)[0]
    if compared != names or names != sorted(path.name for path in out.iterdir()):
        sys.exit("the folders differ")
    if any((out / name).stat().st_ino != inode for name, inode in inodes.items()):
        sys.exit("a finished shard was rewritten")
    shutil.rmtree(whole)
    shutil.rmtree(out)
    return f"killed at {share:.0%} of {seconds:.2f} s: the rest took {rest:.2f} s, {rest / seconds:.0%}; folders equal"


def report(facts: dict[str, Any], runs: dict[str, list[dict[str, Any]]]) -> None:
    """Prints median seconds, documents and megabytes a second, and the time relative to `pack`, for each method."""
    expected = {run["digest"] for run in runs.get("pack", []) + runs.get("loop", [])}
    if len(expected) > 1:
        sys.exit("ids differ: no times")
    own = statistics.median(run["seconds"] for run in runs["pack"]) if "pack" in runs else None
    for method, found in runs.items():
        if METHODS[method].same_documents and not {run["digest"] for run in found} <= expected:
            print(f"{method:<13} ids differ, no time")
            continue
        seconds = statistics.median(run["seconds"] for run in found)
        cpu = statistics.median(run["cpu"] for run in found)
        ratio = f"{seconds / own:7.2f} x pack" if own else ""
        print(
            f"{method:<13} {seconds:8.2f} s {cpu:8.2f} s cpu {facts['documents'] / seconds:12,.0f} documents/s "
            f"{facts['bytes'] / seconds / 1e6:8.1f} MB/s {ratio}"
        )


def main() -> None:
    """The command line; `--run METHOD FOLDER OUT` is the process of one method."""
    if sys.argv[1:2] == ["--run"]:
        run = METHODS[sys.argv[2]].run
        assert run is not None
        return run(Path(sys.argv[3]), Path(sys.argv[4]))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--docs", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--kill", type=float, metavar="SHARE")
    parser.add_argument("-t", "--tokenizer")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        facts = prepare(folder, options.corpus, options.docs, options.tokenizer)
        print(json.dumps(facts))
        runs: dict[str, list[dict[str, Any]]] = {method: [] for method in options.methods}
        for _ in range(options.rounds):
            for method in options.methods:
                runs[method].append(measure(method, folder))
                print(method, json.dumps(runs[method][-1]), flush=True)
            if options.kill:
                print(kill_and_resume(folder, options.kill), flush=True)
        report(facts, runs)
    return None


if __name__ == "__main__":
    main()
