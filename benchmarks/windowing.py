"""Five windowing strategies at equal scored targets: `python -m benchmarks.windowing TSV -o DIR`.

One line of the table is a document, with its name (`{1} {2}`) and without (`{2}`). The tokenizer learns from the
training documents alone. Each strategy and seed trains the same small model on the same number of scored targets; all
are scored alike, on every byte of the validation documents. Results go to `DIR/results.jsonl` as they come (a repeated
call goes on), and to `DIR/table.md`. Strategies that pad take more steps for as many targets. Nothing here is a timing.
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
MODEL = {"kind": "llama", "width": 64, "layers": 2, "heads": 2, "kv_heads": 2}


@dataclass(frozen=True)
class Plan:
    """What is the same for all cells."""

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
    parser.add_argument("--lines", type=int, help="use so many lines only, to try it out")
    plan = Plan(**vars(parser.parse_args(arguments)))
    plan.out.mkdir(parents=True, exist_ok=True)
    _same(plan)
    data = {text: packed(plan, text, columns) for text, columns in TEXTS.items()}
    # Seeds outermost: a call that was stopped leaves whole tables of fewer seeds.
    for seed in range(plan.seeds):
        for text in TEXTS:
            for strategy in STRATEGIES:
                if not any(_cell(row) == (text, strategy, seed) for row in results(plan)):
                    row = trained(plan, data[text], text, strategy, seed)
                    with (plan.out / "results.jsonl").open("a") as file:
                        file.write(json.dumps(row) + "\n")
    (plan.out / "table.md").write_text(table(results(plan)))


def _same(plan: Plan) -> None:
    """Refuses to go on in a folder whose cells were made with other settings; more seeds may be added."""
    now = {key: str(value) for key, value in asdict(plan).items() if key not in ("out", "seeds")}
    path = plan.out / "plan.json"
    if path.exists() and json.loads(path.read_text()) != now:
        raise SystemExit(f"{path} says other settings: {path.read_text()}; give those, or another -o")
    path.write_text(json.dumps(now))


def _cell(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["text"], row["strategy"], row["seed"]


def results(plan: Plan) -> list[dict[str, Any]]:
    """All cells that are done."""
    path = plan.out / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def packed(plan: Plan, text: str, columns: tuple[int, ...]) -> Path:
    """Shards of the lines; validation lines are chosen by the hash of the whole line, the same for both texts."""
    import slmtok
    from slmtok.corpus import ReadOptions
    from slmtok.shards import pack

    folder = plan.out / text.replace(" ", "-")
    if (folder / "data" / "manifest.json").is_file():
        return folder / "data"
    folder.mkdir(exist_ok=True)
    lines = plan.table.read_bytes().splitlines()[: plan.lines]
    halves: dict[bool, list[bytes]] = {False: [], True: []}
    for line in lines:
        held = int.from_bytes(hashlib.sha256(line).digest()[:8], "little") % 1_000_000 < VALIDATION_PPM
        fields = line.split(b"\t")
        halves[held].append(b" ".join(fields[column] for column in columns))
    for held, documents in halves.items():
        (folder / f"{'val' if held else 'train'}.txt").write_bytes(b"\n".join(documents) + b"\n")
    tokenizer = slmtok.train(slmtok.Texts([line.decode() for line in halves[False]]), plan.vocab)
    pack(
        [folder / "train.txt", folder / "val.txt"],
        tokenizer,
        folder / "data",
        val="files:val.txt",
        read=ReadOptions(document="line"),
        force=True,
    )
    return folder / "data"


def trained(plan: Plan, data: Path, text: str, strategy: str, seed: int) -> dict[str, Any]:
    """One cell: a run, scored on every byte of the validation documents."""
    from slmmodel.bundle import Bundle
    from slmmodel.data import make_plan, open_source
    from slmmodel.evaluation.evaluate import evaluate
    from slmmodel.training import run

    settings = {
        "model": {**MODEL, "context": plan.context},
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
    found = evaluate(Bundle.open(folder), open_source(data, "val"))
    stats = make_plan(strategy, open_source(data, "train").lengths(), plan.context, seed=seed).stats()
    certificate = found.certificate
    return {
        "text": text,
        "strategy": strategy,
        "seed": seed,
        "bpb_total": certificate["bpb_total"],
        "bpb_content": certificate["bpb_content"],
        "interval": certificate["interval"],
        "bits": [
            round(bits, 3) for bits in ((found.scores.content + found.scores.special) / 0.6931471805599453).tolist()
        ],
        "bytes": found.scores.doc_bytes.tolist(),
        "steps": done.steps,
        "targets": done.targets,
        "epochs": done.targets / stats.targets,
        "padding_share": stats.padding_share,
        "scored": [stats.scored_min, stats.scored_mean, stats.scored_max],
        "pairs_dropped": stats.pairs_dropped,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The cells as Markdown: mean over seeds, and a document bootstrap interval of the seed-averaged bits."""
    import numpy as np

    from slmmodel.evaluation.intervals import Units, interval

    lines = ["| text | strategy | bpb_total | 95 % (documents) | seeds | times scored | padding | passes | steps |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for text in TEXTS:
        for strategy in STRATEGIES:
            mine = [row for row in rows if (row["text"], row["strategy"]) == (text, strategy)]
            if not mine:
                continue
            bits = np.mean([row["bits"] for row in mine], axis=0)
            found = interval(Units(bits, np.array(mine[0]["bytes"], dtype=float), "document"))
            between = "" if found is None else f"{found.low:.4f} to {found.high:.4f}"
            each = ", ".join(f"{row['bpb_total']:.4f}" for row in mine)
            low, mean, high = mine[0]["scored"]
            lines.append(
                f"| {text} | `{strategy}` | {np.mean([row['bpb_total'] for row in mine]):.4f} | {between} | {each} "
                f"| {low} to {high}, mean {mean:.1f} | {mine[0]['padding_share']:.1%} | {mine[0]['epochs']:.2f} "
                f"| {mine[0]['steps']:,} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
