"""Arguments as they were given: what a parameter is called, and remedies for those in each other's place."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from slmtok.errors import MissingInput, OptionError, SlmtokError
from slmtok.file_kinds import (
    COUNTS,
    LOCK,
    MANIFEST,
    NAMES,
    TOKENIZER,
    UNKNOWN,
    WRITTEN_KINDS,
    is_run,
    kind_of,
    kind_of_file,
)
from slmtok.files import last_write
from slmtok.path_arguments import free_name, glob_matches
from slmtok.specials import FIRST_LEARNED

_TOKENIZER = "TOK"
OUTPUT_FLAGS = ("-o", "--output")
VOCAB_FLAGS = ("--vocab", "--vocab-size")
OF_INPUTS = {
    *("i", "f", "m", "in", "input", "inputs", "input-file", "input-dir", "file", "files", "file-name", "filename"),
    *("path", "paths", "source", "src", "text", "texts", "prompt", "corpus", "corpora", "on", "folder", "dir"),
    *("data", "data-path", "data-file", "data-dir", "dataset", "train", "train-file", "train-data", "shards"),
    *("counts", "ids", "run", "model", "model-path", "checkpoint", "ckpt", "tokenizer", "tok", "o", "output"),
}
"""Names of options for what is an argument here: those of other tools, and an output where none is written."""
MAX_FILES = 8
"""Files that a fix names."""
_PATHS = frozenset(
    ["FILE", "DIR", "PATH", "DATA", "CORPUS", "COUNTS", "RUN", "NEW", "TOK", "TEXT", "TRAIN", "LOCK", "A", "B"]
)
"""Words of placeholders that stand for files or folders."""


def parameter_name(param: click.Parameter | None) -> str:
    """The first long option, or the placeholder of an argument."""
    if param is None:
        return "an argument"
    long = [option for option in param.opts if option.startswith("--")]
    placeholder = str(getattr(param, "metavar", None) or param.name)
    return long[0] if long else placeholder if placeholder.isupper() else str(param.name).upper()


def arguments_of(ctx: click.Context | None) -> list[str]:
    """The arguments of a command as they were given; none where no command was reached."""
    return [] if ctx is None else list(ctx.meta.get("arguments", ()))


def options_by_flag(command: click.Command) -> dict[str, click.Option]:
    """The options of a command, each under all of its flags."""
    return {flag: param for param in command.params if isinstance(param, click.Option) for flag in param.opts}


def positional_params(command: click.Command) -> list[click.Argument]:
    """The positional arguments that a command takes."""
    return [param for param in command.params if isinstance(param, click.Argument)]


def takes_text_on(command: click.Command) -> bool:
    """Whether a command has the option --on for text; that of `slm info` takes a device."""
    on = options_by_flag(command).get("--on")
    return on is not None and "DEVICE" not in str(on.metavar)


def takes_corpus(command: click.Command) -> bool:
    """Whether a command has the argument CORPUS... ."""
    return any(place.name == "corpus" for place in positional_params(command))


def placeholder_words(param: click.Parameter) -> list[str]:
    """The words in the placeholder of a parameter."""
    return re.findall(r"[\w-]+", str(param.metavar or ""))


def stands_for_path(param: click.Parameter) -> bool:
    """Whether the placeholder of a parameter is that of a file or folder."""
    return not _PATHS.isdisjoint(placeholder_words(param))


def names_input(param: click.Parameter) -> bool:
    """Whether a value is the name of a file or folder; TEXT may be text itself, but for `--on`."""
    return param.name == "on" or (stands_for_path(param) and "TEXT" not in placeholder_words(param))


def takes_text(command: click.Command) -> bool:
    """Whether an argument of a command is text itself."""
    return any("TEXT" in placeholder_words(place) and not names_input(place) for place in positional_params(command))


def value_after(flags: Sequence[str], words: Iterable[str]) -> str | None:
    """The word that follows one of these flags; None without one."""
    return next((value for flag, value in pairwise(words) if flag in flags), None)


def without_options(words: Iterable[str], flags: Collection[str]) -> list[str]:
    """The words without these options and the value behind each; a word that begins with a dash is no value."""
    kept = (each for before, each in pairwise(["", *words]) if before not in flags or each.startswith("-"))
    return [each for each in kept if each.partition("=")[0] not in flags]


def example_words(command: click.Command | None) -> list[str]:
    """The example of a command, word by word."""
    return shlex.split(getattr(command, "example", None) or "")


def example_number(flag: str, command: click.Command) -> str:
    """A value for an option of a number: that of the example of the command, its default, or another one."""
    option = options_by_flag(command)[flag]
    default = option.default
    usual = str(default) if type(default) is int and default > 0 else "20"
    return f"{value_after(option.opts, example_words(command)) or usual}, for instance"


def taking_value(value: str, command: click.Command, given: Iterable[str], *, is_alone: bool) -> click.Parameter | None:
    """The option that an unknown one with this value means: the only one that lists it among its choices.

    Else, for a number, the only one that is required, takes one and is not given, where no other option is unknown.
    """
    options = [each for each in command.params if isinstance(each, click.Option)]
    listing = [each for each in options if value in str(each.metavar or "").split("|")]
    words = {*given}
    required = [each for each in options if each.required or {getattr(each, "needed_without", None)} - {None, *words}]
    sizes = [each for each in required if each.metavar == "N" and not {*each.opts} & words]
    found = listing or (sizes if is_alone and value.isdecimal() else [])
    return found[0] if len(found) == 1 else None


def command_line(ctx: click.Context, arguments: Iterable[str]) -> str:
    """The command with these arguments, as one types it."""
    return shlex.join([*ctx.command_path.split(), *arguments])


def line_without(left_out: Collection[str | None], ctx: click.Context, *more: str) -> str:
    """The command as it was given without some words, and with more of them at its end."""
    return command_line(ctx, [*(each for each in arguments_of(ctx) if each not in left_out), *more])


def lines_for_each(named: Collection[str], files: Iterable[str], ctx: click.Context) -> str:
    """The command once for each of several files in the place of what was `named`, with an output of its own."""
    divided = (word.split("=", 1) if word.startswith("--output=") else [word] for word in arguments_of(ctx))
    given = [part for word in divided for part in word]
    written = value_after(OUTPUT_FLAGS, given)
    has_output = value_after(OUTPUT_FLAGS, example_words(ctx.command)) is not None
    usual = getattr(options_by_flag(ctx.command).get("--output"), "default", None)

    def words_of(file: str) -> Iterator[str]:
        name = os.path.splitext(os.path.basename(file.rstrip(os.sep)))[0]  # noqa: PTH119, PTH122
        for word in given:
            if word == written:
                stem, ending = os.path.splitext(word)  # noqa: PTH122
                yield free_name(f"{stem}-{name}{ending}")
            elif word not in named or word == file:
                yield word
            elif word == next(each for each in given if each in named) and file not in given:
                yield file
        if written is None and has_output:
            yield from ("-o", free_name(f"{file.rstrip(os.sep)}-out"))
        elif written is None and isinstance(usual, str):
            yield from ("-o", free_name(f"-{name}".join(os.path.splitext(usual))))  # noqa: PTH122

    return " && ".join(command_line(ctx, words_of(file)) for file in files)


def _globbed_line(path: str, found: Sequence[str], ctx: click.Context) -> str:
    """The command line with the files that a glob matches in its place; once for each where one file is taken."""
    from slmtok.formats.id_files import companion_of

    files = [file for file in found if companion_of(file) is None][:MAX_FILES]
    if all(param.nargs == 1 for param in positional_params(ctx.command)):
        return lines_for_each([path], files, ctx)
    return command_line(ctx, [part for word in arguments_of(ctx) for part in (files if word == path else [word])])


def name_swap(error: SlmtokError, ctx: click.Context) -> None:
    """Changes the fix of an error about a file to the command line with that file in its right place.

    Two files exchanged, a text among tokenizers as the value of --on, or a missing file as the output. For a tokenizer
    of another kind, the command that trains one.
    """
    if isinstance(apart := error.fields.get("files_by_key"), dict):
        error.fix = _counted_apart(apart, ctx)
        return
    path = error.fields.get("path")
    if not isinstance(path, str):
        return
    if (local := error.fields.get("local_path")) and arguments_of(ctx).count(path) == 1:
        error.fix = command_line(ctx, [str(local) if word == path else word for word in arguments_of(ctx)])
        return
    if (kept := error.fields.get("corpus_once")) and isinstance(kept, list):
        error.fix = _named_once(kept, ctx) or error.parts["fix"]
        return
    if fetch := error.fields.get("fetch"):
        named = (path, error.fields["address"])
        words = [str(error.fields["copy"]) if word in named else word for word in arguments_of(ctx)]
        if words != arguments_of(ctx):
            error.fix = f"{fetch} && {command_line(ctx, words)}"
        return
    if path in positional(ctx) and isinstance(error, MissingInput) and (found := glob_matches(path)):
        error.fix = _globbed_line(path, found, ctx)
        return
    if takes_corpus(ctx.command) and kind_of_file(path) == LOCK and (fix := _of_lock(path, ctx)):
        error.fix = fix
        return
    if error.fix and error.fix.endswith(" | slmtok ..."):
        records = ["--format", "jsonl"] if error.fields.get("records") else []
        command = command_line(ctx, [*arguments_of(ctx), *records])
        error.fix = error.fix.replace("slmtok ...", command)
        return
    if error.fix and (line := with_commands(error.fix, path, ctx)) != error.fix:
        error.fix = line
        return
    # A tokenizer in a corpus is either the one to extend, of which the fix is a command, or an earlier output.
    is_among_texts = takes_corpus(ctx.command) and not str(error.fix).startswith("slmtok ")
    may_be_output = isinstance(error, MissingInput) or (is_among_texts and os.path.isfile(path))  # noqa: PTH113
    as_output = with_output_named(ctx, path) if may_be_output else None
    if fix := as_output or _exchanged(path, ctx) or _on_text(path, ctx):
        error.fix = fix
        return
    beside = str(error.fix).partition("tokenizer file beside it: ")[2]
    if beside and beside in [value for _, value in _values(ctx)]:
        is_one_of_many = path in positional(ctx) and len(positional(ctx)) > 2
        other = f"name another tokenizer in place of {path}: {beside} is given already"
        error.fix = line_without({path}, ctx) if is_one_of_many else other


def with_commands(fix: str, path: str, ctx: click.Context | None = None) -> str:
    """The fix of an error about the file `path` with commands in the place of calls of Python."""
    from slmtok.formats.foreign_files import READ_PAIR, TRAIN_OWN_CALL

    ctx = ctx or click.get_current_context()
    if call := TRAIN_OWN_CALL.search(fix):
        return fix.replace(call[0], _train_own(path, ctx))
    before, begin, code = fix.partition(READ_PAIR)
    return before + _read_pair(begin + code, ctx) if begin else fix


def _named_once(kept: Sequence[str], ctx: click.Context) -> str | None:
    """The command line with these paths of its corpus alone; None where other words of it are equal to some."""
    words, given = arguments_of(ctx), ctx.params.get("corpus", ())
    if not given or any(words.count(path) != given.count(path) for path in given):
        return None
    # Of equal paths the first stays.
    kept_at = [words.index(path) for path in kept]
    return command_line(ctx, [word for at, word in enumerate(words) if word not in given or at in kept_at])


def _of_lock(path: str, ctx: click.Context) -> str | None:
    """The command line with the texts that a lock names in its place, else the slice of its tokenizer.

    None for a lock that is no part of the corpus or cannot be read, and where neither is there.
    """
    from slmtok.training.lock import load_lock

    if path not in ctx.params["corpus"]:
        return None
    if len(ctx.params["corpus"]) > 1:
        return line_without([path], ctx)
    try:
        lock = load_lock(path)
    except SlmtokError:
        return None
    arguments = arguments_of(ctx)
    if 0 < len(lock.texts) <= MAX_FILES:
        texts = [text for text in lock.texts if text not in arguments]
        return command_line(ctx, [part for word in arguments for part in (texts if word == path else [word])])
    locked, tokenizer = lock.content["tokenizer"], str(lock.sibling(lock.content["tokenizer"]["file"]))
    sizes = [value for flag, value in pairwise(arguments) if flag in VOCAB_FLAGS]
    is_smaller = len(sizes) == 1 and sizes[0].isdecimal() and FIRST_LEARNED <= int(sizes[0]) <= locked["n_vocab"]
    if ctx.info_name != "train" or not is_smaller or kind_of_file(tokenizer) != TOKENIZER:
        return None
    output = value_after(OUTPUT_FLAGS, arguments) or free_name("small.json")
    force = ["--force"] if ctx.params["force"] else []
    return shlex.join(["slmtok", "slice", tokenizer, "--vocab", sizes[0], "-o", output, *force])


def _counted_apart(apart: dict[str, list[str]], ctx: click.Context) -> str:
    """The commands that count files with different fields apart, and the command on the counts."""
    from dataclasses import fields

    from slmtok.corpus.text_keys import counts_names
    from slmtok.options import CountOptions

    of_count = {each.name for each in fields(CountOptions)}
    params = {flag: param for param in ctx.command.params for flag in (*param.opts, *param.secondary_opts)}
    last = "merge" if ctx.info_name == "count" else str(ctx.info_name)
    places = [word for word in positional(ctx) if word not in ctx.params.get("corpus", ())]
    reading: list[str] = []
    rest: list[str] = []
    words = iter(arguments_of(ctx))
    for word in words:
        param = params.get(word.partition("=")[0])
        if not isinstance(param, click.Option):
            continue
        given = [word] if param.is_flag or "=" in word else [word, next(words, "")]
        if param.name in of_count and param.name != "text_key":
            reading += given
        elif param.name not in of_count and (last != "merge" or param.name in ("output", "force")):
            rest += given
    names = counts_names(apart)
    lines = [
        ["slmtok", "count", *files, "--text-key", key, *reading, "-o", name]
        for (key, files), name in zip(apart.items(), names, strict=True)
    ]
    return " && ".join(map(shlex.join, [*lines, ["slmtok", last, *places, *names, *rest]]))


def _train_own(path: str, ctx: click.Context) -> str:
    """The command that trains a tokenizer with as many ids as the one at `path`, on the corpus of the command.

    The text of another command, which is encoded or measured, is no corpus to train on. Fewer ids are accepted, as a
    corpus may be too small for them.
    """
    from slmtok.formats.foreign_files import n_ids_in

    texts = [value for is_place, value in _values(ctx) if not is_place and value != path]
    corpus = shlex.join(each for each in texts if os.path.exists(each)) if takes_corpus(ctx.command) else ""  # noqa: PTH110
    beside = f"{os.path.splitext(path.rstrip(os.sep))[0]}-slmtok.json"  # noqa: PTH122
    output, force = _imported(ctx) or (free_name(beside), False)
    n_ids = n_ids_in(path) or 0
    size = n_ids if n_ids > FIRST_LEARNED else 8192
    line = f"slmtok train {corpus or 'CORPUS'} --vocab {size} --allow-smaller -o {shlex.quote(output)}"
    return line + " --force" * force


def _read_pair(code: str, ctx: click.Context) -> str:
    """The command that runs `pair_code`; where the output of the command is a tokenizer, it is written there."""
    from slmtok.formats.foreign_files import pair_command

    if imported := _imported(ctx):
        output, force = imported
        code = f"{code.rpartition('.save(')[0]}.save({output!r}{', force=True' * force})"
    return pair_command(code)


def _imported(ctx: click.Context) -> tuple[str, bool] | None:
    """Output and `force` of `slmtok import`, whose output is the tokenizer itself; None in another command."""
    return (str(ctx.params["output"]), bool(ctx.params["force"])) if ctx.info_name == "import" else None


def _on_text(path: str, ctx: click.Context) -> str | None:
    """The command line with `path`, which stands in the place of a tokenizer, as the value of --on; else None."""
    from slmtok.file_content import HEAD_BYTES, content_of
    from slmtok.files import read_file

    on = options_by_flag(ctx.command).get("--on")
    tokenizers = [value for is_place, value in _values(ctx) if is_place]
    is_given = on is not None and bool(ctx.params.get(on.name or ""))
    if on is None or (is_given and not on.multiple) or path not in tokenizers or not os.path.isfile(path):  # noqa: PTH113
        return None
    try:
        head = read_file(path, HEAD_BYTES)
    except SlmtokError:
        return None
    if content_of(head) or head.startswith(b"{") or kind_of(head) != UNKNOWN:
        return None
    # A command of two tokenizers lacks one then.
    takes_any = any(param.nargs == -1 for param in ctx.command.params)
    if takes_any and len(tokenizers) > 1:
        return line_without([path], ctx, "--on", path)
    if not takes_any and (texts := [each for each in tokenizers if is_text_file(each)]) and len(texts) > 1:
        words = [word for text in texts for word in ("--on", text)]
        rest = [word for word in arguments_of(ctx) if word not in texts]
        return f"name two tokenizers: {command_line(ctx, ['TOK', 'TOK', *rest, *words])}"
    other = tokenizer_beside(next((each for each in tokenizers if each != path), path))
    if not takes_any and other is None:
        given = shlex.join(each for each in tokenizers if each != path)
        return f"slmtok eval {given} --on {shlex.quote(path)} measures one tokenizer; {ctx.command_path} compares two"
    return line_without([path], ctx, other or "TOK", "--on", path)


def _exchanged(path: str, ctx: click.Context) -> str | None:
    """The command line in which `path` and the one file of the other kind change places; None where none does."""
    from slmtok.cli.files import names_tokenizer

    files = [(is_place, value) for is_place, value in _values(ctx) if os.path.isfile(value)]  # noqa: PTH113
    misplaced = [value for is_place, value in files if is_place != names_tokenizer(value)]
    if path not in misplaced or len(misplaced) != 2 or len({is_place for is_place, _ in files}) != 2:
        return None
    if any(kind_of_file(name) not in (TOKENIZER, COUNTS, UNKNOWN) for name in misplaced):
        return None
    arguments = arguments_of(ctx)
    other = dict(zip(misplaced, reversed(misplaced), strict=True))
    if any(arguments.count(name) != 1 for name in misplaced):
        return None
    return command_line(ctx, [*(other.get(each, each) for each in arguments)])


def with_text_named(option: str, ctx: click.Context) -> str | None:
    """The command line with its one file of text as the value of `option`; None without another input beside it."""
    from slmtok.cli.files import names_tokenizer

    arguments = arguments_of(ctx)
    given = [each for each in arguments if os.path.isfile(each)]  # noqa: PTH113
    texts = [each for each in positional(ctx) if each in given and not names_tokenizer(each)]
    if len(texts) != 1 or len(given) + sum(map(is_packed, arguments)) < 2:
        return None
    rest = fitting([each for each in arguments if each != texts[0]], ctx)
    return command_line(ctx, [*rest, option, texts[0]])


def fitting(arguments: list[str], ctx: click.Context) -> list[str]:
    """The arguments; where they are too many for the command, without tokenizers beside packed data.

    Packed data have the tokenizer that made them.
    """
    from slmtok.cli.files import names_tokenizer

    given = [each for each in positional(ctx) if each in arguments]
    taken = [place.nargs for place in positional_params(ctx.command)]
    if -1 in taken or len(given) <= sum(taken) or not any(map(is_packed, given)):
        return arguments
    return [each for each in arguments if each not in given or not names_tokenizer(each)]


def refuse_list(arguments: Sequence[str], fix: Callable[[list[str]], str]) -> None:
    """Raises `OptionError` for two sizes in one option: `--vocab 300,400`, which is one number, and `300 400`."""

    def refuse(sizes: list[str], fact: str) -> None:
        raise OptionError(fact, limit="one size an option", fix=fix(sizes), option="vocab")

    for before, value in pairwise(["", *arguments]):
        flag, _, given = value.partition("=") if "=" in value else (before, "", value)
        sizes = given.split(",")
        if flag in VOCAB_FLAGS and len(sizes) > 1 and are_sizes(sizes):
            refuse(sizes, f"--vocab {given} is one number, {int(given.replace(',', '')):,}")
    for flag, first, second in zip(arguments, arguments[1:], arguments[2:], strict=False):
        if flag in VOCAB_FLAGS and are_sizes([first, second]) and not os.path.exists(second):  # noqa: PTH110
            refuse([first, second], f"--vocab takes one number, and {second} after it is no file")


def are_sizes(words: Sequence[str]) -> bool:
    """Whether all words are sizes of a vocabulary."""
    return all(map(str.isdecimal, words)) and min(map(int, words)) >= FIRST_LEARNED


def other_than_text(path: str) -> str | None:
    """What an existing input is, as by NAMES, where that is another kind than text; else None."""
    kind = NAMES.get(kind_of_file(path))
    return kind or ("packed data" if is_packed(path) else "a run" if is_run(path) else None)


def is_packed(path: str) -> bool:
    """Whether a path is a folder that `slmtok pack` wrote."""
    return kind_of_file(os.path.join(path, "manifest.json")) == MANIFEST  # noqa: PTH118


def is_text_file(path: str) -> bool:
    """Whether a path is a file with the content of a text."""
    from slmtok.cli.files import names_tokenizer
    from slmtok.file_content import HEAD_BYTES, content_of
    from slmtok.files import read_file

    is_file = os.path.isfile(path) and not names_tokenizer(path)  # noqa: PTH113
    return is_file and content_of(read_file(path, HEAD_BYTES)) is None


def positional(ctx: click.Context) -> list[str]:
    """The arguments that are neither options nor their values, in their order."""
    values, rest, _ = ctx.command.make_parser(ctx).parse_args(arguments_of(ctx))
    return positional_in(values, rest, ctx)


def positional_in(values: Mapping[str, Any], rest: Sequence[str], ctx: click.Context) -> list[str]:
    """All positional arguments: those that were parsed into `values`, and the `rest`."""
    found: list[str] = []
    for place in positional_params(ctx.command):
        value = values.get(place.name or "")
        found += [value] if isinstance(value, str) else value if isinstance(value, (tuple, list)) else ()
    return [each for each in (*found, *rest) if isinstance(each, str)]


def takes_tokenizer(value: str, context: click.Context) -> bool:
    """Whether the value of an unknown option is a tokenizer, and the command takes one as option alone, not given."""
    from slmtok.cli.files import names_tokenizer

    if any(_TOKENIZER in str(place.metavar) for place in positional_params(context.command)):
        return False
    given = {word.partition("=")[0] for word in arguments_of(context)}
    return "-t" in options_by_flag(context.command) and not given & {"-t", "--tokenizer"} and names_tokenizer(value)


def with_output_named(ctx: click.Context, output: str | None = None) -> str | None:
    """The command line with an argument, the last one by default, as the value of -o.

    None where that is given or unlike an output, which does not exist yet, as other arguments do, and whose name ends
    as that of the example of the command; where the example has none, it is no misspelt name of a file. One without an
    ending stands last. So does an earlier output, a file of the kind that the command writes; a free name is proposed.
    """
    example = value_after(OUTPUT_FLAGS, example_words(ctx.command))
    arguments, given = arguments_of(ctx), positional(ctx)
    takes_output = OUTPUT_FLAGS[0] in options_by_flag(ctx.command)
    if not takes_output or len(given) < 2 or any(each.partition("=")[0] in OUTPUT_FLAGS for each in arguments):
        return None
    output = output or given[-1]
    inputs = [each for each in given if each != output]
    n_required = sum(param.required for param in positional_params(ctx.command))
    if output not in given or (output != given[-1] and "." not in output) or len(inputs) < n_required:
        return None
    endings = [os.path.splitext(name)[1] for name in (output, example or output)]  # noqa: PTH122
    if is_there := os.path.exists(output):  # noqa: PTH110
        written = WRITTEN_KINDS.get(str(ctx.command.name))
        is_unlike = output != given[-1] or written is None or kind_of_file(output) != written
    else:
        is_unlike = endings[0] != endings[1] or (example is None and is_misspelt(output))
    if is_unlike:
        return None
    if arguments.count(output) != 1 or not any(map(os.path.exists, inputs)) or lacks_text(inputs, ctx.command):
        return None
    return line_without([output], ctx, "-o", free_name(output) if is_there else output)


def lacks_text(inputs: Iterable[str], command: click.Command) -> bool:
    """Whether a command that takes text or ids with a tokenizer has tokenizers alone: another argument is its text."""
    from slmtok.cli.files import names_tokenizer

    tokenizer = options_by_flag(command).get("-t")
    takes_text = not any(_TOKENIZER in placeholder_words(place) for place in positional_params(command))
    # A hidden -t stands for the argument.
    return takes_text and tokenizer is not None and not tokenizer.hidden and all(map(names_tokenizer, inputs))


def is_misspelt(name: str) -> bool:
    """Whether a file beside has nearly this name."""
    from difflib import get_close_matches

    with suppress(OSError):
        return bool(get_close_matches(Path(name).name, os.listdir(Path(name).parent), n=1, cutoff=0.85))  # noqa: PTH208
    return False


def folder_for_file(arguments: Sequence[str], name: str, ours: str) -> str:
    """The option of a folder for an output that ends as a file of the format `name`; `ours` is written there."""
    values = [value for flag, value in pairwise(arguments) if flag in OUTPUT_FLAGS]
    values += [word.partition("=")[2] for word in arguments if word.startswith(f"{OUTPUT_FLAGS[1]}=")]
    ending = f".{name.lower()}"
    made = next((value[: -len(ending)] for value in values if value.lower().endswith(ending)), None)
    return f" -o {shlex.quote(free_name(f'{made}-{ours}'))}" if made else ""


def with_other_tokenizer(name: str, ctx: click.Context) -> str | None:
    """The command line with a second tokenizer, the first other one beside the given one; None for other parameters."""
    from slmtok.cli.files import names_tokenizer

    arguments = arguments_of(ctx)
    given = next((each for each in arguments if names_tokenizer(each)), None) if name == _TOKENIZER else None
    if given is None:
        return None
    return command_line(ctx, [*arguments, tokenizer_beside(given) or "OTHER.json"])


def tokenizer_beside(path: str) -> str | None:
    """The newest sound tokenizer file in the folder of a file, tok.json before others; None without another one."""
    from slmtok.opening import load

    beside = [str(each) for each in Path(path).parent.glob("*.json") if each != Path(path)]
    for each in sorted(beside, key=lambda each: (Path(each).name != "tok.json", -_time_of_write(each), each)):
        with suppress(SlmtokError):
            if kind_of_file(each) == TOKENIZER and load(each):
                return each
    return None


def _time_of_write(path: str) -> int:
    """When a file was written, in nanoseconds; 0 for one that is gone."""
    return (last_write(path) or (0, 0))[1]


def with_tokenizer_first(ctx: click.Context, message: str) -> str | None:
    """The command line with its one tokenizer as the first argument, if a message of click is about that."""
    from slmtok.cli.files import names_tokenizer

    arguments = arguments_of(ctx)
    tokenizers = [each for each in arguments if names_tokenizer(each)]
    takes_first = any(_TOKENIZER in str(place.metavar) for place in positional_params(ctx.command)[:1])
    if not takes_first or len(tokenizers) != 1 or not message.endswith(f"not {tokenizers[0]!r}"):
        return None
    rest = [each for each in arguments if each != tokenizers[0]]
    if any(os.path.exists(each) for each in positional(ctx) if each in rest):  # noqa: PTH110
        return None
    return command_line(ctx, [tokenizers[0], *rest])


def text_values(ctx: click.Context) -> Iterator[tuple[click.Parameter, str]]:
    """Each parameter but the output, with each text that is its value."""
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if param.name != "output":
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, str):
                    yield param, each


def _values(ctx: click.Context) -> list[tuple[bool, str]]:
    """As `text_values`, with whether the place of the value is that of a tokenizer."""
    return [(_TOKENIZER in str(param.metavar), value) for param, value in text_values(ctx)]


_ESCAPE = re.compile(r"\\[nt]")


def notes_on_escapes(option: str, *texts: str) -> tuple[str, ...]:
    """A remark on the values of an option with a backslash and a letter where a line feed or a tab may be meant.

    A text of several lines has its line feeds. `option` is "" for an argument.
    """
    literal = [text for text in texts if _ESCAPE.search(text) and "\n" not in text]
    if not literal:
        return ()
    before = f"{option} ".lstrip()
    # In these quotes the shell reads a backslash and a letter as a character.
    meant = " ".join("{}$'{}'".format(before, text.replace("'", "\\'")) for text in literal)
    return (f"{before}{shlex.quote(literal[0])} has a backslash and a letter; for the character: {meant}",)
