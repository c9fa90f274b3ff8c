"""`slm train`: token data, or text, to a trained model. `slm resume`: continue a run, or branch a new one from it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from difflib import get_close_matches
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slmmodel.checkpoint import SUMS, RunFolder
from slmmodel.checks import missing_path, similar_name
from slmmodel.cli import reading
from slmmodel.cli.curves import check_figure, draw, result_rows
from slmmodel.cli.open_by_path import (
    check_text,
    check_vocab_of,
    is_text_for_tokenizer,
    note_of_command,
    open_if_text,
    refuse_file_of_data,
    refuse_run,
    tokenizer_near,
)
from slmmodel.cli.options import (
    SETTINGS,
    STEP,
    allow_mismatch_option,
    budget_option,
    evaluate_option,
    flag_of,
    no_verify_option,
    run_argument,
    set_option,
    setting_option,
)
from slmmodel.cli.reading import corpus_options
from slmmodel.cli.resume_checks import (
    check_addition,
    check_branch,
    check_budget,
    check_checkpoints,
    check_kept,
    check_step,
    naming_sound_step,
    naming_what_differs,
    needs_new,
    open_data_of,
    removed_if_refused,
)
from slmmodel.cli.run_argument import data_here, is_argument, is_last, recorded_data, resumed, resumed_at, without
from slmmodel.cli.text import is_text, packed_again
from slmmodel.cli.train_habits import NAMING, RESUME_HABITS, TRAIN_HABITS
from slmmodel.cli.train_progress import TrainProgress
from slmmodel.cli.validation_text import packing_validation
from slmmodel.config_values import EACH_RUN
from slmmodel.errors import Argument, InvalidConfig, Mismatch, MissingInput, OptionError, SlmmodelError
from slmmodel.files import new_name
from slmmodel.run_entries import CONFIG
from slmmodel.run_files import Result
from slmmodel.sizes import format_bytes, format_count
from slmmodel.torchrun import is_main
from slmtok.cli.arguments import command_line, value_after
from slmtok.cli.options import (
    OUTPUT,
    TOKENIZER,
    argument,
    arguments_of_command,
    command,
    dry_run_option,
    is_given,
    option,
    output_options,
    tokenizer_option,
)
from slmtok.cli.output import INTERRUPTED, Outcome, Row, note, print_rows, settings
from slmtok.files import free_name, resolved

if TYPE_CHECKING:
    from slmmodel.config import Settings
    from slmmodel.data import RunData
    from slmmodel.trainer import RunResult
    from slmtok.options import ReadOptions


# `habits`: options of other trainers, each with the advice that its error gives.
@command("train", example="slm train data -o run", habits=TRAIN_HABITS)
@argument("data", metavar="[DATA]", required=False,
          help="Packed data, as slmtok pack wrote it; or text, with -t. By default data.train.")  # fmt: skip
@setting_option("data.val", overrides=True, metavar="DATA|auto|none")
@tokenizer_option(required=False, help=f"DATA is text, tokenized while it is read: {TOKENIZER}.")
@corpus_options
@option("--config", metavar="FILE", panel=SETTINGS, help="Settings as YAML.")
@set_option
@option("--preset", metavar="NAME", panel=SETTINGS,
        help="Shape and settings to start from; by default chosen by the size of the data.")  # fmt: skip
@budget_option
@setting_option("run.seed", overrides=True, panel=SETTINGS)
@setting_option("run.micro_batch", overrides=True)
@setting_option("run.precision", overrides=True)
@setting_option("run.device", overrides=True)
@setting_option("run.parallel", overrides=True)
@setting_option("run.threads", overrides=True)
@evaluate_option
@allow_mismatch_option
@no_verify_option
@output_options(default="run", metavar="RUN", help="The folder of the run.")
@option("--plot", metavar="FILE", panel=OUTPUT, help="Draw the curves of slm plot: .png, .svg or .html.")
@dry_run_option
def train(
    data: str | None,
    val: str | None,
    tokenizer: str | None,
    read: ReadOptions,
    config: str | None,
    sets: tuple[str, ...],
    budget: str | None,
    evaluate: bool,
    allow_mismatch: tuple[str, ...],
    no_verify: bool,
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
    values = {"data.train": data, "data.val": val, "model.preset": named.pop("preset")}
    values |= {f"run.{name}": value for name, value in named.items()}
    from slmmodel.config import add_origin_to_errors

    with _naming_output(output, RunFolder(Path(output)).finished and not force):
        given = read_settings(config, sets, budget, values)
    # Errors of the block say in which file or option a setting was given.
    with add_origin_to_errors(given):
        data, tokenizer = named_data(given, data, tokenizer, read, None if force else RunFolder(Path(output)))
        given, read = reading.merge(given, read)
        if data is not None:
            reading.require_text(read, data, given)
        if plot is not None:
            check_figure(plot, force=force, option="--plot")
        folder = RunFolder(Path(output))
        if not folder.exists() and not folder.is_version_1():
            folder.refuse_other_content()
        opened = open_unless_packed(given, data, tokenizer, read)
        check_vocab_of(data, opened, given)
        options: dict[str, Any] = {"force": force, "allow_mismatch": allow_mismatch}
        if dry_run:
            with _naming_data_of_run(folder, data):
                numbers, rows = dry_run_rows(given, opened, output=output, **options)
            notes = tuple(numbers.pop("notes"))
            if not is_main():
                return _silent()
            return Outcome(numbers, lambda: print_rows(rows, title="would train"), warnings=notes)
        options["verify"] = not no_verify
        with _naming_data_of_run(folder, data):
            return _train(given, opened, output, evaluate, named["device"], plot=plot, **options)


@contextmanager
def _naming_data_of_run(run: RunFolder, data: str | None) -> Iterator[None]:
    """An error about other data than those of `run`, the output, has the command with these, where they are found."""
    try:
        yield
    except Mismatch as error:
        is_of_data = error.fields.get("field") in ("fingerprint", "data")
        own = _data_of_begun(run, data) if is_of_data else None
        if data is not None and own is not None:
            fix = error.parts["fix"]
            other = fix[-1] if isinstance(fix, tuple) else f"or {fix}"
            error.fix = f"{_with_data(data, own)}; {str(other).removeprefix(', ')}"
        elif data is not None and error.fields.get("field") == "fingerprint":
            error.fix = f"{error.parts['fix']} && {_with_data(data, 'NEW')}"
        raise


def _data_of_begun(run: RunFolder | None, data: str | None) -> str | None:
    """The packed data of a run that the command would continue, by their content; None without any, and where `data`
    are no argument of the command, in whose place they would stand.
    """
    from slmmodel.cli.recorded import data_of

    # A damaged run is the error of a later check.
    with suppress(OSError, SlmmodelError):
        if run is not None and data in arguments_of_command() and run.exists() and not run.finished:
            recorded = run.config["data"]["train"]
            return data_of(run, recorded) if isinstance(recorded, str) else None
    return None


def named_data(
    given: Settings,
    data: str | None,
    tokenizer: str | None,
    read: ReadOptions | None = None,
    output: RunFolder | None = None,
) -> tuple[str | None, str | None]:
    """Training data and tokenizer of the command line, else of the settings; the data are put into `given`.

    The data are None where the settings name several sources or stages. Raises `OptionError` for no data,
    `MissingInput` for text without a tokenizer.
    """
    from slmmodel.config import Setting

    named = given["data.train"].value if "data.train" in given else None
    tokenizer = tokenizer or (str(given["data.tokenizer"].value) if "data.tokenizer" in given else None) or None
    if data is None and (isinstance(named, list | tuple) or ("data.stages" in given and given["data.stages"].value)):
        return None, tokenizer
    data = data or (None if named is None else str(named))
    if not data and tokenizer is not None and is_text_for_tokenizer(tokenizer):
        data, tokenizer = tokenizer, None
    if not data and tokenizer is not None and is_argument(tokenizer, arguments_of_command()):
        refuse_file_of_data(tokenizer, partial(_with_data, tokenizer))
    if not data:
        fact, fix = (
            "DATA is missing",
            f"slm train {shlex.quote(data_here(arguments_of_command()))}, or data.train in the configuration",
        )
        if tokenizer is not None:
            fact, fix = f"{fact}: {tokenizer!r} is a tokenizer", _with_text(tokenizer)
        context = click.get_current_context(silent=True)
        if context is not None and context.info_name == "config":
            option = "a DATA" if tokenizer is None else "the text"
            words = ["slm", "config", *arguments_of_command(), "--data", data_here(arguments_of_command())]
            fix = f"name {option}: {shlex.join(words)}, or data.train in FILE"
        raise OptionError(fact, fix=fix, option="data")
    _refuse_settings(data)
    if tokenizer is None and (is_text(data) or not Path(data).exists()):
        begun = None if Path(data).exists() else _data_of_begun(output, data)
        raise _no_token_data(data, read) if begun is None else missing_path(data, _with_data(data, begun))
    if tokenizer is not None and Path(data).exists() and not is_text(data):
        _refuse_unnamed_ids(data, tokenizer)
        other = f"pack the text with it: {packed_again(data, tokenizer)}"
        if Path(tokenizer).exists() and is_text_for_tokenizer(tokenizer):
            own = Path(data) / "tok.json"
            file = str(own) if own.is_file() else tokenizer_near(tokenizer)
            other = f"pack it: {shlex.join(['slmtok', 'pack', tokenizer, '-t', file])} -o NEW"
        raise OptionError(
            f"{data!r} is token data, and --tokenizer is for text",
            fix=f"leave it out: packed data have their own; to train with {tokenizer}, {other}",
            option="tokenizer",
        )
    given["data.train"] = Setting(data, "DATA" if data != named else given["data.train"].where)
    return data, tokenizer


@contextmanager
def _naming_output(path: str, is_taken: bool) -> Iterator[None]:
    """Adds a new output to the fix for several values, each of which is a run, where no run can be written."""
    try:
        yield
    except InvalidConfig as error:
        fix = error.parts["fix"]
        if is_taken and isinstance(fix, tuple) and fix[-1] == EACH_RUN:
            error.fix = (
                Argument("output", *shlex.split(new_name(Path(path)))),
                " ",
                *fix,
                ", with an output of its own",
            )
        raise


def _with_data(data: str, *words: str) -> str:
    """The command line with other `words` in the place of the data; `slm train` and these where it has none."""
    context = click.get_current_context(silent=True)
    given = arguments_of_command()
    if Path(words[0]).is_dir() and (Path(words[0]) / "manifest.json").is_file():
        given = without(("-t", "--tokenizer"), given)  # packed data have their own
    at = next((at for at, pair in enumerate(pairwise(["", *given])) if pair[1] == data and pair[0] not in NAMING), None)
    if context is None or at is None:
        return shlex.join(["slm", "train", *words])
    return command_line(context, [*given[:at], *words, *given[at + 1 :], *_free_output(context)])


def _refuse_run(path: str) -> None:
    """Raises `OptionError` for a run, a checkpoint or weights of one in the place of the data."""
    try:
        refuse_run(path)
    except OptionError as error:
        error.fix = _for_run(path)
        raise


def _for_run(path: str) -> str:
    """What is meant by a run in the place of the data: a new run on its data where these are there, or to go on."""
    folder, found = RunFolder(Path(path)), None
    run = folder if folder.exists() else RunFolder((folder.enclosing or (Path(path), None))[0])
    going_on = resumed([str(run.path) if word == path else word for word in arguments_of_command()])
    with suppress(OSError, SlmmodelError):
        found = recorded_data(run) if run.exists() else None
    if found is None:
        return f"{going_on} continues a run; or name the text"
    is_named = is_given("tokenizer") or not is_text(found)
    anew = _with_data(path, found, *([] if is_named else ["-t", str(run.tokenizer)]))
    return f"{anew} trains anew on its data; {going_on} continues it"


def _with_text(tokenizer: str) -> str:
    """The command line with `TEXT` as the data, for a tokenizer that is an argument, the value of -t or a setting."""
    context, given = click.get_current_context(silent=True), arguments_of_command()
    if context is None or is_argument(tokenizer, given):
        return _with_data(tokenizer, "TEXT", "-t", tokenizer)
    return command_line(context, ["TEXT", *given, *_free_output(context)])


def _free_output(context: click.Context | None) -> list[str]:
    """A new output, where the command line of `slm train` names none and the default one is a finished run."""
    if context is None or context.info_name != "train" or is_given("output"):
        return []
    run = Path(str(context.params["output"]))
    return ["-o", *shlex.split(new_name(run))] if RunFolder(run).finished else []


def _tokenized(text: str) -> str:
    """The command line with a text as the data, and the tokenizer near it."""
    context = click.get_current_context(silent=True)
    if context is not None and value_after(["--data"], arguments_of_command()) == text:
        return shlex.join([*context.command_path.split(), *arguments_of_command(), "-t", tokenizer_near(text)])
    rest: list[str] = []
    for before, word in pairwise(["", *arguments_of_command()]):
        if word == text and before in ("-t", "--tokenizer"):
            rest.pop()
        elif word not in (text, f"--tokenizer={text}", f"-t{text}") or before in NAMING:
            rest.append(word)
    command = ["slm", "train"] if context is None else context.command_path.split()
    return shlex.join([*command, text, "-t", tokenizer_near(text), *rest, *_free_output(context)])


def _refuse_settings(data: str) -> None:
    """Raises `OptionError` for a file of settings, ours or of another trainer, in the place of the data."""
    from slmmodel.cli.settings_files import as_options, names_in, settings_in, translated

    refuse_file_of_data(data, partial(_with_data, data))
    limit = "DATA is a corpus or token data; settings are given with --set NAME=VALUE or --config FILE.yaml"
    if (given := settings_in(data)) is not None:
        train = given.get("data.train")
        fix = _with_data(
            data, *([] if train and train.value else [data_here(arguments_of_command())]), "--config", data
        )
        raise OptionError(f"{data!r} is a configuration, not data", limit=limit, fix=fix, option="data")
    if names := names_in(data):
        line = _with_data(data, data_here(arguments_of_command()), "--config", free_name("run.yaml"))
        fix = f"{translated(names)}slm config > {free_name('run.yaml')} writes a file for them; then {line}"
        if sets := as_options(data, arguments_of_command()):
            fix = _with_data(data, data_here(arguments_of_command()), *sets.words) + sets.remark
        raise OptionError(f"{data!r} is a file of settings, not data", limit=limit, fix=fix, option="data")


def _refuse_unnamed_ids(data: str, tokenizer: str) -> None:
    """Raises `OptionError` for ids of another tool whose tokenizer no file says: `--tokenizer` may name it.

    `UnsupportedFormat` for text under the name of such a file.
    """
    from slmmodel.data.opening import name_packed, refuse_text

    folder = Path(data) if Path(data).is_dir() else Path(data).parent
    vocab = folder / "vocab.json"
    if any((folder / name).is_file() for name in ("manifest.json", vocab.name)):
        return
    refuse_text(Path(data), name_packed(Path(data), tokenizer), tokenizer)
    context = click.get_current_context()
    line = command_line(context, [*without(("-t", "--tokenizer"), arguments_of_command()), *_free_output(context)])
    write = shlex.join(["slmtok", "vocab", tokenizer, "--metadata", "-o", str(vocab)])
    raise OptionError(
        f"{data!r} is ids that do not record their tokenizer, and --tokenizer is for text",
        limit=f"a {vocab} of the tokenizer that made the ids",
        fix=f"{write} && {line}, if {tokenizer} made them",
        option="tokenizer",
    )


def open_unless_packed(given: Settings, data: str | None, tokenizer: str | None, read: ReadOptions) -> RunData | None:
    """What the settings train on: text, several sources read together (a mixture), or generated tasks (passkeys).

    A passkey is a number hidden in filler text, to be found. None for plain packed data, which `trainer.train` opens.
    """
    from slmmodel.config import resolve, validate
    from slmmodel.data.opening import open_data
    from slmmodel.data_config import DataConfig

    # A mixture is also what stages of data and a cache of tokenized blocks are read through.
    options = {name: setting for name, setting in given.items() if not name.startswith("model.")}
    section = DataConfig.model_validate(validate(options).get("data", {}))
    if data is not None and not section.is_mixture:
        _refuse_run(data)
        refuse_file_of_data(section.val, train=data)
        opened = open_if_text(data, tokenizer, section.val, read)
        if opened is None and is_text(section.val):
            # Refused here, before torch is imported.
            with packing_validation():
                open_data(data, section.val)
        return opened
    from slmmodel.cli.sources import open_mixture, with_passkeys

    opened = open_mixture(section, tokenizer, read)
    from slmmodel.hardware import device_for
    from slmmodel.training.setup import value_of

    device = device_for(value_of(given, "run.device", "auto"))
    return with_passkeys(opened, resolve(given, opened.vocab, opened.n_train_ids, device.type)[0])


def _no_token_data(data: str, read: ReadOptions | None) -> SlmmodelError:
    """The error for a corpus without `-t`, and for data that does not exist.

    Raises `OptionError` for a run and for files of slmtok, which are no corpus.
    """
    name, folder = shlex.quote(data), Path(data).parent
    if not is_text(data):
        fix = f"slmtok pack CORPUS -t TOK -o {name}; or name token data that exists"
        if Path(data).suffix:
            fix = similar_name(data) or "check the name"
        if (folder / "manifest.json").is_file():
            fix = _with_data(data, str(folder))
        elif near := get_close_matches(data, [str(each.parent) for each in folder.glob("*/manifest.json")], n=1):
            fix = _with_data(data, near[0])
        return missing_path(data, fix)
    _refuse_run(data)
    check_text(data, read)
    fact, where = f"{data!r} is text, and needs a tokenizer", data
    if Path(data).is_dir():
        is_begun = any((Path(data) / name).exists() for name in ("plan.json", "journal.jsonl", ".packing"))
        fact = f"{data!r} is " + ("not finished token data" if is_begun else "a folder of text, and needs a tokenizer")
        where = "it has no manifest.json"
    pack = ["slmtok", "pack", data, "-t", tokenizer_near(data)]
    return MissingInput(
        fact,
        where=where,
        fix=f"{_tokenized(data)} tokenizes it while training; {shlex.join(pack)} -o DATA writes token data",
        path=data,
    )


def dry_run_rows(given: Settings, data: RunData | None, **options: Any) -> tuple[dict[str, Any], list[Row]]:
    """What would be trained, as numbers and as a table; `options` are those of `trainer.dry_run`."""
    from slmmodel.trainer import dry_run

    numbers = dry_run(given, data=data, **options)

    def amount(name: str, form: Callable[[float], str] = format_count) -> str:
        return "limited by time" if numbers[name] is None else form(numbers[name])

    each_step = f"of {numbers['batch_size']:,} sequences, {numbers['tokens_per_step']:,.0f} ids"
    is_timed = numbers["steps"] is None
    share = f"embedding share {numbers['embedding_share']:.1%}; 8-15 % is usual near the optimum"
    seen_bytes = "" if numbers["bytes"] is None else format_bytes(numbers["bytes"])
    memory = f"{format_bytes(numbers['memory_bytes'])} for weights, gradients and optimizer"
    memory += f"; a step takes {format_bytes(numbers['min_memory_bytes'])} or more"
    rows: list[Row] = [
        ("model", f"{numbers['arch']}, preset {numbers['preset'] or 'none'}, seq_len {numbers['seq_len']}"),
        ("parameters", f"{format_count(numbers['parameters'])}; {share}"),
        ("optimizer", f"{numbers['optimizer']}, peak learning rate {numbers['lr']:g}"),
        ("steps", f"{amount('steps')}{', each' * is_timed} {each_step}"),
        ("seen", amount("tokens") if is_timed else f"{amount('tokens')} ids, {seen_bytes}"),
        ("epochs", amount("epochs", "{:.2f}".format)),
        ("padding", f"{numbers['padding_share']:.2%} of ids"),
        ("FLOPs", amount("flops", "{:.3g}".format)),
        ("memory", memory),
    ]
    return numbers, rows


@command("resume", example="slm resume run", habits=RESUME_HABITS)
@run_argument
@option("--step", metavar="N", type=STEP, help="The checkpoint, as in RUN/checkpoints, at which a new run starts.")
@option("--data", metavar="DATA", help="Where the data are now, if they were moved.")
@set_option
@budget_option
@setting_option("run.device", overrides=True, show_default="that of the run")
@setting_option("run.threads", overrides=True, show_default="that of the run")
@evaluate_option
@allow_mismatch_option
@no_verify_option
@output_options(metavar="NEW", help="The folder of the new run.")
def resume(
    run: str,
    step: int | None,
    data: str | None,
    sets: tuple[str, ...],
    budget: str | None,
    evaluate: bool,
    allow_mismatch: tuple[str, ...],
    no_verify: bool,
    output: str | None,
    force: bool,
    **machine: Any,
) -> Outcome:
    """Continue a run.

    With --step and -o: start a new run at a checkpoint and leave the old one unchanged; --set and --budget may change
    its settings.
    """
    # Wrong values are refused before anything is read or copied, and before a fix repeats them.
    check_addition(RunFolder(Path(run)), step, budget)
    with _naming_output(output or run, (output is None or RunFolder(Path(output)).finished) and not force):
        _check_changes(run, sets, budget, {f"run.{name}": value for name, value in machine.items()})
    folder = RunFolder.open(run, allow_mismatch=allow_mismatch)
    # A run is not scored on other data.
    has_own_data = data is None or "data" not in allow_mismatch
    is_scored = output is None and step is None and evaluate and has_own_data and _awaits_scoring(folder)
    if not is_scored:
        check_checkpoints(folder)
    check_step(folder, step)
    if output is None and is_last(folder, step):
        step = None
    if output is not None and resolved(output) == resolved(folder.path):
        fix = resumed_at(folder, step, without(("-o", "--output"), arguments_of_command()))
        raise OptionError(f"-o {output!r} is the run itself", fix=fix, option="output")
    check_kept(folder, sets)
    check_budget(folder, step, budget)
    has_changes = step is not None or bool(sets or budget or force)
    if data is not None and output is None and (has_changes or folder.finished):
        # Before an error whose fix repeats it.
        open_data_of(folder, data, compares=True, allowed=allow_mismatch)
    if output is None and has_changes:
        raise needs_new(folder, step, data)
    if not is_scored:
        check_branch(folder, step, sets, budget)
    parent = folder
    is_new = output is not None and (force or not RunFolder(Path(output)).exists())
    opened = open_data_of(folder, data, allowed=allow_mismatch)
    if output is not None:
        folder = _branched(folder, step, output, read_settings(None, sets, budget, {}), data, force=force)
    with removed_if_refused(folder, run) if is_new else nullcontext():
        config = folder.config
        values = {f"run.{name}": config["run"][name] if value is None else value for name, value in machine.items()}
        given = read_settings(None, (), None, {"data.train": data, **values})
        options: dict[str, Any] = {"allow_mismatch": allow_mismatch, "verify": not no_verify}
        again = [f"--{name} {shlex.quote(str(value))}" for name, value in {"data": data, **machine}.items() if value]
        again += [f"--allow-mismatch {name}" for name in allow_mismatch]
        # Of a new run, the configuration has where its data are.
        options["again"] = again if output is None else again[data is not None :]
        with naming_what_differs(parent, sets, data):
            return _train(given, opened, folder.path, evaluate, machine["device"], **options)


def _branched(
    parent: RunFolder, step: int | None, output: str, changes: Settings, data: str | None, *, force: bool
) -> RunFolder:
    """The new run. Raises what `branch` raises; for a damaged checkpoint with another one."""
    from slmmodel.trainer import branch

    with naming_sound_step(parent):
        return branch(parent.path, step, output, settings=changes, data=data, force=force)


def _check_changes(run: str, sets: Sequence[str], budget: str | None, values: dict[str, Any]) -> None:
    """Raises `InvalidConfig` for a wrong change of a run, with the value that the run has where it is readable."""
    try:
        read_settings(None, sets, budget, values)
    except InvalidConfig as error:
        try:
            read_settings(str(Path(run) / CONFIG), sets, budget, values)
        except SlmmodelError as recorded:
            raise (recorded if recorded.where == error.where else error) from None
        raise


# Shared by train, resume and demo.


def read_settings(config: str | None, sets: Sequence[str], budget: str | None, values: dict[str, Any]) -> Settings:
    """All settings that were given; `--set` and single options override the file. None is not given.

    Names and values are checked here, before torch is imported. Raises `InvalidConfig`, `UnknownName`, and
    `OptionError` for a file that is no configuration, for one setting with two values of `--set` and its option, and
    for a preset whose sizes the file replaces.
    """
    from slmmodel.cli.settings_files import refuse_idle_preset
    from slmmodel.config import (
        Setting,
        add_origin_to_errors,
        check_without_data,
        merged,
        read_assignments,
        read_budget,
        read_yaml,
        refuse_contradiction,
    )

    if config is not None:
        _refuse_other_file(config)
    with _naming_options(config):
        from_file = read_yaml(config) if config is not None else {}
    if config is not None and not from_file and is_main() and not settings().quiet:
        note(f"{config} sets nothing")
    from_options: Settings = {}
    for assigned in (read_assignments([text]) for text in sets):
        _note_on_replaced(from_options, assigned)
        from_options |= assigned
    named = {
        # Training data are an argument, everything else an option.
        name: Setting(str(value), "DATA" if name == "data.train" else flag_of(name))
        for name, value in values.items()
        if value is not None
    }
    if budget is not None:
        from_budget = read_budget(budget, "--budget", {**from_file, **from_options, **named})
        refuse_contradiction(from_options, from_budget)
        from_options |= from_budget
    refuse_contradiction(from_options, named)
    given = merged(from_file, {**from_options, **named})
    with add_origin_to_errors(given):
        check_without_data(given, reading.setting_names())
    if config is not None:
        refuse_idle_preset(config, from_file, given)
    return given


def _note_on_replaced(before: Settings, assigned: Settings) -> None:
    """A note on a setting that a later `--set` replaces, as one that follows a fix does."""
    for name in before.keys() & assigned.keys():
        if before[name].value != assigned[name].value:
            note_of_command(f"--set {name}={before[name].value} is replaced by --set {name}={assigned[name].value}")


def _with_options(config: str) -> str | None:
    """The command line with the settings of another trainer's file as options in its place; None without any."""
    from slmmodel.cli.settings_files import as_options

    context, given = click.get_current_context(silent=True), arguments_of_command()
    if context is None or (sets := as_options(config, given)) is None:
        return None
    # The file is no configuration to check.
    rest = [word for word in without(("--config",), given) if word not in (config, "--check")]
    return command_line(context, [*rest, *sets.words, *_free_output(context)]) + sets.remark


