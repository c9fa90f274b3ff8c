"""What `slm train` and `slm resume` share: options as settings, remarks, the closing table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmmodel.cli import _output
from slmmodel.cli._tables import Row, print_rows
from slmmodel.errors import InvalidOption
from slmmodel.sizes import in_bytes, in_count, in_time

if TYPE_CHECKING:
    from slmmodel.training import RunResult

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


def settings(
    config: str | None, sets: Sequence[str] | None, budget: str | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Everything that was given, the later the stronger: file, then `--set`, then options of their own."""
    from slmmodel.training import readers
    from slmmodel.training.readers import Given

    flat = readers.from_file(config) if config is not None else {}
    more = readers.from_pairs(sets or ())
    if budget is not None:
        kind, equals, amount = budget.partition("=")
        if not equals or not amount:
            raise InvalidOption(
                f"--budget {budget!r} is not KIND=AMOUNT",
                limit="tokens, targets, bytes, flops, time, epochs, steps",
                fix="--budget tokens=2M",
                option="budget",
            )
        more[f"run.budget.{kind}"] = Given(amount, "--budget")
    if any(name.startswith("run.budget.") for name in more):
        flat = {name: given for name, given in flat.items() if not name.startswith("run.budget.")}
    given = {
        name: Given(str(value), f"--{name.rpartition('.')[2].replace('_', '-')}") for name, value in options.items()
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
        ("model", f"{in_count(result.parameters)} parameters, {result.precision} on {result.device}"),
        (
            "seen",
            f"{result.tokens:,} ids, {in_bytes(result.bytes)}, {result.epochs:.2f} epochs, {result.flops:.3g} FLOPs",
        ),
        ("loss", "" if result.loss is None else f"{result.loss:.4f} nats per id"),
        ("validation", held),
        ("skipped", f"{result.skipped:,} steps" if result.skipped else ""),
        ("time", f"{in_time(result.seconds)} of training, {in_count(speed)} ids/s"),
    ]


def finish(result: RunResult, resume: str, quiet: bool, more: Sequence[Row] = ()) -> _output.Outcome:
    """The outcome of a run; where it was stopped, the line that continues it."""
    if not result.finished:
        word = "interrupted" if result.code == _output.INTERRUPTED else "terminated"
        sys.stderr.write(f"{word}; the state is saved. To continue:\n  {resume}\n")
        sys.stderr.flush()

    def show() -> None:
        if not quiet:
            print_rows([*rows(result), *more], title=str(result.path))

    return _output.Outcome(result.to_dict(), show, result.code, result.notes)
