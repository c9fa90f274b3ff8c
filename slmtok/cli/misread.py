"""Words that would be read as something else than they mean: outputs as inputs, two numbers as one, lists as files.

Each `_refuse` raises `OptionError` with the command line that was meant.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from typing import NoReturn

import click

from slmtok.cli.arguments import (
    OF_INPUTS,
    OUTPUT_FLAGS,
    arguments_of,
    command_line,
    example_number,
    example_words,
    is_misspelt,
    names_input,
    options_by_flag,
    parameter_name,
    placeholder_words,
    positional,
    positional_params,
    stands_for_path,
    takes_corpus,
    takes_text,
    value_after,
    with_output_named,
)
from slmtok.cli.output import EACH
from slmtok.cli.several_values import refuse_several_values
from slmtok.cli.shell_words import refuse_shell_words
from slmtok.cli.typography import refuse_typography
from slmtok.errors import Message, OptionError, Setting
from slmtok.file_kinds import ABLATION, kind_of_file
from slmtok.files import free_name, read_file

_JSON = "--json"
_SCHEMA = re.compile(rb'\s*\{\s*"schema"\s*:\s*"(slm|slmtok)\.([a-z-]+)/')
_HEAD_BYTES = 200
_LENGTH = re.compile(
    r"(seq-len|seq-length|context|block-size|window|(?:micro-)?batch(?:-size)?|(?:max-)?length|max-(?:new-)?tokens"
    r"|top-k|d-model|dim|width|hidden-size|n-layers?|layers|n-heads?|heads)"
)
"""Options for lengths and sizes that are hundreds or few thousands."""
_TWO = re.compile(r"(\d{2,3}),(\d{3})", re.ASCII)
YES_OR_NO = re.compile(r"true|yes|on|1|(false|no|off|0)|[<\[].*[>\]]", re.IGNORECASE)
"""Values of other tools for a flag, such as the spelling of a special token; the group is a no."""
_FIRST_PART, _LAST_PART = re.compile(r"\d+(\.\d+)?", re.ASCII), re.compile(r"\d{3}", re.ASCII)
_UNIT = re.compile(r"([kmgt]i?)?b|[kmgt%]", re.IGNORECASE)
_UNIT_OF_TIME = re.compile(r"s|sec(?:ond)?s?|min(?:ute)?s?|h|hrs?|hours?|d|days?", re.IGNORECASE)
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_LISTED = re.compile(r"\d[\d.]*([kmgKMG]?[bB]?|%)", re.ASCII)
"""A number in a list."""
_FILE_NAME = re.compile(r"[^\s=]+\.[A-Za-z]\w*")
_VALIDATION = ("val", "valid", "validation", "dev", "eval")
"""Names of other tools for the file of a validation split."""
_PAIR, _PAIR_EXAMPLE = "ROLE=SPELLING", "user=<|user|>"
"""A placeholder that is itself a valid value, and a value for it."""


def read_arguments(ctx: click.Context, args: Sequence[str]) -> list[str]:
    """The arguments as they are parsed, also in `ctx.meta["arguments"]`: `-o=FILE` and `run,run2` are two each.

    Raises `OptionError` for words that would be read as something else than they mean.
    """
    args = ctx.meta["arguments"] = _divide_short(ctx, args)
    _refuse_doubled_command(ctx, args)
    refuse_typography(ctx, args)
    _refuse_one_dash(ctx, args)
    refuse_shell_words(ctx, args)
    _refuse_option_as_value(ctx, args)
    if takes_corpus(ctx.command):
        _refuse_assignment(ctx, args)
    _refuse_file_of_json(ctx, args)
    _refuse_two_lengths(ctx, args)
    _refuse_divided_list(ctx, args)
    _refuse_unrepeated(ctx, args)
    refuse_several_values(ctx, args)
    args = ctx.meta["arguments"] = _divide_names(ctx, args)
    _refuse_divided_number(ctx, args)
    _refuse_option_after_dashes(ctx, args)
    _refuse_value_of_flag(ctx, args)
    _refuse_folder_as_file(ctx, args)
    _refuse_repeated(ctx)
    _refuse_output_as_text(ctx)
    return list(args)


def _refuse(
    fact: str, ctx: click.Context, option: str, words: Sequence[str], more: str = "", limit: str | None = None
) -> NoReturn:
    """Raises the error for a command line with `words` in the place of the given ones, and `more` behind the line."""
    raise OptionError(fact, where=ctx.command_path, limit=limit, fix=command_line(ctx, words) + more, option=option)


def _refuse_doubled_command(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `slmtok train slmtok train FILE`, a line that was pasted behind its own beginning."""
    begin = ctx.command_path.split()
    if [*args[: len(begin)]] == begin and not os.path.lexists(args[0]):
        fix = command_line(ctx, args[len(begin) :])
        raise OptionError(f"{ctx.command_path!r} stands there twice", where=ctx.command_path, fix=fix)


