"""Does the memory help? Segments without memory, with linear and delta memory, and full attention, over several seeds.

    python examples/long-context/memory.py CORPUS -o OUT [--seeds 3] [--jobs 2] [--scale 1]

Two tasks, each with the model of `infini-cpu` at a vocabulary of 1,024 ids:

* `books`: CORPUS in sequences of 512 ids, segments of 32. Bits per byte of validation tell what the memory adds.
* `passkey`: nine of ten ids belong to tasks of up to 128 ids, a number in filler and a question for it, in segments
  of 16; the loss is on the answers and on the text between. The numbers that are asked afterwards are others.
  The tokenizer cuts four digits into two ids, ` 48` and `37`, so each id tells its place in the number.

The runs of a task and seed have the same initial weights, data, order and number of steps; the attention alone differs.
Each run is a folder of OUT. The same command continues where it stopped and repeats nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from slmmodel.evaluation.retrieval import wilson
from slmmodel.evaluation.verdicts import t_quantile

ARMS = {
    "off": ["--set", "model.memory=off"],
    "linear": ["--set", "model.memory=linear"],
    "delta": ["--set", "model.memory=delta"],
    "full": ["--set", "model.arch=llama"],
}
TEMPLATE = """\
intro: Note.
filler: The grass is green. The sky is blue. Here we go.
needle: The key is {key}.
question: The key is
answer: " {key}"
"""
DIGITS, SEQ_LEN, SEGMENT = 4, 128, 16
"""of the passkey task: a model of a million parameters learns it in minutes"""
VOCAB, PATTERN = "1024", r" ?\p{L}+| ?\p{N}{1,2}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The split pattern of GPT-2 with at most two digits in a piece."""
REPEATED_NUMBERS = 25
"""How often the tokenizer's corpus names each number, so that its pairs of digits become ids."""
LENGTHS, DEPTHS, SAMPLES = "64,96,128", "0,25,50,75,100", "40"
STEPS = {"books": 1000, "passkey": 1500}
BATCH = {"books": 2048, "passkey": 1024}
"""ids of a step"""

Results = dict[str, list[dict[str, Any]]]
"""Of each arm, one result a seed."""
Cells = list[dict[str, Any]]
"""Right answers and samples."""


def run_command(module: str, *words: str) -> None:
    """Runs a command of `slmtok` or `slm`; ends this program where it fails."""
    print(module, *words, flush=True)
    if code := subprocess.call([sys.executable, "-m", module, *words, "--quiet"]):
        sys.exit(f"{module} {words[0]} ended with status {code}")


def prepare(corpus: str, output: Path) -> None:
    """The tokenizer, the packed corpus and the sentences of the task, once."""
    output.mkdir(parents=True, exist_ok=True)
    (output / "template.yaml").write_text(TEMPLATE, encoding="utf-8")
    if not (output / "tok.json").exists():
        numbers = output / "numbers.txt"
        every = "".join(f"The key is {n}.\n" for n in range(10 ** (DIGITS - 1), 10**DIGITS))
        numbers.write_text(every * REPEATED_NUMBERS, encoding="utf-8")
        learn = ["--vocab", VOCAB, "--allow-smaller", "--pattern", PATTERN]
        run_command("slmtok", "train", corpus, str(numbers), *learn, "-o", str(output / "tok.json"))
    if not (output / "data" / "manifest.json").exists():
        run_command("slmtok", "pack", corpus, "-t", str(output / "tok.json"), "-o", str(output / "data"))


def settings_of(task: str, output: Path, scale: float) -> list[str]:
    """What all arms of a task share."""
    found: dict[str, Any] = {"run.budget.steps": max(2, round(STEPS[task] * scale)), "run.batch_tokens": BATCH[task]}
    if task == "books":
        found["data.train"] = str(output / "data")
    else:
        keys = {"passkey": "90%", "digits": DIGITS, "template": str(output / "template.yaml"), "loss_on": "answer"}
        found["data.train"] = json.dumps([str(output / "data"), keys])
        found |= {"data.pack": "best_fit", "model.seq_len": SEQ_LEN}
    return [word for name, value in found.items() for word in ("--set", f"{name}={value}")]


def result_of(task: str, arm: str, seed: int, output: Path, scale: float) -> dict[str, Any]:
    """Trains a run or continues it, and asks it for passkeys; what is done is not repeated."""
    run = output / f"{task}-{arm}-{seed}"
    if not (run / "result.json").exists():
        segment = ["--set", f"model.segment={SEGMENT}"] if task == "passkey" and arm != "full" else []
        shared = settings_of(task, output, scale)
        where = ["-o", str(run), "--preset", "infini-cpu", "--seed", str(seed), "--threads", "1", "--no-eval"]
        run_command("slmmodel", "train", *where, *shared, *segment, *ARMS[arm])
    trained = json.loads((run / "result.json").read_text(encoding="utf-8"))
    found = {"bpb": trained["val_bpb"], "seconds": trained["seconds"]}
    if task == "passkey":
        for name, more in {"passkey": [], "passkey-ignore-memory": ["--ignore-memory"]}.items():
            file = run / "eval" / f"{name}.json"
            if more and arm in ("off", "full"):
                continue
            if not file.exists():
                asked = ["--lengths", LENGTHS, "--depths", DEPTHS, "--samples", SAMPLES]
                template = ["--template", str(output / "template.yaml"), "--digits", str(DIGITS), "--threads", "1"]
                run_command("slmmodel", "passkey", str(run), *asked, *template, *more)
            found[name] = json.loads(file.read_text(encoding="utf-8"))["payload"]
    return found


