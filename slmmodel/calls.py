"""Errors for calls that do not fit a signature: they name the right argument, Python's own only the wrong one."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from slmmodel.callbacks import brief_parameter
from slmmodel.errors import (
    MAX_SHOWN,
    Argument,
    Fix,
    OptionError,
    SlmmodelError,
    WrongType,
    add_import,
    first_row,
    left_out,
    suggestion,
    unwritten,
    with_import,
)
from slmmodel.foreign_decoding import as_own_decoding
from slmmodel.foreign_names import (
    BATCH_TOKENS,
    BETAS,
    CALLS_ELSEWHERE,
    DEFAULT_SEQ_LEN,
    FOREIGN_VALUES,
    HELD_OUT_SHARES,
    OF_PASSES,
    OPENED,
    PASSES,
    READ_OPTIONS,
    SEQUENCES,
    UNITS,
    VOCAB_SIZES,
    both_betas,
    own_setting,
    reporting_function,
    switched_on,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

STREAMS = ("stream", "streamer")
"""Options of other libraries that give new ids, or their text, while they are generated."""
_MAX_SHOWN_WHOLE = 1000
"""Characters of a path, or of settings, that the fix repeats where it is a whole call."""
Target = TypeVar("Target", bound=Callable[..., Any])

OF_FILE = "settings=yaml.safe_load(open(%r, encoding='utf-8'))"
"""The settings of a configuration file in Python."""
_CONFIG_FILES = ("config", "config_file", "config_path")
_SETTINGS = ("budget", "seed", "device")
"""Arguments of a call that are settings as well, so that a configuration file may set them otherwise."""

LOSS = "torch.nn.functional.cross_entropy(run.model(ids).logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())"
"""The mean loss of the ids behind the first of each row, in nats."""
_LOSS_OF_TARGETS = "torch.nn.functional.cross_entropy(run.model(ids).logits.flatten(0, 1), {}.flatten())"
"""The mean loss of the id that each column has as its target, in nats."""
FOREIGN_OPTIONS = {
    **dict.fromkeys(("callback", "callbacks", "on_step", "on_log", "progress", "report"), ("report", "report=%s")),
    "batch_size": ("budget", "settings={'run.batch_tokens': N}, sequences times ids of a sequence"),
    **dict.fromkeys(("block_size", "max_seq_len", "context_length", "sequence_length"), ("seq_len", "seq_len=%r")),
    **dict.fromkeys(PASSES, ("budget", f"leave it out: {OF_PASSES}, as in settings={{'run.batch_tokens': N}}")),
    **dict.fromkeys(_CONFIG_FILES, ("settings", f"import yaml, then {OF_FILE}")),
    **dict.fromkeys(("dataset", "corpus", "train", "train_data", "train_dataset"), ("data", "data=%r")),
    "do_sample": ("max_new_tokens", "temperature=0 for the likeliest ids, 0.8 to draw"),
    "eos_token_id": ("max_new_tokens", "stop_ids=(%r,)"),
    "epochs": ("budget", "budget='epochs=%s'"),
    "map_location": ("device", "device=%r"),
    "max_iters": ("budget", "budget='steps=%s'"),
    "max_length": ("max_new_tokens", "max_new_tokens=%r, which does not count the prompt"),
    "max_steps": ("budget", "budget='steps=%s'"),
    "max_tokens": ("max_new_tokens", "max_new_tokens=%r"),
    "out_dir": ("output", "output=%r"),
    "overwrite": ("force", "force=%r"),
    "greedy": ("temperature", "temperature=0"),
    **dict.fromkeys(("input_ids", "inputs"), ("ids", "CALL(ids)")),
    "n": ("max_new_tokens", "one call for each, with other seeds: seed=1"),
    "model": ("preset", "preset=%r"),
    "num_beams": ("beam", "beam=%r"),
    "num_return_sequences": ("max_new_tokens", "one call for each, with other seeds: seed=1"),
    **dict.fromkeys(
        ("stop", "stop_sequences", "stop_strings"),
        ("max_new_tokens", "stop_ids=(2,) ends at an id; to end at a text, cut the new one: text.partition(%r)[0]"),
    ),
    "steps": ("budget", "budget='steps=%s'"),
    "attention_mask": ("document_ids", "document_ids=..., the number of each id's document, and -1 for padding"),
    **dict.fromkeys(
        ("past_key_values", "past_key_value"), ("state", "state=run.model.init_state(len(ids), ids.device)")
    ),
    "labels": (
        "logits",
        f"leave it out; the loss is {_LOSS_OF_TARGETS.format('labels')} for labels of a ShardDataset or ShardLoader, "
        f"which are the ids that follow; {LOSS.replace('ids[:', 'labels[:')} for those of transformers and of "
        "shift_labels=False, which are the ids of their own columns",
    ),
    "targets": ("logits", f"leave it out; the loss is {_LOSS_OF_TARGETS.format('targets')}"),
}
"""Options of other libraries: ours that means the same, and the fix, with `%` for the value, `CALL` for the call."""
_WITH_NAMED = re.compile(r"but (\d+) positional arguments? \(and .*\) were given")
_METHODS = {"forward": "run.model"}
"""What one calls, for methods whose name one does not write."""
_PRECISION = "run.precision"
_PACKED = "leave it out: packed data have a tokenizer"
Reading: TypeAlias = Mapping[str, object]
"""Options of slmtok that say how text is read, by name."""


def explains_calls(target: Target, options: type[BaseModel] | None = None) -> Target:
    """Decorates a function, or the constructor and the public methods of a class, as in slmtok.

    A call that does not fit the signature raises `WrongType` with the right option instead of a bare `TypeError`.
    options: the class of the argument `options`, whose fields a call may name as keywords, or of such an object that
    fits a call with `**options`.
    """
    if not isinstance(target, type):
        return _explained(target, tuple, options=options)
    for name, member in list(vars(target).items()):
        if isinstance(member, FunctionType) and (name == "__init__" or not name.startswith("_")):
            setattr(target, name, _explained(member, tuple, options=options))
    return target


def own_reading(option: str, value: object) -> Reading:
    """The options of reading that a keyword stands for: itself, or none."""
    return {option: value} if option in READ_OPTIONS else {}


def explains_settings(
    names: Callable[[], Iterable[str]],
    lengths: Callable[[], Mapping[str, int]],
    reading: Callable[[str, object], Reading] = own_reading,
) -> Callable[[Target], Target]:
    """As `explains_calls`, for a function with `settings`.

    names: the dotted names of all settings. lengths: `model.seq_len` of each preset. reading: the options of reading
    that a keyword and its value stand for.
    """
    return lambda target: _explained(target, names, lengths, reading)


def help_call(function: Callable[..., Any]) -> str:
    """The call that shows the options of a function or a method: `help(slmmodel.train)`.

    It is the fix for an option of no known meaning: a call without that option does something else than was meant.
    """
    name, parts = function.__qualname__.removesuffix(".__init__"), function.__module__.split(".")
    owner = name.partition(".")[0]
    for n_parts in range(1, len(parts)):
        package = ".".join(parts[:n_parts])
        module = sys.modules[package]
        if owner in getattr(module, "__all__", ()) and getattr(module, owner).__module__ == function.__module__:
            return f"help({package}.{name})"
    return f"help({function.__module__}.{name})"


def written_keywords(**given: object) -> list[str]:
    """`name=value` of each keyword that is not None, as a fix repeats it; an object that is no literal by its name."""
    shown = {name: repr(value) if is_literal(value) else name for name, value in given.items() if value is not None}
    return [f"{name}={value}" for name, value in shown.items()]


def written_fields(options: BaseModel) -> list[str]:
    """`name=value` of each field that an object of options sets."""
    return written_keywords(**{name: value for name, value in options if name in options.model_fields_set})


def tokenizer_argument(corpus: str) -> str:
    """The tokenizer of a fix: tok.json where it exists, else one that is trained on `corpus`, as a call names it."""
    return "'tok.json'" if os.path.isfile("tok.json") else f"slmtok.train({corpus}, vocab_size=8192)"  # noqa: PTH113


def is_literal(value: object) -> bool:
    """Whether the text of a value is Python that makes it again."""
    if isinstance(value, Mapping):
        return all(map(is_literal, [*value, *value.values()]))
    return all(map(is_literal, value)) if isinstance(value, list | tuple) else isinstance(value, str | int | float)


def _explained(
    function: Target,
    names: Callable[[], Iterable[str]],
    lengths: Callable[[], Mapping[str, int]] = dict,
    reading: Callable[[str, object], Reading] = own_reading,
    options: type[BaseModel] | None = None,
) -> Target:
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except Exception as error:
            add_import(error)
            _check_digits(function, args, keywords)
            _refuse_opened(function, args, keywords)
            if isinstance(error, SlmmodelError):
                # The outermost call is that of the caller.
                error.positions = _positions(function, args, keywords)
                raise
            # Without a frame of the function the call itself failed.
            if not isinstance(error, TypeError) or (error.__traceback__ and error.__traceback__.tb_next):
                raise
            reason = str(error).partition("() ")[2]
        parameters = [each for each in signature(function).parameters.values() if each.name != "self"]
        named = [each.name for each in parameters if each.kind != Parameter.VAR_KEYWORD]
        name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
        given = args[1:] if "self" in signature(function).parameters else args
        wrong = {option: value for option, value in keywords.items() if option not in named}
        if wrong and len(named) == len(parameters):
            all_names = list(names())
            if options and "options" in named and (decoding := _as_options(options, named, given, keywords)):
                raise _unknown_options(function, keywords, named, all_names, lengths(), decoding)
            of_text = _of_text(wrong, all_names, reading)
            path = getattr(args[0], "path", None) if args else None
            fix = _fix_of_text(name, path, parameters, given, keywords, of_text) if of_text else None
            raise _unknown_options(function, keywords, named, all_names, lengths(), (of_text if fix else (), fix))
        for option, value in keywords.items():
            # An option of another library for one that is missing.
            if option in FOREIGN_OPTIONS and FOREIGN_OPTIONS[option][0] in set(named) - keywords.keys():
                raise unknown_option(name, option, value, named, fallback=help_call(function))
        # Python adds the number of options by name, which are right.
        reason = _WITH_NAMED.sub(r"but \1 were given", reason)
        if "missing" in reason:
            fix = _completed_call(function, args, parameters, given, keywords)
        elif "multiple values" in reason:
            fix = "give it once"
        else:
            fix = _without_more(function, args, parameters, given, keywords, options)
        limit = f"{name}({', '.join(map(brief_parameter, parameters))})"
        raise WrongType(f"{name}() {reason}", limit=limit, fix=fix)

    return cast("Target", call)


def _completed_call(
    function: Callable[..., Any],
    args: Sequence[object],
    parameters: Sequence[Parameter],
    given: Sequence[object],
    keywords: Mapping[str, object],
) -> str:
    """The call of a function that lacks arguments, some of which it may have in another place."""
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    if moved := _by_name(parameters, given, keywords):
        return f"{name}({', '.join([*moved[0], *moved[1]])})"
    shown = [*_completed(parameters, given, keywords)]
    if parameters[0].name == "source" and isinstance(path := (*given, None)[0], str | os.PathLike):
        return f"source = open_source({os.fspath(path)!r}); {name}({', '.join(['source', *shown[1:]])})"
    return f"{_METHODS.get(name, name)}({', '.join(shown)})"


def _without_more(
    function: Callable[..., Any],
    args: Sequence[object],
    parameters: Sequence[Parameter],
    given: Sequence[object],
    keywords: Mapping[str, object],
    options: type[BaseModel] | None,
) -> str:
    """The fix for more arguments by position than a call takes: by name, or left out where it has no options."""
    places = [each for each in parameters if each.kind == Parameter.POSITIONAL_OR_KEYWORD]
    if len(places) == len(parameters):
        n_taken = len(places)
        shown = [_as_argument(f"argument {at}", given[at - 1]) for at in range(n_taken + 1, len(given) + 1)]
        if not all(_as_argument("", each) for each in (*given[:n_taken], *keywords.values())):
            # The call would name a variable, which the caller need not have.
            return f"leave out {', '.join(shown)}"
        call = f"{_name_of_call(function, args)}({', '.join(_completed(parameters, given[:n_taken], keywords))})"
        return call + left_out(shown)
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    if in_order := _data_first(name, parameters, given, keywords):
        return in_order
    by_name: list[str] = []
    if moved := _by_name(parameters, given, keywords):
        if getattr(given[0], "ndim", 0) == 2:
            words = [*moved[0], *moved[1], *written_keywords(**keywords)]
            return f"{_name_of_call(function, args)}({', '.join(words)})"
        by_name = moved[1]
    elif options and parameters[-1].kind == Parameter.VAR_KEYWORD:
        by_name = [word for each in given if isinstance(each, options) for word in written_fields(each)]
    return "give options by name" + f": {', '.join(by_name)}" * bool(by_name)


def _check_digits(function: Callable[..., Any], args: Sequence[object], keywords: Mapping[str, object]) -> None:
    """Raises `OptionError` for an integer of more digits than Python writes, since no other error can name it."""
    given = {**dict(zip(signature(function).parameters, args, strict=False)), **keywords}
    settings = given.get("settings")
    for name, value in [*given.items(), *(settings.items() if isinstance(settings, Mapping) else ())]:
        if shown := unwritten(value):
            limit = f"at most {sys.get_int_max_str_digits():,} digits"
            raise OptionError(f"{name} is {shown}", limit=limit, fix="write a smaller number", option=name)


def _refuse_opened(function: Callable[..., Any], args: Sequence[object], keywords: Mapping[str, object]) -> None:
    """Raises `WrongType` for packed data that are open already, where their folder belongs."""
    parameters = [each for each in signature(function).parameters.values() if each.name != "self"]
    names, given = [each.name for each in parameters], args[len(signature(function).parameters) - len(parameters) :]
    values = {**dict(zip(names, given, strict=False)), **keywords}
    opened: Any = values.get("path")
    if type(opened).__name__ not in ("ShardDataset", "ShardLoader"):
        return
    own = {"seq_len": opened.options["seq_len"]} if "seq_len" in names else {}
    call = ", ".join(_completed(parameters, [], {**own, **values, "path": opened.path}))
    fact = f"path is a {type(opened).__name__}, not the folder of packed data"
    raise WrongType(fact, fix=f"{_name_of_call(function, args)}({call})", option="path")


def _data_first(
    name: str, parameters: Sequence[Parameter], given: Sequence[object], keywords: Mapping[str, object]
) -> str | None:
    """The call with data as its first argument, where a tokenizer or a run stands before them; None for others."""
    if parameters[0].name != "data" or len(given) != 2 or not isinstance(given[1], str | os.PathLike):
        return None
    is_tok = _is_tok(given[0])
    if not is_tok and (given[0] is None or isinstance(given[0], os.PathLike) or is_literal(given[0])):
        return None
    words = [*_completed(parameters, given[1:], keywords)]
    module = "slmmodel.app" if is_tok or "tokenizer" in [each.name for each in parameters] else "slmmodel"
    return f"{module}.{name}({', '.join([*words[:1], *['tokenizer=tok'] * is_tok, *words[1:]])})"


def _positions(
    function: Callable[..., Any], args: Sequence[object], keywords: Mapping[str, object]
) -> dict[str, tuple[str, str]]:
    """The arguments that a call was given by position, each with what stands before and behind it."""
    parameters, name = [*signature(function).parameters.values()], _name_of_call(function, args)
    if parameters and parameters[0].name == "self":
        parameters, args = parameters[1:], args[1:]
    names = {each.name for each in parameters}
    shown = [
        *_completed(parameters, args, keywords),
        *written_keywords(**{option: value for option, value in keywords.items() if option not in names}),
    ]
    found = {}
    for at, parameter in enumerate(parameters[: len(args)]):
        before, behind = ", ".join([*shown[:at], ""]), ", ".join(["", *shown[at + 1 :]])
        found[parameter.name] = f"{name}({before}", f"{behind})"
    return found


def _name_of_call(function: Callable[..., Any], args: Sequence[object]) -> str:
    """A function as one calls it: the class for its constructor, and a method of the run that was opened by its path.

    A method of another object has a variable with the name of its class.
    """
    owner, _, name = function.__qualname__.rpartition(".")
    if "self" not in signature(function).parameters:
        return name
    if isinstance(opened := getattr((*args, None)[0], "_opened", None), str):
        return f"{opened}.{name}"
    return owner if name == "__init__" else _METHODS.get(name, f"{re.sub('^(Text|Shard)', '', owner).lower()}.{name}")


_EXAMPLES = {"batch_size": "8", "seq_len": "256", "vocab": "source.vocab"}
"""What an argument that a call lacks may be, by its name; a variable of this name for others."""


def _completed(
    parameters: Sequence[Parameter], given: Sequence[object], keywords: Mapping[str, object]
) -> Iterator[str]:
    """The arguments that a call was given, and an example of each that is missing."""
    values = {**dict(zip((each.name for each in parameters), given, strict=False)), **keywords}
    for each in parameters:
        if each.kind == Parameter.VAR_KEYWORD or (each.name not in values and each.default is not Parameter.empty):
            continue
        value = values.get(each.name)
        shown = _as_argument(each.name, value) if each.name in values else _EXAMPLES.get(each.name, each.name)
        yield f"{each.name}={shown}" if each.kind == Parameter.KEYWORD_ONLY else shown


def _as_argument(name: str, value: object) -> str:
    """An argument as a fix repeats it: an object that is no literal, and a long one, by its name."""
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    if value is None:
        return "None"
    if _is_tok(value) and name not in _EXAMPLES:
        return "tok"
    is_short = len(repr(value)) <= (MAX_SHOWN if isinstance(value, list | tuple) else _MAX_SHOWN_WHOLE)
    return repr(value) if is_short and is_literal(value) else _EXAMPLES.get(name, name)


def _of_text(
    wrong: Mapping[str, object], names: Sequence[str], reading: Callable[[str, object], Reading]
) -> dict[str, Reading]:
    """The wrong keywords that say how text is read or encoded, each with the options of reading that it stands for."""
    found: dict[str, Reading] = {}
    for option, value in wrong.items():
        if option in ("tokenizer", "reading"):
            found[option] = value if isinstance(value, Mapping) else {}
        elif option not in FOREIGN_OPTIONS and not _setting_named(option, value, names):
            found |= {option: read} if (read := reading(option, value)) else {}
    return found


def _fix_of_text(
    call: str,
    path: object,
    parameters: Sequence[Parameter],
    given: Sequence[object],
    keywords: Mapping[str, object],
    of_text: Mapping[str, Reading],
) -> str | None:
    """The call that takes text as the keywords `of_text` say; None for a call that has none. path: of a run."""
    names = [each.name for each in parameters]
    values = {**dict(zip(names, given, strict=False)), **keywords}
    data, read = values.get("data"), {name: value for each in of_text.values() for name, value in each.items()}
    if call in ("train", "evaluate") and _is_packed(data):
        return _PACKED if "tokenizer" in of_text else "leave it out: packed data are documents already"
    if "reading" in names:
        before = keywords.get("reading")
        return f"reading={ {**(before if isinstance(before, Mapping) else {}), **read} }"
    tokenizer = [f"tokenizer={_as_argument('tokenizer', values['tokenizer'])}"] if "tokenizer" in of_text else []
    own = {name: value for name, value in keywords.items() if name in names and name != "report"}
    if call == "train" or (call == "load" and tokenizer):
        words = [*_completed(parameters, given, own)]
        if call == "train" and not tokenizer:
            tokenizer = [f"tokenizer={tokenizer_argument(words[0])}"]
        words += tokenizer + [f"reading={read}"] * bool(read)
        return f"slmmodel.app.{call}({', '.join(words)})"
    if call != "evaluate" or not isinstance(path, os.PathLike):
        return None
    if data is None:
        return "leave it out: the documents are read as in training"
    if not isinstance(data, str | os.PathLike):
        return "leave it out: texts in memory are documents already" if read else None
    opened = f"slmmodel.app.load({', '.join([repr(os.fspath(path)), *tokenizer])})"
    if not read:
        return f"{opened}.evaluate({', '.join(_completed(parameters, given, own))})"
    # A run of text takes no options of reading; packed data are cut as they say.
    numbered = (f"data-{number}" for number in range(2, 1000))
    folder = next(each for each in ("data", *numbered) if not os.path.lexists(each))
    packed = ", ".join([_as_argument("data", data), f"{opened}.tokenizer", repr(folder), *written_keywords(**read)])
    scored = _completed(parameters, [], {**own, "data": folder})
    return f"slmtok.pack({packed}, val='none'); run.evaluate({', '.join(scored)})"


def _as_options(
    kind: type[BaseModel], named: Sequence[str], given: Sequence[object], keywords: Mapping[str, object]
) -> tuple[list[str], str] | None:
    """The keywords that are fields of the argument `options`, and that argument with all of them; None without one."""
    fields, wrong = kind.model_fields, {name: keywords[name] for name in keywords if name not in named}
    meant = as_own_decoding(wrong)
    own = {name: value for name, value in meant.options.items() if name in fields}
    names = [name for name in wrong if name in own or name in meant.left_out or name in ("do_sample", "greedy")]
    if not names:
        return None
    before = {**dict(zip(named, given, strict=False)), **keywords}.get("options")
    kept = before.model_dump(exclude_unset=True) if isinstance(before, kind) else {}
    words = ", ".join(written_keywords(**{**kept, **own}))
    return names, f"options={kind.__name__}({words}){meant.remark()}"


def _is_packed(data: object) -> bool:
    """Whether data are packed, by their name or their type, for a fix."""
    if not isinstance(data, str | os.PathLike):
        return hasattr(data, "vocab")
    path = os.fspath(data)
    return path.endswith((".bin", ".npy")) or os.path.isfile(os.path.join(path, "manifest.json"))  # noqa: PTH113, PTH118


def _unknown_options(
    function: Callable[..., Any],
    keywords: Mapping[str, object],
    named: Sequence[str],
    names: Sequence[str],
    lengths: Mapping[str, int],
    of_text: tuple[Collection[str], str | None] = ((), None),
) -> WrongType:
    """The error for the first keyword that a call does not have; the fix of a setting has all those given so.

    of_text: the keywords that say how text is read, and the one fix of all of them.
    """
    wrong, settings = {name: keywords[name] for name in keywords if name not in named}, keywords.get("settings")
    call, fallback = function.__qualname__.removesuffix(".__init__").rpartition(".")[2], help_call(function)
    first, *_ = errors = [
        unknown_option(call, option, value, named, names, fallback=fallback) for option, value in wrong.items()
    ]
    for error, (option, value) in zip(errors, wrong.items(), strict=True):
        error.settings = settings if isinstance(settings, Mapping) else {}
        if option in SEQUENCES and "settings" in named and (n_sequences := _count_of(value)):
            error.fact, error.fix = _batch_of_ids(error.fact, n_sequences, keywords, lengths)
        if own_setting(option) == BETAS and "settings" in named:
            error.fix = (Argument(BETAS, both_betas(wrong)),)
        error.fix = _beside_ours(option, error, keywords, named, lengths)
        beside = [each for each in _SETTINGS if keywords.get(each) is not None]
        if option in _CONFIG_FILES and beside and "settings" in named and not isinstance(value, Mapping):
            pronoun = "it" if len(beside) == 1 else "them"
            error.fix = f"{error.fix}; leave out {' and '.join(beside)} if the file sets {pronoun}"
    parts = [each.parts["fix"] for each in errors if isinstance(each.parts["fix"], tuple)]
    if len(errors) > 1:
        first.fact = f"{call}() has no options {', '.join(map(repr, wrong))}"
    if len(parts) == len(errors) > 1:
        first.fix = tuple(part for each in parts for part in (*each, " "))[:-1]
        return first
    read, fix_of_text = of_text
    fixes = {", ".join(read): fix_of_text} if read else {}
    fixes |= {option: each.fix for option, each in zip(wrong, errors, strict=True) if option not in read}
    if unlike := ", ".join(option for option, fix in fixes.items() if fix == fallback):
        fixes = {option: fix for option, fix in fixes.items() if fix != fallback} | {unlike: fallback}
    if read or len(errors) > 1:
        first.fix = "; ".join(f"for {option} {fix}" if len(fixes) > 1 else f"{fix}" for option, fix in fixes.items())
    return first


def _beside_ours(
    option: str, error: WrongType, keywords: Mapping[str, object], named: Sequence[str], presets: Collection[str]
) -> Fix | None:
    """The fix of an option of another library; beside ours of that meaning, which has a value, to leave one out."""
    fix, ours = error.parts["fix"], FOREIGN_OPTIONS.get(option, ("", ""))[0]
    given = keywords.get(ours)
    if ours not in named or given is None or not isinstance(fix, str) or not fix.startswith(f"{ours}="):
        return fix
    kept = f"leave out {option}, since {ours}={_as_argument(ours, given)} is given"
    if ours == "preset" and keywords[option] not in presets:
        return f"{kept}; settings={{'model.arch': NAME}} changes the architecture of a preset"
    return kept if given == keywords[option] or fix == f"{ours}={given!r}" else f"{kept}, or write {fix} in its place"


_SEQ_LEN = "model.seq_len"


def _count_of(value: object) -> int:
    """A number of sequences; 0 for a value that is none."""
    is_number = isinstance(value, int | float | str) and _is_number(value)
    return max(int(float(value)), 0) if is_number and float(value).is_integer() else 0  # type: ignore[arg-type]


def _batch_of_ids(
    fact: str, n_sequences: int, keywords: Mapping[str, object], lengths: Mapping[str, int]
) -> tuple[str, Fix]:
    """(fact, fix) of an option for the sequences of a step: the ids of a step, by the length that the call sets.

    A call without one gets a length, too, since that of its preset depends on the data.
    """
    settings = keywords.get("settings")
    given = {**(settings if isinstance(settings, Mapping) else {}), **keywords}
    model = given.get("model")
    given |= {f"model.{name}": value for name, value in model.items()} if isinstance(model, Mapping) else {}
    named = next((_count_of(value) for name, value in given.items() if _SEQ_LEN in (name, own_setting(name))), 0)
    known = named or lengths.get(str(keywords.get("preset")), 0)
    seq_len = known or DEFAULT_SEQ_LEN
    batch = Argument(BATCH_TOKENS, n_sequences * seq_len)
    fix: Fix = (batch,) if known else (Argument(_SEQ_LEN, seq_len), " ", batch)
    return f"{fact}; {BATCH_TOKENS} counts ids, here {n_sequences} sequences of {seq_len}", fix


def _by_name(
    parameters: Sequence[Parameter], given: Sequence[object], keywords: Mapping[str, object]
) -> tuple[list[str], list[str]] | None:
    """(by position, by name): the arguments of a call some of whose values belong to options; None if none does.

    Such a value is one too many, or of another type than the default in its place. A tensor may be any option's.
    """
    is_rows = bool(given and parameters) and parameters[0].name == "ids" and getattr(given[0], "ndim", 0) == 2
    if not all(
        isinstance(value, os.PathLike) or value is None or is_literal(value) or _is_tok(value)
        for value in given[is_rows:]
    ):
        return None
    places = [each for each in parameters if each.kind == Parameter.POSITIONAL_OR_KEYWORD]
    options = [each for each in parameters if each.kind == Parameter.KEYWORD_ONLY and each.name not in keywords]
    kept: list[str] = []
    named: list[str] = []
    for index, value in enumerate(given):
        default = places[index].default if index < len(places) else value
        is_sequence = isinstance(value, list | tuple) and isinstance(default, list | tuple)
        is_first = is_rows and index == 0
        if index < len(places) and (
            is_first or default in (Parameter.empty, None) or type(value) is type(default) or is_sequence
        ):
            shown = repr(os.fspath(value) if isinstance(value, os.PathLike) else value)
            kept.append(first_row(value) if is_first else shown)
            continue
        option = next((each for each in options if _takes(each, value)), None)
        if option is None:
            return None
        options.remove(option)
        # A folder that exists is no output: beside data it holds others, for validation.
        shown = "tok" if _is_tok(value) else repr({"data.val": value} if option.name == "settings" else value)
        named.append(f"{option.name}={shown}")
    return (kept, named) if named and all(len(each) <= MAX_SHOWN for each in kept + named) else None


def _is_tok(value: object) -> bool:
    """Whether a value is a tokenizer, which is the variable `tok` in a fix."""
    return type(value).__name__ == "Tokenizer"


def _takes(option: Parameter, value: object) -> bool:
    """Whether an option is the likely place of a value: by its annotation; a str is a tokenizer file, or the output."""
    if isinstance(value, str):
        is_device = re.fullmatch(r"(cpu|mps|cuda)(:\d+)?", value) is not None
        wanted = "tokenizer" if value.endswith(".json") else "device" if is_device else "output"
        return option.name == ("settings" if wanted == "output" and os.path.isdir(value) else wanted)  # noqa: PTH112
    return type(value).__name__ in str(option.annotation).split(" | ")


def _setting_named(option: str, value: object, names: Sequence[str]) -> str | None:
    """The setting that an option names without its section, or that an option of another trainer means."""
    own = [each for each in names if each.rpartition(".")[2] == option]
    is_section = not isinstance(value, Mapping) and f"optim.{option}.kind" in names
    return own[0] if own else f"optim.{option}.kind" if is_section else own_setting(option)


def _as_setting(name: str, value: object) -> Fix:
    """The setting of this name, with its value in our words."""
    word = str(value).removeprefix("torch.")
    if name in VOCAB_SIZES:
        return "leave it out: the vocabulary of the data decides it"
    if name.startswith("run.budget."):
        return (Argument("budget", f"{name.removeprefix('run.budget.')}={word}"),)
    if name in UNITS and not isinstance(value, list | tuple):
        # In another unit the number is another one.
        return f"settings={{{name!r}: N}}{UNITS[name]}"
    ours = FOREIGN_VALUES.get(name, {}).get(word.lower())
    return (Argument(name, ours or (value if isinstance(value, str | int | float | list | tuple) else word)),)


def _is_number(value: object) -> bool:
    """Whether a value is a number, or spells one."""
    try:
        float(value)  # type: ignore[arg-type]  # raises for other types
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


_TORCH_TYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp64": "float64"}


def _converted(model: str, value: object) -> str:
    """The fix for a precision of a call of a run, whose model has one: its conversion to the type that a value names.

    For a value that names none, such as `auto`, the types to choose from.
    """
    word = str(value).removeprefix("torch.").lower()
    if named := _TORCH_TYPES.get(FOREIGN_VALUES[_PRECISION].get(word, word)):
        return f"leave it out, and convert the model of the run: {model}.to(torch.{named})"
    types = ", ".join(f"torch.{each}" for each in _TORCH_TYPES.values())
    return (
        f"leave it out: the model computes in the type of its weights; {model}.to(TYPE) changes it, to one of {types}"
    )


def _of_run(call: str, option: str, value: object, is_of_app: bool, is_of_model: bool) -> str | None:
    """The fix for an option that is no option of a call of a run, but of the run; None for others."""
    model = "run.run.model" if is_of_app else "run.model"
    if call in ("load", "generate") and own_setting(option) == _PRECISION:
        return _converted("model" if is_of_model else model, value)
    if call == "generate" and option in STREAMS and not value:
        return "leave it out: generate gives all new ids at once"
    if call == "generate" and option in STREAMS and is_of_model:
        return (
            "for step in slmmodel.generation.Generation(model, prompts): print(step), which takes its other arguments"
        )
    if call == "generate" and option in ("device", "map_location"):
        load = "slmmodel.app.load" if is_of_app else "slmmodel.load"
        shown = repr(value) if isinstance(value, str | int) else "..."
        return f"leave it out; a run is on the device that it was loaded to: {load}(path, device={shown})"
    return None


def _filled(fix: str, value: object, name: str) -> str:
    """A fix with its value; one whose repr is long, or no Python that makes it, is the variable `name`."""
    is_object = "%r" in fix and value is not None and (not is_literal(value) or len(repr(value)) > _MAX_SHOWN_WHOLE)
    return fix.replace("%r", "%s") % name if is_object else fix % (value,)


def _trained_further(model: object) -> str:
    """What trains a model further that a call was given in the place of its preset."""
    path = getattr(getattr(model, "run", model), "path", None)
    run = shlex.quote(os.fspath(path)) if isinstance(path, str | os.PathLike) else "RUN"
    return f"slm resume {run} -o NEW --budget steps=N in a shell trains the model of a run further; train() starts anew"


_CONTINUING = ("resume", "resume_from_checkpoint", "resume_from", "resume_path", "ckpt_path", "init_from")
"""Options of other trainers that continue a run."""
_CHECKPOINT = re.compile(r"(.+?)(?:/checkpoints)?/step-(\d+)/?", re.ASCII)
"""The path of a checkpoint, with its run and its step."""


def _continued(value: object) -> str:
    """What continues a run; a checkpoint, such as one that is named, begins a new one in a shell."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else ""
    named = _CHECKPOINT.fullmatch(path)
    run, step = named.groups() if named else (path if os.path.isdir(path) else "RUN", "N")  # noqa: PTH112
    line = f"slm resume {shlex.quote(run)} --step {step} -o NEW"
    return f"leave it out: the same call continues an interrupted run in its output; at a checkpoint, {line} in a shell"


