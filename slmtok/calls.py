"""Errors for calls that do not fit a signature: they name the right argument, Python's own only the wrong one.

And warnings at the line of a call.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from types import FunctionType
from typing import Any, TypeVar, cast

from slmtok.callbacks import brief_parameter, ends_forked_child, unlike_function
from slmtok.errors import Message, Setting, SlmtokError, UnknownOption, WrongType, suggestion
from slmtok.foreign_options import AS_HF, BOTH_AS_HF, OF_BOS, OUTPUTS, foreign_option, hf_options, specials_meant
from slmtok.path_arguments import MAX_NAMES, Paths, free_name, inputs_and_output, is_file_name, is_glob, with_names
from slmtok.record_texts import are_segments, is_source, left_out, scalar, short_text

Target = TypeVar("Target", bound=Callable[..., Any])

_CATCH = ("more", "unknown")
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)

EXAMPLES = {
    "corpus": "'CORPUS'",
    "counts.save.path": "'{all.counts}'",
    "export.to": "'hf'",
    "folder": "'{exported}'",
    "hf.text": "'some text'",
    "input": "'some text'",
    "slmtok.merge_counts.out": "'{all.counts}'",
    "slmtok.merge_counts.paths": "['COUNTS']",
    "name_or_path": "'cl100k_base'",
    "n_vocab": "4096",
    "out": "'{out}'",
    "path": "'{TOK}'",
    "pad": "tok.specials.pad",
    "paths": "['CORPUS']",
    "role": "'user'",
    "special_tokens": "['<|endoftext|>']",
    "text": "'<|user|>'",
    "tok.save.path": "'{tok.json}'",
    "tokenizer": "tok",
    "save.path": "'FILE'",
    "save.tokenizer_dir": "'{tokenizer}'",
    "tokenizer_dir": "'DIR'",
    "tokenizers": "tok",
    "value": "tok.specials.pad",
    "vocab_size": "8192",
}
"""What an argument may be, by its name; `with_names` fills in the names of files."""


OF_ROWS = "slmtok.Ragged(np.concatenate(rows), np.cumsum([0, *map(len, rows)])), for rows of ids"
"""The call that makes a `Ragged`."""
_OF_TOKENIZER = "slmtok.train('CORPUS', vocab_size=8192) makes one, slmtok.load('{TOK}') opens one"
"""The calls that make a `Tokenizer`."""
_VARIABLES = {"Tokenizer": "tok", "PretokenCounts": "counts", "Texts": "slmtok.Texts(texts)"}
"""The variables that hold objects of these types in the calls of errors."""


_REPORTS = {"progress": "stage, done, total", "on_progress": "state"}
"""Options of calls that take a function, and the arguments of this one."""
_IN_COMMAND = re.compile(r"slm(tok|model)\.cli\.")
_PACKAGES = ("slmtok.", "slmmodel.")


class Expression(str):
    """Python source, which `call_text` shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def call_text(function: str, args: Sequence[Any], keywords: Mapping[str, Any], options: object = None) -> str:
    """A call as a caller writes it: `slmtok.pack('corpus.txt', tok, 'data', val='none')`."""
    shown = [argument_text(each) for each in args]
    shown += [f"{name}={argument_text(value, name)}" for name, value in keywords.items()]
    return f"{function}({', '.join(shown if options is None else [*shown, 'options=options'])})"


def argument_text(value: object, name: str = "corpus") -> str:
    """An argument as a caller writes it; objects and long values are the variable `name`."""
    if isinstance(value, Expression):
        return str(value)
    if kind := _VARIABLES.get(type(value).__name__):
        return kind
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    elif isinstance(value, (list, tuple)):
        value = type(value)(os.fspath(each) if isinstance(each, os.PathLike) else each for each in value)
    if hasattr(value, "tolist") and hasattr(value, "__len__"):
        # The repr of an array or a tensor is no Python that makes it.
        return name
    return short_text(scalar(value), name)


def _has_unwritten(values: Iterable[object]) -> bool:
    """Whether a call with these values names one by a variable, which the caller need not have."""
    return not all(argument_text(each, "") for each in values)


