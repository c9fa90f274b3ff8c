"""`slmtok slice`, `extend`, `prune` and `set-special`: new tokenizers made of one that exists."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

import slmtok
from slmtok import atomic
from slmtok.cli.arguments import (
    OUTPUT_FLAGS,
    VOCAB_FLAGS,
    is_misspelt,
    is_packed,
    refuse_list,
    value_after,
    without_options,
)
from slmtok.cli.errors import EXTRA
from slmtok.cli.files import (
    JSON,
    STDIO,
    VOCAB_PLACEHOLDER,
    add_notes,
    are_counts,
    check_is_file,
    check_output,
    corpus_files,
    names_tokenizer,
    refuse_reading,
    with_spill_dir,
)
from slmtok.cli.options import (
    INTEGER,
    Habit,
    Parsed,
    argument,
    arguments_of_command,
    collector,
    command,
    corpus_argument,
    instead,
    option,
    options_of,
    output_options,
    set_outputs,
    tokenizer_argument,
)
from slmtok.cli.output import Outcome, Row, note_terminal, print_rows
from slmtok.cli.progress import Progress
from slmtok.cli.reports import corpus_warnings
from slmtok.errors import CorruptFile, InvalidSpecials, InvalidTokens, MissingInput, OptionError, SlmtokError
from slmtok.files import MAX_FILE_BYTES, free_name, read_at_most, read_limited
from slmtok.id_arrays import ID_MAP_SUFFIX
from slmtok.opening import load
from slmtok.option_values import collect_once, escape, parse_special
from slmtok.options import CountOptions, TrainOptions
from slmtok.specials import FIRST_LEARNED, N_SPECIALS, SPELLING, SpecialId, pairs_meant, spellings_meant
from slmtok.strict_json import FaultError, parse_object
from slmtok.tokenizer import Tokenizer
from slmtok.training.lock import load_lock, lock_path
from slmtok.vocabulary import foreign_ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.specials import Specials
    from slmtok.training import PretokenCounts

_IDS = re.compile(r"[0-9]+([\s,]+[0-9]+)*")
"""Ids on a line of a file."""
_MAX_DEPTH = 16
"""Of a JSON object with ids."""
_LISTED_IDS = re.compile(rf"\[?{_IDS.pattern},?\]?")
"""Ids where the name of a file is expected."""
_TABLE = re.compile(r"([^\d\s][^\n]*\n)?(?: *\d+(?:[,;\t]| {2,})[^\n]*\n?)+", re.ASCII)
"""Lines that begin with a number, and have other columns behind it; the first line may be a heading."""
_ID_RANGE = re.compile(r"([0-9]+)[-:]([0-9]+)")
"""The same for all ids from one to another."""
_EXTEND_SKIPS = ("vocab_size", "scheme", "pattern", "tie_break", "special", "spill_dir")
_mapped_output = output_options(required=True, help="Where to write; FILE.ids.npy beside it maps old ids to new ones.")


def _check(inputs: Sequence[str], *outputs: str, force: bool) -> None:
    """Raises unless the outputs can be written."""
    check_is_file(outputs[0])
    check_output(*outputs, inputs=inputs, force=force, content=JSON)


def _write(tokenizer: Tokenizer, output: str, id_map: NDArray[np.int64], *, force: bool) -> dict[str, str]:
    """Writes a tokenizer and its id map together; gives the fields of the result about the map."""
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, id_map, allow_pickle=False)
    atomic.write_all([(output, tokenizer.to_bytes()), (output + ID_MAP_SUFFIX, buffer.getvalue())], force=force)
    return {"id_map": output + ID_MAP_SUFFIX, "id_map_sha256": hashlib.sha256(buffer.getvalue()).hexdigest()}


def _outcome(
    before: Tokenizer, after: Tokenizer, path: str, output: str, rows: list[Row], more: dict[str, Any]
) -> Outcome:
    if is_packed(path) and before.n_vocab != after.n_vocab:
        packs = shlex.join(["slmtok", "pack", "TEXT", "-t", output, "-o", "NEW"])
        add_notes([f"{output} is a tokenizer, and the packed data in {path} stay as they are: {packs} packs with it"])
    result = {
        "path": output,
        "n_vocab": after.n_vocab,
        "n_vocab_before": before.n_vocab,
        "fingerprint": after.fingerprint,
        "fingerprint_before": before.fingerprint,
        "sha256": after.sha256,
        **more,
    }
    listed: list[Row] = [
        ("ids", f"{after.n_vocab:,}, {before.n_vocab:,} before"),
        *rows,
        ("fingerprint", after.fingerprint),
    ]
    return Outcome(result, summary=lambda: print_rows(listed, title=f"{output}: scheme {after.scheme}"))


def _load_own(tokenizer: str, corpus: Sequence[str], size: int | None, output: str, *, force: bool) -> Tokenizer:
    """A tokenizer whose ids may change. Raises `InvalidTokens` for an imported one; the fix trains one."""
    loaded = load(tokenizer)
    if loaded.vocabulary.layout == "foreign":
        error = foreign_ids("changed")
        words = ["slmtok", "train", *corpus, "--vocab", str(max(size or loaded.n_vocab, FIRST_LEARNED)), "-o", output]
        if size is not None and size < FIRST_LEARNED:
            error.limit = f"{error.limit}; {FIRST_LEARNED} ids are the least: {N_SPECIALS} specials and 256 bytes"
        error.where, error.fix = tokenizer, shlex.join([*words, *["--force"] * force])
        raise error
    return loaded


def _in_place(command: str, output: str) -> dict[str, Habit]:
    """Options of other tools that change a file itself, or only try to: here, the output is a new file."""

    def fix(_: str | None, arguments: Sequence[str]) -> str:
        given = [word for word in arguments if word.replace("_", "-") not in _IN_PLACE]
        is_named = value_after(OUTPUT_FLAGS, given) is not None
        return shlex.join(["slmtok", command, *given, *([] if is_named else ["-o", free_name(output)])])

    return {**dict.fromkeys(_IN_PLACE, fix), "--dry-run": instead(_NO_DRY_RUN)}


_NO_DRY_RUN = "leave it out: only the file of -o is written, and no tokenizer is changed; the result is printed"
_IN_PLACE = ("--in-place", "--inplace", "-i")


def _unused_on(tokenizer: str) -> list[str]:
    """`--unused-on` with each file that a tokenizer was trained on."""
    return [word for file in _texts_of(tokenizer, "TEXT") for word in ("--unused-on", file)]


def _texts_of(tokenizer: str, placeholder: str) -> list[str]:
    """The files that a tokenizer was trained on, which its lock names; else a placeholder."""
    with suppress(SlmtokError):
        return load_lock(lock_path(tokenizer)).texts or [placeholder]
    return [placeholder]


_SPECIAL_FLAGS = ("--special", "--specials", "--special-tokens")
"""Options of train and of other tools for special tokens."""


def _then_named(name: str) -> dict[str, Habit]:
    """For special tokens in the command `name`: the line without them, and the command that spells them."""

    def remedy(value: str | None, arguments: Sequence[str]) -> str:
        divided = (word.split("=", 1) if word.partition("=")[0] in _SPECIAL_FLAGS else [word] for word in arguments)
        parts = [part for each in divided for part in each]
        given = [part for before, part in pairwise(["", *parts]) if before in _SPECIAL_FLAGS]
        words, output = without_options(parts, _SPECIAL_FLAGS), value_after(OUTPUT_FLAGS, parts)
        if output is None:
            output = free_name("new.json")
            words += ["-o", output]
        pairs = [f"{role}={text}" for role, text in pairs_meant(given).items()] or ["ROLE=SPELLING"]
        named = ["slmtok", "set-special", output, *pairs, "-o", free_name("with-special.json")]
        return f"{shlex.join(['slmtok', name, *words])} && {shlex.join(named)}"

    return dict.fromkeys(_SPECIAL_FLAGS, remedy)


def _size(value: str | None, arguments: Sequence[str]) -> str:
    """The option of a size that stands alone, the first of several; nothing for another argument."""
    if not (value and value.isdecimal()):
        return ""
    given = value_after(VOCAB_FLAGS, arguments)
    return f"--vocab {value}" if given is None else f"--vocab {given} alone: one size a command"


@command("slice", example="slmtok slice tok.json --vocab 500 -o small.json",
         habits={EXTRA: _size, **dict.fromkeys(("--keep", "--top"), instead("--vocab {}", "500")),
                 **_then_named("slice"), **_in_place("slice", "small.json")})  # fmt: skip
@tokenizer_argument()
@option("--vocab", "--vocab-size", "size", metavar="N", type=INTEGER, required=True,
        help="Number of ids in all, at most that of the tokenizer.")  # fmt: skip
@_mapped_output
def slice(tokenizer: str, size: int, output: str, force: bool) -> Outcome:
    """Cut a tokenizer to a smaller vocabulary: the same as training to that size."""
    import numpy as np

    refuse_list(
        arguments_of_command(), lambda sizes: f"--vocab {sizes[0]}; slmtok eval --sizes {','.join(sizes)} measures all"
    )
    output = output.replace(VOCAB_PLACEHOLDER, str(size))
    set_outputs([output])
    _check([tokenizer], output, output + ID_MAP_SUFFIX, force=force)
    before = _load_own(tokenizer, ["CORPUS"], size, output, force=force)
    if size > before.n_vocab:
        raise _larger_than(before, tokenizer, size, output, force=force)
    after = slmtok.slice(before, size)
    ids = np.arange(before.n_vocab, dtype=np.int64)
    id_map = _write(after, output, np.where(ids < after.n_vocab, ids, -1), force=force)
    return _outcome(before, after, tokenizer, output, [("id map", id_map["id_map"])], id_map)


def _larger_than(before: Tokenizer, path: str, size: int, output: str, *, force: bool) -> InvalidTokens:
    """The error for a slice of more ids than there are; the fix learns the others."""
    words = ["slmtok", "extend", path, *_texts_of(path, "CORPUS"), "--vocab", str(size), "-o", output]
    return InvalidTokens(
        f"a vocabulary of {before.n_vocab} ids cannot be cut to {size}",
        where=path,
        limit=f"{FIRST_LEARNED} to {before.n_vocab}",
        fix=shlex.join([*words, *["--force"] * force]),
        option="n_vocab",
    )


def _added(value: str | None, arguments: Sequence[str]) -> str:
    """The size with a number of new tokens; for tokens themselves the command that spells special ones."""
    tokenizer = next(filter(names_tokenizer, arguments), None)
    if value and not value.isdecimal():
        pairs = (f"{role}={text}" for role, text in spellings_meant(value.split(",")).items())
        output = free_name("with-special.json")
        return shlex.join(["slmtok", "set-special", tokenizer or "tok.json", *pairs, "-o", output])
    if value is None or tokenizer is None:
        return "--vocab N, the number of ids in all"
    n_vocab = load(tokenizer).n_vocab
    return f"--vocab {n_vocab + int(value)}, {value} more than the {n_vocab} of {tokenizer}"


_NEW_TOKENS = (
    *("--add", "--new", "--n-new", "--new-tokens", "--n-tokens", "--num-tokens", "--tokens", "--add-tokens"),
    *("--num-merges", "--n-merges", "--merges"),
)
"""Options of other tools for new tokens, or their number."""


@command("extend", example="slmtok extend tok.json more.txt --vocab 16384 -o larger.json",
         habits={**dict.fromkeys(_NEW_TOKENS, _added),
                 **_then_named("extend"), **_in_place("extend", "larger.json")})  # fmt: skip
@tokenizer_argument()
@corpus_argument
@option("--vocab", "--vocab-size", "size", metavar="N", type=INTEGER, required=True,
        help="Number of ids in all, more than the tokenizer has.")  # fmt: skip
@options_of(TrainOptions, into="options", skip=_EXTEND_SKIPS)
@output_options(required=True)
def extend(
    tokenizer: str, corpus: tuple[str, ...], size: int, options: TrainOptions, output: str, force: bool
) -> Outcome:
    """Append tokens that are learned on text or counts. The ids of the tokenizer do not change."""
    from slmtok.training.surgery import check_larger, check_learns, extend_counts

    refuse_list(
        arguments_of_command(), lambda sizes: f"--vocab {max(sizes, key=int)}, which slmtok slice cuts to others"
    )
    _refuse_spellings(tokenizer, corpus, output)
    _check([tokenizer], output, force=force)
    before = _load_own(tokenizer, corpus, size, output, force=force)
    trained = [word for word in arguments_of_command() if word != tokenizer]
    check_learns(before, shlex.join(["slmtok", "train", *trained]))
    check_larger(size, before.n_vocab)
    options = replace(options, vocab_size=size)
    with Progress() as progress:
        counts = _counts_for(before, corpus, with_spill_dir(options, output), progress, outputs=[output])
        extended = extend_counts(before, counts, options, progress)
    extended.tokenizer.save(output, force=force)
    changes = extended.changes
    changed = f"{changes.changed:,} of {changes.pieces:,} pretokens of this text"
    fewer = 1 - changes.ids_after / max(changes.ids_before, 1)
    rows: list[Row] = [
        ("retokenized", f"{changed} ({changes.changed / max(changes.pieces, 1):.2%})"),
        ("length", f"{changes.ids_after:,} ids, {fewer:.2%} fewer than before"),
    ]
    return _outcome(before, extended.tokenizer, tokenizer, output, rows, {"recut": asdict(changes)})


_WORD = re.compile(r"[^\W\d_][^\W_]*")


def _refuse_spellings(tokenizer: str, corpus: Sequence[str], output: str) -> None:
    """Raises `OptionError` for spellings of special tokens, and for words alone, in the place of text."""
    spelled = [word for word in corpus if SPELLING.fullmatch(word) and not os.path.exists(word)]  # noqa: PTH110
    if spelled:
        pairs = [f"{role}={text}" for role, text in pairs_meant(spelled).items()]
        raise OptionError(
            f"{spelled[0]!r} is no file, and looks like the spelling of a special token",
            limit="extend learns tokens from text; a special token takes one of the reserved ids",
            fix=shlex.join(["slmtok", "set-special", tokenizer, *pairs, "-o", output]),
            option="corpus",
        )
    if "--require" not in arguments_of_command() and all(map(_is_word, corpus)):
        name, texts = free_name("tokens.txt"), _texts_of(tokenizer, "CORPUS")
        given = (texts if word == corpus[0] else [word] for word in arguments_of_command() if word not in corpus[1:])
        line = shlex.join(["slmtok", "extend", *(part for words in given for part in words), "--require", name])
        raise OptionError(
            f"no file or folder {corpus[0]!r}",
            where="the working folder",
            limit="extend learns tokens from text, and those of --require FILE with their parts",
            fix=f"check the name; for {'a token' if len(corpus) == 1 else 'tokens'}: "
            f"printf '%s\\n' {shlex.join(corpus)} > {name} && {line}",
            option="corpus",
        )


def _is_word(word: str) -> bool:
    """Whether an argument is a word that may be meant as a token, rather than the name of a file or a placeholder."""
    is_word = _WORD.fullmatch(word) is not None and word != "CORPUS"
    return is_word and not os.path.exists(word) and not is_misspelt(word)  # noqa: PTH110


def _counts_for(
    tokenizer: Tokenizer, corpus: Sequence[str], options: CountOptions, progress: Progress, *, outputs: Sequence[str]
) -> PretokenCounts:
    """The counts that `corpus` names, or those of its text with the scheme and pattern of the tokenizer.

    Raises `OptionError` for a corpus with one of the `outputs`, which was checked with `force` before.
    """
    from slmtok.schemes import SCHEMES
    from slmtok.training import PretokenCounts
    from slmtok.training.counting import count_corpus
    from slmtok.training.mixing import check_named

    files = corpus_files(corpus, options)
    check_output(*outputs, inputs=files, force=True)
    if are_counts(files):
        refuse_reading(options, files[0])
        return PretokenCounts.load(*files)
    if isinstance(options, TrainOptions) and options.is_weighted:
        check_named(options, files)
    pattern = tokenizer.pattern.regex if SCHEMES[tokenizer.scheme].own_pattern else None
    options = replace(options, scheme=tokenizer.scheme, pattern=pattern)
    counts = count_corpus(list(corpus), options, progress)
    add_notes(corpus_warnings(counts))
    return counts


def _text_or_ids(value: str | None, arguments: Sequence[str]) -> str:
    """The option for a text; for ids behind `--ids`, the command that lists all in a file."""
    at = arguments.index("--ids") + 1 if "--ids" in arguments else len(arguments)
    listed = list(takewhile(_LISTED_IDS.fullmatch, arguments[at:]))
    if value not in listed:
        return f"--unused-on {shlex.quote(value or 'TEXT')}"
    name, ids = free_name("prune-ids.txt"), re.findall("[0-9]+", " ".join(listed))
    line = shlex.join(["slmtok", "prune", *arguments[:at], name, *arguments[at + len(listed) :]])
    return f"printf '%s\\n' {' '.join(ids)} > {name} && {line}"


def _of_class(value: str | None, arguments: Sequence[str]) -> str:
    """The commands that list the ids of a class, without those of single bytes, in a file and remove them."""
    tokenizer, name = next(filter(names_tokenizer, arguments), "TOK"), shlex.quote(free_name("prune-ids.txt"))
    listed = shlex.join(["slmtok", "vocab", tokenizer, "--class", value or "CLASS"])
    divided = (word.split("=", 1) if word.startswith("--class=") else [word] for word in arguments)
    words = without_options([part for each in divided for part in each], ("--class",))
    return f"{listed} | awk '$2 > 1 {{print $1}}' > {name} && {shlex.join(['slmtok', 'prune', *words])} --ids {name}"


def _of_min_count(value: str | None, arguments: Sequence[str]) -> str:
    """What removes rare tokens, which occur in the text of `--unused-on`: a number of ids, or a list of ids."""
    rare = shlex.join(["slmtok", "exposure", "DATA", "--below", value or "5", "-o", free_name("rare.json")])
    return f"--keep N, the ids that are left; for a least number of uses, {rare} lists ids for --ids"


_SIZE_FLAGS = ("--vocab", "--vocab-size", "--size")


def _kept(value: str | None, arguments: Sequence[str]) -> str:
    """The option for a number of ids; the whole command where nothing says which tokens to remove."""
    keep, known = f"--keep {shlex.quote(value or '4096')}", (*_SIZE_FLAGS, *OUTPUT_FLAGS, "--force")
    tokenizers = list(filter(names_tokenizer, arguments))
    others = [word for word in arguments if word.startswith("-") and word.partition("=")[0] not in known]
    if value is None or others or len(tokenizers) != 1:
        return keep
    words = [*without_options(arguments, _SIZE_FLAGS), "--keep", value, *_unused_on(tokenizers[0])]
    return shlex.join(["slmtok", "prune", *words])


@command("prune", example="slmtok prune tok.json --unused-on corpus.txt --keep 4096 -o small.json",
         habits={EXTRA: _text_or_ids, "--on": instead("--unused-on {}", "TEXT"), "--class": _of_class,
                 "--min-count": _of_min_count, **dict.fromkeys(_SIZE_FLAGS, _kept),
                 **_then_named("prune"), **_in_place("prune", "small.json")})  # fmt: skip
@tokenizer_argument()
@option(
    "--ids",
    metavar="FILE",
    help="Ids to remove: one a line, a JSON list, or an object with it under 'ids'; - is stdin.",
)
@option("--unused-on", metavar="TEXT|COUNTS", multiple=True,
        help="Remove tokens that do not occur in this text. Repeat for several.")  # fmt: skip
@option(
    "--keep", metavar="N", type=INTEGER, help="With --unused-on: remove the least used tokens until N ids are left."
)
@options_of(CountOptions, into="options", skip=("scheme", "pattern", "spill_dir", "domains"),
            needs="--unused-on TEXT")  # fmt: skip
@_mapped_output
def prune(
    tokenizer: str,
    ids: str | None,
    unused_on: tuple[str, ...],
    keep: int | None,
    options: CountOptions,
    output: str,
    force: bool,
) -> Outcome:
    """Remove tokens from a tokenizer; a token that is part of another one stays until that one is removed."""
    _check([tokenizer, *filter(None, [ids])], output, output + ID_MAP_SUFFIX, force=force)
    if ids is not None and (unused_on or keep is not None):
        fix = "leave --keep out, or name a text by --unused-on in place of --ids"
        if unused_on:
            fix = "leave --ids or --unused-on out" if keep is None else "leave --ids out"
        raise OptionError(
            f"--ids together with {'--unused-on' if unused_on else '--keep'}",
            limit="--ids FILE, or --unused-on TEXT with or without --keep N",
            fix=fix,
            option="ids",
        )
    if ids is None and not unused_on:
        raise OptionError(
            "nothing says which tokens to remove: --ids FILE, or --unused-on TEXT with or without --keep N",
            limit="one of --ids and --unused-on",
            fix=shlex.join(["slmtok", "prune", *arguments_of_command(), *_unused_on(tokenizer)]),
            option="unused_on",
        )
    before = _load_own(tokenizer, ["CORPUS"], keep, output, force=force)
    if ids is not None:
        listed = read_id_list(ids, before.fingerprint)
        try:
            pruned = slmtok.prune(before, ids=listed)
        except OptionError as error:
            raise _of_list(error, ids, listed) from None
        if _is_encoded(listed):
            add_notes(
                [f"{_name(ids)} {_ENCODED}: --ids removes what it lists, and --unused-on TEXT keeps what a text uses"]
            )
    else:
        with Progress() as progress:
            outputs = [output, output + ID_MAP_SUFFIX]
            counts = _counts_for(before, unused_on, with_spill_dir(options, output), progress, outputs=outputs)
        pruned = slmtok.prune(before, unused_on=counts, keep=keep)
    after, kept = pruned.tokenizer, pruned.kept_as_parts
    id_map = _write(after, output, pruned.id_map, force=force)
    removed = before.n_vocab - after.n_vocab
    rows: list[Row] = [
        ("removed", f"{removed:,}"),
        ("kept", f"{len(kept):,} that are parts of other tokens" if kept else ""),
        ("id map", id_map["id_map"]),
    ]
    return _outcome(before, after, tokenizer, output, rows, {"removed": removed, "kept_as_parts": list(kept), **id_map})


_ENCODED = "lists ids more than once, as the file does that slmtok encode writes of a text"


def _is_encoded(ids: Sequence[int]) -> bool:
    """Whether ids look like those of a text; a list of ids to remove has each once."""
    return len({*ids}) < len(ids)


def _of_list(error: OptionError, path: str, ids: Sequence[int]) -> OptionError:
    """The error for ids of the file `path` that cannot be pruned; for those of a text, the option that takes it."""
    error.where = _name(path)
    if _is_encoded(ids):
        words = without_options(arguments_of_command(), ("--ids",))
        line = shlex.join(["slmtok", "prune", *words, "--unused-on", "TEXT"])
        error.where = f"{_name(path)}, which {_ENCODED}"
        error.fix = (
            f"{line} removes what the text that was encoded does not use; "
            f"for a list of ids to remove, {error.fix}: --ids removes what it lists"
        )
    return error


def _refuse_listed_ids(path: str) -> None:
    """Raises `MissingInput` for ids themselves, or a range of them, where a file of ids is meant."""
    ends = _ID_RANGE.fullmatch(path)
    if not (ends or _LISTED_IDS.fullmatch(path)) or os.path.exists(path):  # noqa: PTH110
        return
    name = free_name("prune-ids.txt")
    listed = f"seq {ends[1]} {ends[2]}" if ends else f"printf '%s\\n' {' '.join(re.findall('[0-9]+', path))}"
    raise MissingInput(
        f"no file {path!r}: --ids names a file of ids",
        where="--ids",
        fix=f"{listed} > {name} && {_with_ids(name, path)}",
    )


def _with_ids(name: str, path: str) -> str:
    """The command line with the file `name` in the place of the ids at `path`."""
    words = (name if each == path else each for each in arguments_of_command())
    return shlex.join(["slmtok", "prune", *(f"--ids={name}" if each == f"--ids={path}" else each for each in words)])


def _content_of_ids(text: str) -> Any:
    """The JSON of a list of ids, or its numbers. Raises `ValueError`, `RecursionError`, `FaultError`."""
    if text.lstrip().startswith("{"):
        return parse_object(text.encode(), _MAX_DEPTH, allow_floats=True)
    if text.lstrip().startswith("["):
        return json.loads(text)
    words = text.split()
    if not all(map(_IDS.fullmatch, words)):
        raise ValueError("int takes other forms too, such as 1_199 and digits of other scripts")
    return list(map(int, words))


_EXPOSURE = re.compile(
    r"(.+)\n  updates .*, with (\w+) read (once|\S+ times)\n(?:  .*\n)*?.* fewer than ([\d,]+) updates\n"
)
"""What `slmtok exposure` prints: the data, the split, how often it is read, and the updates that a rare id lacks."""


def _of_exposure(path: str, data: str, split: str, times: str, below: str) -> str:
    """The commands that write the ids of the table at `path`, which does not have all of them, and remove them."""
    name, epochs = free_name("rare.json"), times.removesuffix(" times").replace("once", "1")
    given = ["--split", split, "--epochs", epochs, "--below", below.replace(",", "")]
    return f"{shlex.join(['slmtok', 'exposure', data, *given, '-o', name])} && {_with_ids(name, path)}"


def _name(path: str) -> str:
    return "stdin" if path == STDIO else path


def _read_list(path: str) -> bytes:
    """The bytes of a list of ids, also of one on stdin. Raises as `read_limited`."""
    if path != STDIO:
        return read_limited(path, "list of ids")
    from slmtok.corpus.streams import stdin

    note_terminal()
    limit = MAX_FILE_BYTES["list of ids"]
    data = read_at_most(stdin(), limit + 1)
    if len(data) > limit:
        fix = "write it to a file, and name that, if it has an end"
        raise CorruptFile("stdin is too large for a list of ids", where="--ids", limit=f"{limit:,} bytes", fix=fix)
    return data


def read_id_list(path: str, fingerprint: str) -> list[int]:
    """The ids in a file, of the tokenizer with this fingerprint.

    Raises `MissingInput`, `Unreadable`, `CorruptFile`, `OptionError` for a file that records another tokenizer.
    """
    _refuse_listed_ids(path)
    if path.endswith(ID_MAP_SUFFIX) and os.path.isfile(path):  # noqa: PTH113
        name = free_name("removed.txt")
        code = "import sys, numpy as np; print(*np.flatnonzero(np.load(sys.argv[1]) < 0))"
        listed = shlex.join(["python", "-c", code, path])
        raise MissingInput(
            f"{path} is an id map, not a list of ids",
            where="--ids",
            limit="a map has the new id of each old one, and -1 for a removed one",
            fix=f"{listed} > {name} && {_with_ids(name, path)}",
            path=path,
        )
    if is_packed(path):
        name = free_name("rare.json")
        fix = f"slmtok exposure {shlex.quote(path)} -o {name} lists the ids that it hardly has, then --ids {name}"
        raise MissingInput(f"{path!r} is packed data, not a list of ids", where="--ids", fix=fix, path=path)
    text = _read_list(path).decode("utf-8", "replace")
    try:
        content = _content_of_ids(text)
        found = content["ids"] if isinstance(content, dict) else content
        if not found or not all(type(id) is int for id in found):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError, FaultError):
        lines = enumerate(text.splitlines(), 1)
        wrong = next(
            (f", line {number}: {line.strip()[:40]!r}" for number, line in lines if not _IDS.fullmatch(line.strip())),
            "",
        )
        tokenizer = next(filter(names_tokenizer, arguments_of_command()), "TOK")
        fix = f"name a file with one id a line; slmtok vocab {shlex.quote(tokenizer)} lists the ids"
        if table := _EXPOSURE.match(text):
            fix = _of_exposure(path, *table.groups())
        elif path != STDIO and _TABLE.fullmatch(text):
            name = free_name("prune-ids.txt")
            leading = f"grep -oE '^ *[0-9]+' {shlex.quote(path)} > {name} && {_with_ids(name, path)}"
            fix = f"where the first number of each line is the id to remove: {leading}"
        raise CorruptFile(
            f"{_name(path)} is not a list of ids",
            where=f"--ids{'' if text.lstrip().startswith(('[', '{')) else wrong}",
            limit="one id a line, a JSON list, or an object with a list under 'ids'",
            fix=fix,
            path=path,
        ) from None
    recorded = content.get("fingerprint", fingerprint) if isinstance(content, dict) else fingerprint
    if recorded != fingerprint:
        raise OptionError(
            f"the ids of {_name(path)} are those of another tokenizer",
            where="--ids",
            limit=f"fingerprints {str(recorded)[:16]}… and {fingerprint[:16]}…",
            fix="name the tokenizer of these ids, or make the list again: slmtok exposure DATA -o FILE",
            option="ids",
        )
    return list(found)


_ROLE_OPTIONS = {f"--{role.name.lower()}{end}": role.name.lower() for role in SpecialId for end in ("", "-token")}
"""Options of other tools for the spelling of a special token, each with its role."""


def _with_roles(value: str | None, arguments: Sequence[str]) -> str:
    """The command line with `ROLE=SPELLING` for each option that is named after a role."""
    words: list[str] = []
    rest = enumerate(arguments)
    for at, word in rest:
        flag, _, given = word.replace("_", "-", 2).partition("=") if word.startswith("--") else ("", "", "")
        role = _ROLE_OPTIONS.get(flag)
        if role is not None and not given and at + 1 < len(arguments) and not arguments[at + 1].startswith("-"):
            given = next(rest)[1]
        words.append(word if role is None else f"{role}={given or f'<|{role}|>'}")
    return shlex.join(["slmtok", "set-special", *words])


def _with_pairs(value: str | None, arguments: Sequence[str]) -> str:
    """The command line with `ROLE=SPELLING` for the values of options that name special tokens."""
    words: list[str] = []
    for before, word in pairwise(["", *arguments]):
        flag, equals, given = word.partition("=")
        text = given if flag in _PAIR_OPTIONS else word if before in _PAIR_OPTIONS else None
        pairs = [] if text is None else [f"{role}={spelling}" for role, spelling in pairs_meant([text]).items()]
        words += [] if flag in _PAIR_OPTIONS and not equals else [word] if text is None else pairs
    return shlex.join(["slmtok", "set-special", *words])


_PAIR_OPTIONS = ("--set", "--add", "--special", "--specials", "--special-tokens", "--token", "--tokens", "--add-tokens")
"""Options of other tools for special tokens."""


@command("set-special", example="slmtok set-special tok.json 'user=<|user|>' -o chat.json",
         habits={**dict.fromkeys(_ROLE_OPTIONS, _with_roles), **dict.fromkeys(_PAIR_OPTIONS, _with_pairs),
                 **_in_place("set-special", "chat.json")})  # fmt: skip
@tokenizer_argument()
@argument("names", metavar="ROLE=SPELLING...", nargs=-1, required=True, help="A role and its spelling.",
          type=Parsed(parse_special, expects="ROLE=SPELLING"),
          callback=collector("the command line", collect_once))  # fmt: skip
@output_options(required=True)
def set_special(tokenizer: str, names: dict[str, str], output: str, force: bool) -> Outcome:
    """Give reserved special ids a role, or another spelling to special tokens. No id changes; shards and models stay
    valid.
    """
    _check([tokenizer], output, force=force)
    before = load(tokenizer)
    try:
        specials = before.specials.respelled(names)
    except InvalidSpecials as error:
        # Here it is the command line that is wrong, not a file.
        error.fields["option"] = "special"
        if isinstance(sound := error.fields.get("spellings"), dict):
            pairs = [f"{role}={escape(text)}" for role, text in sound.items()]
            line = shlex.join(["slmtok", "set-special", tokenizer, *pairs, "-o", output, *["--force"] * force])
            error.fix = line if {*sound} == {*names} else _without_alias(names, before.specials, line) or line
        raise
    vocabulary = before.vocabulary.with_specials(specials)
    after = Tokenizer(vocabulary, options=before.options, provenance=before.provenance)
    after.save(output, force=force)
    add_notes(note for role, text in names.items() if (note := _spelling_note(before, role, text)))
    named = [{"id": slot.id, "role": slot.role, "text": slot.text} for slot in after.specials.tokens if slot.role]
    listed = "  ".join(f"{slot['id']} {slot['role']} {escape(str(slot['text']))}" for slot in named)
    return _outcome(before, after, tokenizer, output, [("specials", listed)], {"specials": named})


def _spelling_note(tokenizer: Tokenizer, role: str, text: str) -> str | None:
    """What a spelling does that text has for itself, or that spaces are part of; None for others."""
    if text != text.strip() and text.strip():
        return f"the spelling {text!r} of {role} begins or ends with a space; {text.strip()!r} in a text is not it"
    if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'":
        plain = shlex.quote(f"{role}={text[1:-1]}")
        return f"the spelling of {role} is {text} with its quotes; {plain} is the spelling without them"
    is_token = tokenizer.token_id(text.encode()) is not None
    if not is_token and not (text.isalpha() and text.islower()):
        return None
    what = "an ordinary token" if is_token else "an ordinary word"
    return (
        f"{role} is spelled {text!r}, which is {what}: with --allow-special {role} it is the special token "
        f"wherever it stands in a text, within words too"
    )


def _without_alias(names: Mapping[str, str], specials: Specials, line: str) -> str | None:
    """The remedy for `pad=</s>`, which means padding with another special; `line` gives that one another spelling."""
    taken = {slot.text: slot.role for slot in specials.tokens if slot.role is not None and slot.role not in names}
    other = taken.get(names.get("pad"))
    if other is None:
        return None
    of_hf = f"in Hugging Face, as_hf(tok, pad={other!r}) pads with {other}"
    return f"leave pad out: {names['pad']} is the spelling of {other}; {of_hf}; to change both: {line}"
