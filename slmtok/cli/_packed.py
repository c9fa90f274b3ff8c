"""Packed data on the command line: what a folder of shards is, whether it is sound, and its documents as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.cli import _output
from slmtok.cli._numbers import grouped, in_bytes
from slmtok.cli._read_ids import Row
from slmtok.cli._tables import Row as TableRow
from slmtok.cli._tables import print_rows
from slmtok.errors import InvalidOption

if TYPE_CHECKING:
    from slmtok.shards import Shards
    from slmtok.tokenizer import Tokenizer

KIND = "slmtok-shards"


def is_packed(path: str) -> bool:
    """Whether a path is a folder, which can only be packed data here."""
    return Path(path).is_dir()


def tokenizer_of(path: str) -> str:
    """The tokenizer file in a packed folder."""
    from slmtok.shards.header import TOKENIZER

    return str(Path(path) / TOKENIZER)


def info(path: str) -> _output.Outcome:
    """What `slmtok info` says of a packed folder."""
    from slmtok.shards import open_shards

    shards = open_shards(path)
    content = shards.manifest
    rows: list[TableRow] = [
        ("what", "token shards (manifest.json), ready for training"),
        ("ids", f"{content['dtype']}, n_vocab {grouped(content['n_vocab'])}; frame {content['frame']}"),
        *((name, _split(content["splits"][name])) for name in shards.splits),
        ("split", content["plan"]["split"]["rule"]),
        ("domains", "  ".join(content.get("domains", ()))),
        ("sources", grouped(len(content["plan"]["sources"]))),
        ("skipped", f"{grouped(content['skipped'])} malformed records" if content["skipped"] else ""),
        ("corpus", content["digest"]),
        ("tokenizer", content["fingerprint"]),
    ]
    return _output.Outcome({"kind": KIND, "path": path, **content}, lambda: print_rows(rows, title=path))


def _split(split: dict[str, int]) -> str:
    name = "shard" if split["shards"] == 1 else "shards"
    each = split["bytes"] / max(split["tokens"], 1)
    return (
        f"{grouped(split['docs'])} documents, {in_bytes(split['bytes'])}, {grouped(split['tokens'])} ids of "
        f"{each:.2f} bytes, {grouped(split['shards'])} {name}"
    )


def sound(path: str, *, deep: bool) -> str:
    """One line about sound data, for `slmtok verify`. Raises what is wrong with it."""
    from slmtok.shards.check import check

    return check(path, deep=deep)


def documents(path: str, docs: str | None, split: str | None, tokenizer: Tokenizer) -> Iterator[Row]:
    """The documents `docs` (`3:5`, `3:`, `:5`, `3`, negative ones from the end) of a split; all without `docs`."""
    from slmtok.shards import open_shards

    shards = open_shards(path)
    if shards.fingerprint != tokenizer.fingerprint:
        raise InvalidOption(
            f"{path} was packed with another tokenizer: {shards.fingerprint[:8]}…, not {tokenizer.fingerprint[:8]}…",
            where="slmtok decode",
            fix="leave --tokenizer out: the right one lies in the folder",
            option="tokenizer",
        )
    name = split or shards.splits[0]
    for index in _chosen(shards, docs, name):
        ids = shards.document(index, name)
        # Roles that were appended to a foreign table have no spelling.
        known = ids[ids < tokenizer.n_vocab] if shards.manifest["n_vocab"] > tokenizer.n_vocab else ids
        yield Row(known, f"{path}, document {index:,} of {name}")


def _chosen(shards: Shards, docs: str | None, split: str) -> range:
    n = shards.n_docs(split)
    if docs is None:
        return range(n)
    first, colon, last = docs.partition(":")
    try:
        start, stop = int(first) if first else 0, int(last) if last else n
    except ValueError:
        raise InvalidOption(
            f"--docs {docs!r} is no range of documents",
            where="slmtok decode",
            limit="A:B counts from 0 and leaves B out, as in Python",
            fix="--docs 3:5",
            option="docs",
        ) from None
    if not colon:
        stop = start + 1 or n
    chosen = range(n)[start:stop]
    if not len(chosen):
        raise InvalidOption(
            f"--docs {docs} is none of the documents",
            where=f"{shards.folder}, split {split}",
            limit=f"0 to {n - 1}",
            fix=f"--docs {max(0, n - 2)}:{n}",
            option="docs",
        )
    return chosen
