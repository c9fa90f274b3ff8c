"""Does the memory help? Equal runs with `memory: off`, linear and delta, and with full attention, over several seeds.

    python examples/long-context/memory.py DATA -o OUT [--seeds 3] [--budget tokens=2M] [--passkey 20%]

Each run is a folder of OUT; the same command continues where it stopped. All runs have the shape of `infini-cpu`, the
same data, order, optimizer and steps. The report compares bits per byte of validation, paired by seed, and passkeys.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ARMS = {
    "off": ["--set", "model.memory=off"],
    "linear": ["--set", "model.memory=linear"],
    "delta": ["--set", "model.memory=delta"],
    "full": ["--set", "model.arch=llama"],
}
T_975 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}
"""Quantiles of Student's t for two-sided intervals of 95 %."""


def slm(*words: str) -> None:
    """Runs a command of `slm`; ends this program where it fails."""
    print("slm", *words, flush=True)
    if code := subprocess.call([sys.executable, "-m", "slmmodel", *words, "--quiet"]):
        sys.exit(code)


def result_of(run: Path, arm: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Trains a run or continues it, and tests it with passkeys; what is done is not repeated."""
    if not (run / "result.json").exists():
        sources = json.dumps([args.data, {"passkey": args.passkey}])
        settings = ["--budget", args.budget, "--set", f"data.train={sources}", "--set", "data.pack=best_fit"]
        where = ["-o", str(run), "--preset", "infini-cpu", "--seed", str(seed), "--no-eval"]
        slm("train", *where, *settings, *ARMS[arm])
    if not (run / "eval" / "passkey.json").exists():
        slm("passkey", str(run), "--lengths", args.lengths, "--depths", "0,25,50,75,90,100", "--samples", args.samples)
    passkeys = json.loads((run / "eval" / "passkey.json").read_text(encoding="utf-8"))["payload"]
    return {"bpb": json.loads((run / "result.json").read_text(encoding="utf-8"))["val_bpb"], "passkeys": passkeys}


def interval(values: list[float]) -> str:
    """Mean and 95 % interval by Student's t; one value has none."""
    mean = statistics.mean(values)
    if len(values) == 1:
        return f"{mean:+.4f}"
    half = T_975.get(len(values) - 1, 1.96) * statistics.stdev(values) / math.sqrt(len(values))
    return f"{mean:+.4f} ({mean - half:+.4f} to {mean + half:+.4f})"


def wilson(right: int, of: int) -> str:
    """A share with its 95 % interval (Wilson 1927)."""
    z, share = 1.96, right / of
    centre, spread = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low, high = ((centre + sign * spread) / (1 + z * z / of) for sign in (-1, 1))
    return f"{right}/{of}  {100 * low:.0f}-{100 * high:.0f} %"


def report(results: dict[str, list[dict[str, Any]]]) -> str:
    """Of each arm bits per byte, less those of `off`; then passkeys by depth."""
    base = [each["bpb"] for each in results["off"]]
    lines = ["bits per byte of validation: mean, and less off, paired by seed"]
    for arm, found in results.items():
        own = [each["bpb"] for each in found]
        less = interval([a - b for a, b in zip(own, base, strict=True)]) if arm != "off" else ""
        lines.append(f"  {arm:<7} {statistics.mean(own):.4f}  {less}")
    lines.append("passkeys by depth: right answers of all lengths and seeds, and likeliest ids of the answers")
    for arm, found in results.items():
        cells = [cell for each in found for cell in each["passkeys"]["cells"]]
        for depth in sorted({cell["depth"] for cell in cells}):
            own = [cell for cell in cells if cell["depth"] == depth]
            exact = wilson(sum(cell["exact"] for cell in own), sum(cell["samples"] for cell in own))
            ids = wilson(sum(cell["answer_ids_correct"] for cell in own), sum(cell["answer_ids"] for cell in own))
            lines.append(f"  {arm:<7} depth {depth:5.0f} %   {exact:<20} ids {ids}")
    return "\n".join(lines)


def main() -> None:
    """Runs what is missing, seed by seed, then prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="token shards with a validation split and a tokenizer file")
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", default="tokens=2M")
    parser.add_argument("--passkey", default="20%")
    parser.add_argument("--lengths", default="256,512")
    parser.add_argument("--samples", default="10")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, list[dict[str, Any]]] = {arm: [] for arm in ARMS}
    for seed in range(args.seeds):
        for arm, found in results.items():
            found.append(result_of(args.output / f"{arm}-{seed}", arm, seed, args))
    text = report(results)
    (args.output / "report.txt").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
