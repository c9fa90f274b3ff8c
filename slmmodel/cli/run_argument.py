"""The argument RUN: what is no run is refused before anything is loaded, with the command line that was meant."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click
from pydantic import ValidationError

from slmmodel.budget import Budget
from slmmodel.checkpoint import RunFolder, read_train_state, runs_in
from slmmodel.checks import folder_of
from slmmodel.cli.environment import check_environment
from slmmodel.errors import SlmmodelError, left_out
from slmmodel.files import new_name
from slmmodel.models.presets import PRESETS, nearest_in_size
from slmmodel.run_entries import CHECKPOINTS, CONFIG, run_above, step_named
from slmmodel.sizes import parse_count
from slmtok.cli.arguments import (
    OUTPUT_FLAGS,
    command_line,
    is_text_file,
    options_by_flag,
    placeholder_words,
    positional,
    positional_params,
    text_values,
    tokenizer_beside,
    value_after,
)
from slmtok.cli.errors import RUN_IS, usage_error
from slmtok.cli.files import names_tokenizer
from slmtok.cli.options import AmbiguousError, Decorator, argument
from slmtok.errors import OptionError, SlmtokError
from slmtok.file_kinds import NAMES, UNKNOWN, data_in, has_manifest, is_run, kind_of_file, read_head
from slmtok.files import free_name, resolved


def run_argument_of(**attributes: Any) -> Decorator:
    """The argument for a run, which is a folder."""
    shared: dict[str, Any] = {"metavar": "RUN", "help": "The folder of a run, as slm train wrote it."}
    return argument("run", **{**shared, **attributes, "callback": check_runs})


def check_runs(ctx: click.Context, param: click.Parameter | None, value: Any) -> Any:
    """The value, a path or several. Raises `MissingInput` for a file or packed data, and for what does not exist."""
    paths = () if ctx.resilient_parsing else value if isinstance(value, tuple) else (value,)
    for path in paths:
        if path and _is_no_run(path):
            _refuse(path, paths, ctx)
    return value


def run_here() -> str:
    """The first run of the working folder as a word of a command; RUN without one."""
    return next(iter(runs_in(Path())), "RUN")


def data_here(arguments: Sequence[str]) -> str:
    """The packed data of the working folder as a word of a command; DATA where there are none, or several.

    DATA is a text where the arguments of the command name a tokenizer.
    """
    if {word.partition("=")[0] for word in arguments} & {"-t", "--tokenizer"}:
        return "DATA"
    found = data_in(Path())
    return found[0] if len(found) == 1 else "DATA"


def refuse_output(
    paths: Sequence[str], suffixes: tuple[str, ...], name_of: Callable[[str], str] = lambda path: path
) -> None:
    """Raises `OptionError` for an output among runs, which ends in one of the suffixes, with the command for it.

    Where `-o` is given too, a second command writes that. `name_of` is the name of an output that the command takes.
    """
    output = next((path for path in paths if path.lower().endswith(suffixes) and not os.path.isdir(path)), None)  # noqa: PTH112
    if output is None:
        return
    ctx = click.get_current_context()
    words = [word for word in ctx.meta["arguments"] if word != output]
    if len(paths) == 1:
        words = [run_here(), *words]
    plain = without(OUTPUT_FLAGS, words)
    lines = [*([words] if plain != words else []), [*plain, "-o", free_name(name_of(output))]]
    fix = " && ".join(command_line(ctx, line) for line in lines)
    raise OptionError(f"{output!r} is named as a run", fix=fix, option="output")


def _is_no_run(path: str) -> bool:
    """Whether a path is a file, packed data or a part of a run, or does not exist; opening names other folders."""
    given = RunFolder(Path(path))
    # False also for names that the system refuses.
    if not os.path.isdir(path):  # noqa: PTH112
        return True
    return (given.path / "manifest.json").is_file() or (not given.exists() and given.enclosing is not None)


def _refuse(path: str, paths: Sequence[str], ctx: click.Context) -> None:
    # Without torch the packages to install come first.
    check_environment(str(ctx.info_name))
    folder, given = folder_of(path), RunFolder(Path(path))
    if of_tokens := of_tokenizer(path, ctx):
        raise given.not_a_run(path, what="a tokenizer", fix=of_tokens, option="run")
    if path in (named := _runs_behind_names(ctx.meta["arguments"])):
        error = given.not_a_run(path, fix=command_line(ctx, [named.get(each, each) for each in ctx.meta["arguments"]]))
        error.limit = "a run is given as its folder alone, whose name it has in results"
        raise error
    known, tokenizer, words = runs_in(folder) or runs_in(Path()), ctx.params.get("tokenizer"), ctx.meta["arguments"]
    tokenizer = tokenizer if is_argument(tokenizer, words) else None
    if tokenizer and os.path.exists(path) and len(positional_params(ctx.command)) > 1:  # noqa: PTH110
        # The tokenizer stands in the place of the run, and the other argument in its own.
        path, given, tokenizer = tokenizer, RunFolder(Path(tokenizer)), None
    if _place_in_run(path).enclosing is not None:
        raise given.not_a_run(path, fix=_with_runs(paths, ctx))
    # Of several runs, none is named twice.
    known = [each for each in known if each not in words]
    matched = [each for each in known if fnmatch(each, path)]
    if len(matched) > 1 and any(param.nargs == -1 for param in ctx.command.params):
        words = [name for word in words for name in (matched if word == path else [word])]
        raise given.not_a_run(path, fix=command_line(ctx, words))
    near = matched[:1] or get_close_matches(path, known, n=1)
    run = near[0] if near else str(folder / "run") if str(folder / "run") in known else next(iter(known), None)
    run = run or run_above(path)
    # A run in another place makes it a wrong command line, not a run that is missing.
    option = "run" if os.path.exists(path) and run_among(words) else None  # noqa: PTH110
    what, foreign = NAMES.get(kind_of_file(path)), _foreign_weights(path)
    # What no command reads stands for no run in particular, nor do data for the one that resume continues.
    trained = _trained_on(path, ctx)
    what = what or ("a text" if trained and not has_manifest(path) else None)
    fix = None if foreign else trained or _meant(path, run, tokenizer, ctx)
    error = given.not_a_run(path, what=what or foreign, fix=fix, option=option)
    if tokenizer and not os.path.exists(path):  # noqa: PTH110
        error.fact = f"RUN is missing: {tokenizer!r} is a tokenizer, and there is {error.fact}"
    if (name := tokenizer or path) and not os.path.exists(name) and nearest_in_size(name):  # noqa: PTH110
        # The name of a model elsewhere, such as gpt2.
        error.limit = "; ".join(filter(None, [RUN_IS, error.limit]))
    raise error


def tokenizer_near(text: str) -> str:
    """The tokenizer file beside a text, else one of the working folder; `TOK` where there is none."""
    return tokenizer_beside(text) or tokenizer_beside("tok") or "TOK"


def _trained_on(path: str, ctx: click.Context) -> str | None:
    """`slm train` on data in the place of the run that `slm resume` continues; None for others, and beside a run."""
    words, is_packed = ctx.meta["arguments"], has_manifest(path)
    if ctx.info_name != "resume" or run_among(words) or not (is_packed or is_text_file(path)):
        return None
    output, budget = value_after(OUTPUT_FLAGS, words), value_after(("--budget",), words)
    new = output or ("run" if not os.path.lexists("run") else shlex.split(new_name(Path("run")))[0])
    text = [] if is_packed else ["-t", tokenizer_near(path)]
    return shlex.join(["slm", "train", path, *text, "-o", new, *(["--budget", budget] if budget else [])])


def _foreign_weights(path: str) -> str | None:
    """What a file is that torch or another program wrote; None for text and for files of slmtok and slmmodel."""
    if not os.path.isfile(path) or kind_of_file(path) != UNKNOWN:  # noqa: PTH113
        return None
    from slmtok.file_content import content_of

    content = content_of(read_head(path))
    return None if content is None else content.name


def _runs_behind_names(words: Sequence[str]) -> dict[str, str]:
    """The runs in words such as `NAME=RUN`, by the word."""
    parts = {word: word.partition("=")[2] for word in words if not word.startswith("-")}
    return {word: run for word, run in parts.items() if run and is_run(run)}


def is_argument(tokenizer: str | None, words: Sequence[str]) -> bool:
    """Whether a tokenizer stands among the words as an argument, and not as the value of -t."""
    return tokenizer in [word for before, word in pairwise(["", *words]) if before not in ("-t", "--tokenizer")]


def of_tokenizer(path: str, ctx: click.Context) -> str | None:
    """The command of slmtok of the same name for a tokenizer in the place of a run, with what it lacks; else None."""
    slmtok, arguments = ctx.meta["app"].other, ctx.meta["arguments"]
    # The name of an encoding, such as gpt2, is also that of a model elsewhere.
    is_file = os.path.exists(path) and names_tokenizer(path)  # noqa: PTH110
    if not (is_file and is_argument(path, arguments)) or run_among(arguments):
        return None
    if slmtok is None or ctx.info_name not in slmtok.commands:
        return None
    words = [str(ctx.info_name), *arguments]
    try:
        context = slmtok.parse(words)
    except click.MissingParameter as error:
        fix = usage_error(error, "slmtok").fix
        return fix if fix and path in shlex.split(fix) else None
    except (click.ClickException, SlmtokError):
        return None
    is_taken = any(value == path and "TOK" in placeholder_words(param) for param, value in text_values(context))
    return shlex.join(["slmtok", *words]) if is_taken else None


def _place_in_run(path: str) -> RunFolder:
    """The place that is meant: `checkpoints/step-4` and `step-4` may be in a run of the working folder."""
    if not (os.path.exists(path) or os.path.isabs(path)):  # noqa: PTH110, PTH117
        runs = sorted(runs_in(Path()), key=lambda run: run != "run")
        places = (Path(run, between, path) for run in runs for between in ("", CHECKPOINTS))
        if path and (found := next(filter(Path.exists, places), None)):
            return RunFolder(found)
    return RunFolder(Path(path))


def _with_runs(paths: Sequence[str], ctx: click.Context) -> str:
    """The command line with the runs of `paths` in their places, each once, and with the step of a checkpoint."""
    words: list[str] = []
    at: tuple[RunFolder, int] | None = None
    for word in ctx.meta["arguments"]:
        found = _place_in_run(word).enclosing if word in paths else None
        run, step = found or (None, None)
        if run is None or str(run) not in words:
            words.append(word if run is None else str(run))
        if run is not None and step is not None and any(param.name == "step" for param in ctx.command.params):
            words += ["--step", str(step)]
            at = RunFolder(run), step
    return resumed_at(*at, words) if at and ctx.info_name == "resume" else command_line(ctx, words)


def resumed_at(run: RunFolder, step: int | None, words: Sequence[str]) -> str:
    """`slm resume` with these arguments for a new run that begins at a step: with its folder, and with another budget
    where that of the run or of the arguments is spent. At its last checkpoint an unfinished run goes on itself.
    """
    if is_spent(run, step, words):
        words = with_value("--budget", f"steps={max(2 * step_at(run, step), 1)}", words)
    given, steps = {word.partition("=")[0] for word in words}, int(run.result.get("steps", 0))
    needs_budget = run.finished and "--budget" not in given and (step is None or step >= steps)
    goes_on = is_last(run, step) and not given & {"--set", "--budget"}
    is_named = bool(given & {"-o", "--output"})
    # A new name replaces nothing.
    kept = [word for word in words if is_named or word != "--force"]
    folder = "" if goes_on or is_named else f" -o {new_name(run.path)}"
    return shlex.join(["slm", "resume", *kept]) + folder + f" --budget steps={max(2 * steps, 1)}" * needs_budget


def resumed(arguments: Sequence[str]) -> str:
    """`slm resume` with the run that an argument or the value of an option names, as it succeeds: a finished run has a
    new folder and a larger budget, and other data than those of the run are allowed.
    """
    path = run_among([part for word in arguments for part in word.split("=", 1)])
    if path is None:
        return "slm resume RUN"
    run, output = RunFolder(Path(path)), value_after(OUTPUT_FLAGS, arguments)
    new = [] if output is None or resolved(output) == resolved(run.path) else ["-o", output]
    budget, others = value_after(("--budget",), arguments), _with_other_data(run, arguments)
    own = others if others and is_mixture(run) else []
    words = [path, *new, *(others if not own else []), *(["--budget", budget] if budget else [])]
    line = resumed_at(run, None, words) if run.finished or len(words) > 1 else shlex.join(["slm", "resume", path])
    return f"{line} # on the data of the run: --data stands for one path, and it has several" if own else line


def is_mixture(run: RunFolder) -> bool:
    """Whether a run is trained on more than one path, in whose place no other data can be named."""
    from slmmodel.data_config import DataConfig

    return DataConfig.model_validate(run.config["data"]).is_mixture


def _with_other_data(run: RunFolder, arguments: Sequence[str]) -> list[str]:
    """The options of `slm resume` for data among arguments that are not at the place of those of the run."""
    from slmmodel.data.opening import open_source

    named = (word for before, word in pairwise(["", *arguments]) if before == "--data" or before[:1] != "-")
    paths = (word.removeprefix("--data=") for word in named if Path(word.removeprefix("--data=")).exists())
    data = next((path for path in paths if has_manifest(path) or is_text_file(path)), None)
    if data is None or str(Path(data).absolute()) == run.config["data"]["train"]:
        return []
    with suppress(SlmmodelError):
        # A copy of the data of the run, or the place to which they were moved.
        if has_manifest(data) and open_source(data).digest == run.fingerprint.get("data"):
            return [] if recorded_data(run) else ["--data", data]
    return ["--data", data, "--allow-mismatch", "data", "--allow-mismatch", "plan"]


def step_at(run: RunFolder, step: int | None) -> int:
    """The step of a checkpoint; of the newest one, and 0 without any, where none is named."""
    return max(run.checkpoints.list(), default=0) if step is None else step


def is_spent(run: RunFolder, step: int | None, words: Sequence[str]) -> bool:
    """Whether a checkpoint has spent the `--budget` among the arguments; one of no such form is refused elsewhere."""
    parts = [part for word in words for part in (word.split("=", 1) if word.startswith("--budget=") else [word])]
    kind, _, amount = next((value for flag, value in pairwise(parts) if flag == "--budget"), "").partition("=")
    try:
        budget = Budget.model_validate({kind: amount})
    except ValidationError:
        return False
    return budget.is_spent(counters_at(run, step_at(run, step)))


def counters_at(run: RunFolder, step: int) -> dict[str, Any]:
    """The totals of a checkpoint, of which one that cannot be read has the step alone."""
    try:
        return dict(read_train_state(run.checkpoints.path(step))["counters"])
    except (OSError, SlmmodelError):
        return {"step": step}


SETTINGS_OF_PLAN = ("run.seed", "run.batch_tokens")
"""Settings of `--set` that decide which sequences a step takes."""


class KeptSetting(NamedTuple):
    """What a branch has from its run: the subject and verb of a sentence, and what may change instead."""

    subject: str
    limit: str


def kept_setting(run: RunFolder, text: str) -> KeptSetting | None:
    """What `NAME=VALUE` would change of a run that no branch changes: its model, data or optimizer; else None."""
    from slmmodel.config_values import OPTIMIZER_NAMES

    name, value = (part.strip() for part in text.partition("=")[::2])
    optimizer = str(run.config["optim"]["name"])
    if name.startswith("model."):
        limit = "settings of optim and run; another model begins with random weights"
        return KeptSetting("model of a run does", limit)
    if name.startswith("data."):
        limit = "settings of optim and run; --data says where the data of the run are now"
        return KeptSetting("data of a run, and how they are read, do", limit)
    if name == "optim.name" and value != optimizer and value in OPTIMIZER_NAMES:
        limit = f"its checkpoints hold the state of {optimizer}, whose other settings may change"
        return KeptSetting("optimizer of a run does", limit)
    return None


def trained_anew(run: RunFolder, words: Sequence[str]) -> str | None:
    """`slm train` of a new run with the configuration and the data of a run, for these arguments of `slm resume`; None
    where the data have no path.
    """
    from slmmodel.cli.text import is_text

    given, named = without(("--step", "--data"), words), list[str]()
    for at, (before, word) in enumerate(pairwise(["", *given])):
        name, _, value = word.removeprefix("--set=").partition("=")
        if name == "data.train" and Path(value).exists():
            # Other data are an argument.
            given, named = [*given[: at - (before == "--set")], *given[at + 1 :]], [value]
            break
    data = named[0] if named else recorded_data(run)
    if data is None:
        return None
    text = ["-t", str(run.tokenizer)] if is_text(data) else []
    is_named = bool({word.partition("=")[0] for word in given} & {"-o", "--output"})
    kept = [word for word in given if Path(word) != run.path and (is_named or word != "--force")]
    line = shlex.join(["slm", "train", *named, "--config", str(run.path / CONFIG), *text, *kept])
    return line if is_named else f"{line} -o {new_name(run.path)}"


def recorded_data(run: RunFolder) -> str | None:
    """The data that a run was trained on, where they have a path that exists; else None."""
    data = run.config["data"]["train"]
    return data if isinstance(data, str) and Path(data).exists() else None


def without(flags: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """The arguments without these options and their values."""
    kept: list[str] = []
    # Of other tools, some write `--ckpt_path`.
    flags = [flag.replace("_", "-") for flag in flags]
    for before, word in pairwise(["", *arguments]):
        name, previous = (each.partition("=")[0].replace("_", "-") for each in (word, before))
        is_left_out = name in flags or (previous in flags and "=" not in before and not word.startswith("-"))
        is_left_out |= not word.startswith("--") and word[:2] in flags
        kept += [] if is_left_out else [word]
    return kept


def with_value(flag: str, value: object, arguments: Sequence[str]) -> list[str]:
    """The arguments with another value of an option."""
    return [*without((flag,), arguments), flag, str(value)]


def is_last(run: RunFolder, step: int | None) -> bool:
    """Whether a step is the one at which an unfinished run goes on."""
    return step is not None and not run.finished and step == run.checkpoints.newest()


def parse_step(text: str) -> int:
    """A step such as `500` or `step-500`. Raises `AmbiguousError` with one that the run of the command line has."""
    number = parse_count(text.removeprefix("step-"))
    if number is None:
        expects = f"takes a saved step, as in step-N, not {text!r}"
        ctx = click.get_current_context(silent=True)
        words = ctx.meta.get("arguments", ()) if ctx else ()
        if ctx is None or (run := run_among(words)) is None:
            raise OptionError(f"--step {expects}", fix="--step N, a step that RUN/checkpoints has", option="step")
        steps = RunFolder(Path(run)).checkpoints.list()
        if listed := [step for step in map(parse_count, text.split(",")) if step in steps]:
            raise AmbiguousError(f"{expects}; one step a command", listed)
        if (step := saved_step(run, text)) is None:
            fix = command_line(ctx, without(("--step",), words))
            raise OptionError(f"--step {expects}", limit=f"{run} has no checkpoints", fix=fix, option="step")
        if ctx.info_name == "resume":
            fix = resumed_at(RunFolder(Path(run)), step, with_value("--step", step, words))
            raise OptionError(f"--step {expects}", fix=fix, option="step")
        raise AmbiguousError(f"{expects}; {run} has {', '.join(map(str, steps))}", [step])
    return number


def saved_step(run: str, word: str) -> int | None:
    """The step of the checkpoint of a run that a word names; None for a run without any."""
    saved = RunFolder(Path(run)).checkpoints
    return step_named(word, saved.list(), saved.best())


def step_meant(word: str | None, arguments: Sequence[str]) -> str:
    """The option for the checkpoint of the run among the arguments that a word means, the last one without a word."""
    run = run_among([each for each in arguments if each != word])
    step = saved_step(run, word or "") if run else None
    return f"--step {'N' if step is None else step}"


def run_among(words: Sequence[str]) -> str | None:
    """The first argument that is a run."""
    return next((word for word in words if RunFolder(Path(word)).exists()), None)


def on_texts(command: click.Command, arguments: Sequence[str], run: str) -> str:
    """The command line with the data among its arguments behind `--on`; a command for each where `--on` takes one.

    `run` is the one that is scored where none is named.
    """
    options, texts, rest = options_by_flag(command), list[str](), list[str]()
    for before, word in pairwise(["", *arguments]):
        is_value = before in options and not options[before].is_flag
        is_option = word.startswith("-") and word != "-"
        if before == "--on" or word.startswith("--on=") or not (is_value or is_option or is_run(word)):
            texts.append(word.removeprefix("--on="))
        elif word != "--on":
            rest.append(word)
    if not any(map(is_run, rest)) and (runs := [text for text in texts if is_run(text)]):
        # The run and the data have changed places.
        run, texts = runs[0], [text for text in texts if text != runs[0]]
    line = ["slm", str(command.name), *(rest if any(map(is_run, rest)) else [run, *rest])]
    if options["--on"].multiple:
        return shlex.join([*line, *(part for text in texts for part in ("--on", text))])
    written = {value for flag, value in pairwise(rest) if flag in ("--certificate", "--losses") and len(texts) > 1}

    def of_text(word: str, text: str) -> str:
        """The word; an output with the name of the text, as the second command would not replace that of the first."""
        return str(Path(word).with_stem(f"{Path(word).stem}-{Path(text).stem}")) if word in written else word

    return " && ".join(shlex.join([*(of_text(word, text) for word in line), "--on", text]) for text in texts)


def _meant(path: str, run: str | None, tokenizer: str | None, ctx: click.Context) -> str | None:
    """The command line with `run` in the place of `path`, which may be the data, the text to continue, or a preset."""
    options = {param.name for param in ctx.command.params}
    words, exists = list(ctx.meta["arguments"]), os.path.exists(path)  # noqa: PTH110
    # Packed data do not belong behind an --on that takes text alone.
    takes = next((param.metavar or "" for param in ctx.command.params if param.name == "on"), "")
    is_on = "DATA" in takes or (bool(takes) and not has_manifest(path))
    if exists and is_on and (elsewhere := run_among(words) or run):
        return on_texts(ctx.command, words, elsewhere)
    if exists and (elsewhere := run_among(words)):
        run = elsewhere
        if len(positional_params(ctx.command)) == 1:
            rest = [word for word in words if word != path]
            if "data" in options and "--data" not in words and (has_manifest(path) or is_text_file(path)):
                return command_line(ctx, [*rest, "--data", path])
            return command_line(ctx, rest) + left_out([path])
        # The two change places.
        words = [path if word == run else word for word in words]
    elif not exists and "text" in options and (run_behind := run_among(words)):
        # TEXT RUN for RUN TEXT.
        exchanged = {path: run_behind, run_behind: path}
        return command_line(ctx, [exchanged.get(word, word) for word in words])
    is_prompt = "prompt" in options and not exists and (tokenizer is not None or any(map(str.isspace, path)))
    if "preset" in options and path in PRESETS:
        place = ["--preset", path]
    elif run is None:
        return None
    elif is_prompt:
        words = [word for word in words if word != tokenizer]
        place = [run, path] if "text" in options else [run, "--prompt", path]
    else:
        # The file of a command with two arguments stands in the place of its first.
        lacks_run = exists and len(positional(ctx)) < sum(param.required for param in positional_params(ctx.command))
        place = [run, path] if lacks_run else [run]
    at = words.index(path)
    return command_line(ctx, [*words[:at], *place, *words[at + 1 :]])
