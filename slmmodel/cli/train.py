"""`slm train`: token data, or text, to a trained model. `slm resume`: continue a run, or branch a new one from it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.opening import is_text, open_text
from slmmodel.cli.options import (
    SETTINGS,
    STEP,
    allow_mismatch_option,
    budget_option,
    evaluate_option,
    flag_of,
    run_argument,
    set_option,
    setting_option,
)
from slmmodel.errors import MissingInput, MissingPackage, OptionError
from slmmodel.sizes import format_bytes, format_count, format_time
from slmtok.atomic import check_outputs, outputs
from slmtok.cli.options import OUTPUT, argument, command, dry_run_option, option, output_options
from slmtok.cli.output import INTERRUPTED, Outcome, Row, note, print_rows, settings
from slmtok.cli.progress import Progress

if TYPE_CHECKING:
    from slmmodel.data import RunData
    from slmmodel.train import RunResult


_BATCH, _RATE = "--set run.batch_tokens=4096: a batch is counted in ids", "--set optim.lr=0.003"
_STEPS, _EPOCHS = "--budget steps=1000", "--budget epochs=1"
_DATA = "no option for the data: slm train DATA -o RUN"
_HABITS = {
    **dict.fromkeys(("--lr", "--learning-rate"), _RATE),
    **dict.fromkeys(("--batch-size", "--batch", "--per-device-train-batch-size"), _BATCH),
    **dict.fromkeys(("--steps", "--max-steps", "--max-iters", "--num-steps"), _STEPS),
    **dict.fromkeys(("--epochs", "--num-epochs", "--num-train-epochs"), _EPOCHS),
    **dict.fromkeys(("--dataset", "--data", "--train-file"), _DATA),
    **dict.fromkeys(("--context", "--block-size", "--max-seq-len"), "--set model.seq_len=256"),
    **dict.fromkeys(("--out-dir", "--output-dir"), "-o RUN"),
}
"""Options of other trainers, each with what stands for it here."""


@command("train", example="slm train data -o run", habits=_HABITS)
@argument("data", metavar="DATA", help="Packed data, as slmtok pack wrote it; or text, with -t.")
@setting_option("data.val", overrides=True, metavar="DATA|auto|none")
@option("--tokenizer", "-t", metavar="FILE", help="DATA is text (any corpus of slmtok), tokenized while it is read.")
@option("--config", metavar="FILE", panel=SETTINGS, help="Settings as YAML.")
@set_option
@option("--preset", metavar="NAME", panel=SETTINGS,
        help="Shape and settings to start from; by default chosen by the size of the data.")  # fmt: skip
@budget_option
@setting_option("run.seed", overrides=True, panel=SETTINGS)
@setting_option("run.micro_batch", overrides=True)
@setting_option("run.precision", overrides=True)
@setting_option("run.device", overrides=True)
@setting_option("run.threads", overrides=True)
@evaluate_option
@allow_mismatch_option
@output_options(default="run", metavar="RUN", help="The folder of the run.")
@option("--plot", metavar="FILE.png", panel=OUTPUT,
        help="A figure of loss and learning rate; needs slmtok[report].")  # fmt: skip
@dry_run_option
def train(
    data: str,
    val: str | None,
    tokenizer: str | None,
    config: str | None,
    sets: tuple[str, ...],
    budget: str | None,
    evaluate: bool,
    allow_mismatch: tuple[str, ...],
    output: str,
    force: bool,
    plot: str | None,
    dry_run: bool,
    **named: Any,
) -> Outcome:
    """Train a model on token data.

    The default preset follows from the size of the data. The same command again continues an interrupted run, to the
    same bits.
    """
    if tokenizer is None and (is_text(data) or not Path(data).exists()):
        raise MissingInput(
            f"{data!r} is not finished token data",
            where="it has no manifest.json",
            fix=f"slmtok pack CORPUS -t TOK -o {shlex.quote(data)}; or -t TOK, to tokenize text while training",
            path=data,
        )
    values = {"data.train": data, "data.val": val, "model.preset": named.pop("preset")}
    values |= {f"run.{name}": value for name, value in named.items()}
    given = read_settings(config, sets, budget, values)
    if plot is not None:
        _check_plot(plot, force)
    opened = open_text(data, tokenizer, val)
    if dry_run:
        return _plan(given, opened)
    options = {"force": force, "allow_mismatch": allow_mismatch}
    return _train(given, opened, output, evaluate, named["device"], plot=plot, **options)


def _plan(given: dict[str, Any], data: RunData | None) -> Outcome:
    """The result of `--dry-run`."""
    from slmmodel.train import dry_run

    numbers = dry_run(given, data=data)

    def amount(name: str, form: Callable[[float], str] = format_count) -> str:
        return "limited by time" if numbers[name] is None else form(numbers[name])

    share = f"embedding share {numbers['embedding_share']:.1%}; 8-15 % is usual near the optimum"
    seen_bytes = "" if numbers["bytes"] is None else format_bytes(numbers["bytes"])
    memory = format_bytes(numbers["memory_bytes"])
    rows: list[Row] = [
        ("model", f"{numbers['arch']}, preset {numbers['preset'] or 'none'}, seq_len {numbers['seq_len']}"),
        ("parameters", f"{format_count(numbers['parameters'])}; {share}"),
        ("optimizer", f"{numbers['optimizer']}, peak learning rate {numbers['lr']:g}"),
        ("steps", f"{amount('steps')} of {numbers['batch_size']:,} sequences, {numbers['tokens_per_step']:,.0f} ids"),
        ("seen", f"{amount('tokens')} ids, {seen_bytes}"),
        ("epochs", amount("epochs", "{:.2f}".format)),
        ("padding", f"{numbers['padding_share']:.2%} of positions"),
        ("FLOPs", amount("flops", "{:.3g}".format)),
        ("memory", f"{memory} for weights, gradients and optimizer, without activations"),
    ]
    warnings = tuple(numbers.pop("notes"))
    return Outcome(numbers, summary=lambda: print_rows(rows, title="would train"), warnings=warnings)


@command("resume", example="slm resume run")
@run_argument
@option("--step", metavar="N", type=STEP, help="The checkpoint, as in RUN/checkpoints, at which a new run starts.")
@option("--data", metavar="DATA", help="Where the data are now, if they were moved.")
@set_option
@budget_option
@setting_option("run.device", overrides=True, show_default="that of the run")
@setting_option("run.threads", overrides=True, show_default="that of the run")
@evaluate_option
@allow_mismatch_option
@output_options(metavar="NEW", help="The folder of the new run.")
def resume(
    run: str,
    step: int | None,
    data: str | None,
    sets: tuple[str, ...],
    budget: str | None,
    evaluate: bool,
    allow_mismatch: tuple[str, ...],
    output: str | None,
    force: bool,
    **machine: Any,
) -> Outcome:
    """Continue a run.

    With --step and -o: start a new run at a checkpoint and leave the old one unchanged; --set and --budget may change
    its settings.
    """
    from slmmodel.train import branch

    if output is None and step is not None:
        raise OptionError(
            f"--step {step} needs a new folder, since it would discard later checkpoints",
            fix=f"slm resume {shlex.quote(run)} --step {step} -o NEW",
            option="step",
        )
    if output is None and (sets or budget or force):
        raise OptionError(
            "--set, --budget and --force need a new run",
            fix=f"slm resume {shlex.quote(run)} --step N -o NEW --set NAME=VALUE",
            option="set",
        )
    folder = RunFolder.open(run, allow_mismatch=allow_mismatch)
    if output is not None:
        folder = branch(run, step, output, settings=read_settings(None, sets, budget, {}), force=force)
    config = folder.config
    values = {f"run.{name}": config["run"][name] if value is None else value for name, value in machine.items()}
    path = data or str(config["data"]["train"])
    opened = open_text(path, folder.tokenizer if is_text(path) else None, config["data"].get("val"))
    given = read_settings(None, (), None, {"data.train": data, **values})
    return _train(given, opened, folder.path, evaluate, machine["device"], allow_mismatch=allow_mismatch)


# Shared by train, resume and demo.


def read_settings(
    config: str | None, sets: Sequence[str], budget: str | None, values: dict[str, Any]
) -> dict[str, Any]:
    """All settings that were given; `--set` overrides the file, single options override both. None is not given.

    Names and values outside `model` are checked here, before torch is imported. Raises `InvalidConfig`, `UnknownName`.
    """
    from slmmodel.config import Setting, merged, read_assignments, read_yaml, validate
    from slmmodel.models.presets import preset

    from_file = read_yaml(config) if config is not None else {}
    from_options = read_assignments(sets)
    if budget is not None:
        kind, equals, amount = budget.partition("=")
        if not equals or not amount:
            raise OptionError(
                f"--budget {budget!r} is not KIND=AMOUNT",
                limit="tokens, targets, bytes, flops, time, epochs, steps",
                fix="--budget tokens=2M",
                option="budget",
            )
        from_options[f"run.budget.{kind}"] = Setting(amount, "--budget")
    named = {name: Setting(str(value), flag_of(name)) for name, value in values.items() if value is not None}
    given = merged(from_file, {**from_options, **named})
    validate({name: setting for name, setting in given.items() if not name.startswith("model.")})
    if "model.preset" in given:
        preset(str(given["model.preset"].value))
    return given


def _train(
    given: dict[str, Any],
    data: RunData | None,
    output: str | Path,
    evaluate: bool,
    device: str | None,
    *,
    plot: str | None = None,
    **options: Any,
) -> Outcome:
    """Trains, draws the figure, scores a finished run, and prints how to continue an interrupted one."""
    from slmmodel.train import train as train_run

    remark = (lambda text: None) if settings().quiet else note
    with Progress() as progress:
        result = train_run(given, data=data, output=output, report=progress, note=remark, **options)
    # Of the processes that torchrun started, only rank 0 goes on.
    is_main = os.environ.get("RANK", "0") == "0"
    if plot is not None and is_main:
        _plot(result.path / "metrics.jsonl", plot)
    certificate = _score(result, device or "auto") if evaluate and is_main else None
    if not result.finished:
        word = "interrupted" if result.code == INTERRUPTED else "terminated"
        sys.stderr.write(f"{word}; the state is saved. To continue:\n  slm resume {shlex.quote(str(result.path))}\n")
        sys.stderr.flush()
    rows = _result_rows(result)
    if certificate is not None:
        bits = f"bpb_total {certificate['bpb_total']:.4f}, bpb_content {certificate['bpb_content']:.4f}"
        rows.append(("scored", f"{bits}; slm eval --check recomputes it"))
    return Outcome(
        {**result.to_dict(), "evaluation": certificate},
        summary=lambda: print_rows(rows, title=str(result.path)),
        code=result.code,
        warnings=result.notes,
        warnings_shown=True,
    )


def _result_rows(result: RunResult) -> list[Row]:
    speed = result.tokens / max(result.seconds, 1e-9)
    validation = ""
    if result.val_bpb is not None:
        best = "" if result.best_bpb in (None, result.val_bpb) else f"; best {result.best_bpb:.4f}"
        validation = f"{result.val_bpb:.4f} bits per byte in training rows, {result.val_loss:.4f} nats per id{best}"
    seen = f"{result.tokens:,} ids, {format_bytes(result.bytes)}, {result.epochs:.2f} epochs, {result.flops:.3g} FLOPs"
    return [
        ("ended", f"{result.reason}, step {result.step:,} of {result.steps:,}"),
        ("model", f"{format_count(result.parameters)} parameters, {result.precision} on {result.device}"),
        ("seen", seen),
        ("loss", "" if result.loss is None else f"{result.loss:.4f} nats per id"),
        ("validation", validation),
        ("skipped", f"{result.skipped:,} steps" if result.skipped else ""),
        ("time", f"{format_time(result.seconds)} of training, {format_count(speed)} ids/s"),
    ]


def _score(result: RunResult, device: str) -> dict[str, Any] | None:
    """The certificate of a finished run on its validation documents, written into the run; None without any."""
    from slmmodel.cli import eval as scoring

    run = RunFolder.open(result.path)
    if not result.finished or run.config["data"]["val"] == "none" or run.fingerprint.get("val") is None:
        return None
    try:
        documents = scoring.open_documents(run)
    except MissingInput:
        return None
    certificate = scoring.score(run, documents, device=device).certificate
    scoring.write_certificate(run, certificate)
    return certificate


# The figure of --plot.


def _check_plot(target: str, force: bool) -> None:
    """Raises before training what would prevent the figure."""
    if not target.endswith(".png"):
        raise OptionError(f"--plot {target!r} is not a PNG", limit="FILE.png", fix="--plot loss.png", option="plot")
    if find_spec("matplotlib") is None:
        raise MissingPackage("--plot needs matplotlib, which is not installed", fix="pip install 'slmtok[report]'")
    check_outputs(target, force=force)


def _plot(metrics: Path, target: str) -> None:
    """Draws loss and learning rate of a `metrics.jsonl` against ids and bytes."""
    from matplotlib.figure import Figure

    lines = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    figure = Figure(figsize=(11, 7), layout="constrained")
    panels = figure.subplots(2, 2)
    for row, (names, unit) in enumerate(((("loss", "val_loss"), "nats per id"), (("lr",), "learning rate"))):
        for axes, (key, label) in zip(
            panels[row], (("tokens", "ids seen"), ("bytes", "bytes of text seen")), strict=True
        ):
            for name in names:
                points = [(line[key], line[name]) for line in lines if line.get(name) is not None]
                style = {"marker": "o", "markersize": 4} if name.startswith("val_") else {"linewidth": 0.9}
                axes.plot([x for x, _ in points], [y for _, y in points], label=name, **style)
            axes.set(xlabel=label, ylabel=unit)
            axes.grid(alpha=0.3)
            axes.legend()
    with outputs(target, force=True) as (temporary,):
        figure.savefig(temporary, format="png", dpi=110)
