"""`slm resume`: continue a run to the same bits, or branch a new run off one of its saved states."""

from __future__ import annotations

import re
import shlex
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmmodel.cli import _options, _output, _training
from slmmodel.cli._progress import Progress
from slmmodel.cli._raw import data_of, is_text
from slmmodel.errors import InvalidOption

if TYPE_CHECKING:
    from slmmodel.data import RunData

_From = Annotated[
    str | None,
    typer.Option("--from", metavar="step-N", help="A saved state to begin the new run at.", show_default=False),
]
_Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="NEW", help="The folder of the new run.", show_default=False,
        rich_help_panel=_options.OUTPUT,
    ),
]  # fmt: skip
_Data = Annotated[
    str | None,
    typer.Option("--data", metavar="DATA", help="Where the data are now, if they were moved.", show_default=False),
]
_Device = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="cpu, cuda, cuda:N or mps.", show_default=False)
]
_Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", "--num-threads", "--n-threads", metavar="N", parser=_options.whole, help="CPU threads.",
        show_default=False,
    ),
]  # fmt: skip


def resume(
    path: _options.RunArgument,
    step: _From = None,
    output: _Output = None,
    data: _Data = None,
    sets: _training.Set = None,
    budget: _training.Budget = None,
    device: _Device = None,
    threads: _Threads = None,
    evaluate: _training.Evaluate = True,
    allow_mismatch: _options.AllowMismatch = None,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Continue a run.

    With --from and -o: begin a new run at a saved state, leaving the old one as it is; --set and --budget may change
    how it goes on.
    """
    from slmmodel.checkpoint import RunFolder
    from slmmodel.train import branch
    from slmmodel.train import train as run

    RunFolder.open(path, allow_mismatch=allow_mismatch or ())
    target = path
    if output is not None:
        branch(path, _number(step), output, settings=_training.settings(None, sets, budget, {}), force=force)
        target = output
    elif step is not None:
        raise InvalidOption(
            f"--from {step} needs a new folder, so that nothing is lost",
            fix=f"slm resume {shlex.quote(path)} --from {step} -o NEW",
            option="from",
        )
    elif sets or budget or force:
        raise InvalidOption(
            "--set, --budget and --force make a new run",
            fix=f"slm resume {shlex.quote(path)} --from step-N -o NEW --set NAME=VALUE",
            option="set",
        )
    named: dict[str, Any] = {"data.train": data, "run.device": device, "run.threads": threads}
    given = _training.settings(None, None, None, {name: value for name, value in named.items() if value is not None})
    with Progress(quiet=quiet) as progress, _text(target, data) as made:
        result = run(
            {**_machine(target, given), **given},
            data=made,
            output=target,
            allow_mismatch=allow_mismatch or (),
            report=progress,
            note=_training.tell(quiet),
        )
    proof = _training.scored(result, device or "auto", quiet) if evaluate and _training.first_rank() else None
    return _training.finish(result, proof, quiet)


def _text(target: str, data: str | None) -> AbstractContextManager[RunData | None]:
    """The text of a run that was trained on text; nothing for one on packed data."""
    from slmmodel.checkpoint import RunFolder

    bundle = RunFolder(Path(target))
    section = bundle.config["data"]
    path = str(section["train"]) if data is None else data
    tokenizer = bundle.tokenizer if is_text(path) else None
    return data_of(path, None if tokenizer is None else str(tokenizer), str(section.get("val", "auto")))


def _machine(target: str, given: dict[str, Any]) -> dict[str, Any]:
    """Device and threads as the run had them, unless they are given."""
    from slmmodel.checkpoint import RunFolder
    from slmmodel.config import Setting

    run = RunFolder(Path(target)).config["run"]
    return {
        f"run.{name}": Setting(str(run[name]), "config.yaml")
        for name in ("device", "threads")
        if f"run.{name}" not in given
    }


def _number(step: str | None) -> int | None:
    if step is None:
        return None
    match = re.fullmatch(r"(?:step-)?(\d+)", step.rstrip("/"))
    if match is None:
        raise InvalidOption(f"--from {step!r} is no saved state", fix="--from step-N, as in RUN/steps", option="from")
    return int(match[1])