def _of_one_call(call: str, option: str, value: object, text: str, *, is_of_app: bool) -> str | None:
    """What stands for an option with a value, written as `text`, in a single call; None for others."""
    if call == "train" and option in _CONTINUING:
        return _continued(value)
    if call == "train" and option in HELD_OUT_SHARES:
        rule = f"tail:{100 * value:g}%" if isinstance(value, float) and 0 < value < 1 else "tail:10%"
        return f"leave it out: packed data have a split val; slmtok.pack(corpus, tok, folder, val={rule!r}) makes it"
    if call == "evaluate" and option in ("text", "texts"):
        score = f"run.score({text})" if option == "text" else f"[run.score(text) for text in {text}]"
        return f"{score}, of a run that slmmodel.app.load gave; data='FILE' for the texts of a file"
    if call == "evaluate" and option == "on":
        return f"data={text}"
    if call == "score" and option == "reduction":
        # Of `slmmodel.app`, the score of a text; else those of ids.
        if is_of_app:
            return "leave it out: a score is bits per byte; times the bytes of the text it is the sum in bits"
        return "leave it out: a score has the nats of each id; its method sum() adds them"
    if call == "ShardLoader" and "epoch" in option:
        return "leave it out: a ShardLoader has no end, and itertools.islice(loader, N) ends after N batches"
    return None