def warn_caller(message: str) -> None:
    """A `UserWarning` at the line of the program that called this package; none in a command, which prints notes."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGES):
        frame, level = frame.f_back, level + 1
        if _IN_COMMAND.match(str(frame.f_globals.get("__name__"))):
            return
    warnings.warn(message, stacklevel=level)


def warn_of_file_names(texts: Sequence[object], call: Callable[[], str] | None = None) -> None:
    """Warns where each of the first texts is the name of a file; `call` takes the text in it.

    Without a call the warning has the texts, which any call takes in the place of the names: adapters and other
    libraries may have passed them on.
    """
    if texts and all(map(is_file_name, texts[:MAX_NAMES])):
        read = f"[open(path, encoding='utf-8').read() for path in {short_text(texts, 'paths')}]"
        fix = f"of the text in it: {call()}" if call else f"give the text in it: {read}"
        warn_caller(f"{texts[0]!r} is taken as a text, and is the name of a file; {fix}")


def warn_if_used_up(texts: object, n_read: int) -> None:
    """Warns where an iterator gave no text: of one that was read before, the result would be empty without a word."""
    if n_read == 0 and isinstance(texts, Iterator):
        again = "one that was read before gives none again; make it anew for each call, or keep texts = list(texts)"
        warn_caller(f"the {type(texts).__name__} gave no texts: {again}")


def explains_calls(target: Target) -> Target:
    """Decorates a function, a method, or the constructor and the public methods of a class.

    A call that does not fit the signature raises `UnknownOption` or `WrongType` instead of a bare `TypeError`, and one
    whose report of progress is no function of its arguments raises `WrongType` before the work. Methods
    with `*more, **unknown` raise `wrong_call` themselves, which costs a call 30 ns instead of 60.
    """
    if not isinstance(target, type):
        owner = target.__qualname__.rpartition(".")[0]
        return _explained(target, is_method=bool(owner) and not owner.endswith("<locals>"))
    for name, member in list(vars(target).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(member, FunctionType) and "unknown" not in signature(member).parameters:
            setattr(target, name, _explained(member, is_method=True))
        elif isinstance(member, (classmethod, staticmethod)):
            is_method = isinstance(member, classmethod)
            setattr(target, name, type(member)(_explained(member.__func__, is_method=is_method)))
    return target


def _explained(function: Target, *, is_method: bool) -> Target:
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            if keywords and not _REPORTS.keys().isdisjoint(keywords):
                keywords |= _checked_reports(function, keywords)
            return function(*args, **keywords)
        except TypeError as error:
            # Without a frame of the function the call itself failed.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
        except RecursionError:
            # A caller that is deep itself gets its own error.
            if not any(map(_nests_too_deep, (*args, *keywords.values()))):
                raise
            limit, fix = f"{_MAX_NESTING} levels", "give a flat list, or a list of flat lists"
            fact = f"an argument of {function.__name__}() is a list that nests too deep"
            raise WrongType(fact, limit=limit, fix=fix) from None
        raise wrong_call(function, args[is_method:], keywords, is_method=is_method)

    return cast("Target", call)


_MAX_NESTING = 100
"""Lists in lists that are followed to tell a deep argument from a deep caller."""


def _nests_too_deep(value: object) -> bool:
    for _ in range(_MAX_NESTING):
        inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
        value = next((each for each in inner if isinstance(each, (Mapping, list, tuple))), None)
    return value is not None


def _checked_reports(function: Callable[..., Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    reports = {}
    for name in _REPORTS.keys() & keywords.keys() & signature(function).parameters.keys():
        given, arguments = keywords[name], _REPORTS[name]
        if given is not None and (kind := unlike_function(given, arguments)) is not None:
            fact = f"{name} must be a function of ({arguments}), not {kind}"
            raise WrongType(fact, fix=f"{name}=lambda {arguments}: print({arguments})", option=name)
        reports[name] = None if given is None else ends_forked_child(given)
    return reports


def wrong_call(
    function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any], *, is_method: bool = False
) -> SlmtokError:
    """The error for a call that does not fit; `args` without the `self` of a method that is not bound."""
    parameters = [each for each in list(signature(function).parameters.values())[is_method:] if each.name not in _CATCH]
    takes_any = any(each.kind == Parameter.VAR_KEYWORD for each in parameters)
    options = {each.name: each.default for each in parameters if each.kind in _NAMED}
    positional = [each.name for each in parameters if each.kind == Parameter.POSITIONAL_OR_KEYWORD]
    required = [name for name in positional if options[name] is Parameter.empty]
    missing = [name for name in required[len(args) :] if name not in keywords]
    unknown = {name: value for name, value in keywords.items() if name not in options}
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2].replace("__call__", "hf")
    taken = {each: value for each, value in keywords.items() if takes_any or each in options}
    given = {each for each, value in keywords.items() if each in options and value is not options[each]}
    given.update(positional[: len(args)])
    call = _owner(function) + name
    of_files = name == "merge_counts" and args and _are_paths(args)
    example = _merged(args, taken) if of_files else _completed(call, positional, required, args, taken)
    if several := _several_given(function, name, args, keywords, unknown):
        return several
    errors: list[UnknownOption] = []
    if unknown and (other := _other_call(function.__qualname__, args, taken, unknown)):
        return _unknown_together([*unknown], name, options, other)
    for option, value in unknown.items():
        place = next((each for each in missing if each in ("folder", "out")), None)
        if option in OUTPUTS and not takes_any and (place or name in _RESULTS):
            saving = _completed(call, positional, required, args, {**taken, place: value} if place else taken)
            fact = f"{name}() has no option {option!r}" + (f"; did you mean {place!r}?" if place else "")
            saved = saving if place else _saved(name, saving, value if _are_paths([value]) else "")
            errors.append(UnknownOption(fact, limit=_options(options), fix=saved, option=option))
            break
        meant, fix = meant_option(option, value, options, given=given)
        if (option in AS_HF or option == "return_tensors") and "bos" in options and not takes_any:
            fix = _as_hf(name, args, keywords)
        if isinstance(fix, str) and args:
            fix = fix.replace("(text)", f"({argument_text(args[0], 'text')})")
        if not takes_any or (meant is not None and meant in missing):
            fact = f"{name}() has no option {option!r}" + (f"; did you mean {meant!r}?" if meant else "")
            fix = fix or help_call(function)
            errors.append(UnknownOption(fact, limit=_options(options), fix=fix, option=option))
    if errors:
        return _all_unknown(name, errors, args, keywords, options, help_call(function))
    limit = f"{name}({', '.join(map(brief_parameter, parameters))})"
    if len(args) > len(positional) and (fix := _saved(name, example, args[len(positional)])):
        return WrongType(f"{name}() takes no output", limit=limit, fix=fix)
    is_merge = name == "merge_counts" and missing == ["out"]
    if is_merge and (in_memory := counts_in_memory(args[0] if args else keywords["paths"], free_name("all.counts"))):
        return in_memory
    packed = pack_meant(args, keywords) if name == "pack" else None
    if missing:
        fix = OF_ROWS if name == "Ragged" else with_names(_OF_TOKENIZER) if name == "Tokenizer" else packed or example
        return WrongType(f"{name}() lacks {missing[0]!r}", limit=limit, fix=fix, option=missing[0])
    twice = next((each for each in positional[: len(args)] if each in keywords), None)
    if twice is not None:
        return WrongType(f"{name}() gets {twice!r} twice", limit=limit, fix=packed or "give it once", option=twice)
    n_taken = f"{len(positional)} argument" + "s" * (len(positional) != 1)
    has_others = takes_any or [*options] != positional
    other = "give options by name" if has_others else _of_each(call, args, len(positional), keywords)
    fix = _by_position(name, args, positional, keywords) or other
    return WrongType(f"{name}() takes {n_taken} by position, not {len(args)}", limit=limit, fix=fix)


def opens_one_file(paths: Sequence[object]) -> WrongType:
    """The error of `load` for several files."""
    calls = ", ".join(call_text("slmtok.load", [path], {}) for path in paths)
    return WrongType(f"load() opens one file, not {len(paths)}", limit="load(path, verify=)", fix=calls)


_OF_PADDING = {"side": "padding_side", "length": "max_length"}
"""Names that options of `pad` of transformers have elsewhere."""
_OF_ENCODINGS = {
    "encode": ("encode_list", ("bos", "eos"), ""),
    "encode_batch": ("encode_batch", ("bos", "eos"), ".to_lists()"),
    "decode": ("decode", ("skip_special",), ""),
}
"""Methods of tiktoken's interface: the one of a `Tokenizer`, options that it alone has, and what lists its result."""
_OF_DROPOUT = ("dropout", "seed", "epoch")
"""Options that `encode_batch` alone has, of what is encoded for training."""


