"""Packed data on the command line: shard folders, and token files in the layouts of other programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from slmtok.cli.file_kinds import SHARD, kind_of_file
from slmtok.cli.files import document_range
from slmtok.cli.output import Outcome, Row, counted, grouped, print_rows
from slmtok.errors import CorruptFile, MissingInput, OptionError
from slmtok.formats.id_files import IdRow
from slmtok.sizes import format_bytes

if TYPE_CHECKING:
    from slmtok.shards import Shards
    from slmtok.shards.token_files import TokenFiles
    from slmtok.tokenizer import Tokenizer

    Data: TypeAlias = Shards | TokenFiles

_OTHER_FOLDERS = (
    ("tokenizer.json", "a Hugging Face tokenizer", "slmtok import {} -o tok.json"),
    ("data.lock", "a run of slm", "slm info {}"),
    (".packing", "unfinished packed data", "run the command that started it again"),
)
"""Folders without packed data: a file in them, what they are, the remedy."""


def is_packed(path: str) -> bool:
    """Whether a path is packed data: a folder, or a token file in a known layout.

    Raises `CorruptFile` for one shard of slmtok, which is unreadable without its folder.
    """
    from slmtok.shards.token_files import open_token_files

    if kind_of_file(path) == SHARD:
        raise CorruptFile(
            f"{path} is one shard of packed data and cannot be read alone",
            where=path,
            limit="documents, tokenizer and digests are in other files of its folder",
            fix=f"name the folder: {Path(path).parent}",
            path=path,
        )
    return Path(path).is_dir() or (Path(path).is_file() and open_token_files(path) is not None)


def open_data(path: str) -> Data:
    """The data at a path. Raises `MissingInput` for a folder without any, and what opening raises."""
    from slmtok.shards import open_shards
    from slmtok.shards.format import JOURNAL, MANIFEST, PLAN
    from slmtok.shards.token_files import open_token_files

    folder = Path(path)
    if not folder.is_dir() or not any((folder / name).exists() for name in (MANIFEST, PLAN, JOURNAL)):
        found = open_token_files(path)
        if found is not None:
            return found
    if folder.is_dir():
        for name, what, fix in _OTHER_FOLDERS:
            if (folder / name).exists():
                raise MissingInput(
                    f"{path!r} is {what}, not packed data", where=str(folder / name), fix=fix.format(folder), path=path
                )
    return open_shards(path)


def tokenizer_path(path: str) -> str | None:
    """The tokenizer file within packed data; None where another program wrote the data."""
    from slmtok.shards import Shards
    from slmtok.shards.format import TOKENIZER

    found = open_data(path)
    if isinstance(found, Shards):
        return str(Path(path) / TOKENIZER)
    return None if found.tokenizer is None else str(found.tokenizer)


def describe_data(path: str) -> Outcome:
    """`slmtok info` of packed data."""
    from slmtok.shards import Shards

    found = open_data(path)
    return _describe_shards(path, found) if isinstance(found, Shards) else _describe_token_files(path, found)


def _describe_shards(path: str, shards: Shards) -> Outcome:
    content = shards.manifest
    skipped = content["skipped"]
    rows: list[Row] = [
        ("kind", "token shards (manifest.json), ready for training"),
        ("ids", f"{content['dtype']}, n_vocab {grouped(content['n_vocab'])}; frame {content['frame']}"),
        *((name, split_text(content["splits"][name])) for name in shards.splits),
        ("split", content["plan"]["split"]["rule"]),
        ("domains", "  ".join(content.get("domains", ()))),
        ("sources", grouped(len(content["plan"]["sources"]))),
        ("skipped", f"{grouped(skipped)} malformed records" if skipped else ""),
        ("corpus", content["digest"]),
        ("tokenizer", content["fingerprint"]),
    ]
    return Outcome({"kind": "slmtok-shards", "path": path, **content}, lambda: print_rows(rows, title=path))


def split_text(split: dict[str, int]) -> str:
    """One split of a manifest in a line."""
    per_token = split["bytes"] / max(split["tokens"], 1)
    return (
        f"{counted(split['docs'], 'document')}, {format_bytes(split['bytes'])}, {grouped(split['tokens'])} ids of "
        f"{per_token:.2f} bytes, {counted(split['shards'], 'shard')}"
    )


def _describe_token_files(path: str, found: TokenFiles) -> Outcome:
    """Sizes and splits; tokenizer and corpus where `slmtok pack` wrote the files."""
    meta = found.meta
    ids = {split: sum(map(len, found.arrays(split))) for split in found.splits}
    files = {split: [file.name for file in found.files[split]] for split in found.splits}
    rows: list[Row] = [
        ("kind", f"token files in the layout {found.layout}, by {'slmtok pack' if meta else 'another program'}")
    ]
    if meta is None:
        rows.append(("ids", "tokenizer and documents are not recorded"))
    else:
        rows.append(("ids", f"{meta['dtype']}, n_vocab {grouped(meta['n_vocab'])}; frame {meta['frame']}"))
        width = meta["chunk_size"]
        rows.append(("rows", "" if width is None else f"of {grouped(width)} ids; an incomplete last row was left out"))
    for split, number in ids.items():
        text = f"{grouped(number)} ids, {counted(len(files[split]), 'file')}"
        packed = meta["splits"].get(split) if meta else None
        if packed is not None:
            text += f"; packed from {counted(packed['docs'], 'document')}, {format_bytes(packed['bytes'])}"
        rows.append((split, text))
    rows += [("corpus", meta["digest"]), ("tokenizer", meta["fingerprint"])] if meta else []
    recorded = {key: value for key, value in (meta or {}).items() if key not in ("format", "version", "files")}
    result: dict[str, Any] = {"kind": "token files", "path": path, **recorded}
    result |= {"layout": found.layout, "files": files, "ids": ids}
    return Outcome(result, lambda: print_rows(rows, title=path))


def verify_data(path: str, *, deep: bool) -> str:
    """One line about valid data, for `slmtok verify`. Raises what is wrong with it."""
    from slmtok.shards import Shards
    from slmtok.shards.check import check, check_token_files

    found = open_data(path)
    return check(path, deep=deep) if isinstance(found, Shards) else check_token_files(found, deep=deep)


def read_documents(path: str, docs: str | None, split: str | None, tokenizer: Tokenizer) -> Iterator[IdRow]:
    """The documents `docs` of a split (the first one by default); all of them without `docs`.

    Raises `OptionError` for another tokenizer, and for a range where the documents cannot be told apart.
    """
    from slmtok.shards import Shards

    found = open_data(path)
    if found.fingerprint not in (None, tokenizer.fingerprint):
        raise OptionError(
            f"{path} was packed with another tokenizer: {(found.fingerprint or '')[:8]}…, "
            f"not {tokenizer.fingerprint[:8]}…",
            fix="leave --tokenizer out: the folder contains the right one",
            option="tokenizer",
        )
    name = split or found.splits[0]
    rows: Iterator[tuple[int, Any]]
    if isinstance(found, Shards):
        n_vocab = found.manifest["n_vocab"]
        rows = (
            (index, found.document(index, name))
            for index in document_range(found.n_docs(name), docs, f"{found.folder}, split {name}")
        )
    else:
        n_vocab = None if found.meta is None else found.meta["n_vocab"]
        rows = _token_file_documents(found, docs, name, tokenizer)
    for index, ids in rows:
        # Roles that were appended to a foreign vocabulary have no spelling.
        known = ids[ids < tokenizer.n_vocab] if n_vocab is not None and n_vocab > tokenizer.n_vocab else ids
        yield IdRow(known, f"{path}, document {index:,} of {name}")


def _token_file_documents(
    found: TokenFiles, docs: str | None, split: str, tokenizer: Tokenizer
) -> Iterator[tuple[int, Any]]:
    documents = found.documents(split, tokenizer)
    if docs is not None and documents.delimiter is None:
        packed_plain = found.meta is not None
        reason = "packed without --bos and --eos" if packed_plain else "and the tokenizer has neither bos nor eos"
        raise OptionError(
            f"--docs {docs}: the documents of {found.path} cannot be told apart",
            where=f"layout {found.layout}, {reason}",
            limit="a special token before or after each document",
            fix="leave --docs out" + (", or pack with --bos or --eos" if packed_plain else ""),
            option="docs",
        )
    for index in document_range(len(documents), docs, f"{found.path}, split {split}"):
        yield index, documents[index]