def unknown_option(
    call: str, option: str, value: object, options: Iterable[str], names: Sequence[str] = (), *, fallback: str
) -> WrongType:
    """The error for a keyword that a call does not have; `names` are those of the settings that it takes.

    fallback: the fix for a keyword of no known meaning, as of `help_call`.
    """
    known = list(options)
    setting = _setting_named(option, value, names) if "settings" in known else None
    ours, fix = FOREIGN_OPTIONS.get(option, ("", ""))
    instead: Fix
    begun = next((each for each in known if len(option) > 2 and each.startswith(option)), None)
    meant = None if ours in known or setting in names else begun or suggestion(option, known)
    is_section = isinstance(value, Mapping) and any(each.startswith(f"{option}.") for each in names)
    if is_section:
        instead = f"settings={{{option!r}: {value!r}}}"
    elif ours == "preset" and ours in known and not isinstance(value, str):
        instead = _trained_further(value)
    elif ours in known:
        shown = os.fspath(value) if isinstance(value, os.PathLike) else value
        if option.startswith("stop"):
            # Of several texts that may end one, the first.
            given = value if isinstance(value, list | tuple) else [value]
            shown = next((text for text in given if isinstance(text, str) and text), ".")
        if ours == "report":
            shown, called = reporting_function(value)
            fix += called
        elif ours == "budget" and "%" in fix and not _is_number(value):
            shown, fix = "N", f"{fix}, with one number for N"
        instead = _filled(fix, shown, option) if "%" in fix else fix.replace("CALL", _METHODS.get(call, f"run.{call}"))
        if ours == "settings" and isinstance(value, Mapping):
            instead = f"settings={value!r}"
    else:
        is_shown = isinstance(value, str | int | float | list | tuple | dict | None)
        text = repr(value) if is_shown and len(repr(value)) <= _MAX_SHOWN_WHOLE else "..."
        instead = f"{meant}={text}" if meant else fallback
        # A run of `slmmodel.app`, which takes a tokenizer or text, has the run of ids inside.
        is_of_app = bool({"tokenizer", "prompt", "text"} & {*known})
        if "settings" in known and (precision := switched_on(option, value)):
            instead = (Argument(_PRECISION, precision),)
        elif not meant and setting:
            instead = _as_setting(setting, value)
        elif of_run := _of_run(call, option, value, is_of_app, "model" in known):
            instead = of_run
        if ours == "report" and call == "train" and not meant:
            instead = "leave it out: progress is printed; slmmodel.train, for packed data, takes report=FUNCTION"
        instead = _of_one_call(call, option, value, text, is_of_app=is_of_app) or instead
        if option in ("tokenizer", *READ_OPTIONS) and not meant and call.startswith("Shard"):
            read = "" if option == "tokenizer" else f", {option}={text}"
            instead = f"{_PACKED}; slmtok.pack(corpus, tok, folder{read}) packs text"
        elif option == "tokenizer" and not meant:
            instead = "leave it out; a run that slmmodel.app.load gave has its tokenizer"
    return WrongType(
        f"{call}() has no option {option!r}" + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"options: {', '.join(known)}",
        fix=instead,
        option=option,
    )


class NamesConstructors(type):
    """Says how a run is opened or made where a class method of another library is called."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> object:
            fact = f"type object {cls.__name__!r} has no attribute {name!r}"
            if not name.startswith("_"):
                fact += f"\n  fix:   {with_import(CALLS_ELSEWHERE.get(name, OPENED).replace('{name}', name))}"
            raise AttributeError(fact, name=name, obj=cls)
