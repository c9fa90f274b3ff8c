"""`slmtok prune`: a tokenizer without the tokens that nobody uses, and a map of its ids for models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import slmtok
from slmtok.cli import _corpus, _numbers, _options, _output, _surgery, _train_memory
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._numbers import grouped
from slmtok.cli._progress import Progress
from slmtok.cli._tables import Row
from slmtok.corpus import ReadOptions
from slmtok.errors import CorruptFile, InvalidOption, MissingInput

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer
    from slmtok.training.surgery import Pruned

_Ids = Annotated[
    str | None,
    typer.Option(
        "--ids",
        metavar="FILE",
        help="Ids that may go: one a line, a JSON list, or an object with such a list under 'ids'.",
        show_default=False,
    ),
]
_UnusedOn = Annotated[
    list[str] | None,
    typer.Option(
        "--unused-on",
        metavar="TEXT|COUNTS",
        help="What does not occur in this text may go. Repeat for several.",
        show_default=False,
    ),
]
_Keep = Annotated[
    int | None,
    typer.Option(
        "--keep",
        metavar="N",
        parser=_numbers.whole,
        help="With --unused-on: take out the least used until N ids are left.",
        show_default=False,
    ),
]


@with_corpus
def prune(
    tokenizer: _options.TokenizerArgument,
    ids: _Ids = None,
    unused_on: _UnusedOn = None,
    keep: _Keep = None,
    *,
    read: ReadOptions,
    memory: _options.Memory = None,
    threads: _options.Threads = 0,
    output: _surgery.MappedOutput = ...,  # type: ignore[assignment]
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Take tokens out of a tokenizer, those first that no other is made of.

    slmtok prune tok.json --unused-on corpus.txt --keep 4096 -o small.json
    """
    from slmtok.cli._counted import counted
    from slmtok.cli._tokenizers import open_tokenizer

    _surgery.check(output, tokenizer, mapped=True, force=force)
    _check(ids, unused_on, keep)
    before = open_tokenizer(tokenizer)
    if ids is not None:
        pruned = slmtok.prune(before, ids=listed_ids(ids))
    else:
        reading = {**_corpus.arguments(read), "threads": threads, **_train_memory.options(memory, output)}
        with Progress(quiet=quiet) as progress:
            counts = counted(before, unused_on or [], read, reading, progress)
        pruned = slmtok.prune(before, unused_on=counts, keep=keep)
    digest = _surgery.write(pruned.tokenizer, output, pruned.id_map, force=force)
    return _outcome(before, pruned, output, digest, quiet=quiet)


def _check(ids: str | None, unused_on: list[str] | None, keep: int | None) -> None:
    if (ids is None) == (not unused_on) or (ids is not None and keep is not None):
        raise InvalidOption(
            "prune needs to know what may go: --ids FILE, or --unused-on TEXT with or without --keep N",
            limit="one of --ids and --unused-on",
            fix="slmtok prune tok.json --unused-on corpus.txt --keep 4096 -o small.json",
            option="unused_on",
        )


def listed_ids(path: str) -> list[int]:
    """The ids in a file. Raises `MissingInput`, `CorruptFile`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingInput(f"no file {path!r}", where="--ids", fix="check the name", path=path) from None
    except UnicodeDecodeError:
        text = "?"
    try:
        content: Any = json.loads(text) if text.lstrip().startswith(("[", "{")) else list(map(int, text.split()))
        found = content["ids"] if isinstance(content, dict) else content
        if not all(type(id) is int for id in found):
            raise TypeError
    except (ValueError, TypeError, KeyError):
        raise CorruptFile(
            f"{path} is no list of ids",
            where="--ids",
            limit="one id a line, a JSON list, or an object with a list under 'ids'",
            fix="printf '300\\n301\\n' > ids.txt",
            path=path,
        ) from None
    return list(found)


def _outcome(before: Tokenizer, pruned: Pruned, output: str, digest: str, *, quiet: bool) -> _output.Outcome:
    after, stay = pruned.tokenizer, pruned.kept_as_parts
    place = _surgery.map_beside(output)
    result = {
        **_surgery.result(before, after, output),
        "removed": before.n_vocab - after.n_vocab,
        "kept_as_parts": list(stay),
        "id_map": place,
        "id_map_sha256": digest,
    }

    def show() -> None:
        if quiet:
            return
        rows: list[Row] = [("removed", grouped(before.n_vocab - after.n_vocab))]
        if stay:
            rows.append(("kept", f"{grouped(len(stay))} that may go, since others are made of them"))
        _surgery.show(before, after, output, [*rows, ("id map", place)])

    return _output.Outcome(result, show)
