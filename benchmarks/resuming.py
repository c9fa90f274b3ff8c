"""`python -m benchmarks.resuming CORPUS... -t TOK [--share 0.8] [--rounds R]`: what a killed `slmtok pack` still costs.

Each round packs the files as they are, from the start of the process to its end; packs again and kills that with
SIGKILL at a share of the time; gives the same command once more. Told are both times and their ratio, how far the
journal was when the process died, and whether folders are equal byte by byte and committed shards the same files: a
round in which they are not ends the run. The rule is 40 % of the whole after a kill at 80 %.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def pack(command: list[str], dies: float | None = None) -> float:
    """Seconds of one process; with `dies` it is killed after so many."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    if dies is not None:
        time.sleep(dies)
        process.kill()
    code = process.wait()
    seconds = time.perf_counter() - begun
    if code != (0 if dies is None else -signal.SIGKILL):
        sys.exit(f"exit status {code} after {seconds:.2f} s")
    return seconds


def known(out: Path) -> tuple[dict[str, int], int]:
    """The inodes of committed shards, and how many documents are certain."""
    inodes, docs, unfinished = {}, 0, 0
    if not (out / "journal.jsonl").exists():
        return inodes, 0
    for line in (out / "journal.jsonl").read_bytes().split(b"\n")[:-1]:
        entry = json.loads(line)
        for shard in entry["shards"]:
            inodes[f"{shard['name']}.bin"] = (out / f"{shard['name']}.bin").stat().st_ino
            docs += shard["docs"]
        unfinished = sum(part["docs"] for part in entry["open"].values())
    return inodes, docs + unfinished


def equal(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files with the same bytes."""
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    return all(subprocess.run(["cmp", "-s", one / name, other / name], check=False).returncode == 0 for name in names)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.resuming", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("-t", "--tokenizer", required=True)
    parser.add_argument("--share", type=float, default=0.8)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as place:
        whole, out = Path(place) / "whole", Path(place) / "killed"
        begin = [sys.executable, "-m", "slmtok", "pack", *given.corpus, "-t", given.tokenizer, "--quiet", "-o"]
        for _ in range(given.rounds):
            shutil.rmtree(whole, ignore_errors=True)
            shutil.rmtree(out, ignore_errors=True)
            seconds = pack([*begin, str(whole)])
            pack([*begin, str(out)], given.share * seconds)
            if (out / "manifest.json").exists():
                print(f"ended before {given.share:.0%} of {seconds:.2f} s, so it was not killed", flush=True)
                continue
            inodes, docs = known(out)
            rest = pack([*begin, str(out)])
            if not equal(whole, out) or any((out / name).stat().st_ino != inode for name, inode in inodes.items()):
                sys.exit("the folders differ")
            total = sum(
                split["docs"] for split in json.loads((whole / "manifest.json").read_bytes())["splits"].values()
            )
            ratios.append(rest / seconds)
            told = f"{docs / total:.0%} of documents and {len(inodes)} shards were certain, folders equal"
            print(f"whole {seconds:.2f} s, rest {rest:.2f} s: {ratios[-1]:.0%}; {told}", flush=True)
    if not ratios:
        sys.exit("no round was killed in time")
    print(f"killed at {given.share:.0%}: median {statistics.median(ratios):.0%} of the whole")


if __name__ == "__main__":
    main()