def interval(values: Sequence[float]) -> str:
    """Mean and 95 % interval by Student's t; one value has none."""
    mean = statistics.mean(values)
    if len(values) == 1:
        return f"{mean:+.4f}"
    half = t_quantile(0.05, [(1.0, len(values) - 1)]) * statistics.stdev(values) / math.sqrt(len(values))
    return f"{mean:+.4f} ({mean - half:+.4f} to {mean + half:+.4f})"


def share_text(right: int, of: int) -> str:
    """A share with its 95 % interval (Wilson 1927), in per cent."""
    low, high = wilson(right, of)
    return f"{100 * right / of:.0f} ({100 * low:.0f}-{100 * high:.0f})"


def bits_per_byte(results: Results) -> Iterator[str]:
    """Of each arm the mean, and the mean less that of `off`, paired by seed."""
    base = [each["bpb"] for each in results["off"]]
    for arm, found in results.items():
        own = [each["bpb"] for each in found]
        less = interval([a - b for a, b in zip(own, base, strict=True)]) if arm != "off" else ""
        yield f"  {arm:<7} {statistics.mean(own):.4f}  {less}".rstrip()


def retrieval(results: Results, kind: str, name_of: Callable[[dict[str, Any]], dict[str, Cells]]) -> Iterator[str]:
    """A table: of each arm, right answers of all lengths and seeds in per cent, in the columns that `name_of` makes."""
    rows: dict[str, dict[str, Cells]] = {}
    for arm, found in results.items():
        for payload in (each[kind] for each in found if kind in each):
            for name, cells in name_of(payload).items():
                rows.setdefault(arm, {}).setdefault(name, []).extend(cells)
    names = next(iter(rows.values()), {})
    yield "  ".join([" " * 9, *(f"{name:>12}" for name in names)])
    for arm, groups in rows.items():
        shares = [
            share_text(sum(c["exact"] for c in cells), sum(c["samples"] for c in cells)) for cells in groups.values()
        ]
        yield "  ".join([f"  {arm:<7}", *(f"{share:>12}" for share in shares)])


def by_depth(payload: dict[str, Any]) -> dict[str, Cells]:
    """The cells of each depth; 0 is the start of the text, 100 right before the question."""
    found: dict[str, Cells] = {}
    for cell in payload["cells"]:
        found.setdefault(f"{cell['depth']:.0f} %", []).append(cell)
    return found


def by_distance(payload: dict[str, Any]) -> dict[str, Cells]:
    """The shares by segments from the number to the question; full attention has none."""
    return {f"{group['segments']} back": [group] for group in payload.get("by_segments_between", [])}


def report(found: dict[str, Results]) -> str:
    """All tables, as text."""
    lines = []
    for task, results in found.items():
        seconds = [each["seconds"] for own in results.values() for each in own]
        lines.append(f"{task}: bits per byte of validation: mean, and less off, paired by seed")
        lines += bits_per_byte(results)
        lines.append(f"  training took {statistics.median(seconds):.0f} s in the median, at most {max(seconds):.0f} s")
    passkeys = found["passkey"]
    lines.append("passkeys by depth of the number: right answers in per cent, with 95 % interval (Wilson)")
    lines += retrieval(passkeys, "passkey", by_depth)
    lines.append("passkeys by segments between number and question")
    lines += retrieval(passkeys, "passkey", by_distance)
    lines.append("the same with all gates at 0: what these runs find without their memory")
    lines += retrieval(passkeys, "passkey-ignore-memory", by_distance)
    return "\n".join(lines)


def main() -> None:
    """Runs what is missing, seed by seed, then prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="text: a file, folder or glob")
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, one thread each")
    parser.add_argument("--scale", type=float, default=1.0, help="times the steps of each run")
    args = parser.parse_args()
    prepare(args.corpus, args.output)
    runs: list[tuple[str, str, int]] = [
        (task, arm, seed) for seed in range(args.seeds) for task in STEPS for arm in ARMS
    ]
    with ThreadPoolExecutor(args.jobs) as pool:
        made = list(pool.map(lambda run: result_of(run[0], run[1], run[2], args.output, args.scale), runs))
    found: dict[str, Results] = {task: {arm: [] for arm in ARMS} for task in STEPS}
    for (task, arm, _), result in zip(runs, made, strict=True):
        found[task][arm].append(result)
    text = report(found)
    (args.output / "report.txt").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
