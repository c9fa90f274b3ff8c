"""Errors for calls that do not fit a signature: they name the right argument, Python's own only the wrong one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from types import FunctionType
from typing import Any, TypeVar, cast

from slmmodel.errors import Argument, Fix, WrongType, suggestion
from slmmodel.foreign_names import FOREIGN_VALUES, UNITS, VOCAB_SIZES, own_setting

MAX_SHOWN = 60
"""Characters of an argument that a fix repeats."""
Target = TypeVar("Target", bound=Callable[..., Any])

FOREIGN_OPTIONS = {
    "batch_size": ("budget", "settings={'run.batch_tokens': N}, sequences times ids of a sequence"),
    **dict.fromkeys(("block_size", "max_seq_len", "context_length", "sequence_length"), ("seq_len", "seq_len=%r")),
    **dict.fromkeys(
        ("config", "config_file", "config_path"),
        ("settings", "slm train DATA --config %s in a shell; in Python settings={'optim.lr': 0.003} with its keys"),
    ),
    "do_sample": ("max_new_tokens", "temperature=0 for the likeliest ids, 0.8 to draw"),
    "eos_token_id": ("max_new_tokens", "stop_ids=(%r,)"),
    "epochs": ("budget", "budget='epochs=%s'"),
    "learning_rate": ("settings", "settings={'optim.lr': %r}"),
    "lr": ("settings", "settings={'optim.lr': %r}"),
    "map_location": ("device", "device=%r"),
    "max_iters": ("budget", "budget='steps=%s'"),
    "max_length": ("max_new_tokens", "max_new_tokens=%r, which does not count the prompt"),
    "max_steps": ("budget", "budget='steps=%s'"),
    "max_tokens": ("max_new_tokens", "max_new_tokens=%r"),
    "out_dir": ("output", "output=%r"),
    "overwrite": ("force", "force=%r"),
    "greedy": ("temperature", "temperature=0"),
    "input_ids": ("ids", "run.generate(ids)"),
    "inputs": ("ids", "run.generate(ids)"),
    "n": ("max_new_tokens", "one call for each, with other seeds: seed=1"),
    "num_beams": ("beam", "beam=%r"),
    "num_return_sequences": ("max_new_tokens", "one call for each, with other seeds: seed=1"),
    **dict.fromkeys(
        ("stop", "stop_sequences", "stop_strings"),
        ("max_new_tokens", "stop_ids=(2,) ends at an id; to end at a text, cut the new one: text.partition(%r)[0]"),
    ),
    **dict.fromkeys(
        ("val", "val_data", "validation_data", "eval_dataset", "eval_data"), ("settings", "settings={'data.val': %r}")
    ),
    "steps": ("budget", "budget='steps=%s'"),
}
"""Options of other libraries: ours that means the same, and the fix, with `%` for the value."""
_PRECISION = "run.precision"
_OF_TEXT = ("tokenizer", "reading")
"""Options of `slmmodel.app`, whose calls take text."""


def explains_calls(target: Target) -> Target:
    """Decorates a function, or the constructor and the public methods of a class, as in slmtok.

    A call that does not fit the signature raises `WrongType` with the right option instead of a bare `TypeError`.
    """
    if not isinstance(target, type):
        return _explained(target)
    for name, member in list(vars(target).items()):
        if isinstance(member, FunctionType) and (name == "__init__" or not name.startswith("_")):
            setattr(target, name, _explained(member))
    return target


def _explained(function: Target) -> Target:
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except TypeError as error:
            # Without a frame of the function the call itself failed.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            reason = str(error).partition("() ")[2]
        parameters = [each for each in signature(function).parameters.values() if each.name != "self"]
        named = [each.name for each in parameters if each.kind != Parameter.VAR_KEYWORD]
        name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
        for option, value in keywords.items():
            # An option of another library for one that is missing.
            if option in FOREIGN_OPTIONS and FOREIGN_OPTIONS[option][0] in set(named) - keywords.keys():
                raise unknown_option(name, option, value, named)
        if len(named) == len(parameters):
            for option, value in keywords.items():
                if option not in named:
                    wrong, settings = unknown_option(name, option, value, named), keywords.get("settings")
                    wrong.settings = settings if isinstance(settings, Mapping) else {}
                    raise wrong
        shown = ", ".join(each.name + "=" * (each.default is not Parameter.empty) for each in parameters)
        required = [each for each in parameters if each.default is Parameter.empty and each.name in named]
        example = ", ".join(each.name + "=..." * (each.kind == Parameter.KEYWORD_ONLY) for each in required)
        fix = f"{name}({example})" if "missing" in reason else "give options by name"
        given = args[1:] if "self" in signature(function).parameters else args
        if moved := _by_name(parameters, given, keywords):
            kept, by_name = moved
            fix = f"{name}({', '.join(kept + by_name)})" if "missing" in reason else f"{fix}: {', '.join(by_name)}"
        raise WrongType(f"{name}() {reason}", limit=f"{name}({shown})", fix=fix)

    return cast("Target", call)


def _by_name(
    parameters: Sequence[Parameter], given: Sequence[object], keywords: Mapping[str, object]
) -> tuple[list[str], list[str]] | None:
    """(by position, by name): the arguments of a call some of whose values belong to options; None if none does.

    Such a value is one too many, or of another type than the default in its place.
    """
    places = [each for each in parameters if each.kind == Parameter.POSITIONAL_OR_KEYWORD]
    options = [each for each in parameters if each.kind == Parameter.KEYWORD_ONLY and each.name not in keywords]
    kept: list[str] = []
    named: list[str] = []
    for index, value in enumerate(given):
        default = places[index].default if index < len(places) else value
        if index < len(places) and (default in (Parameter.empty, None) or type(value) is type(default)):
            kept.append(repr(os.fspath(value) if isinstance(value, os.PathLike) else value))
            continue
        option = next((each for each in options if _takes(each, value)), None)
        if option is None:
            return None
        options.remove(option)
        named.append(f"{option.name}={value!r}")
    return (kept, named) if named and all(len(each) <= MAX_SHOWN for each in kept + named) else None


def _takes(option: Parameter, value: object) -> bool:
    """Whether an option is the likely place of a value: by its annotation; a str is a tokenizer file, or the output."""
    if isinstance(value, str):
        return option.name == "tokenizer" if value.endswith(".json") else option.name == "output"
    return type(value).__name__ in str(option.annotation).split(" | ")


def _as_setting(option: str, value: object) -> Fix:
    """The setting that means what an option of another trainer does, with its value in our words."""
    name, word = own_setting(option) or "", str(value).removeprefix("torch.")
    if name in VOCAB_SIZES:
        return "leave it out: the vocabulary of the data decides it"
    if name.startswith("run.budget."):
        return (Argument("budget", f"{name.removeprefix('run.budget.')}={word}"),)
    if name in UNITS:
        # In another unit the number is another one.
        return f"settings={{{name!r}: N}}{UNITS[name]}"
    ours = FOREIGN_VALUES.get(name, {}).get(word.lower())
    return (Argument(name, ours or (value if isinstance(value, str | int | float) else word)),)


def _torch_type(value: object) -> str:
    """The type of torch that a value names; bfloat16 for others."""
    word = str(value).removeprefix("torch.").lower()
    ours = FOREIGN_VALUES[_PRECISION].get(word, word)
    return f"torch.{ {'fp32': 'float32', 'fp16': 'float16', 'fp64': 'float64'}.get(ours, 'bfloat16') }"


def unknown_option(call: str, option: str, value: object, options: Iterable[str]) -> WrongType:
    """The error for a keyword that a call does not have."""
    known = list(options)
    ours, fix = FOREIGN_OPTIONS.get(option, ("", ""))
    instead: Fix
    begun = next((each for each in known if len(option) > 2 and each.startswith(option)), None)
    meant = None if ours in known else begun or suggestion(option, known)
    if ours in known:
        shown = value
        if option.startswith("stop"):
            # Of several texts that may end one, the first.
            given = value if isinstance(value, list | tuple) else [value]
            shown = next((text for text in given if isinstance(text, str) and text), ".")
        instead = fix % (shown,) if "%" in fix else fix
        if ours == "settings" and isinstance(value, Mapping):
            instead = f"settings={value!r}"
    else:
        text = repr(value) if isinstance(value, str | int | float | list | tuple | None) else "..."
        instead = f"{meant}={text}" if meant else "leave it out"
        if not meant and own_setting(option) and "settings" in known:
            instead = _as_setting(option, value)
        elif call == "load" and own_setting(option) == _PRECISION:
            # A run of `slmmodel.app`, which takes a tokenizer, has the run of ids inside.
            model = "run.run.model" if "tokenizer" in known else "run.model"
            instead = f"leave it out, and convert the model of the run: {model}.to({_torch_type(value)})"
        if option in _OF_TEXT and not meant:
            instead = f"slmmodel.app.{call}(..., {option}={text}), which takes text; packed data have a tokenizer"
    return WrongType(
        f"{call}() has no option {option!r}" + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"options: {', '.join(known)}",
        fix=instead,
        option=option,
    )