@contextmanager
def _naming_options(config: str | None) -> Iterator[None]:
    """Where a file is not a configuration, the fix has the settings of another trainer in it as options."""
    try:
        yield
    except InvalidConfig as error:
        if config is not None and error.fields.get("option") == "config":
            error.fix = _with_options(config) or error.parts["fix"]
        raise


_LANGUAGES = {".py": "Python, as nanoGPT takes it", ".toml": "TOML", ".ini": "INI", ".cfg": "INI", ".sh": "a script"}
"""Of configurations of other trainers, by suffix."""


def _refuse_other_file(config: str) -> None:
    """Raises `OptionError` for a file of slmtok or slm where a configuration is meant.

    The files of a run lie beside its configuration.
    """
    from slmmodel.cli.settings_files import names_in, translated
    from slmtok.file_kinds import NAMES, is_run, kind_of_file

    limit, fix, beside = None, "slm config > run.yaml writes one", Path(config).with_name(CONFIG)
    if not os.path.exists(config):  # noqa: PTH110  (false for names that no system takes)
        return
    if Path(config).name != CONFIG and beside.is_file() and beside.with_name(SUMS).is_file():
        fact, fix = f"{config} is not a configuration: it is a file of a run", f"--config {shlex.quote(str(beside))}"
    elif is_run(config):
        fact, fix = f"{config!r} is a run, not a configuration", f"--config {shlex.quote(str(Path(config, CONFIG)))}"
    elif (language := _LANGUAGES.get(Path(config).suffix.lower())) and Path(config).is_file():
        fact = f"{config} is {language}, not a configuration of slm"
        limit = "YAML, whose sections are model, data, optim and run"
        if line := _with_options(config):
            fix = line
        elif ours := translated(names_in(config)):
            fix = f"{ours}{fix}"
        else:
            fix = f"{fix}; slm train DATA --learning_rate 1e-3 is answered by our setting"
    elif (kind := kind_of_file(config)) in NAMES:
        fact = f"{config} is {NAMES[kind]}, not a configuration"
    else:
        return
    raise OptionError(fact, where="--config", limit=limit, fix=fix, option="config")


