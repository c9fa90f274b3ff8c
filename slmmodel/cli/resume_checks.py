"""What `slm resume` refuses before it copies or trains anything, each with the command that was meant."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from pydantic import ValidationError

from slmmodel.budget import Budget
from slmmodel.checkpoint import RunFolder, read_sums, resume_elsewhere
from slmmodel.cli import reading
from slmmodel.cli.open_by_path import open_if_text
from slmmodel.cli.run_argument import (
    SETTINGS_OF_PLAN,
    counters_at,
    is_spent,
    kept_setting,
    resumed_at,
    step_at,
    trained_anew,
    with_value,
    without,
)
from slmmodel.cli.text import is_text
from slmmodel.errors import CorruptFile, Mismatch, MissingInput, OptionError, OutputExists, SlmmodelError, Unreadable
from slmmodel.folder_lock import locked
from slmmodel.run_entries import METRICS
from slmmodel.torchrun import is_main
from slmtok.cli.arguments import OUTPUT_FLAGS
from slmtok.cli.options import arguments_of_command

if TYPE_CHECKING:
    from slmmodel.data import RunData
    from slmmodel.data.source import TokenSource


@contextmanager
def naming_what_differs(run: RunFolder, sets: Sequence[str], data: str | None) -> Iterator[None]:
    """An error about the sequences of a step names the settings that changed them; one about `--data` where those of
    `run` are. For data of another tokenizer the fix packs their text again and continues with the new data.
    """
    try:
        yield
    except Mismatch as error:
        train = run.config["data"]["train"]
        named = [f"--set {text}" for text in sets if text.partition("=")[0].strip() in SETTINGS_OF_PLAN]
        if error.fields.get("field") == "plan" and named and isinstance(error.parts["fix"], tuple):
            error.fact = f"{' and '.join(named)}: each step of the run would take other sequences"
            error.where = None
            error.fix = (f"leave out {' and '.join(named)}", *error.parts["fix"][1:])
        elif error.fields.get("field") == "data" and data is not None and isinstance(error.parts["fix"], tuple):
            error.fix = (_elsewhere(run, str(train)), *error.parts["fix"][1:])
        elif error.fields.get("field") == "fingerprint" and data is None and isinstance(train, str):
            error.fix = _packed_again(error, run)
        raise


def needs_new(run: RunFolder, step: int | None, data: str | None) -> OptionError:
    """The error for a step, or for changes, which need a new folder."""
    from slmmodel.cli.recorded import data_meant, missing_data

    fix = resumed_at(run, step, arguments_of_command())
    if step is not None:
        fact = f"--step {step} needs a new folder: {run.path} keeps its own steps"
        return OptionError(fact, fix=fix, option="step")
    if data is None and (missing := missing_data(run)):
        fix += f" --data {data_meant(run, missing[0])}; the data of the run, {', '.join(missing)}, are not there"
    return OptionError("--set, --budget and --force need a new run", fix=fix, option="set")


def check_checkpoints(run: RunFolder) -> None:
    """Raises `MissingInput` for a finished run without checkpoints, which no budget continues."""
    if not run.finished or run.checkpoints.list():
        return
    anew = trained_anew(run, arguments_of_command()) or "slm train DATA -o NEW"
    raise MissingInput(
        f"the run {str(run.path)!r} is finished, and has no checkpoint to continue from",
        where=str(run.checkpoints.folder),
        fix=f"restore that folder, or train again: {anew}",
        path=str(run.path),
    )


def check_step(run: RunFolder, step: int | None) -> None:
    """Raises `MissingInput` for a step without a checkpoint, with the command that begins at the nearest one that
    leaves steps to train.
    """
    if step is None:
        return
    try:
        run.step_of(step)
    except MissingInput as error:
        words = arguments_of_command()
        left = [each for each in run.checkpoints.list() if not is_spent(run, each, words)] or run.checkpoints.list()
        if left:
            nearest = min(left, key=lambda each: abs(each - step))
            error.fix = resumed_at(run, nearest, with_value("--step", nearest, words))
        raise


def check_addition(run: RunFolder, step: int | None, budget: str | None) -> None:
    """Raises `OptionError` for a budget such as `steps=+6`; the fix adds what the checkpoint has spent."""
    kind, _, amount = (budget or "").partition("=")
    if not amount.startswith("+"):
        return
    try:
        added = Budget.model_validate({kind: amount[1:]})
    except ValidationError:
        return
    reached = step_at(run, step)
    # The counters of a checkpoint have no epochs.
    counters = (run.result if step is None else {}) | counters_at(run, reached)
    spent = round(added.spent(counters), 3)
    total = round(added.amount + spent, 3)
    total = int(total) if total.is_integer() else total
    fix = resumed_at(run, step, with_value("--budget", f"{kind}={total}", arguments_of_command()))
    if not spent:
        fix = f"--budget {kind}=N, the sum of what the run has and {amount[1:]}"
    raise OptionError(
        f"--budget {budget} is an addition, and a budget is a total",
        where=f"step {reached:,}, with {kind} {spent:,.12g}" if spent else None,
        limit="a budget counts from the first step of the old run",
        fix=fix,
        option="budget",
    )


def check_budget(run: RunFolder, step: int | None, budget: str | None) -> None:
    """Raises `OptionError` for a budget that the checkpoint has spent; `branch` checks that in epochs."""
    words = arguments_of_command()
    if budget is not None and is_spent(run, step, words):
        raise OptionError(
            f"no step is left: step {step_at(run, step):,} has spent the budget {budget}",
            limit="the budget counts from the first step of the old run",
            fix=resumed_at(run, step, words),
            option="budget",
        )


def check_kept(run: RunFolder, sets: Sequence[str]) -> None:
    """Raises `OptionError` for another model or optimizer of a run, or other data; a new run may have them, with all
    else as it was.
    """
    for text in sets:
        if (kept := kept_setting(run, text)) is None:
            continue
        raise OptionError(
            f"--set {text.partition('=')[0].strip()}: the {kept.subject} not change",
            limit=kept.limit,
            fix=trained_anew(run, arguments_of_command()) or f"slm train DATA -o NEW --set {shlex.quote(text)}",
            option="set",
        )


def check_branch(run: RunFolder, step: int | None, sets: Sequence[str], budget: str | None) -> None:
    """Raises `OutputExists` at the end of a finished run without a further budget."""
    steps = int(run.result.get("steps", 0))
    if run.finished and budget is None and not sets and (step is None or step >= steps):
        weights, last = run.path / "model.safetensors", run.checkpoints.path(steps) / "model.safetensors"
        sums = [read_sums(file.parent).get(file.name) for file in (weights, last)]
        if not weights.exists() and last.exists() and sums[0] == sums[1]:
            raise OutputExists(
                f"the run {str(run.path)!r} is finished, and its {weights.name} is lost",
                where=f"{steps} steps; the checkpoint of the last one has the same weights",
                fix=f"cp {shlex.quote(str(last))} {shlex.quote(str(run.path))}",
                path=str(run.path),
            )
        raise OutputExists(
            f"the run {str(run.path)!r} is finished",
            where=f"{steps} steps, reason: {run.result.get('reason', '?')}",
            fix=resumed_at(run, step, arguments_of_command()),
            path=str(run.path),
        )


def _data_in_place(run: RunFolder) -> str | None:
    """The fix for other data where those of the run are where they were."""
    recorded = str(run.config["data"]["train"])
    if not is_text(recorded) and not Path(recorded).exists():
        return None
    line = _in_new_folder(run, without(("--data",), arguments_of_command()))
    return f"leave --data out: the data of the run, {recorded}, are in place" + (f": {line}" if line else "")


def _in_new_folder(run: RunFolder, words: Sequence[str]) -> str | None:
    """The command line with the new folder that it needs and does not name; None where it lacks none."""
    flags = {word.partition("=")[0] for word in words}
    needs_folder = run.finished or not flags.isdisjoint(("--step", "--set", "--budget", "--force"))
    is_named = not flags.isdisjoint(OUTPUT_FLAGS)
    return resumed_at(run, click.get_current_context().params["step"], words) if needs_folder and not is_named else None


def open_data_of(
    run: RunFolder, data: str | None, *, compares: bool = False, allowed: Collection[str] = ()
) -> RunData | None:
    """The data of a run, or where they are now; None for plain packed data.

    Raises `Mismatch` for a `--data` with another tokenizer; with `compares`, for any other than those of the run. Where
    other data are `allowed`, the fix for those of another tokenizer keeps them.
    """
    from slmmodel.cli.recorded import data_meant, open_mixture_of

    opened = open_mixture_of(run)
    if opened is not None and data is not None:
        words = without(("--data", "--allow-mismatch"), arguments_of_command())
        line = _in_new_folder(run, words) or shlex.join(["slm", "resume", *words])
        raise OptionError(
            f"--data {data!r} is one path, and the run has a mixture of sources",
            where=str(run.path),
            fix=f"{line} # on the sources of the run, which are where they were",
            option="data",
        )
    if opened is not None:
        return opened
    path, recorded = data or str(run.config["data"]["train"]), str(run.config["data"]["train"])
    if not is_text(path) and not Path(path).exists():
        meant = data_meant(run, recorded)
        elsewhere = f"--data {meant}" + " names where they are now" * (meant == "DATA")
        elsewhere = (_data_in_place(run) if data is not None else None) or elsewhere
        raise MissingInput(
            f"the data {path!r} of the run are not there" if data is None else f"no file or folder {path!r}",
            where=str(run.path) if data is None else "--data",
            fix=elsewhere if data is None else f"check the name, or {elsewhere}",
            path=path,
        )
    tokenizer = run.tokenizer if is_text(path) else None
    opened = open_if_text(path, tokenizer, run.config["data"].get("val", "auto"), reading.recorded(run))
    if data is None:
        return opened
    from slmmodel.data.opening import open_source

    source = open_source(path) if opened is None else opened.train
    if "data" in allowed:
        _check_tokenizer(source, run)
    if source.vocab is not None and source.vocab.fingerprint != run.vocab.fingerprint:
        raise Mismatch(
            f"the data {path!r} were made with another tokenizer than the run",
            where=str(run.path),
            limit=f"fingerprints {source.vocab.fingerprint[:16]}… and {run.vocab.fingerprint[:16]}…",
            fix=_elsewhere(run, recorded),
        )
    if compares and "data" not in allowed and source.digest != run.fingerprint.get("data"):
        flags = ["--allow-mismatch", "data", "--allow-mismatch", "plan"]
        with_them = _in_new_folder(run, [*arguments_of_command(), *flags]) or shlex.join(flags)
        raise Mismatch(
            f"--data {data}: the training data differ from the run's",
            where=str(run.path),
            limit="a run continues exactly as it began",
            fix=f"{_elsewhere(run, recorded)}, or {with_them}",
            field="data",
        )
    return opened


def _check_tokenizer(source: TokenSource, run: RunFolder) -> None:
    """Raises `Mismatch` for data of another tokenizer, with the commands that pack their text again and continue."""
    from slmmodel.data.source import check_tokenizer

    try:
        check_tokenizer(source, run.vocab, run.path, run.tokenizer)
    except Mismatch as error:
        error.fix = _packed_again(error, run)
        raise


def _packed_again(error: Mismatch, run: RunFolder) -> str:
    """The fix of `check_tokenizer`, followed by the command line with the new data."""
    words = with_value("--data", "NEW", arguments_of_command())
    return f"{error.parts['fix']} && {_in_new_folder(run, words) or shlex.join(['slm', 'resume', *words])}"


def _elsewhere(run: RunFolder, recorded: str) -> str:
    """The fix for other data than those of the run: where these are."""
    from slmmodel.cli.recorded import data_meant

    meant = data_meant(run, recorded)
    return _data_in_place(run) or ("name the data of the run" if meant == "DATA" else f"--data {meant}")


@contextmanager
def naming_sound_step(run: RunFolder) -> Iterator[None]:
    """An error about a damaged checkpoint has the command that begins at the newest one that is whole."""
    try:
        yield
    except CorruptFile as error:
        damaged = Path(str(error.fields.get("path"))).parent
        step = run.checkpoints.newest()
        if damaged.parent == run.checkpoints.folder and step is not None:
            words = arguments_of_command()
            first = error.parts["fix"][0] if isinstance(error.parts["fix"], tuple) else "restore the file, or "
            error.fix = (first, resumed_at(run, step, with_value("--step", step, words)))
        raise


@contextmanager
def removed_if_refused(folder: RunFolder, parent: str) -> Iterator[None]:
    """Removes a new branch where an error ends the block before its first step: the next command can make it then.

    One that another process has begun to train, or has finished, stays. Of the ranks of torchrun, rank 0 removes it. An
    error about the content of a file names the one of `parent` that it was copied from.
    """
    metrics = folder.path / METRICS
    before = metrics.stat().st_size if is_main() else 0
    try:
        yield
    except Exception as error:
        if is_main():
            _remove_untrained(folder, before)
        if isinstance(error, SlmmodelError) and not isinstance(error, (OutputExists, Unreadable)):
            _name_original(error, folder, parent)
        raise


def _name_original(error: SlmmodelError, folder: RunFolder, parent: str) -> None:
    """Changes the place of an error from a file of a branch to the one of `parent` that it was copied from, which has
    other checkpoints beside it.
    """
    place = Path(error.where or "")
    if folder.path in place.parents:
        original = parent / place.relative_to(folder.path)
        error.where = str(original)
        if error.parts["fix"] == resume_elsewhere(place):
            error.fix = resume_elsewhere(original)


def _remove_untrained(folder: RunFolder, metrics_bytes: int) -> None:
    """Removes a branch that has only its first checkpoint and as many bytes of metrics as when it was made.

    A restart by torchrun may have continued a branch with others.
    """
    with suppress(OSError, SlmmodelError):
        with locked(folder.path) as folder.handle:
            is_first = folder.checkpoints.list() == [folder.fingerprint["parent"]["step"]]
            if is_first and not folder.finished and (folder.path / METRICS).stat().st_size == metrics_bytes:
                folder.remove()
        folder.path.rmdir()