def _other_call(function: str, args: Sequence[Any], taken: Mapping[str, Any], unknown: Mapping[str, Any]) -> str | None:
    """The call of another function that has all unknown options of a call; None without one."""
    owner, _, name = function.rpartition(".")
    if owner == "Tokenizer" and name in ("encode", "encode_list") and {*unknown} <= {*_OF_DROPOUT}:
        kept = {each: value for each, value in taken.items() if each in ("bos", "eos")}
        text = Expression(f"[{argument_text(args[0], 'text')}]")
        call = call_text("tok.encode_batch", [text], {**kept, **unknown})
        others = [each for each in taken if each not in kept]
        return f"{call}[0]" + ".tolist()" * (name == "encode_list") + left_out(others)
    if (
        owner == "Tokenizer"
        and name == "encode_batch"
        and [*unknown] == ["allow_special"]
        and taken.keys() <= {"bos", "eos"}
    ):
        call = call_text("tok.encode", [Expression("text")], {**taken, **unknown})
        return f"[{call} for text in {argument_text(args[0], 'texts')}]" if args else None
    if owner == "Tokenizer" and name in ("encode", "encode_list") and args and unknown.keys() <= {"prepend", "append"}:
        call = _with_segments(args[0], {**taken, **unknown}) + ".tolist()" * (name == "encode_list")
        return call + left_out(each for each in taken if each not in ("bos", "eos"))
    if owner == "Tokenizer" and name == "encode_files" and args and unknown.keys() <= _OF_READING:
        kept = {each: value for each, value in taken.items() if each not in ("paths", "out", "progress")}
        return call_text("slmtok.pack", [args[0], Expression("tok"), free_name("data")], {**kept, **unknown})
    if name == "as_hf":
        return _as_hf_meant(args, taken, unknown)
    if owner == "Encoding" and name in _OF_ENCODINGS and not taken:
        method, options, listed = _OF_ENCODINGS[name]
        values = [Expression(argument_text(each, "value")) for each in args]
        call = f"{call_text(f'tok.{method}', values, unknown)}{listed}, of the Tokenizer tok"
        return call if unknown.keys() <= {*options} else None
    if owner == "Ragged" and name in ("pad", "to_torch"):
        return _padded_as_hf(unknown, "pt" if name == "to_torch" else "np")
    size, value = getattr(args[0], "n_vocab", None) if args else None, unknown.get("vocab_size")
    if name == "slice" and isinstance(value, int) and isinstance(size, int) and value > size:
        return f"slmtok.extend(tok, slmtok.count('CORPUS'), vocab_size={value}); slice is up to n_vocab={size}"
    return None


