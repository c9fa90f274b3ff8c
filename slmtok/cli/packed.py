"""Packed data on the command line: shard folders, and token files in the layouts of other programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from slmtok.cli.arguments import arguments_of, command_line, options_by_flag
from slmtok.cli.files import document_range, names_tokenizer
from slmtok.cli.options import is_given
from slmtok.cli.output import Row, counted
from slmtok.errors import MissingInput, OptionError, SlmtokError, WrongFormat
from slmtok.file_content import HEAD_BYTES, content_of
from slmtok.file_kinds import SHARD, data_in, is_run, kind_of_file, lacks_of_run
from slmtok.files import free_name, read_file
from slmtok.formats.foreign_files import hint_in
from slmtok.formats.id_files import IdRow
from slmtok.opening import TOKENIZER_FILES, load
from slmtok.sizes import format_bytes

if TYPE_CHECKING:
    from slmtok.shards import Shards
    from slmtok.shards.token_files import TokenFiles
    from slmtok.tokenizer import Tokenizer

    Data: TypeAlias = Shards | TokenFiles

KIND = "packed data"
"""The kind of a path that `open_data` opens."""
_SHARD_TABLES = (".off", ".nb", ".dom")
"""Files of a shard beside its ids."""
_OTHER_FOLDERS = (
    ("tokenizer.json", "a Hugging Face tokenizer", "slmtok import {} -o {}"),
    (".packing", "unfinished packed data", "run the command that started it again"),
)
"""Folders without packed data: a file in them, what they are, the remedy."""


def open_data(path: str) -> Data | None:
    """The packed data at a path: a folder, or a token file in a known layout; None for any other file.

    Raises `WrongFormat` for one shard of slmtok, which is unreadable without its folder, `MissingInput` for a folder
    without data, and what opening raises.
    """
    from slmtok.shards import open_shards
    from slmtok.shards.format import JOURNAL, MANIFEST, PLAN
    from slmtok.shards.token_files import open_token_files

    folder = Path(path)
    has_folder = (folder.parent / MANIFEST).is_file()
    if kind_of_file(path) == SHARD or (has_folder and folder.suffix in _SHARD_TABLES and folder.is_file()):
        raise WrongFormat(
            f"{path} is one shard of packed data and cannot be read alone",
            where=path,
            limit="documents, tokenizer and digests are in other files of its folder",
            fix=(_with_split(path, folder) or f"name the folder: {quote(str(folder.parent))}")
            if has_folder
            else f"copy the whole folder of {folder.name}, and name it",
            path=path,
        )
    is_ours = any((folder / name).exists() for name in (MANIFEST, PLAN, JOURNAL))
    if not is_ours:
        found = open_token_files(path) if folder.is_dir() or folder.is_file() else None
        if found is not None or not folder.is_dir():
            return found
    if is_run(folder):
        data = re.search(r"^  train: (\S+)$", (folder / "config.yaml").read_text("utf-8", "replace"), re.MULTILINE)
        its_data = data[1] if data else f"data.train in {folder}/config.yaml"
        fix = f"slm info {path} describes it, slm doctor {path} checks it; its data: {its_data}"
        raise MissingInput(f"{path!r} is a run of slm, not packed data", where=path, fix=fix, path=path)
    for name, what, fix in _OTHER_FOLDERS:
        if (folder / name).exists():
            raise MissingInput(
                f"{path!r} is {what}, not packed data",
                where=str(folder / name),
                fix=fix.format(quote(str(folder)), free_name("tok.json")),
                path=path,
            )
    if not is_ours:
        raise _no_data(folder)
    return open_shards(path)


def _with_split(path: str, shard: Path) -> str | None:
    """The command line with the folder of a validation shard and its split; None for another one or command."""
    context = click.get_current_context(silent=True)
    if context is None or not shard.name.startswith("val-"):
        return None
    arguments = arguments_of(context)
    if (
        "--split" not in options_by_flag(context.command)
        or arguments.count(path) != 1
        or any(each.startswith("--split") for each in arguments)
    ):
        return None
    named = [str(shard.parent) if each == path else each for each in arguments]
    return command_line(context, [*named, "--split", "val"])


def _no_data(folder: Path) -> MissingInput:
    """The error for a folder without packed data, which says what is in it."""
    names = sorted(path.name for path in folder.iterdir())
    if lacking := lacks_of_run(folder):
        return MissingInput(
            f"the folder {str(folder)!r} holds a part of a run of slm: it lacks {', '.join(lacking)}",
            where=str(folder),
            limit="a run is read with all its files",
            fix=f"copy the whole folder of the run, then slm info {quote(str(folder))}",
            path=str(folder),
        )
    holds = "is empty" if not names else f"holds no packed data, and {counted(len(names), 'other file')}"
    tokenizer = next((folder / name for name in TOKENIZER_FILES if name in names), None)
    return MissingInput(
        f"the folder {str(folder)!r} {holds}" + (f", such as {names[0]!r}" if names else ""),
        where=str(folder),
        limit="packed data have a manifest.json",
        fix=f"name the tokenizer: {quote(str(tokenizer))}"
        if tokenizer is not None
        else hint_in(folder) or "name a file in it, or packed data, which slmtok pack writes",
        path=str(folder),
    )


def not_packed(path: str, data: Data | None) -> OptionError:
    """The error for a path without packed data of our own; `data` are token files at it.

    The fix names what a tokenizer packed beside its file; else it packs a text, or with a tokenizer.
    """
    is_tokenizer = data is None and names_tokenizer(path)
    own = getattr(data, "tokenizer", None)
    tokenizer = path if is_tokenizer else str(own or next(filter(names_tokenizer, TOKENIZER_FILES), "TOK"))
    made = _packed_with(path) if is_tokenizer else None
    from slmtok.shards.token_files import TokenFiles

    is_text = not is_tokenizer and data is None and content_of(read_file(path, HEAD_BYTES)) is None
    corpus = quote(path) if is_text else "CORPUS"
    folder = free_name("data")
    kind = "a tokenizer, not packed data" if is_tokenizer else "not packed data with a tokenizer"
    return OptionError(
        f"{path!r} is {f'in the layout {data.layout}' if isinstance(data, TokenFiles) else kind}",
        limit="a folder that slmtok pack wrote in its own layout",
        fix=f"name the folder: {made}" if made else f"slmtok pack {corpus} -t {quote(tokenizer)} -o {folder}",
        option="data",
        path=path,
    )


def _packed_with(tokenizer: str) -> str | None:
    """The folders beside a tokenizer file that it packed, as a fix names them."""
    file = Path(tokenizer)
    if not file.is_file():
        return None
    content = file.read_bytes()
    found = [quote(each) for each in data_in(file.parent) if read_file(f"{each}/{TOKENIZER_FILES[0]}") == content]
    return ", or ".join(found[:8]) or None


def describe_data(path: str) -> tuple[dict[str, Any], list[Row]]:
    """`slmtok info` of packed data."""
    from slmtok.shards.token_files import TokenFiles

    data = open_data(path)
    assert data is not None
    return _describe_token_files(data) if isinstance(data, TokenFiles) else _describe_shards(data)


def _describe_shards(shards: Shards) -> tuple[dict[str, Any], list[Row]]:
    content = shards.manifest
    skipped = content["skipped"]
    rows = [
        ("kind", "token shards (manifest.json), ready for training"),
        ("ids", f"{content['dtype']}, n_vocab {content['n_vocab']:,}; frame {content['frame']}"),
        *((name, split_text(content["splits"][name])) for name in shards.splits),
        ("split", content["plan"]["split"]["rule"]),
        ("domains", "  ".join(content.get("domains", ()))),
        ("sources", f"{len(content['plan']['sources']):,}"),
        ("skipped", f"{skipped:,} malformed records" if skipped else ""),
        ("corpus", content["digest"]),
        ("tokenizer", content["fingerprint"]),
    ]
    return {"kind": "slmtok-shards", **content}, rows


def split_text(split: dict[str, int]) -> str:
    """One split of a manifest in a line."""
    per_token = split["bytes"] / max(split["tokens"], 1)
    return (
        f"{counted(split['docs'], 'document')}, {format_bytes(split['bytes'])}, {split['tokens']:,} ids of "
        f"{per_token:.2f} bytes, {counted(split['shards'], 'shard')}"
    )


def _describe_token_files(found: TokenFiles) -> tuple[dict[str, Any], list[Row]]:
    """Sizes and splits; tokenizer and corpus where `slmtok pack` wrote the files."""
    meta = found.meta or {}
    ids = {split: sum(map(len, found.arrays(split))) for split in found.splits}
    files = {split: [file.name for file in found.files[split]] for split in found.splits}
    width = meta.get("chunk_size")
    encoding = f"{meta['dtype']}, n_vocab {meta['n_vocab']:,}; frame {meta['frame']}" if meta else ""
    rows = [
        ("kind", f"token files in the layout {found.layout}, by {'slmtok pack' if meta else 'another program'}"),
        ("ids", encoding or "tokenizer and documents are not recorded"),
        ("rows", f"of {width:,} ids; an incomplete last row was left out" if width else ""),
    ]
    for split, number in ids.items():
        text = f"{number:,} ids, {counted(len(files[split]), 'file')}"
        if packed := meta.get("splits", {}).get(split):
            text += f"; packed from {counted(packed['docs'], 'document')}, {format_bytes(packed['bytes'])}"
        rows.append((split, text))
    rows += [("corpus", meta.get("digest", "")), ("tokenizer", meta.get("fingerprint", ""))]
    recorded = {key: value for key, value in meta.items() if key not in ("format", "version", "files")}
    return {"kind": "token files", **recorded, "layout": found.layout, "files": files, "ids": ids}, rows


def verify_data(path: str, deep: bool) -> str:
    """One line about valid data, for `slmtok verify`. Raises what is wrong with it."""
    from slmtok.shards.check import check, check_token_files
    from slmtok.shards.token_files import TokenFiles

    data = open_data(path)
    return check_token_files(data, deep=deep) if isinstance(data, TokenFiles) else check(path, deep=deep)


def load_for(path: str, data: Data | None, name: str) -> Tokenizer:
    """The tokenizer `name`, for the ids at `path`, which packed data may hold. Raises what `load` raises.

    Raises `OptionError` for data that were packed with another tokenizer, and for data with their tokenizer beside them
    where `name` cannot be opened: to look for it would be in vain.
    """
    own = None if data is None or data.fingerprint is None else data.tokenizer
    is_there = own is not None and own.exists()
    fix = "leave --tokenizer out: the folder contains the right one"
    try:
        tokenizer = load(name)
    except SlmtokError as error:
        if not (is_there and is_given("tokenizer")):
            raise
        fact = f"{path} was packed with {own}, and {name} is not needed"
        raise OptionError(fact, where=f"{name} cannot be opened: {error.fact}", fix=fix, option="tokenizer") from error
    if data is None or data.fingerprint in (None, tokenizer.fingerprint):
        return tokenizer
    raise OptionError(
        f"{path} was packed with another tokenizer: {(data.fingerprint or '')[:8]}…, not {tokenizer.fingerprint[:8]}…",
        fix=fix
        if is_given("tokenizer") and is_there
        else f"slmtok decode {quote(path)} -t TOK with that one; the tokenizer in the folder was "
        f"{'replaced' if is_there else 'lost'}",
        option="tokenizer",
    )


def read_documents(path: str, data: Data, docs: str | None, split: str | None, tokenizer: Tokenizer) -> Iterator[IdRow]:
    """The documents `docs` of a split (the first one by default) of the data at `path`; all of them without `docs`.

    Raises `OptionError` for a range where the documents cannot be told apart.
    """
    from slmtok.shards import Shards

    name = split or data.splits[0]
    document: Callable[[int], Any]
    if isinstance(data, Shards):
        n_docs, n_vocab, document = data.n_docs(name), data.manifest["n_vocab"], partial(data.document, split=name)
    else:
        documents = data.documents(name, tokenizer)
        n_docs, n_vocab, document = len(documents), (data.meta or {}).get("n_vocab", 0), documents.__getitem__
        if docs is not None and documents.delimiter is None:
            raise _no_delimiter(data, docs)
    # Roles that were appended to a foreign vocabulary have no spelling.
    has_more_ids = n_vocab > tokenizer.n_vocab
    for index in document_range(n_docs, docs, f"{path}, split {name}"):
        ids = document(index)
        known = ids[ids < tokenizer.n_vocab] if has_more_ids else ids
        yield IdRow(known, f"{path}, document {index:,} of {name}")


def _no_delimiter(data: TokenFiles, docs: str) -> OptionError:
    reason = "packed without --bos and --eos" if data.meta else "and the tokenizer has neither bos nor eos"
    return OptionError(
        f"--docs {docs}: the documents of {data.path} cannot be told apart",
        where=f"layout {data.layout}, {reason}",
        limit="a special token before or after each document",
        fix="leave --docs out" + (", or pack with --bos or --eos" if data.meta else ""),
        option="docs",
    )
