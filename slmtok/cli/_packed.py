"""Packed data on the command line: folders of shards, and ids in other layouts; what they are, whether they are sound,
and their documents as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from slmtok.cli import _output, _token_files
from slmtok.cli._numbers import counted, grouped, in_bytes
from slmtok.cli._ranges import chosen
from slmtok.cli._read_ids import Row
from slmtok.cli._tables import Row as TableRow
from slmtok.cli._tables import print_rows
from slmtok.errors import CorruptFile, InvalidOption, MissingInput

if TYPE_CHECKING:
    from slmtok.shards import Shards
    from slmtok.shards.token_files import TokenFiles
    from slmtok.tokenizer import Tokenizer

    Data: TypeAlias = Shards | TokenFiles

KIND = "slmtok-shards"


def is_packed(path: str) -> bool:
    """Whether a path is packed data: a folder, which can only be that here, or a file of ids in a known layout.

    Raises `CorruptFile` for one shard of ours, which says nothing without its folder.
    """
    if Path(path).is_dir():
        return True
    return Path(path).is_file() and _alone(path) is not None


def _alone(path: str) -> TokenFiles | None:
    from slmtok.shards.header import MAGIC
    from slmtok.shards.layouts.base import HEAD
    from slmtok.shards.token_files import open_token_files

    with Path(path).open("rb") as file:
        if file.read(HEAD) == MAGIC:
            raise CorruptFile(
                f"{path} is one shard of packed data, which nothing can be said of alone",
                where=path,
                limit="documents, tokenizer and digests are in other files of its folder",
                fix=f"name the folder: {Path(path).parent}",
                path=path,
            )
    return open_token_files(path)


def opened(path: str) -> Data:
    """The data at a path. Raises `MissingInput` for a folder without any, and what opening raises."""
    from slmtok.shards import open_shards
    from slmtok.shards.header import JOURNAL, MANIFEST, PLAN
    from slmtok.shards.token_files import open_token_files

    folder = Path(path)
    if not folder.is_dir() or not any((folder / name).exists() for name in (MANIFEST, PLAN, JOURNAL)):
        found = open_token_files(path)
        if found is not None:
            return found
    if folder.is_dir():
        _refuse_others(folder)
    return open_shards(path)


_OTHERS = (
    ("tokenizer.json", "a tokenizer of Hugging Face", "slmtok import {} -o tok.json"),
    ("data.lock", "a run of slm", "slm info {}"),
    (".packing", "packed data that is not finished", "run the command that began it again"),
)
"""Folders that are something else: a name in them, what they are, what to do."""


def _refuse_others(folder: Path) -> None:
    for name, what, fix in _OTHERS:
        if (folder / name).exists():
            raise MissingInput(
                f"{str(folder)!r} is no packed data but {what}" if name[0] != "." else f"{str(folder)!r} is {what}",
                where=str(folder / name),
                fix=fix.format(folder),
                path=str(folder),
            )


def tokenizer_of(path: str) -> str | None:
    """The tokenizer file that packed data brings along; None where another program wrote the data."""
    from slmtok.shards import Shards
    from slmtok.shards.header import TOKENIZER

    found = opened(path)
    if isinstance(found, Shards):
        return str(Path(path) / TOKENIZER)
    return None if found.tokenizer is None else str(found.tokenizer)


def info(path: str) -> _output.Outcome:
    """What `slmtok info` says of packed data."""
    from slmtok.shards import Shards

    shards = opened(path)
    if not isinstance(shards, Shards):
        return _token_files.info(path, shards)
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
        f"{counted(split['docs'], 'document')}, {in_bytes(split['bytes'])}, {grouped(split['tokens'])} ids of "
        f"{each:.2f} bytes, {grouped(split['shards'])} {name}"
    )


def sound(path: str, *, deep: bool) -> str:
    """One line about sound data, for `slmtok verify`. Raises what is wrong with it."""
    from slmtok.shards import Shards
    from slmtok.shards.check import check
    from slmtok.shards.token_files_check import check_token_files

    found = opened(path)
    return check(path, deep=deep) if isinstance(found, Shards) else check_token_files(found, deep=deep)


def documents(path: str, docs: str | None, split: str | None, tokenizer: Tokenizer) -> Iterator[Row]:
    """The documents `docs` (`3:5`, `3:`, `:5`, `3`, negative ones from the end) of a split; all without `docs`."""
    from slmtok.shards import Shards

    found = opened(path)
    if found.fingerprint not in (None, tokenizer.fingerprint):
        raise InvalidOption(
            f"{path} was packed with another tokenizer: {(found.fingerprint or '')[:8]}…, "
            f"not {tokenizer.fingerprint[:8]}…",
            where="slmtok decode",
            fix="leave --tokenizer out: the right one lies in the folder",
            option="tokenizer",
        )
    name = split or found.splits[0]
    if not isinstance(found, Shards):
        yield from _token_files.documents(found, docs, name, tokenizer)
        return
    for index in chosen(found.n_docs(name), docs, f"{found.folder}, split {name}"):
        ids = found.document(index, name)
        # Roles that were appended to a foreign table have no spelling.
        known = ids[ids < tokenizer.n_vocab] if found.manifest["n_vocab"] > tokenizer.n_vocab else ids
        yield Row(known, f"{path}, document {index:,} of {name}")