def _as_hf_meant(args: Sequence[Any], taken: Mapping[str, Any], unknown: Mapping[str, Any]) -> str | None:
    """The call of `as_hf` for options of its calls, and for spellings of special tokens; None for other options."""
    kept, spelled = dict(taken), ""
    options: dict[str, Any] = {}
    for option, value in unknown.items():
        text, role = getattr(value, "content", value), option.removesuffix("_token")  # of an `AddedToken`
        if option == "add_eos_token":
            kept["add_eos"] = value
        elif option in ("bos_token", "eos_token", "unk_token") and isinstance(text, str):
            spelled += f".with_special({role!r}, {text!r})"
        else:
            options |= {"add_special_tokens": bool(value)} if option in OF_BOS else {option: value}
    if not options.keys() <= {*AS_HF, *BOTH_AS_HF}:
        return None
    tok = kept.pop("tokenizer", args[0] if args else Expression("tok"))
    shown = f"tok{spelled}" if spelled else argument_text(tok)
    made = call_text("slmtok.compat.as_hf", [Expression(shown)], kept)
    hf = call_text("hf", [Expression("text")], hf_options(options, several=False))
    return f"hf = {made}; {hf}" if options else made


_OF_READING = frozenset(
    ("separator", "text_key", "text_template", "format", "encoding", "max_docs", "skip_malformed", "sample")
)
"""Options of `pack` that say how a file is cut into documents, or read."""


def _with_segments(text: object, around: Mapping[str, Any]) -> str:
    """The call that encodes a text with special tokens, or further text, before and behind it."""
    before = ["bos"] * bool(around.get("bos")) + [around[each] for each in ("prepend",) if each in around]
    behind = [around[each] for each in ("append",) if each in around] + ["eos"] * bool(around.get("eos"))
    parts = [*map(_beside_text, before), argument_text(text, "text"), *map(_beside_text, behind)]
    return f"tok.encode_segments([{', '.join(parts)}]).ids"


def _beside_text(value: object) -> str:
    """A segment before or behind a text: a special token for an id, a role or a spelling, else the text itself."""
    is_special = isinstance(value, int) or (isinstance(value, str) and _SPECIAL.fullmatch(value))
    return f"slmtok.Special({value!r})" if is_special else argument_text(value, "part")


_SPECIAL = re.compile(r"<[^<>]+>|\[[^\[\]]+\]|bos|eos|pad|unk")


def _padded_as_hf(unknown: Mapping[str, Any], tensors: str) -> str | None:
    """The call that pads the rows of a `Ragged` on the left, to a length or to a multiple, which `pad` has not."""
    meant = {_OF_PADDING.get(each, each): value for each, value in unknown.items()}
    if not meant.keys() <= {"padding_side", "max_length", "pad_to_multiple_of"} or meant == {"padding_side": "right"}:
        return None
    if "max_length" in meant:
        meant = {"padding": "max_length", **meant}
    rows = [Expression("{'input_ids': ragged.to_lists()}")]
    call = call_text("slmtok.compat.as_hf(tok).pad", rows, {**meant, "return_tensors": tensors})
    return f"{call}['input_ids'], which pads with tok.specials.pad"


def _several_given(
    function: Callable[..., Any],
    name: str,
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    unknown: Mapping[str, Any],
) -> WrongType | None:
    """The error of a method that takes one thing, for several; None for other calls."""
    if name == "with_special":
        return _one_special_each(args, keywords)
    is_decoding = function.__module__ == "slmtok.tokenizer" and name.startswith("decode")
    return ids_apart(name, args, keywords) if is_decoding and not unknown else None


