"""Ids in other layouts on the command line: what `slmtok info` says of them, their documents for `slmtok decode`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slmtok.cli import _output
from slmtok.cli._numbers import counted, grouped, in_bytes
from slmtok.cli._ranges import chosen
from slmtok.cli._read_ids import Row
from slmtok.cli._tables import Row as TableRow
from slmtok.cli._tables import print_rows
from slmtok.errors import InvalidOption

if TYPE_CHECKING:
    from slmtok.shards.token_files import TokenFiles
    from slmtok.tokenizer import Tokenizer

KIND = "token files"


def info(path: str, found: TokenFiles) -> _output.Outcome:
    """Sizes, splits and, where `slmtok pack` wrote them, tokenizer and corpus."""
    meta = found.meta
    held = {split: sum(map(len, found.arrays(split))) for split in found.splits}
    files = {split: [file.name for file in found.files[split]] for split in found.splits}
    if meta is None:
        writer, ids, width = "by another program", "neither tokenizer nor documents are written down", None
    else:
        writer, width = "by slmtok pack", meta["chunk_size"]
        ids = f"{meta['dtype']}, n_vocab {grouped(meta['n_vocab'])}; frame {meta['frame']}"
    rows: list[TableRow] = [
        ("what", f"token files in the layout {found.layout}, {writer}"),
        ("ids", ids),
        ("rows", "" if width is None else f"of {grouped(width)} ids; the rest of less than a row was left out"),
        *(
            (split, _split(held[split], len(files[split]), None if meta is None else meta["splits"].get(split)))
            for split in held
        ),
        ("corpus", "" if meta is None else meta["digest"]),
        ("tokenizer", "" if meta is None else meta["fingerprint"]),
    ]
    said = {key: value for key, value in (meta or {}).items() if key not in ("format", "version", "files")}
    result: dict[str, Any] = {"kind": KIND, "path": path, **said, "layout": found.layout, "files": files, "ids": held}
    return _output.Outcome(result, lambda: print_rows(rows, title=path))


def _split(ids: int, files: int, said: dict[str, int] | None) -> str:
    told = f"{grouped(ids)} ids, {grouped(files)} {'file' if files == 1 else 'files'}"
    if said is None:
        return told
    return f"{told}; packed from {counted(said['docs'], 'document')}, {in_bytes(said['bytes'])}"


def documents(found: TokenFiles, docs: str | None, split: str, tokenizer: Tokenizer) -> Iterator[Row]:
    """The documents `docs` of a split. Raises `InvalidOption` for a range where nothing tells them apart."""
    held = found.documents(split, tokenizer)
    if docs is not None and held.cut is None:
        unframed = found.meta is not None
        raise InvalidOption(
            f"--docs {docs}: nothing tells the documents of {found.path} apart",
            where=f"layout {found.layout}, {'frame none' if unframed else 'and the tokenizer has neither bos nor eos'}",
            limit="a special before or behind each document",
            fix="leave --docs out" + (", or pack with another --frame" if unframed else ""),
            option="docs",
        )
    n_vocab = None if found.meta is None else found.meta["n_vocab"]
    for index in chosen(len(held), docs, f"{found.path}, split {split}"):
        ids = held[index]
        # Roles that were appended to a foreign table have no spelling.
        known = ids[ids < tokenizer.n_vocab] if n_vocab is not None and n_vocab > tokenizer.n_vocab else ids
        yield Row(known, f"{found.path}, document {index:,} of {split}")
