"""`slm ablate`: matched models on several tokenizers, and a verdict with its interval."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel.cli import ablation_files as files
from slmmodel.cli.opening import is_text
from slmmodel.cli.options import POSITIVE, budget_option, set_option, setting_option
from slmmodel.cli.reading import corpus_options, require_text
from slmmodel.cli.train import read_settings
from slmmodel.errors import OptionError
from slmmodel.folder_lock import locked
from slmmodel.sizes import format_bytes, format_count, format_time, parse_share
from slmtok.cli.options import TOKENIZER, Parsed, argument, command, option, output_options
from slmtok.cli.output import Outcome, print_rows, table, write_line, write_text

if TYPE_CHECKING:
    from slmmodel.ablation.arms import Arm
    from slmtok.options import ReadOptions

MATCH_NAMES = ("bytes", "flops", "params", "body-params", "tokens", "time")
CPU_PRESET = "cpu-demo"


def _margin(text: str) -> float:
    share = parse_share(text)
    if share is None or not 0 < share < 1:
        raise ValueError
    return share


def _matches(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if any(name not in MATCH_NAMES for name in names):
        raise ValueError
    return names


@command("ablate", example="slm ablate -t a.json -t b.json --text corpus/ --match bytes --cpu -o ablation")
@argument("data", metavar="[DATA...]", nargs=-1, help="Packed data of each arm, of the same documents; or --text.")
@option("--tokenizer", "-t", "tokenizers", multiple=True, metavar="TOK",
        help=f"The tokenizer of an arm: {TOKENIZER}. Repeat for each arm.")  # fmt: skip
@option("--text", multiple=True, metavar="CORPUS", help="The text of all arms, which is packed with each tokenizer.")
@option("--val", multiple=True, metavar="DATA|RULE", show_default="the split val",
        help="Validation data of each arm, in their order; with --text a rule such as tail:10%.")  # fmt: skip
@corpus_options
@option("--match", choices=MATCH_NAMES, default="bytes", help="What is equal over the arms.")
@option("--also", metavar="MATCH,...", type=Parsed(_matches, expects=f"names among {', '.join(MATCH_NAMES)}"),
        help="Also train under these matches: a verdict may depend on it.")  # fmt: skip
@option("--seeds", metavar="N", type=POSITIVE, default=3, help="Runs of each arm; a verdict needs 3.")
@option("--baseline", metavar="NAME", show_default="the first one", help="The arm that the others are compared with.")
@option("--margin", metavar="SHARE", type=Parsed(_margin, expects="a share such as 0.25% or 0.0025"), default="0.25%",
        help="Difference below which arms count as equivalent, as a share of bits per byte.")  # fmt: skip
@option("--lr", choices=("shared", "sweep"), default="shared",
        help="One learning rate for all arms, or for each the best of three on a short run.")  # fmt: skip
@option("--preset", metavar="NAME", show_default=f"by the size of the data; {CPU_PRESET} with --cpu",
        help="Shape and settings of the models.")  # fmt: skip
@budget_option
@set_option
@option("--cpu", is_flag=True, help="Train on the CPU, in minutes.")
@setting_option("run.threads", overrides=True)
@option("--exploratory", is_flag=True, help="Go on with a changed command; the result is marked as exploratory.")
@output_options(default="ablation", metavar="DIR", help="The folder of the ablation.",
                force="Begin again: remove the ablation in the folder.")  # fmt: skip
def ablate(
    data: tuple[str, ...],
    tokenizers: tuple[str, ...],
    text: tuple[str, ...],
    val: tuple[str, ...],
    read: ReadOptions,
    match: str,
    also: list[str] | None,
    seeds: float,
    baseline: str | None,
    margin: float,
    lr: str,
    preset: str | None,
    budget: str | None,
    sets: tuple[str, ...],
    cpu: bool,
    threads: str | None,
    exploratory: bool,
    output: str,
    force: bool,
) -> Outcome:
    """Say which tokenizer is better for a model: train matched models, and compare their bits per byte.

    All arms read the same documents, in models that differ in nothing but the vocabulary. What is compared is locked
    before the first run. The same command continues after an interruption, to the same result.
    """
    _check_arms(data, tokenizers, text)
    values = {"model.preset": preset or (CPU_PRESET if cpu else None), "run.threads": threads}
    values |= {"run.device": "cpu"} if cpu else {}
    settings = read_settings(None, sets, budget, values)
    folder = Path(output)
    from slmmodel.cli.ablation_job import AblationJob, make_request

    with locked(folder):
        files.begin(folder, force=force)
        arms = _open_arms(data, tokenizers, text, val, read, folder)
        request = make_request(
            arms,
            baseline=baseline,
            matches=list(dict.fromkeys([match, *(also or [])])),
            seeds=int(seeds),
            margin=margin,
            lr=lr,
            settings=settings,
        )
        result = AblationJob(request, folder, exploratory=exploratory).run()
    times = files.read_times(folder)
    return Outcome({**result, "path": output}, lambda: show(result, times, output))


def _check_arms(data: Sequence[str], tokenizers: Sequence[str], text: Sequence[str]) -> None:
    """Raises `OptionError` unless the arms are packed data, or a text with two tokenizers or more."""
    example = "slm ablate -t a.json -t b.json --text CORPUS, or slm ablate DATA_A DATA_B"
    if data and (tokenizers or text):
        raise OptionError("packed data, and a text with tokenizers", limit="one of the two", fix=example, option="data")
    if (tokenizers and not text) or (text and not tokenizers):
        missing = "--text CORPUS" if tokenizers else "-t TOK for each arm"
        raise OptionError(f"{missing} is missing", fix=example, option="text")
    if len(data or tokenizers) < 2:
        count = len(data or tokenizers)
        raise OptionError(f"an ablation has two arms or more, not {count}", fix=example, option="data")
    for path in data:
        if is_text(path):
            raise OptionError(
                f"{path!r} is text",
                limit="packed data, or --text with a tokenizer for each arm",
                fix=f"slm ablate -t a.json -t b.json --text {shlex.quote(path)}",
                option="data",
            )


def _open_arms(
    data: Sequence[str],
    tokenizers: Sequence[str],
    text: Sequence[str],
    val: Sequence[str],
    read: ReadOptions,
    folder: Path,
) -> list[Arm]:
    from slmmodel.ablation.arms import check_same_documents
    from slmmodel.cli import ablation_arms

    if data:
        require_text(read, data[0])
        arms = ablation_arms.open_packed(data, val)
    else:
        from slmtok.opening import load

        if len(val) > 1:
            raise OptionError(f"{len(val)} rules --val for one text", fix=f"--val {val[0]}", option="val")
        names = ablation_arms.unique_names([Path(name.removesuffix(".json")).name for name in tokenizers])
        loaded = [(name, load(file)) for name, file in zip(names, tokenizers, strict=True)]
        arms = ablation_arms.pack_text(text, loaded, folder, read, *(val or ["auto"]))
    check_same_documents(arms)
    return arms


# ---------------------------------------------------------------- the table


def show(result: dict[str, Any], times: dict[str, Any], path: str) -> None:
    """Prints the arms of each match, the verdicts, and what they hold for."""
    if result["exploratory"]:
        write_line("EXPLORATORY: changed after the first run: " + "; ".join(result["exploratory"]))
    vocabularies = {arm["name"]: arm for arm in result["arms"]}
    for view in result["views"]:
        head = ("arm", "vocabulary", "bytes/id", "embedding", "ids", "bytes", "FLOPs", "time", "bpb", "95 %")
        rows = [_line(row, vocabularies[row["name"]], times) for row in view["arms"]]
        write_line(f"match {view['match']}: equal {view['equal']}; differs: {view['differs']}")
        write_text(table(head, rows))
        for pair in view["pairs"]:
            write_line(pair["verdict"])
    held, trained = result["documents"]["val"], result["documents"]["train"]
    print_rows(
        [
            ("holds for", result["scope"]),
            ("scored", f"{held['documents']:,} documents, {format_bytes(held['bytes'])}"),
            ("trained on", f"{trained['documents']:,} documents, {format_bytes(trained['bytes'])}"),
            ("result", f"{path}/{files.RESULT}"),
        ]
    )


def _line(row: dict[str, Any], arm: dict[str, Any], times: dict[str, Any]) -> list[str]:
    known = [times["runs"].get(Path(run).name) for run in row["runs"]]
    seconds = None if None in known or not known else sum(known) / len(known)
    low_high = "not known" if row["interval"] is None else "{:.4f} to {:.4f}".format(*row["interval"])
    return [
        row["name"],
        f"{arm['n_vocab']:,}",
        f"{arm['bytes_per_token']:.3f}",
        f"{row['embedding_share']:.1%}",
        format_count(row["tokens"]),
        format_bytes(row["bytes"]),
        f"{row['flops']:.3g}",
        "" if seconds is None else format_time(seconds),
        f"{row['bpb']:.4f}",
        low_high,
    ]