def ids_apart(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> WrongType | None:
    """The error of a method of a Tokenizer that decodes, for ids, or rows of them, as arguments of their own."""
    given = [each if getattr(each, "ndim", 0) else scalar(each) for each in args]
    are_ids = all(type(each) is int for each in given)
    are_lists = all(isinstance(each, (list, tuple)) for each in given)
    if len(given) < 2 or not (are_ids or are_lists or all(hasattr(each, "dtype") for each in given)):
        return None
    options = {option: value for option, value in keywords.items() if value}
    if are_ids:
        method = "decode" if name == "decode_batch" else name
        kept = options if method == name else {}
        fix = call_text(f"tok.{method}", [Expression(argument_text(given, "ids"))], kept)
        return WrongType(f"{name}() takes ids as one sequence, not {len(given)} integers", fix=fix)
    rows = Expression(argument_text(given, "rows") if are_lists else "rows")
    fix = f"[{call_text(f'tok.{name}', [Expression('row')], options)} for row in {rows}]"
    if name == "decode_batch" or (name == "decode" and not options):
        fix = call_text("tok.decode_batch", [rows], options)
    taken = "a list of sequences of ids" if name == "decode_batch" else "one sequence of ids"
    return WrongType(f"{name}() takes {taken}, not {len(given)} sequences", fix=fix)


def _of_each(call: str, args: Sequence[Any], n_taken: int, keywords: Mapping[str, Any]) -> str:
    """A call for each of several arguments of one type, where a function takes one; else the call without the rest."""
    if n_taken == 1 and not keywords and len({*map(type, args)}) == 1:
        return f"[{call}(each) for each in ({', '.join(map(argument_text, args))})]"
    others = [argument_text(each, f"the {type(each).__name__}") for each in args[n_taken:]]
    if _has_unwritten((*args[:n_taken], *keywords.values())):
        return f"leave out {', '.join(others)}"
    return call_text(call, args[:n_taken], keywords) + left_out(others)


def _all_unknown(
    name: str,
    errors: Sequence[UnknownOption],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    options: Mapping[str, Any],
    shown: str,
) -> UnknownOption:
    """The error for all unknown options of a call, each of which has an error of its own.

    Where several are options of transformers, one call of its `encode` or `encode_batch` takes all, also those that
    have a counterpart here. shown: the call that shows the options.
    """
    names = [str(each.fields["option"]) for each in errors]
    if len(names) == 1:
        return errors[0]
    fix = _fix_of_all(errors, shown)
    if "bos" in options and AS_HF & {*names}:
        others = [each for each in names if each not in (*AS_HF, *BOTH_AS_HF)]
        fix = _as_hf(name, args, keywords) + (f"; for {', '.join(others)} {shown}" if others else "")
    return _unknown_together(names, name, options, fix)


def _unknown_together(names: Sequence[str], name: str, options: Iterable[str], fix: Message) -> UnknownOption:
    """The error for the unknown options `names`, which have one fix."""
    fact = f"{name}() has no option{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"
    return UnknownOption(fact, limit=_options(options), fix=fix, option=names[0])


def _options(names: Iterable[str]) -> str:
    return f"options: {', '.join(names) or 'none'}"


def unknown_options(
    wrong: Mapping[str, Any],
    options: Mapping[str, Any],
    known: Iterable[str],
    takes: type,
    given: Collection[str],
) -> UnknownOption:
    """The error for keywords that are no options; `known` are the names to list, the rest as of `meant_option`."""
    limit, errors = f"known: {', '.join(sorted(known))}", []
    function = takes.__name__.removesuffix("Options").lower()
    shown = (
        f"help(slmtok.{function})" if function in getattr(sys.modules["slmtok"], "__all__", ()) else help_call(takes)
    )
    for name, value in wrong.items():
        meant, fix = meant_option(name, value, options, takes, given)
        fact = f"unknown option {name!r}" + (f"; did you mean {meant!r}?" if meant else "")
        errors.append(UnknownOption(fact, limit=limit, fix=fix or shown, option=name))
    if len(errors) == 1:
        return errors[0]
    fact = f"unknown options {', '.join(map(repr, wrong))}"
    return UnknownOption(fact, limit=limit, fix=_fix_of_all(errors, shown), option=next(iter(wrong)))


def help_call(function: Callable[..., Any]) -> str:
    """The call that shows the options of a function or a method: `help(slmtok.train)`.

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


def _fix_of_all(errors: Sequence[UnknownOption], shown: str) -> Message:
    """The fix for several unknown options, of which each error has one; those of no known meaning have `shown`."""
    fixes: dict[str, Message] = {str(each.fields["option"]): each.parts["fix"] or "" for each in errors}
    unlike = [each for each, fix in fixes.items() if fix == shown]
    if len(unlike) == len(fixes):
        return shown
    pairs = [(each, fix) for each, fix in fixes.items() if each not in unlike]
    pairs += [(", ".join(unlike), shown)] if unlike else []
    parts = [
        (f"{'; ' * (at > 0)}for {each} ", *([fix] if isinstance(fix, str) else fix))
        for at, (each, fix) in enumerate(pairs)
    ]
    return tuple(part for each in parts for part in each)


def _one_special_each(args: Sequence[Any], keywords: Mapping[str, Any]) -> WrongType | None:
    """The error of `with_special` for several specials; None for arguments that hold none."""
    pairs = _pairs_given(args, keywords)
    example = "tok" + "".join(f".with_special({role!r}, {text!r})" for role, text in pairs.items())
    fact = "with_special() takes one role and its spelling"
    return WrongType(fact, limit="with_special(role, text)", fix=example) if pairs else None


def _pairs_given(args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, str]:
    """Role to spelling of the specials among arguments: of a dict, a list, texts in turn, or keywords."""
    values = [*args, *keywords.values()]
    is_texts = all(isinstance(each, str) for each in values)
    if is_texts and not args and keywords.keys().isdisjoint(("role", "text")):
        return specials_meant(keywords)
    if is_texts and len(values) > 2 and len(values) % 2 == 0:
        return dict(zip(values[::2], values[1::2], strict=True))
    is_one = len(values) == 1 or (len(args) == 1 and isinstance(args[0], Mapping))
    return specials_meant(values[0]) if is_one else {}


_SAVED = {"slice": "", "prune": ".tokenizer"}
"""Functions of a tokenizer and one more argument, each with the attribute of its result that is saved."""


def _by_position(name: str, args: Sequence[Any], positional: Sequence[str], keywords: Mapping[str, Any]) -> str | None:
    """The call that is meant by too many arguments by position; None where nothing says so."""
    if name in _SAVED and len(args) == 3 and _are_paths(args[2:]) and not _are_paths(args[1:2]):
        made = call_text("slmtok.slice", args[:2], keywords) if name == "slice" else None
        made = made or _by_position(name, args[:2], positional, keywords)
        return made and f"{made}{_SAVED[name]}.save({argument_text(args[2])})"
    if name == "Texts":
        return _texts_of(args)
    if name == "encode_segments" and all(isinstance(each, str) or are_segments([each]) for each in args):
        return call_text("tok.encode_segments", [[*args]], keywords)
    if [*positional] == ["path", "verify"] and _are_paths(args):
        return opens_one_file(args).fix
    if name == "stream":
        return "stream = tok.stream(); [*map(stream.push, ids), stream.finish()]"
    if positional[:1] in (["x"], ["xs"]) and all(isinstance(each, str) for each in args):
        pair = f"; {call_text('slmtok.compat.as_hf(tok)', args, {})} for a pair" * (len(args) == 2)
        return f"tok.encode_batch({argument_text(list(args), 'texts')}) for texts of their own{pair}"
    if name == "slice" and all(isinstance(each, int) for each in args[1:]):
        return f"slmtok.slice(tok, {args[-1]}), the ids from 0 up"
    if name == "prune" and len(args) == 2 and isinstance(args[1], (int, list, tuple)):
        are_paths = not isinstance(args[1], int) and args[1] and _are_paths(args[1])
        if isinstance(args[1], int):
            # A number of ids is reached by leaving out those that a corpus does not use.
            given = {"unused_on": Expression(EXAMPLES["corpus"]), "keep": args[1]}
        else:
            given = {"unused_on" if are_paths else "ids": args[1]}
        return call_text("slmtok.prune", args[:1], {**given, **keywords})
    if name == "pack":
        return pack_meant(args, keywords)
    return _of_several_paths(name, args, keywords)


def _texts_of(args: Sequence[Any]) -> str:
    """The call of `Texts` with all texts of several arguments, each of which is a text or holds some."""
    if all(isinstance(each, (str, bytes, list, tuple)) for each in args):
        texts = [text for each in args for text in (each if isinstance(each, (list, tuple)) else [each])]
        if not (call := call_text("slmtok.Texts", [texts], {})).endswith("(corpus)"):
            return call
    return "slmtok.Texts([*a, *b])"


def _of_several_paths(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> str | None:
    """The call of a function whose one input is several paths by position, and perhaps an output behind them."""
    if name == "merge_counts" and _are_paths(args):
        return _merged(args, keywords)
    if name == "encode_files" and _are_paths(args):
        texts, output = inputs_and_output(args)
        return call_text("tok.encode_files", [texts, output or free_name("ids.bin")], keywords)
    if name == "prune" and len(args) > 1 and _are_paths(args[1:]):
        texts, output = inputs_and_output(args[1:])
        saved = f".tokenizer.save({output!r})" if output else ""
        return call_text("slmtok.prune", args[:1], {"unused_on": texts, **keywords}) + saved
    if name not in ("train", "count") or not args:
        return None
    sizes = [each for each in args if type(each) is int]
    if name == "train" and len(sizes) == 1:
        at = args.index(sizes[0])
        before, behind = args[:at], args[at + 1 :]
        output = f".save({behind[-1]!r})" if behind and str(behind[-1]).endswith(".json") else ""
        names = behind[: len(behind) - bool(output)]
        if at == 1 and len(names) < 2 and all(isinstance(each, str) for each in behind):
            meant = dict(zip(("vocab_size", "pattern"), [*sizes, *names], strict=False))
            return call_text("slmtok.train", before, {**meant, **keywords}) + output
        args, keywords = [*before, *behind], {"vocab_size": sizes[0], **keywords}
    if not _are_paths(args):
        return None
    texts, output = inputs_and_output(args)
    return call_text(f"slmtok.{name}", [texts], keywords) + (f".save({output!r})" if output else "")


def _merged(paths: Paths, keywords: Mapping[str, Any]) -> str:
    """The call of `merge_counts` with the paths, of which the last one is replaced only where the call says so."""
    files, output = inputs_and_output(paths)
    if len(paths) > 1 and keywords.get("force"):
        files, output = [os.fspath(path) for path in paths[:-1]], os.fspath(paths[-1])
    output = output or free_name("all.counts")
    if isinstance(files, str) and is_glob(files):
        call = call_text("slmtok.merge_counts", [Expression(f"glob.glob({files!r})"), output], keywords)
        return f"import glob; {call}"
    return call_text("slmtok.merge_counts", [[files] if isinstance(files, str) else files, output], keywords)


def pack_meant(args: Sequence[Any], keywords: Mapping[str, Any], options: object = None) -> str | None:
    """The call of `pack` for a tokenizer and paths in any order; None where an argument is neither.

    A path ending in .json is that of the tokenizer, where no tokenizer is given: the second argument, or the only one.
    """
    rest = dict(keywords)
    values = [*args, *(rest.pop(name) for name in ("corpus", "tokenizer") if name in keywords)]
    outputs = [rest.pop(name) for name in keywords if name == "out" or name in OUTPUTS]
    tokenizers: list[object] = [each for each in values if type(each).__name__ == "Tokenizer"]
    others = [each for each in values if type(each).__name__ != "Tokenizer"]
    listed = [part for each in others for part in (each if isinstance(each, (list, tuple)) else [each])]
    if not _are_paths(listed):
        return None
    paths = list(map(os.fspath, listed))
    if not tokenizers:
        second = [os.fspath(each) for each in values[1:2] if isinstance(each, (str, os.PathLike))]
        files = [[each for each in names if each.endswith(".json")] for names in (second, paths)]
        file = next((names[0] for names in files if len(names) == 1), None)
        if file is not None:
            tokenizers = [Expression(f"slmtok.load({file!r})")]
            paths.remove(file)
    if len(tokenizers) != 1 or not paths or len(outputs) > 1:
        return None
    texts, output = (paths[0] if len(paths) == 1 else paths, outputs[0]) if outputs else inputs_and_output(paths)
    return call_text("slmtok.pack", [texts, tokenizers[0], output or free_name("data")], rest, options)


def pack_each(corpus: object, out: object, keywords: Mapping[str, Any], options: object = None) -> str:
    """The calls of `pack` for each of the list `tokenizers`, each with a folder of its own."""
    stem = str(out or "data").replace("{", "{{").replace("}", "}}")
    folder = Expression(f"f{stem + '-{index}'!r}")
    call = call_text("slmtok.pack", [corpus, Expression("tok"), folder], keywords, options)
    return f"[{call} for index, tok in enumerate(tokenizers)]"


def _are_paths(values: Iterable[object]) -> bool:
    return all(isinstance(each, (str, os.PathLike)) for each in values)


def counts_in_memory(paths: object, out: object) -> WrongType | None:
    """The error of `merge_counts` for counts in the place of their files; None for other arguments."""
    if _is_counts(paths):
        fact, fix = "paths is counts in memory, not a list of files", f"counts.save({argument_text(out)})"
        if _is_counts(out):
            fact = "both arguments are counts in memory, not a list of files and an output"
            files, merged = [free_name("a.counts"), free_name("b.counts")], free_name("all.counts")
            fix = f"a.save({files[0]!r}), b.save({files[1]!r}), slmtok.merge_counts({files}, {merged!r})"
        return WrongType(fact, limit="merge_counts(paths, out) sums files", fix=fix)
    listed = paths if isinstance(paths, (list, tuple)) else ()
    held = {index: free_name(f"{index}.counts") for index, each in enumerate(listed) if _is_counts(each)}
    saved = [f"counts[{index}].save({name!r})" for index, name in held.items()]
    if not saved:
        return None
    names = [held.get(index) or str(each) for index, each in enumerate(listed)]
    return WrongType(
        f"paths lists {len(saved)} counts in memory, not files",
        limit="merge_counts sums files; counts is the list that you gave",
        fix=f"{', '.join(saved)}, slmtok.merge_counts({names}, {argument_text(out)})",
    )


def _is_counts(value: object) -> bool:
    return type(value).__name__ == "PretokenCounts"


_RESULTS = {"import_file": ("tok, receipt = {}; tok", "tok.json"), "view": ("{}", "tokens.html")}
"""Functions whose result a further call saves: how that call begins, and a name for the file."""


def _saved(name: str, call: str, path: object) -> str | None:
    """The call that saves the result of `call` to the file that it was given, "" for any; None for another function."""
    if name not in _RESULTS or not _are_paths([path]):
        return None
    beginning, file = _RESULTS[name]
    return f"{beginning.format(call)}.save({argument_text(path or free_name(file))})"


def _owner(function: Callable[..., Any]) -> str:
    """What stands before the name of a function of slmtok, and of a method of a tokenizer or counts; "" for others."""
    owner, _, name = function.__qualname__.removesuffix(".__init__").rpartition(".")
    if owner in ("Tokenizer", "PretokenCounts") and not isinstance(function, type):
        return f"{_VARIABLES[owner]}." if name != "load" else f"slmtok.{owner}."
    module = sys.modules.get("slmtok")
    return "slmtok." if not owner and name in getattr(module, "__all__", ()) else ""


def _completed(
    name: str, positional: Sequence[str], required: Sequence[str], args: Sequence[Any], keywords: Mapping[str, Any]
) -> str:
    """A call of `name` with the arguments that were given, and examples of others that it requires."""
    shown = [argument_text(value, each) for each, value in zip(positional, args, strict=False)]
    for each in required[len(args) :]:
        example = Expression(with_names(EXAMPLES.get(f"{name}.{each}", EXAMPLES.get(each, each))))
        shown.append(argument_text(keywords.get(each, example), each))
    shown += [f"{each}={argument_text(value, each)}" for each, value in keywords.items() if each not in required]
    return f"{name}({', '.join(shown)})"


def _as_hf(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """The call of `encode` or `encode_batch` as transformers has it, with the options that both have."""
    is_one = name in ("encode", "encode_list")
    given = {each: value for each, value in keywords.items() if each in (*AS_HF, *BOTH_AS_HF)}
    given = hf_options(given, several=not is_one)
    if "bos" in keywords:
        given["add_special_tokens"] = keywords["bos"]
    if keywords.get("eos"):
        given["add_eos"] = True
    texts = [Expression(argument_text(each, "text" if is_one else "texts")) for each in args]
    # A call has the columns that options such as return_offsets_mapping ask for, `encode` has the ids alone.
    has_columns = any(each.startswith("return_") and each != "return_tensors" for each in given)
    call = call_text("slmtok.compat.as_hf(tok)" + ".encode" * (is_one and not has_columns), texts, given)
    return call + ("" if "add_special_tokens" in given else ", which adds bos unless add_special_tokens=False")


def meant_option(
    name: str,
    value: object,
    options: Mapping[str, Any],
    takes: Callable[..., object] | None = None,
    given: Collection[str] = (),
) -> tuple[str | None, Message | None]:
    """The option that a wrong keyword means, and the fix.

    options: the defaults by name. takes: raises for a value that an option does not take; an option is meant by a name
    that is like its own only if it takes the value, unless the names are nearly the same. given: options that the call
    has already, which are not meant.
    """
    ours, fix = foreign_option(name, value, options)
    if isinstance(fix, tuple):
        fix = tuple(_as_source(part, name) if isinstance(part, Setting) else part for part in fix)
    if fix:
        return (None, _given_already(ours)) if ours is not None and ours in given else (ours, fix)
    report = next((option for option in _REPORTS if option in options and option not in given), None)
    if report is not None and _OF_REPORTS.search(name):
        return (report, _report_meant(report, value)) if value else (None, _NO_REPORT)
    if twin := suggestion(name, given):
        return None, _given_already(twin)
    known = [option for option in options if len(option) > 2 and option not in given]
    part = next((option for option in known if option in name or option.startswith(name)), None)
    # The letters of a misspelt `padding_side` hold `pad` as well.
    meant = suggestion(name, known) or part or suggestion(name, known, cutoff=0.75)
    refusal = _refusal(takes, meant, value) if takes is not None and meant is not None else None
    if meant is None or not (takes is None or suggestion(name, [meant]) or refusal is None):
        return None, None
    is_odd = isinstance(value, type) or (isinstance(value, bool) and not isinstance(options[meant], bool))
    if is_odd and (meant in EXAMPLES or options[meant] is not None):
        return meant, with_names(f"{meant}={EXAMPLES[meant]}") if meant in EXAMPLES else None
    is_number = isinstance(value, str) and value.isdecimal() and type(options[meant]) is int
    if refusal is not None and refusal.fields.get("option") == meant and not is_number:
        return meant, refusal.parts["fix"]
    return meant, (_as_source(Setting(meant, int(str(value)) if is_number else value), name),)


def _as_source(setting: Setting, name: str) -> Setting:
    """A setting in a fix; a value whose repr is no Python is the variable `name`."""
    is_shown = not setting.has_value or is_source(setting.value)
    return setting if is_shown else Setting(setting.name, Expression(name))


_OF_REPORTS = re.compile("progress|callback")
"""In the name of an option that takes a function."""
_NO_REPORT = "leave it out: without a function no progress is reported"


def _report_meant(report: str, function: object) -> str:
    """The fix with a function that reports progress; without a name of its own, with one that prints."""
    arguments, name = _REPORTS[report], getattr(function, "__name__", "")
    if not name.isidentifier():
        return f"{report}=lambda {arguments}: print({arguments})"
    return f"{report}={name}, which is called as {name}({arguments})"


def _given_already(option: str) -> Message:
    return "leave it out: ", Setting(option), " is given already"


def _refusal(takes: Callable[..., object], option: str, value: object) -> SlmtokError | None:
    """The error with which an option refuses a value; None where it takes it."""
    try:
        takes(**{option: value})
    except SlmtokError as error:
        return error
    except TypeError:
        return None
    return None