def _train(
    given: Settings,
    data: RunData | None,
    output: str | Path,
    evaluate: bool,
    device: str | None,
    *,
    plot: str | None = None,
    again: Sequence[str] = (),
    **options: Any,
) -> Outcome:
    """Trains, draws the figure, scores a finished run, and prints how to continue an interrupted one.

    again: options of `slm resume` that it continues with.
    """
    # Of the processes that torchrun started, only rank 0 prints, and goes on after training.
    with TrainProgress("loading torch", quiet=settings().quiet or not is_main()) as progress:
        from slmmodel.trainer import train as train_run

        progress("preparing", 0, 0)
        remark = (lambda text: None) if progress.quiet else (lambda text: progress.line(f"note: {text}"))
        needs_score = evaluate and not options.get("force")
        unevaluated = _finished_without_score(given, data, Path(output), remark) if needs_score else None
        result = unevaluated or train_run(given, data=data, output=output, report=progress, note=remark, **options)
        if not is_main():
            return _silent(result.code)
        if plot is not None:
            progress("plotting", 0, 0)
            draw([RunFolder(result.path)], plot, force=True)
        certificate = _score(result, device or "auto", remark) if evaluate else None
    if not result.finished:
        word = "interrupted" if result.code == INTERRUPTED else "terminated"
        command = " ".join(["slm resume", shlex.quote(str(result.path)), *again])
        sys.stderr.write(f"{word}; the state is saved. To continue:\n  {command}\n")
        sys.stderr.flush()
    rows = result_rows(result.to_dict(), certificate)
    return Outcome(
        {**result.to_dict(), "evaluation": certificate},
        summary=lambda: print_rows(rows, title=str(result.path)),
        code=result.code,
        warnings=tuple(result.notes),
        warnings_shown=True,
    )


