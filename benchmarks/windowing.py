"""Five windowing strategies at equal scored targets: `python -m benchmarks.windowing TSV -o DIR`.

One line of the table is a document, with its name (`{1} {2}`) and without (`{2}`). The tokenizer is trained on the
training documents only. Each strategy and seed trains the same small model on the same number of scored targets; every
model is scored on every byte of the validation documents. Results are appended to `DIR/results.jsonl`, so a repeated
call continues, and rendered to `DIR/table.md`. Strategies that pad take more steps for as many targets. No times.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

STRATEGIES = ("stream", "right_pad_once", "full_only", "left_pad", "slide_through")
TEXTS = {"with names": (0, 1), "without names": (1,)}
VALIDATION_PPM = 50_000
MODEL = {"arch": "llama", "d_model": 64, "n_layers": 2, "n_heads": 2, "n_kv_heads": 2}


@dataclass(frozen=True)
class Plan:
    """The options, which all cells share."""

    table: Path
    out: Path
    targets: int
    context: int
    vocab: int
    seeds: int
    batch_tokens: int
    lines: int | None


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains what is missing, then writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, help="a tsv without a header: name, text")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--targets", type=int, default=2_000_000)
    parser.add_argument("--context", type=int, default=32)
    parser.add_argument("--vocab", type=int, default=1024)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--lines", type=int, help="use only the first N lines")
    plan = Plan(**vars(parser.parse_args(arguments)))
    plan.out.mkdir(parents=True, exist_ok=True)
    _check_settings(plan)
    data = {text: packed(plan, text, columns) for text, columns in TEXTS.items()}
    # Seeds are outermost, so that an interrupted call leaves complete tables of fewer seeds.
    for seed in range(plan.seeds):
        for text in TEXTS:
            for strategy in STRATEGIES:
                if not any(_cell(row) == (text, strategy, seed) for row in results(plan)):
                    row = train_cell(plan, data[text], text, strategy, seed)
                    with (plan.out / "results.jsonl").open("a") as file:
                        file.write(json.dumps(row) + "\n")
    (plan.out / "table.md").write_text(table(results(plan)))


def _check_settings(plan: Plan) -> None:
    """Ends the process if the folder has cells of other settings; more seeds may be added."""
    now = {key: str(value) for key, value in asdict(plan).items() if key not in ("out", "seeds")}
    path = plan.out / "plan.json"
    if path.exists() and json.loads(path.read_text()) != now:
        raise SystemExit(f"{path} has other settings: {path.read_text()}; use those, or another -o")
    path.write_text(json.dumps(now))


def _cell(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["text"], row["strategy"], row["seed"]


def results(plan: Plan) -> list[dict[str, Any]]:
    """All finished cells."""
    path = plan.out / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def packed(plan: Plan, text: str, columns: tuple[int, ...]) -> Path:
    """Shards of the lines; validation lines are chosen by the hash of the whole line, the same for both texts."""
    import slmtok
    from slmtok.shards import pack

    folder = plan.out / text.replace(" ", "-")
    if (folder / "data" / "manifest.json").is_file():
        return folder / "data"
    folder.mkdir(exist_ok=True)
    lines = plan.table.read_bytes().splitlines()[: plan.lines]
    splits: dict[bool, list[bytes]] = {False: [], True: []}
    for line in lines:
        held = int.from_bytes(hashlib.sha256(line).digest()[:8], "little") % 1_000_000 < VALIDATION_PPM
        fields = line.split(b"\t")
        splits[held].append(b" ".join(fields[column] for column in columns))
    for held, documents in splits.items():
        (folder / f"{'val' if held else 'train'}.txt").write_bytes(b"\n".join(documents) + b"\n")
    tokenizer = slmtok.train(slmtok.Texts([line.decode() for line in splits[False]]), vocab_size=plan.vocab)
    pack(
        [folder / "train.txt", folder / "val.txt"],
        tokenizer,
        folder / "data",
        val="files:val.txt",
        document="line",
        force=True,
    )
    return folder / "data"


def train_cell(plan: Plan, data: Path, text: str, strategy: str, seed: int) -> dict[str, Any]:
    """One cell: trains a model and scores it on every byte of the validation documents."""
    from slmmodel.checkpoint import RunFolder
    from slmmodel.data import make_packing, open_source
    from slmmodel.evaluation.certificate import evaluate
    from slmmodel.trainer import train as run

    settings = {
        "model": {**MODEL, "seq_len": plan.context},
        "data": {"train": str(data), "pack": strategy},
        "optim": {"name": "muon", "lr": 4e-3},
        "run": {
            "budget": {"targets": plan.targets},
            "batch_tokens": plan.batch_tokens,
            "seed": seed,
            "eval_every": 10**9,
        },
    }
    folder = plan.out / "runs" / f"{text.replace(' ', '-')}-{strategy}-{seed}"
    done = run(settings, output=folder, force=(folder / "result.json").is_file())
    if not done.finished:
        raise SystemExit(done.code)
    found = evaluate(RunFolder.open(folder), open_source(data, "val"))
    stats = make_packing(strategy, open_source(data, "train").lengths(), plan.context, seed=seed).stats()
    certificate = found.certificate
    return {
        "text": text,
        "strategy": strategy,
        "seed": seed,
        "bpb_total": certificate["bpb_total"],
        "bpb_content": certificate["bpb_content"],
        "interval": certificate["interval"],
        "bits": [round(bits, 3) for bits in found.scores.bits().tolist()],
        "bytes": found.scores.doc_bytes.tolist(),
        "steps": done.steps,
        "targets": done.targets,
        "epochs": done.targets / stats.targets,
        "padding_share": stats.padding_share,
        "scored": [stats.scored_min, stats.scored_mean, stats.scored_max],
        "pairs_dropped": stats.inputs_dropped,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The cells as Markdown: means over seeds, with bootstrap intervals over documents of the seed-averaged bits.

    Intervals of a difference from `stream` are paired by document; the differences of each seed are listed, too.
    """
    names = ("text", "strategy", "bpb_total", "95 %", "less `stream`", "95 %, paired", "by seed", "padding", "steps")
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for text in TEXTS:
        streams = _of(rows, text, "stream")
        for strategy in STRATEGIES:
            mine = _of(rows, text, strategy)
            if not mine:
                continue
            seeds = sorted(set(mine) & set(streams)) if strategy != "stream" else []
            row = mine[min(mine)]
            columns = [text, f"`{strategy}`", f"{_mean(mine, 'bpb_total'):.4f}", _between(mine, {}, sorted(mine))]
            if seeds:
                each = [mine[seed]["bpb_total"] - streams[seed]["bpb_total"] for seed in seeds]
                columns += [f"{sum(each) / len(each):+.4f}", _between(mine, streams, seeds)]
                columns += [", ".join(f"{delta:+.4f}" for delta in each)]
            else:
                columns += ["", "", ", ".join(f"{mine[seed]['bpb_total']:.4f}" for seed in sorted(mine))]
            lines.append(f"| {' | '.join(columns)} | {row['padding_share']:.1%} | {row['steps']:,} |")
    return "\n".join(lines) + "\n"


def _of(rows: list[dict[str, Any]], text: str, strategy: str) -> dict[int, dict[str, Any]]:
    return {row["seed"]: row for row in rows if (row["text"], row["strategy"]) == (text, strategy)}


def _mean(of: dict[int, dict[str, Any]], key: str) -> float:
    return sum(row[key] for row in of.values()) / len(of)


def _between(mine: dict[int, dict[str, Any]], less: dict[int, dict[str, Any]], seeds: list[int]) -> str:
    """The interval of the seed-averaged bits, or of their difference from those of `less`."""
    import numpy as np

    from slmmodel.evaluation.comparison import Units, interval

    bits = np.mean([np.array(mine[seed]["bits"]) - (less[seed]["bits"] if less else 0.0) for seed in seeds], axis=0)
    found = interval(Units(bits, np.array(mine[seeds[0]]["bytes"], dtype=float), "document"))
    sign = "+" if less else ""
    return "" if found is None else f"{found.low:{sign}.4f} to {found.high:{sign}.4f}"


if __name__ == "__main__":
    main()
