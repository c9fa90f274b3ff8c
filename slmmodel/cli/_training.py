"""What `slm train` and `slm resume` share: options as settings, remarks, the closing table."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmmodel.cli import _output
from slmmodel.cli._tables import Row, print_rows
from slmmodel.errors import InvalidOption
from slmmodel.sizes import format_bytes, format_count, format_time

if TYPE_CHECKING:
    from slmmodel.train import RunResult

SETTINGS = "Settings"
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting, as in a configuration file: optim.lr=1e-3. May be repeated.",
        show_default=False,
        rich_help_panel=SETTINGS,
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="KIND=AMOUNT",
        help="How long: tokens=328M, targets=, bytes=2GB, flops=1e15, time=130s, epochs=3 or steps=500.",
        show_default=False,
        rich_help_panel=SETTINGS,
    ),
]


Evaluate = Annotated[bool, typer.Option("--eval/--no-eval", help="Score the validation documents properly at the end.")]


def settings(
    config: str | None, sets: Sequence[str] | None, budget: str | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Everything that was given, the later the stronger: file, then `--set`, then options of their own."""
    from slmmodel.config import Setting, read_assignments, read_yaml

    flat = read_yaml(config) if config is not None else {}
    more = read_assignments(sets or ())
    if budget is not None:
        kind, equals, amount = budget.partition("=")
        if not equals or not amount:
            raise InvalidOption(
                f"--budget {budget!r} is not KIND=AMOUNT",
                limit="tokens, targets, bytes, flops, time, epochs, steps",
                fix="--budget tokens=2M",
                option="budget",
            )
        more[f"run.budget.{kind}"] = Setting(amount, "--budget")
    if any(name.startswith("run.budget.") for name in more):
        flat = {name: given for name, given in flat.items() if not name.startswith("run.budget.")}
    given = {
        name: Setting(str(value), f"--{name.rpartition('.')[2].replace('_', '-')}") for name, value in options.items()
    }
    return {**flat, **more, **given}


def tell(quiet: bool) -> Any:
    """Where remarks go."""
    return (lambda text: None) if quiet else _output.note


def rows(result: RunResult) -> list[Row]:
    """The closing table of a run."""
    speed = result.tokens / max(result.seconds, 1e-9)
    held = ""
    if result.val_bpb is not None:
        best = "" if result.best_bpb in (None, result.val_bpb) else f"; best {result.best_bpb:.4f}"
        held = f"{result.val_bpb:.4f} bits per byte in plain rows, {result.val_loss:.4f} nats per id{best}"
    return [
        ("ended", f"{result.reason}, step {result.step:,} of {result.steps:,}"),
        ("model", f"{format_count(result.parameters)} parameters, {result.precision} on {result.device}"),
        (
            "seen",
            f"{result.tokens:,} ids, {format_bytes(result.bytes)}, {result.epochs:.2f} epochs, "
            f"{result.flops:.3g} FLOPs",
        ),
        ("loss", "" if result.loss is None else f"{result.loss:.4f} nats per id"),
        ("validation", held),
        ("skipped", f"{result.skipped:,} steps" if result.skipped else ""),
        ("time", f"{format_time(result.seconds)} of training, {format_count(speed)} ids/s"),
    ]


def first_rank() -> bool:
    """Whether this process speaks for all that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


def scored(result: RunResult, device: str, quiet: bool) -> dict[str, Any] | None:
    """The proof of a finished run's bits per byte on its validation documents, written into the run; None without
    any."""
    from slmmodel.checkpoint import RunFolder
    from slmmodel.cli import _evaluation
    from slmmodel.errors import MissingShards

    bundle = RunFolder.open(result.path)
    if not result.finished or bundle.config["data"]["val"] == "none" or bundle.fingerprint.get("val") is None:
        return None
    asked = _evaluation.Asked(None, None, None, None, None, None, "fp32", device, quiet)
    try:
        source = _evaluation.source_of(bundle, asked)
    except MissingShards:
        return None
    found = _evaluation.evaluated(bundle, source, asked)
    _evaluation.write(bundle, source, asked, found, dict(found.certificate), None, None)
    return dict(found.certificate)


def finish(result: RunResult, proof: dict[str, Any] | None, quiet: bool) -> _output.Outcome:
    """The outcome of a run; where it was stopped, the line that continues it."""
    if not result.finished:
        word = "interrupted" if result.code == _output.INTERRUPTED else "terminated"
        sys.stderr.write(f"{word}; the state is saved. To continue:\n  slm resume {shlex.quote(str(result.path))}\n")
        sys.stderr.flush()
    more: list[Row] = []
    if proof is not None:
        more = [
            (
                "scored",
                f"bpb_total {proof['bpb_total']:.4f}, bpb_content {proof['bpb_content']:.4f}; slm eval proves it",
            )
        ]

    def show() -> None:
        if not quiet:
            print_rows([*rows(result), *more], title=str(result.path))

    table = {**result.to_dict(), "evaluation": proof}
    return _output.Outcome(table, show, result.code, result.notes)
