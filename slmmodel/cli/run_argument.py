"""The argument RUN: what is no run is refused before anything is loaded, with the command line that was meant."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from slmmodel.checkpoint import RunFolder, known_runs, runs_in
from slmmodel.errors import MissingInput
from slmmodel.models.presets import PRESETS
from slmtok.cli.options import Decorator, argument
from slmtok.file_kinds import NAMES, kind_of_file

_MAX_SHOWN = 60
"""Characters of a path that an error shows."""


def run_argument_of(name: str = "run", **attributes: Any) -> Decorator:
    """The argument for a run, which is a folder."""
    shared: dict[str, Any] = {"metavar": "RUN", "help": "The folder of a run, as slm train wrote it."}
    return argument(name, **{**shared, **attributes, "callback": check_runs})


def check_runs(ctx: click.Context, param: click.Parameter | None, value: Any) -> Any:
    """The value, a path or several. Raises `MissingInput` for a file or packed data, and for what does not exist."""
    for path in () if ctx.resilient_parsing else value if isinstance(value, tuple) else [value]:
        # False also for names that the system refuses.
        if path and (not os.path.isdir(path) or (Path(path) / "manifest.json").is_file()):  # noqa: PTH112
            _refuse(path, ctx)
    return value


def _refuse(path: str, ctx: click.Context) -> None:
    # Without torch the packages to install come first.
    ctx.meta["app"].prepare(ctx.info_name)
    folder = Path(path).parent
    known, tokenizer = runs_in(folder), _tokenizer_by_place(ctx)
    if any(RunFolder(each).exists() for each in [*Path(path).parents][:3]):
        return  # `RunFolder.open` names the run.
    shown, where = repr(path if len(path) <= _MAX_SHOWN else path[:_MAX_SHOWN] + "…"), str(folder)
    fact = f"no folder {shown}"
    if os.path.exists(path):  # noqa: PTH110
        is_file = os.path.isfile(path)  # noqa: PTH113
        what = NAMES.get(kind_of_file(path)) if is_file else "packed data"
        fact = f"{shown} is {what}, not a run folder" if what else f"{shown} is not a run folder"
        where = "it is a file" if is_file else "it has no config.yaml"
    elif tokenizer:
        fact = f"RUN is missing: {tokenizer!r} is a tokenizer, and there is no folder {shown}"
    near = get_close_matches(path, known, n=1)
    run = near[0] if near else str(folder / "run") if str(folder / "run") in known else next(iter(known), None)
    fix = _meant(path, run, tokenizer, ctx) or "slm train DATA -o RUN creates one"
    # A run in another place makes it a wrong command line, not a run that is missing.
    option = "run" if os.path.exists(path) and _run_among(ctx.meta["arguments"]) else None  # noqa: PTH110
    raise MissingInput(fact, where=where, limit=known_runs(folder), fix=fix, path=path, option=option)


def _tokenizer_by_place(ctx: click.Context) -> str | None:
    """The tokenizer of the command line that is an argument and not the value of -t."""
    tokenizer, words = ctx.params.get("tokenizer"), ctx.meta["arguments"]
    given = [word for flag, word in zip(["", *words], words, strict=False) if flag not in ("-t", "--tokenizer")]
    return tokenizer if tokenizer in given else None


def _run_among(words: Sequence[str]) -> str | None:
    """The first argument that is a run."""
    return next((word for word in words if RunFolder(Path(word)).exists()), None)


def _meant(path: str, run: str | None, tokenizer: str | None, ctx: click.Context) -> str | None:
    """The command line with `run` in the place of `path`, which may be the data, the text to continue, or a preset."""
    options = {param.name for param in ctx.command.params}
    words, exists = list(ctx.meta["arguments"]), os.path.exists(path)  # noqa: PTH110
    if exists and (elsewhere := _run_among(words)):
        # The two change places, unless an option names the data.
        run = elsewhere
        swaps = "on" not in options and all(param.nargs == 1 for param in ctx.command.params)
        words = [path if word == run else word for word in words if swaps or word != run]
    is_prompt = "prompt" in options and not exists and (tokenizer is not None or any(map(str.isspace, path)))
    if "preset" in options and path in PRESETS:
        place = ["--preset", path]
    elif run is None:
        return None
    elif is_prompt:
        words = [word for word in words if word != tokenizer]
        place = [run, path] if "text" in options else [run, "--prompt", path]
    else:
        place = [run, "--on", path] if "on" in options and exists and "--on" not in words else [run]
    at = words.index(path)
    return shlex.join([*ctx.command_path.split(), *words[:at], *place, *words[at + 1 :]])
