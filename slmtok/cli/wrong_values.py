"""The remedy for a value of the command line that its parameter does not take: the option with one that it takes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Container, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from slmtok.cli.arguments import (
    OUTPUT_FLAGS,
    arguments_of,
    command_line,
    example_words,
    folder_for_file,
    options_by_flag,
    parameter_name,
    positional,
    positional_params,
    value_after,
)
from slmtok.cli.output import EACH, flag_naming
from slmtok.corpus.notes import domain_meant
from slmtok.errors import SlmtokError, render, suggestion
from slmtok.files import free_name
from slmtok.foreign_options import closest
from slmtok.opening import load
from slmtok.path_arguments import is_glob
from slmtok.sizes import parse_size, pointed_numbers
from slmtok.specials import FIRST_LEARNED, pairs_meant
from slmtok.vocabulary import part_of_size

if TYPE_CHECKING:
    from slmtok.cli.options import UnknownChoiceError

_NUMBER = re.compile(r"\d+(\.\d+)?")

_EXAMPLE = re.compile(r"such as ((?:[^\s,;]|,(?=\S))+)(, not )?|>= ([1-9]\d*)")
"""In the message of a value: an example, or the least one; 0 may have a meaning of its own."""

_NUMBERS = re.compile(r"not '(\d+(?:[, ]+\d+)+)'$")
"""Several numbers where one is taken."""

_POWER = re.compile(r"(2|10)(?:\^|\*\*)([1-9]|[1-3]\d)", re.ASCII)
"""A power such as `2^11`."""

NO_LIMIT = re.compile(r"none|null|no|off|false|never|unlimited|no.?limit|inf(?:inity)?|-1", re.IGNORECASE)
"""How other tools spell that a number has no limit."""

_PAIR = re.compile(r"takes (\S+=\S+), not ")

_NAME = re.compile(r"(?!\d)[^=,]+")
"""The first part of a pair alone."""

_DOCUMENTS = re.compile(r"([1-9]\d*[kM]?)\s*(?:docs?|documents?|records?|lines?|rows?|files?)", re.ASCII)
"""A number of documents, such as `5000 docs`."""

_SHARE = re.compile(r"(\d*\.?\d+)(%?)", re.ASCII)
_UNREAD = re.compile(r"^(?!-?\d*\.?\d+%?$).*\d")
"""A number in a notation that no rule reads, such as `12x`."""


def valid_value(name: str, error: click.BadParameter, context: click.Context) -> str | None:
    """The option with a value that it takes: the one that was meant, or the example or bound in the message.

    A name that another option of the command takes leads to that option.
    """
    from slmtok.cli.options import UnknownChoiceError, WrongValueError

    if isinstance(error.__cause__, UnknownChoiceError):
        return _choice_meant(name, error.param, error.__cause__, context)
    if numbers := getattr(error.__cause__, "numbers", ()):
        return one_of(name, numbers, context)
    command, param = context.command, error.param
    value = error.value if isinstance(error, WrongValueError) else ""
    if value and (share := _share_meant(name, value, context)):
        return share
    if value and name.startswith("-") and (one := _one_of_list(name, param, value, context)):
        return one
    if name == "--threads":
        return "--threads 0, which is all"
    if value and "ROLE=SPELLING" in str(getattr(param, "metavar", "")):
        return _spellings_in_pairs(name, value, context)
    if pair := _PAIR.match(error.message):
        if not name.startswith("--"):
            return getattr(command, "example", None)
        return _pairs_meant(name, value, pair[1], context)
    if thousands := _thousands(value):
        return f"{name} {thousands}"
    if numbers := pointed_numbers(value):
        return one_of(name, numbers[: 1 if name == "--vocab" else 2], context)
    if (whole := _whole(value)) is not None:
        return f"{name} {whole}"
    if getattr(param, "multiple", False) and (several := _NUMBERS.search(error.message)):
        return " ".join(f"{name} {number}" for number in re.findall(r"\d+", several[1]))
    size = ""
    number = re.sub("i?[bB]$", "", value)
    if name == "--shard-tokens" and value[-1:] in "bB" and (n_bytes := parse_size(value)):
        return f"{name} {number} for that number of ids, or {name} {n_bytes // 2} for {value} of ids of two bytes each"
    if value[-1:].isalpha() and parse_size(value) and "--max-bytes" in options_by_flag(command):
        size = f"; --max-bytes {shlex.quote(value)} limits the text that is read"
    found = _EXAMPLE.search(error.message)
    if found and found[1] and name.endswith("-chars") and parse_size(value) and parse_size(number):
        return f"{name} {number}{size}"
    if found and found[1]:
        return f"{name} {found[1]}" if found[2] else _for_instance(name, found[1], value, size)
    defaults = (getattr(param, "default", None), getattr(param, "show_default", None))
    default = next((str(each) for each in defaults if _NUMBER.fullmatch(str(each))), None)
    if default and NO_LIMIT.fullmatch(value) and "0 is no limit" in str(getattr(param, "help", None)):
        return f"{name} 0, which is no limit" + f"; without it {default}" * (default != "0")
    if default and name.startswith("--"):
        return f"{name} {default}, as without it" + (f"; at least {found[3]}" if found else "")
    if found and isinstance(described := defaults[1], str):
        return f"leave out {name}: its default is {described}; at least {found[3]}"
    if found:
        return f"{name} {found[3]}"
    words = example_words(command)
    flags = param.opts if isinstance(param, click.Option) else []
    if sized := _size_meant(name, value, context):
        return f"{sized}{size}"
    example = next((value for flag, value in pairwise(words) if flag in flags and _NUMBER.fullmatch(value)), None)
    return _for_instance(name, example, value, size) if example else None


def _for_instance(name: str, example: str, value: str, size: str) -> str:
    """The option with an example, which would be taken for the meaning of a number that cannot be read."""
    if _UNREAD.search(value) and _NUMBER.fullmatch(example) and not size:
        return f"{name} N, with N a number in digits"
    return f"{name} {example}, for instance{size}"


def _pairs_meant(name: str, value: str, pair: str, context: click.Context) -> str:
    """Every value of an option for pairs, such as NAME=GLOB, with each that is no pair as the one that it means."""
    given = _values_of(name, context)
    given = given if value in given else [value]
    globs = [each for each in given if "=" not in each.strip("=")]
    files = _named_files(context) if pair.endswith("=GLOB") else []
    meant = [_pair_meant(each, pair, globs, files) if each in globs else each for each in given]
    return " ".join(f"{name} {each if each == pair else shlex.quote(each)}" for each in meant)


_MAX_FILES = 10_000
"""Files and folders in which the one that a domain names is looked for."""


def _named_files(context: click.Context) -> list[str]:
    """The first files and folders of the corpus on the command line."""
    named = map(Path, positional(context))
    found = (path for each in named for path in (each.rglob("*") if each.is_dir() else [each]))
    return [path.as_posix() for path in islice(found, _MAX_FILES)]


def _values_of(name: str, context: click.Context) -> list[str]:
    """The values of the option `name` on the command line."""
    arguments = arguments_of(context)
    flags = next((param.opts for param in context.command.params if name in param.opts), [name])
    joined = [word.partition("=")[2] for word in arguments if word.partition("=")[0] in flags and "=" in word]
    return [word for flag, word in pairwise(arguments) if flag in flags] + joined


def _pair_meant(value: str, pair: str, values: Sequence[str], files: Sequence[str]) -> str:
    """`pair`, such as NAME=GLOB, with what a value says of it: both with another sign between, or one of them.

    values: all of the option that are no pairs, this one too. files: of the corpus.
    """
    name, _, second = pair.partition("=")
    if second == "GLOB" and (folder := Path(value)).is_dir() and folder.name.strip("."):
        # A glob may begin at any folder of a path.
        is_below = not folder.is_absolute() and ".." not in folder.parts
        return f"{folder.name}={folder.as_posix() if is_below else folder.name}/**"
    if both := _DIVIDED_PAIR.fullmatch(value):
        is_folder = second == "GLOB" and (both[2].endswith("/") or os.path.isdir(both[2]))  # noqa: PTH112
        return f"{both[1]}={both[2].rstrip('/')}/**" if is_folder else f"{both[1]}={both[2]}"
    if second == "GLOB" and _GLOB.search(value) and (word := _name_of_glob(value, values)):
        return f"{word}={value}**" if value.endswith("/") else f"{word}={value}"
    if _NUMBER.fullmatch(value):
        return f"{name}={value}"
    if not _NAME.fullmatch(value):
        return pair
    found = domain_meant(value, (value,), files)
    return f"{value.strip('.')}={found[0]}" if found else f"{value}={second}"


def _name_of_glob(glob: str, others: Sequence[str]) -> str:
    """The last folder in a glob that not all of the `others` have, else its last such word; "" without a word."""
    folders = [word for part in Path(glob).parts[:-1] if not is_glob(part) for word in re.findall(r"\w+", part)]
    if glob.endswith("/"):
        folders.append(Path(glob).name)
    words = re.findall(r"\w+", glob)
    shared = set.intersection(*({*re.findall(r"\w+", each)} for each in others)) if len({*others}) > 1 else set()
    distinct = [word for word in folders if word not in shared] or [word for word in words if word not in shared]
    return next(reversed(distinct or folders or words), "")


_DIVIDED_PAIR = re.compile(r"([^=:,/*?\[\s]+)(?::\s*|\s+)([^=:,\s]+)")
_GLOB = re.compile(r"[*?\[/]")


def _one_of_list(name: str, param: click.Parameter | None, value: str, context: click.Context) -> str | None:
    """The option for a number with a decimal comma, or for the first of several values; None for other values.

    An option that may be repeated takes each, and a number of seeds is that of the list.
    """

    def takes(text: str) -> bool:
        try:
            return param is not None and bool(text) and (param.type.convert(text, param, context), True)[1]
        except (click.BadParameter, SlmtokError):
            return False

    if _DECIMAL_COMMA.fullmatch(value) and takes(number := value.replace(",", ".")):
        return f"{name} {number}"
    percent = _SHARE.fullmatch(value)
    if percent and percent[2] and takes("0.5") and takes(number := f"{float(percent[1]) / 100:g}"):
        return f"{name} {number}"
    if percent and not percent[2] and _share(value) > 0 and takes(number := f"{_share(value) * 100:g}%"):
        return f"{name} {number}"
    if percent and not percent[2] and takes("0.5") and takes(number := f"{value}%"):
        return f"{name} {number}"
    parts = [part.strip() for part in value.split(",")]
    if name == "--seeds" and len(parts) > 1 and all(map(str.isdecimal, parts)):
        return f"--seeds {len(parts)}"
    if len(parts) < 2 or not all(map(takes, parts)):
        return None
    if getattr(param, "multiple", False):
        return " ".join(f"{name} {shlex.quote(part)}" for part in parts)
    return f"{name} {shlex.quote(parts[0])}{EACH}"


_DECIMAL_COMMA = re.compile(r"\d+,\d+ ?[a-zA-Z%]*", re.ASCII)


def _choice_meant(name: str, param: click.Parameter | None, wrong: UnknownChoiceError, context: click.Context) -> str:
    """The option with the name of the list that was meant; with each of them where none is near."""
    from slmtok.foreign_options import nearest_name, nearest_remark

    if name == "--format" and (text := _text_of_kind(context)):
        return text
    options = options_by_flag(context.command)
    parts = [part.strip() for part in wrong.value.split(",")]
    if len(parts) > 1 and {*parts} <= {*wrong.names}:
        if getattr(param, "multiple", False):
            return " ".join(f"{name} {part}" for part in parts)
        return f"{name} {parts[0]}" + (f" --also {','.join(parts[1:])}" if "--also" in options else EACH)
    if wrong.meant in wrong.names:
        return f"{name} {wrong.meant}{_with_domains(wrong.meant, options, context)}"
    if (name, wrong.value.removesuffix("s")) == ("--document", "paragraph"):
        return r"--separator '\n\n'"
    others = [
        each
        for each in (context.command.params if wrong.value else ())
        if wrong.value in str(each.metavar or "").split("|")
        # The format of a corpus is not one of ids.
        and not (name.endswith("-format") and parameter_name(each) == "--format")
    ]
    if others and not suggestion(wrong.value, wrong.names, cutoff=0.85):
        return f"{parameter_name(others[0])} {wrong.value}"
    # An option of the same name elsewhere may have another meaning.
    if name == "--output-format" and wrong.value and f"--{wrong.value}" in options:
        return f"--{wrong.value} in its place"
    if foreign := nearest_name(wrong.value, wrong.names):
        folder = folder_for_file(arguments_of(context), wrong.value, foreign)
        return f"{name} {foreign}{folder}{nearest_remark(wrong.value, foreign, context.find_root().command_path)}"
    if meant := closest(wrong.value, wrong.names):
        return f"{name} {meant}{_with_domains(meant, options, context)}"
    return ", or ".join(f"{name} {each}{_with_domains(each, options, context)}" for each in wrong.names)


def _with_domains(choice: str | None, options: Container[str], context: click.Context) -> str:
    """What the choice of domains needs, where the line has none."""
    is_missing = value_after(["--domain"], arguments_of(context)) is None
    return (
        " with --domain NAME=GLOB, one or more" if choice == "domain" and "--domain" in options and is_missing else ""
    )


def _text_of_kind(context: click.Context) -> str | None:
    """What to do about markup and its like among the files of the command, which no format reads; else None."""
    from slmtok.corpus.contents import kind_among
    from slmtok.corpus.formats import not_text
    from slmtok.corpus.kept_bytes import encoding_of
    from slmtok.corpus.paths import expand
    from slmtok.options import ReadOptions

    read = ReadOptions()
    with suppress(SlmtokError):
        found = expand([each for each in arguments_of(context) if Path(each).exists()])
        kind = kind_among([each for each in found if not_text(each) is None], read)
        if kind and kind.kind.program:
            told = render(kind.remedy(found, encoding_of(kind.paths, read)), flag_naming)
            return f"{told.removesuffix(' without --encoding')} without --format"
    return None


def _spellings_in_pairs(name: str, value: str, context: click.Context) -> str:
    """Every value of the option `name` as `ROLE=SPELLING`; the command line where that is an argument, the last one."""
    arguments = arguments_of(context)
    if name.startswith("-"):
        given = _values_of(name, context)
        pairs = pairs_meant(given if value in given else [value])
        return " ".join(f"{name} {shlex.quote(f'{role}={text}')}" for role, text in pairs.items())
    if value.endswith(".json") or os.path.isfile(value):  # noqa: PTH113
        return _with_file_as_output(value, context)
    is_named = any(word.partition("=")[0] in ("-t", "--tokenizer") for word in arguments)
    n_before = sum(param.nargs for param in positional_params(context.command) if param.nargs > 0 and not is_named)
    given = positional(context)[n_before:]
    words = [each for each in arguments if each not in given]
    roles = _roles_by_spelling(context)
    texts = [*(given if value in given else [value]), ""]
    # A new spelling follows a present one, which stands for its role.
    new = [bool(each) and "=" not in each and each not in roles for each in texts[1:]]
    pairs = pairs_meant([roles.get(each, each) if is_new else each for each, is_new in zip(texts, new, strict=False)])
    at = arguments.index(given[0]) if value in given else len(words)
    return _with_output(context, [*words[:at], *(f"{role}={text}" for role, text in pairs.items()), *words[at:]])


def _roles_by_spelling(context: click.Context) -> dict[str, str]:
    """The role of each spelling that the tokenizer of the command has: another one for it is meant by `OLD NEW`."""
    name = context.params.get("tokenizer")
    with suppress(SlmtokError):
        tokens = load(name).specials.tokens if isinstance(name, str) else ()
        return {token.text: token.role for token in tokens if token.text and token.role}
    return {}


def _with_file_as_output(file: str, context: click.Context) -> str:
    """The command line without a file in the place of a pair, which is its output unless that is given."""
    words = arguments_of(context)
    at = len(words) - 1 - words[::-1].index(file)
    if words[at - 1] in ("-t", "--tokenizer"):
        del words[at - 1]
        at -= 1
    has_pair = any("=" in each for each in positional(context))
    words[at : at + 1] = [] if has_pair else [next(each for each in example_words(context.command) if "=" in each)]
    return _with_output(context, words, file)


def _with_output(context: click.Context, words: list[str], output: str | None = None) -> str:
    """The command line with an output, by default that of the example, unless one is given."""
    if not any(each.partition("=")[0] in OUTPUT_FLAGS for each in words):
        output = output or value_after(OUTPUT_FLAGS, example_words(context.command))
        words = [*words, "-o", free_name(output)] if output else words
    return command_line(context, words)


def _share_meant(name: str, value: str, context: click.Context) -> str | None:
    """The remedy for a share in the place of a number: of ids, of probability or of the documents. Else None."""
    options = options_by_flag(context.command)
    documents = _DOCUMENTS.fullmatch(value)
    if documents and name == "--sample" and "--max-docs" in options:
        return f"--max-docs {documents[1]}, the first of the corpus; --sample takes a share of its documents"
    if not (share := _share(value)):
        return None
    if name == "--top-k" and "--top-p" in options:
        return f"--top-p {share:g}"
    if name in ("--max-bytes", "--max-docs", "--max-chars", "--max-tokens") and "--sample" in options:
        n_bytes = _bytes_of_document(context) if "--max-bytes" in options else None
        if n_bytes is not None:
            # A sample of one document is nothing or all of it.
            return f"--max-bytes {max(1, int(n_bytes * share))}, of the {n_bytes} bytes of the only document"
        return f"--sample {value}, a share of the documents"
    if name == "--subset":
        return f"--subset N, a number of documents, or --sample {value} for a share of the corpus"
    return _size_meant(name, value, context)


def _bytes_of_document(context: click.Context) -> int | None:
    """The size of the only file of the corpus, which is one document; None for other corpora."""
    from slmtok.corpus.formats import format_of
    from slmtok.corpus.streams import is_plain
    from slmtok.options import ReadOptions

    given = positional(context)
    options = {"--format", "--document", "--separator"} & {word.partition("=")[0] for word in arguments_of(context)}
    if options or len(given) != 1 or not os.path.isfile(given[0]) or not is_plain(given[0]):  # noqa: PTH113
        return None
    with suppress(SlmtokError):
        return os.path.getsize(given[0]) if format_of(given[0], ReadOptions()).is_whole else None  # noqa: PTH202
    return None


def _share(value: str) -> float:
    """The share that a value is, as a number or in percent; 0 for a value that is none between 0 and 1."""
    found = _SHARE.fullmatch(value)
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    return share if share < 1 else 0.0


def one_of(name: str, numbers: Sequence[int | str], context: click.Context) -> str:
    """The option with each number that may be meant; for a size, with those that suit the tokenizer."""
    changed = _tokenizer_changed(name, context)
    if changed is None:
        return ", or ".join(f"{name} {number}" for number in numbers)
    n_vocab, is_larger = changed.n_vocab, changed.is_larger
    fitting = [each for each in map(int, numbers) if (each > n_vocab if is_larger else FIRST_LEARNED <= each < n_vocab)]
    sizes = ", or ".join(f"{name} {number}" for number in fitting)
    return sizes or _size_meant(name, "", context) or ""


def _size_meant(name: str, value: str, context: click.Context) -> str | None:
    """A size that suits the tokenizer which the command changes: the one that is meant, else an example."""
    changed = _tokenizer_changed(name, context)
    if changed is None:
        return None
    n_vocab = changed.n_vocab
    if not changed.is_larger:
        example = "" if _share(value) else "for instance, "
        return f"{name} {part_of_size(value, n_vocab)}, {example}of the {n_vocab} ids that {changed.path} has"
    if more := _MORE.fullmatch(value):
        return f"{name} {n_vocab + int(more[1])}, {more[1]} more than the {n_vocab} of {changed.path}"
    return f"{name} {changed.example}, for instance: more than the {n_vocab} ids that {changed.path} has"


def fitting_size(name: str, example: str, context: click.Context) -> str:
    """The size in the example of a command, or one that suits the tokenizer that it makes smaller or larger."""
    changed = _tokenizer_changed(name, context)
    if changed is None:
        return example
    has_room = int(example) > changed.n_vocab if changed.is_larger else int(example) < changed.n_vocab
    return example if has_room else str(changed.example)


_MORE = re.compile(r"\+ ?([1-9]\d{0,8})", re.ASCII)
"""A number of ids to add, such as `+100`."""


class _Changed(NamedTuple):
    """The tokenizer that a command makes smaller or larger."""

    path: str
    n_vocab: int
    is_larger: bool

    @property
    def example(self) -> int:
        """A size that the command takes."""
        return self.n_vocab + self.n_vocab // 2 if self.is_larger else part_of_size("", self.n_vocab)


def _tokenizer_changed(name: str, context: click.Context) -> _Changed | None:
    """The tokenizer whose new size the option `name` says; None for other options, and where none is named."""
    from slmtok.cli.files import names_tokenizer
    from slmtok.opening import load

    is_size = name in ("--keep", "--vocab") and any(each.name == "tokenizer" for each in context.command.params)
    given = next((each for each in arguments_of(context) if is_size and names_tokenizer(each)), None)
    with suppress(SlmtokError):
        return None if given is None else _Changed(given, load(given).n_vocab, context.info_name == "extend")
    return None


def _whole(text: str) -> int | None:
    """The number in `500.0`, `2^11` and `0x200`; None for other text."""
    if re.fullmatch("0[xX][0-9a-fA-F]{1,8}", text):
        return int(text, 16)
    if power := _POWER.fullmatch(text):
        return int(int(power[1]) ** int(power[2]))
    found = re.fullmatch(r"(\d+)\.0*", text, re.ASCII)
    return int(found[1]) if found else None


def _thousands(text: str) -> int | None:
    """The number in `1 000`; None for `300 400`, each of which is a size, and for other text."""
    # A no-break space is one, too.
    parts = text.split()
    is_number = re.fullmatch(r"\d{1,3}( \d{3})+", " ".join(parts)) is not None and int(parts[0]) > 0
    return int("".join(parts)) if is_number and min(map(int, parts)) < FIRST_LEARNED else None