def _silent(code: int = 0) -> Outcome:
    """The outcome of a rank that prints nothing."""
    settings().as_json = False
    return Outcome({}, code=code)


def _finished_without_score(
    given: Settings, data: RunData | None, output: Path, remark: Callable[[str], object]
) -> RunResult | None:
    """The result of a finished run of these settings and data whose scoring was interrupted; None for any other.

    remark: takes a note. What a process that was killed at the end of training has left is removed.
    """
    from slmmodel.hardware import device_for
    from slmmodel.training import heartbeat, setup
    from slmmodel.training.state import RunResult

    run = RunFolder(output)
    if not (run.exists() and run.finished) or not _awaits_scoring(run := RunFolder.open(output)):
        return None
    fingerprint, result = run.fingerprint, run.result
    if result.keys() != Result.model_fields.keys():
        return None
    data = data or setup.open_packed_data(given, run.config)
    if data.train.digest != fingerprint.get("data"):
        return None
    now, _ = setup.configure(given, run.config, data, device_for(setup.value_of(given, "run.device", "auto")))
    if is_main():
        heartbeat.remove_traces(run)
        if moved := setup.record_data_paths(run, now.data):
            remark(moved)
    return RunResult(path=output, **result)


def _awaits_scoring(run: RunFolder) -> bool:
    """Whether a run is finished, has documents for validation, and no certificate."""
    return run.finished and run.fingerprint.get("val") is not None and not any((run.path / "eval").glob("*.json"))


def _score(result: RunResult, device: str, remark: Callable[[str], object]) -> dict[str, Any] | None:
    """The certificate of a finished run on its validation documents, written into the run; None without any.

    remark: takes a note on documents that cannot be opened again.
    """
    from slmmodel.cli import eval as scoring

    run = RunFolder.open(result.path)
    if not result.finished or run.config["data"]["val"] == "none" or run.fingerprint.get("val") is None:
        if result.finished and is_given("evaluate"):
            remark("--eval scored nothing: the run has no validation data")
        return None
    try:
        documents = scoring.open_documents(run, fix=f"slm eval {shlex.quote(str(run.path))} --on DATA")
    except MissingInput as error:
        remark(f"not scored: {error.fact}; {error.fix}")
        return None
    certificate = scoring.score(run, documents, device=device).certificate
    scoring.write_certificate(run, certificate)
    return certificate