def _refuse_one_dash(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `-prompt TEXT`, of which click reads `rompt` as the value of `-p`, and TEXT as an argument."""
    options, end = options_by_flag(ctx.command), args.index("--") if "--" in args else len(args)
    kept, wrong = [*args], list[str]()
    for at, (before, word) in enumerate(pairwise(["", *args[:end]])):
        flag = word.partition("=")[0]
        is_value = before in options and not options[before].is_flag
        is_long = len(flag) > len("-o") and f"-{flag.replace('_', '-')}" in options
        if is_long and not is_value and not os.path.exists(word):  # noqa: PTH110
            kept[at] = f"-{word}"
            wrong.append(flag)
    if wrong:
        _refuse(f"{wrong[0]!r} has one dash", ctx, wrong[0], kept, limit="a long option has two dashes")


def _refuse_option_as_value(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `-t -o FILE`, whose `-o` click takes for the value of `-t`."""
    options = options_by_flag(ctx.command)
    words = iter(pairwise(takewhile("--".__ne__, args)))
    for flag, word in words:
        if flag not in options or options[flag].is_flag:
            continue
        listed = str(options[flag].metavar or "VALUE").split("|")
        is_text = not stands_for_path(options[flag]) and len(listed) == 1 and listed != ["N"]
        is_long = word[:2] == "--" and (not is_text or word.partition("=")[0] in options)
        if word in options or (is_long and not os.path.exists(word)):  # noqa: PTH110
            if listed == ["N"]:
                listed = [example_number(flag, ctx.command)]
            fix = " or ".join(f"{flag} {value}" for value in listed)
            fix += f", or {flag}={word} if that is the value" * is_text
            fact = f"{flag} has no value: {word} behind it is an option"
            raise OptionError(fact, where=ctx.command_path, fix=fix, option=flag)
        next(words, None)


def refuse_placeholder(ctx: click.Context) -> None:
    """Refuses `-o FILE` and `--special ROLE=SPELLING`, as help and errors write a value that the user chooses.

    Only of a command that runs: a fix that is checked may hold them.
    """
    args = arguments_of(ctx)
    options, places = options_by_flag(ctx.command), {str(each.metavar) for each in positional_params(ctx.command)}
    for at, (before, word) in enumerate(pairwise(["", *takewhile("--".__ne__, args)])):
        flag, value = word.split("=", 1) if word[:2] == "--" and "=" in word else (before, word)
        option = options.get(flag)
        is_value = option is not None and not option.is_flag
        if value not in (
            {str(option.metavar)} if option and is_value else {each.removesuffix("...") for each in places}
        ):
            continue
        example = _PAIR_EXAMPLE if value == _PAIR else None
        if flag in OUTPUT_FLAGS and value.isupper():
            example = free_name(value_after(OUTPUT_FLAGS, example_words(ctx.command)) or "output")
        if example is None or os.path.lexists(value):
            continue
        name = flag if is_value else "an argument"
        fact = f"{name} is {value}, which stands for a value that you choose"
        words = [*args[:at], word.removesuffix(value) + example, *args[at + 1 :]]
        _refuse(fact, ctx, flag if is_value else value, words)


def _refuse_folder_as_file(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `-o models/` of a command that writes one file; the fix has its default name, or that of the example."""
    output, folder = options_by_flag(ctx.command).get("--output"), value_after(OUTPUT_FLAGS, args)
    if output is None or folder is None or output.metavar != "FILE":
        return
    usual = output.default if output.default != "-" else None
    usual = usual if isinstance(usual, str) else value_after(OUTPUT_FLAGS, example_words(ctx.command))
    is_there = os.path.isdir(folder)  # noqa: PTH112
    is_meant = folder.endswith("/") and not os.path.lexists(folder.rstrip("/"))
    if usual is None or not Path(folder).name or not (is_there or is_meant):
        return
    file = str(Path(folder) / usual)
    name = free_name(file) if is_there else file
    made = "" if is_there else f"mkdir -p {shlex.quote(folder)} && "
    mended = [name if flag in OUTPUT_FLAGS and word == folder else word for flag, word in pairwise(["", *args])]
    raise OptionError(
        f"output {folder!r} is a folder" if is_there else f"output {folder!r} names a folder",
        where=ctx.command_path,
        fix=made + command_line(ctx, mended),
        option="output",
    )


def _refuse_file_of_json(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `--json FILE`, as other tools take the name of an output: it would be an input here.

    A file that exists may be an input, and one that does not a misspelt one, where no other argument is given.
    """
    from slmtok.cli.files import names_tokenizer

    at = next((at for at, (flag, word) in enumerate(pairwise(args), 1) if flag == _JSON and _is_result(word)), None)
    if at is None or "--" in args[:at]:
        return
    name, rest = args[at], [*args[:at], *args[at + 1 :]]
    given = positional(ctx)
    if name not in given or len(given) <= sum(param.required for param in positional_params(ctx.command)):
        return
    exists = os.path.exists(name)  # noqa: PTH110
    may_be_corpus = takes_corpus(ctx.command)
    taken = [param.nargs for param in positional_params(ctx.command)]
    is_extra = -1 not in taken and len(given) > sum(taken)
    if may_be_corpus and not name.endswith(".json"):
        # Texts and records of the corpus.
        return
    if exists and (names_tokenizer(name) or not (is_extra or may_be_corpus or _is_result_of(ctx, name))):
        return
    if not exists and len(given) == 1 and is_misspelt(name):
        return
    target = free_name(name)
    folder = str(Path(name).parent)
    made = "" if os.path.isdir(folder) else f"mkdir -p {shlex.quote(folder)} && "  # noqa: PTH112
    fact = f"--json takes no value, and {name!r} after it is " + ("an argument" if exists else "no file")
    as_input = f"; to read {name}, name it before --json" if exists and may_be_corpus and not is_extra else ""
    raise OptionError(
        fact,
        where=ctx.command_path,
        limit="the JSON goes to stdout",
        fix=f"{made}{command_line(ctx, rest)} > {shlex.quote(target)}{as_input}",
        option=_JSON,
    )


def _is_result(word: str) -> bool:
    """Whether a word is the name of a file as one gives to results."""
    return not word.startswith("-") and word.endswith((".json", ".jsonl", ".txt", ".log"))


def _is_result_of(ctx: click.Context, name: str) -> bool:
    """Whether a file has an earlier result of this very command."""
    found = _SCHEMA.match(read_file(name, _HEAD_BYTES)) if os.path.isfile(name) else None  # noqa: PTH113
    return found is not None and f"{found[1].decode()} {found[2].decode()}" == ctx.command_path


def _refuse_two_lengths(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `--seq-len 64,128`, which is written like the number 64,128, a length that none has."""
    metavars = _metavars(ctx)
    for flag, name, value in _settings(args):
        found = _TWO.fullmatch(value)
        if (
            not found
            or not _LENGTH.fullmatch(name.rpartition(".")[2].replace("_", "-"))
            or "," in metavars.get(flag, "")
        ):
            continue
        first, number = int(found[1]), int(found[1] + found[2])
        if first < 10 or int(found[2]) < first or not number % 1000 or number & (number - 1) == 0:
            continue
        start = f"{flag} " if name == flag.lstrip("-") else f"{flag} {name}="
        raise OptionError(
            f"{start}{value} is one number, {number:,}, or two",
            where=ctx.command_path,
            limit="one number, without a comma",
            fix=f"{start}{first}, and a command for {int(found[2])}; or {start}{number}",
            option=flag,
        )


def _settings(args: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(flag, name, value) of options with a value; the name is that of a setting behind --set."""
    for flag, value in pairwise([*args, ""]):
        if not flag.startswith("--"):
            continue
        if "=" in flag:
            flag, _, value = flag.partition("=")
        if flag == "--set":
            name, _, value = value.partition("=")
            yield flag, name, value
        else:
            yield flag, flag.lstrip("-"), value


def _metavars(ctx: click.Context) -> dict[str, str]:
    """The placeholder of each option, under each of its flags."""
    return {flag: str(option.metavar or "") for flag, option in options_by_flag(ctx.command).items()}


def _divide_short(ctx: click.Context, args: Sequence[str]) -> list[str]:
    """The arguments with `-o=FILE` and `-o:FILE` as two: click takes `=FILE` as the value."""
    taking = {flag for flag, option in options_by_flag(ctx.command).items() if not option.is_flag}
    divided: list[str] = []
    for at, (before, word) in enumerate(pairwise(["", *args])):
        flag, sign, value = word[:2], word[2:3], word[3:]
        is_option = sign and sign in "=:" and flag in taking and before not in taking
        divided += [flag, value] if is_option and "--" not in args[:at] else [word]
    return divided


def _refuse_assignment(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `vocab=500`, as other tools take options, and `train=FILE`, which would be files of the corpus."""
    from slmtok.cli.validation_files import explain_validation

    flags, kept = options_by_flag(ctx.command), list[str]()
    wrong: list[tuple[str, str]] = []
    validation: str | None = None
    for before, word in pairwise(["", *args]):
        name, equals, value = word.partition("=")
        is_assignment = equals and not before.startswith("-") and not os.path.exists(word)  # noqa: PTH110
        is_file = os.path.exists(value)  # noqa: PTH110
        flag = f"--{name.replace('_', '-')}"
        flag = "--val" if name in _VALIDATION and "--val" in flags and is_file else flag
        is_option, is_input = is_assignment and flag in flags, is_assignment and name in OF_INPUTS and is_file
        validation = value if is_option and flag == "--val" and is_file else validation
        wrong += [(word, flag)] if is_option or is_input else []
        kept += [flag, value] if is_option else [value] if is_input else [word]
    if wrong:
        word, flag = wrong[0]
        fact, where = f"{word!r} is neither a file nor an option", ctx.command_path
        error = OptionError(fact, where=where, fix=command_line(ctx, kept), option=flag, validation_file=validation)
        ctx.meta["arguments"] = kept
        explain_validation(error, ctx)
        raise error


def _refuse_divided_number(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `--bytes 2 MB`, `--vocab 32 000` and `--budget time=2 min`, whose further words would be arguments.

    Raises the error of the number without its space where the option does not take it.
    """
    options, kept = options_by_flag(ctx.command), list(args)
    wrong: list[str] = []
    # From the end, so that places before stay.
    for at, (before, word) in reversed([*enumerate(pairwise(["", *args]))]):
        flag, value = word.split("=", 1) if word[:2] == "--" and "=" in word else (before, word)
        option = options.get(flag)
        more = [] if option is None or option.is_flag else _rest_of_number(value, args[at + 1 :], option, ctx)
        if option is not None and more:
            joined = _without_spaces(value, more)
            option.type.convert(joined, option, ctx)
            kept[at : at + 1 + len(more)] = [word.removesuffix(value) + joined]
            wrong = [flag, value, *more]
    if wrong:
        _refuse(f"{' '.join(wrong)}: the number has a space in it", ctx, wrong[0], kept)


def _rest_of_number(value: str, following: Sequence[str], option: click.Option, ctx: click.Context) -> list[str]:
    """The words behind the value of an option that belong to its number: a unit, or three digits; several of a time."""
    _, equals, number = value.rpartition("=")
    words = [*takewhile(lambda word: not os.path.exists(word), following)]  # noqa: PTH110
    takes_pair = "=" in str(option.metavar)
    if not words or not _FIRST_PART.fullmatch(number) or bool(equals) != takes_pair:
        return []
    is_time = takes_pair and _UNIT_OF_TIME.fullmatch(words[0])
    may_be_thousands = takes_pair or takes_corpus(ctx.command)
    is_thousands = may_be_thousands and _LAST_PART.fullmatch(words[0]) and (len(number) < 3 or words[0] == "000")
    if not (is_time or is_thousands or _UNIT.fullmatch(words[0])):
        return []
    if is_thousands:
        return [*takewhile(_LAST_PART.fullmatch, words)]
    end = 1
    while is_time and _FIRST_PART.fullmatch("".join(words[end : end + 1])):
        if not _UNIT_OF_TIME.fullmatch("".join(words[end + 1 : end + 2])):
            break
        end += 2
    return words[:end]


def _without_spaces(value: str, more: Sequence[str]) -> str:
    """A number in one word; a time in one unit, as `s`, `min`, `h` or `d`."""
    name, equals, number = value.rpartition("=")
    if not equals or not _UNIT_OF_TIME.fullmatch(more[0]):
        return "".join([value, *more])
    numbers = [number, *more[1::2]]
    units = ["min" if unit[0] in "mM" else unit[0].lower() for unit in more[::2]]
    if len(units) == 1:
        return f"{name}={number}{units[0]}"
    seconds = sum(float(each) * _SECONDS[unit] for each, unit in zip(numbers, units, strict=True))
    return f"{name}={seconds:g}s"


def _refuse_divided_list(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `--vocabs 300 600`, whose second word would be an argument: a list has commas."""
    options, metavars = options_by_flag(ctx.command), _metavars(ctx)
    names = {flag: metavar.split("|") for flag, metavar in metavars.items() if "|" in metavar}
    # `--vocabs=300 600` as `--vocabs 300 600`.
    may_list = {flag for flag, metavar in metavars.items() if re.search("[,|]", metavar)}
    args = [part for word in args for part in (word.split("=", 1) if word.partition("=")[0] in may_list else [word])]
    for at, (flag, first) in enumerate(pairwise(args)):
        rest = args[at + 2 :]
        more = list(takewhile(names.get(flag, []).__contains__, rest))
        if first in names.get(flag, ()) and more and not any(map(os.path.exists, more)):
            also = ["--also", ",".join(more)] if "--also" in options else []
            fact = f"{' '.join([flag, first, *more])}: {flag} takes one value"
            _refuse(fact, ctx, flag, [*args[: at + 2], *also, *rest[len(more) :]], "" if also else EACH)
        if not ("," in metavars.get(flag, "") or metavars.get(flag) == "IDS") or first.startswith("-"):
            continue
        # The help of an option may name another one.
        words = takewhile(lambda word: word not in options, rest)
        if more := list(takewhile(partial(_is_listed, options[flag]), words)):
            is_one = "is one word" if metavars[flag] == "IDS" else "has commas, and no spaces"
            listed = [",".join(each.strip(",") for each in [first, *more])]
            if "=" in first:
                # A name with a regex, which may have commas.
                listed = [part for each in [first, *more] for part in (flag, each)][1:]
            fact = f"{' '.join([flag, first, *more])}: a list {is_one}"
            _refuse(fact, ctx, flag, [*args[: at + 1], *listed, *rest[len(more) :]])


_TEXTS = {"TEXT", "CORPUS", "FILE"}
"""Placeholders of arguments that take any file."""


def _refuse_unrepeated(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `--on a.txt b.txt`, whose second text would be an argument: an option takes one value each time.

    Only where the arguments of the command take no file of this kind.
    """
    from slmtok.cli.files import names_tokenizer

    options = options_by_flag(ctx.command)
    taken = {word for param in positional_params(ctx.command) for word in placeholder_words(param)}
    if taken & _TEXTS:
        return

    def kind_of(word: str) -> str | None:
        found = "TOK" if names_tokenizer(word) else kind_of_file(word) if os.path.isfile(word) else None  # noqa: PTH113
        return None if found in taken or (found == ABLATION and "ABLATION" in taken) else found

    kept: list[str] = []
    wrong: list[str] = []
    flag, kind = "", None
    for before, word in pairwise(["", *args]):
        given, equals, value = word.partition("=")
        option = options.get(given if equals else before)
        if option is not None:
            is_path = option.multiple and stands_for_path(option)
            flag, kind = (given if equals else before, kind_of(value if equals else word)) if is_path else ("", None)
        elif kind is not None and kind_of(word) == kind:
            kept.append(flag)
            wrong = wrong or [flag, kept[-2], word]
        else:
            kind = None
        kept.append(word)
    if wrong:
        flag, first, second = wrong
        fact = f"{flag} takes one value each time, and {second!r} stands behind {first!r}"
        _refuse(fact, ctx, flag, kept, limit=f"{flag} before each value")


def _is_listed(option: click.Option, word: str) -> bool:
    """Whether a word is an item of the list that an option takes: a number, or a name that its help has; no file."""
    known = re.findall(r"[\w:.%-]*\w%?", f"{option.help or ''},{option.show_default}")
    word = word.strip(",")
    is_number = "NAME" not in str(option.metavar) and _LISTED.fullmatch(word) is not None
    return (is_number or word in known) and not os.path.exists(word)  # noqa: PTH110


def _divide_names(ctx: click.Context, args: Sequence[str]) -> list[str]:
    """The arguments with `run,run2` as two, which is one too many for a command that takes one file.

    Refuses `a.txt,b.txt` where each may be an argument of its own, or an option.
    """
    options, taken = options_by_flag(ctx.command), [param.nargs for param in positional_params(ctx.command)]
    given: list[str] = []
    wrong: list[tuple[str, str, int]] = []
    for before, word in pairwise(["", *args]):
        option = options.get(before)
        flag = before if option and not option.is_flag else ""
        # An unknown option is an error of its own, which divides its value.
        is_value = bool(flag) or (option is None and before.startswith("--") and len(before) > len("--"))
        names = _joined_names(word) if not is_value or (option and option.multiple) else []
        given += [part for each in names or [word] for part in ((flag, each) if flag else (each,))][bool(flag) :]
        wrong += [(flag, word, len(names))] if names else []
    if not any(flag for flag, _, _ in wrong) and taken in ([], [1]):
        return given
    if wrong:
        flag, word, number = next((each for each in wrong if each[0]), wrong[0])
        limit = f"{flag} before each name" if flag else "each name is an argument"
        _refuse(f"{word!r} is {number} names in one", ctx, flag, given, limit=limit)
    return given


def _joined_names(word: str) -> list[str]:
    """The files that a word such as `a.txt,b.txt` names with commas; nothing for a word that is a file, or none."""
    names = [part.strip() for part in word.split(",")]
    is_list = len(names) > 1 and all(map(os.path.exists, names)) and not os.path.exists(word)  # noqa: PTH110
    return names if is_list else []


def _refuse_option_after_dashes(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses an option after `--`, where click takes it for a file."""
    at = args.index("--") if "--" in args else len(args)
    before, after = args[:at], args[at + 1 :]
    flags = options_by_flag(ctx.command)
    index = next((i for i, word in enumerate(after) if word.partition("=")[0] in flags), None)
    if index is not None and not os.path.exists(after[index]):  # noqa: PTH110
        fact = f"the option {after[index]} stands behind --, where every word is a file"
        _refuse(fact, ctx, "--", [*before, *after[index:], "--", *after[:index]])


def _refuse_value_of_flag(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `--force true` and `--bos=false`, as other tools take flags.

    The word behind a flag is an argument where the command takes text, and where it is a file. `my.digests` behind
    `--doc-digests` is the name of what the flag writes.
    """
    takes_text = not all(map(names_input, positional_params(ctx.command)))
    options = [param for param in options_by_flag(ctx.command).values() if param.is_flag]
    flags = {flag: param for param in options for flag in (*param.opts, *param.secondary_opts)}
    kept: list[str] = []
    wrong: list[tuple[str, str]] = []
    words = iter(pairwise([*args, ""]))
    for word, following in words:
        flag, equals, value = word.partition("=")
        value = value if equals else following
        found, ending = YES_OR_NO.fullmatch(value), Path(value).suffix[1:]
        is_name = ending != "" and flag.endswith(f"-{ending}") and flag != f"--{ending}"
        is_other = not is_name and (found is None or takes_text or os.path.exists(value))  # noqa: PTH110
        if flag not in flags or (not equals and is_other):
            kept.append(word)
            continue
        on, off = flags[flag].opts, flags[flag].secondary_opts
        kept += [flag] if found is None or not found[1] else (off if flag in on else on)[:1]
        without = f", or {off[0]}" if off and flag in on else ", or without it"
        written = f": it writes {value_after(OUTPUT_FLAGS, args) or 'OUTPUT'}.{ending}"
        wrong.append((flag, f"{flag} alone{written if is_name else without}"))
        if not equals:
            next(words)
    if wrong:
        flag, limit = wrong[0]
        _refuse(f"{flag} is given a value", ctx, flag, kept, limit=limit)


def _refuse_repeated(ctx: click.Context) -> None:
    """Refuses an option with one value that is given twice: click would take the last."""
    _, _, given = ctx.command.make_parser(ctx).parse_args(arguments_of(ctx))
    for param, times in Counter(given).items():
        if times > 1 and isinstance(param, click.Option) and not (param.multiple or param.is_flag):
            fact = f"{parameter_name(param)} is given {times} times"
            fix = _template_of_keys(param, ctx) or "keep one"
            raise OptionError(fact, where=ctx.command_path, limit="once", fix=fix, option=param.name)


def _refuse_output_as_text(ctx: click.Context) -> None:
    """Refuses `view tok.json page.html`, whose page would be read as the text."""
    if not takes_text(ctx.command):
        return
    for word in positional(ctx):
        fix = with_output_named(ctx, word) if _FILE_NAME.fullmatch(word) else None
        if fix:
            fact = f"{word!r} is the name of an output, and stands where the text does"
            limit = "-o names the output; a text with the name of a file comes from stdin: - in its place"
            raise OptionError(fact, where=ctx.command_path, limit=limit, fix=fix, option="output")


def _template_of_keys(param: click.Option, ctx: click.Context) -> Message:
    """The template, as the fix, where several keys are named in a command that takes one; else ()."""
    takes_template = any(each.name == "text_template" for each in ctx.command.params)
    words = (*(word.partition("=") for word in arguments_of(ctx)), ("", "", ""))
    keys = [value or following for (flag, _, value), (following, *_) in pairwise(words) if flag in param.opts]
    if param.name != "text_key" or not takes_template or len({*keys}) < len(keys):
        return ()
    template = Setting("text_template", "\n".join(f"{{{key}}}" for key in keys))
    return template, " in the place of ", Setting("text_key")
