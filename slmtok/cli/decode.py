"""`slmtok decode`: ids to text. It reads every format that `slmtok encode` writes, and packed data."""

from __future__ import annotations

import codecs
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slmtok.cli import packed
from slmtok.cli.arguments import command_line, tokenizer_beside, without_options
from slmtok.cli.errors import EXTRA
from slmtok.cli.files import PLAIN_TEXT, STDIO, check_output, document_range, names_tokenizer, writing
from slmtok.cli.options import (
    argument,
    arguments_of_command,
    command,
    instead,
    option,
    output_options,
    tokenizer_option,
)
from slmtok.cli.output import Outcome, again_with, counted, note_terminal, settings, shown
from slmtok.cli.text_argument import piped
from slmtok.errors import (
    DocumentTooLarge,
    InvalidText,
    MalformedRecord,
    MissingInput,
    OptionError,
    Setting,
    UnknownId,
)
from slmtok.file_content import HEAD_BYTES, SENTENCEPIECE, content_of
from slmtok.file_kinds import LAYOUT, MANIFEST, NAMES, RANKS, SHARD, kind_of_file
from slmtok.files import missing_input, read_file
from slmtok.formats import id_files
from slmtok.formats.foreign_files import foreign_file
from slmtok.id_arrays import OFFSETS_SUFFIX, UNKNOWN_ID_FIX, complete_error
from slmtok.sizes import format_bytes

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

_BLOCK_BYTES = 1 << 20
"""Bytes decoded at a time: as `str` they may take four times as much."""
MAX_HELD_BYTES, _TEXT_OVERHEAD_BYTES = 1 << 28, 64
"""Of the texts that `--json` prints without `--output`; each also takes the memory of an object."""
_IDS = re.compile(r"[\[(]?\d+([\s,]+\d+)*[\])]?")
"""Ids where the name of a file is expected."""
_EXAMPLE = "slmtok decode ids.txt -t tok.json"


def _ids(value: str | None, arguments: Sequence[str]) -> str:
    """The command that reads ids from stdin, for ids as arguments; "" without ids."""
    given = [each for each in arguments if _IDS.fullmatch(each)]
    ids = " ".join(re.findall(r"\d+", " ".join(given)))
    return piped(ids, "decode", arguments, given) if ids else ""


def _named_ids(value: str | None, arguments: Sequence[str]) -> str:
    """The command with the value of `--ids`: ids, or a file with them."""
    words = [each.removeprefix("--ids=") for each in arguments if each != "--ids"]
    return _ids(value, words) or shlex.join(["slmtok", "decode", *words])


_FIRST_DOCUMENTS = ("-n", "--limit", "--head", "--max-docs", "--num-docs")
_HABITS = {
    **dict.fromkeys(_FIRST_DOCUMENTS, instead("--docs 0:{}", "10")),
    EXTRA: _ids,
    "--ids": _named_ids,
    "--model": instead("-t {}", "tok.json"),
}


@command("decode", example=_EXAMPLE, habits=_HABITS)
@argument("source", metavar="[FILE|DATA|-]", default=STDIO, help="The ids: a file, or packed data; stdin by default.")
@tokenizer_option(required=False, show_default="that of packed data")
@option("--input-format", choices=("auto", "ids", "npy", "bin"), default="auto",
        help="Lines of ids, a numpy array, or raw little-endian ids; auto goes by the file name.")  # fmt: skip
@option("--docs", metavar="A:B", show_default="all", help="Of packed data, documents A to B - 1, counted from 0.")
@option("--split", choices=("train", "val"), show_default="train", help="Of packed data.")
@option("--errors", choices=("replace", "strict", "ignore", "backslashreplace", "keep"), default="replace",
        help="What to write for bytes that are not UTF-8; keep writes the bytes.")  # fmt: skip
@option("--skip-special", is_flag=True, help="Leave out special tokens.")
@option("--document", choices=("file", "line"), default="file",
        help="With line, write a line feed after each document, as encode --document line removed it.")  # fmt: skip
@output_options()
def decode(
    source: str,
    tokenizer: str | None,
    input_format: str,
    docs: str | None,
    split: str | None,
    errors: str,
    skip_special: bool,
    document: str,
    output: str | None,
    force: bool,
) -> Outcome:
    """Decode ids to text, on stdout by default. Special tokens give their spelling.

    slmtok decode DATA --docs 3:5 shows packed documents, with the tokenizer in the folder. On a terminal, control
    characters are escaped; a file or pipe gets the text as it is.
    """
    _refuse_other_kinds(source, input_format)
    data = packed.open_data(source) if input_format == "auto" and not id_files.has_offsets(source) else None
    name = _tokenizer_name(tokenizer, source, data, docs, split)
    target = output or STDIO
    inputs = [source, source + OFFSETS_SUFFIX, name]
    check_output(target, inputs=inputs, force=force, content=None if errors == "keep" else PLAIN_TEXT)
    tok = packed.load_for(source, data, name)
    totals = {"documents": 0, "tokens": 0, "bytes": 0, "invalid_documents": 0}
    notes: list[str] = []
    bounds, has_bounds = _bounds(tok, skip_special=skip_special), False

    def texts() -> Iterator[bytes]:
        nonlocal has_bounds
        if data is None:
            rows = _read_ids(source, input_format, docs, tok, by_row=document == "line")
        else:
            rows = packed.read_documents(source, data, docs, split, tok)
        for row in _with_unknown(rows, tok):
            try:
                raw = tok.decode_bytes(row.ids, skip_special=skip_special)
            except UnknownId as error:
                raise _locate(error, row.where, tok) from error
            text = _to_text(raw, errors, row.where)
            notes.extend(_joined_rows(source, row.n_rows))
            totals["invalid_documents"] += errors == "replace" and text != raw
            totals["documents"] += 1
            totals["tokens"] += len(row.ids)
            totals["bytes"] += len(text)
            has_bounds |= text.endswith(bounds)
            yield text + (b"\n" if document == "line" else b"")

    more: dict[str, object] = {}
    if settings().as_json and output is None:
        more["texts"] = _held(texts(), source)
    else:
        with writing(target, force=force) as stream:
            stream.writelines(_on_terminal(texts()) if target == STDIO and sys.stdout.isatty() else texts())

    warnings = (*notes, *_remarks(totals, are_apart=has_bounds or document == "line" or "texts" in more))
    if document == "line" and data is None and totals["documents"] == 1:
        warnings += _without_offsets(source, input_format)
    line = f"{output}: {format_bytes(totals['bytes'])}, {counted(totals['documents'], 'document')}"
    return Outcome({"path": target, **totals, **more}, summary="" if target == STDIO else line, warnings=warnings)


def _bounds(tok: Tokenizer, *, skip_special: bool) -> tuple[bytes, ...]:
    """Endings of a document that show where it ends: a line feed, and a special token."""
    spelled = () if skip_special else tok.specials.tokens
    return (b"\n", *(token.text.encode() for token in spelled if token.text))


def _remarks(totals: Mapping[str, int], *, are_apart: bool) -> tuple[str, ...]:
    """Notes on bytes that were replaced, and on documents that run into one another."""
    found: tuple[str, ...] = ()
    if totals["invalid_documents"]:
        fact = f"bytes of {counted(totals['invalid_documents'], 'document')} are not UTF-8 and were written as U+FFFD"
        found += (f"{fact}; --errors keep writes the bytes",)
    if totals["documents"] > 1 and not are_apart:
        found += (f"no line feed is between the documents; {again_with('--document line')} for one after each",)
    return found


def _with_unknown(rows: Iterable[id_files.IdRow], tok: Tokenizer) -> Iterator[id_files.IdRow]:
    """The documents. To the error for ids in another form it adds the first id that is not in the vocabulary."""
    try:
        yield from rows
    except MalformedRecord as error:
        source = str(error.fields.get("separated", ""))
        head = read_file(source, _BLOCK_BYTES) if Path(source).is_file() else b""
        unknown = next((id for id in map(int, re.findall(rb"(?<!\d)\d{1,19}(?!\d)", head)) if id >= tok.n_vocab), None)
        if unknown is not None and isinstance(error.fix, str):
            error.fix += f"; besides, id {unknown} is not in the vocabulary of {tok.n_vocab:,} ids: {UNKNOWN_ID_FIX}"
        raise


def _blocks(data: bytes, errors: str) -> Iterator[str]:
    """The text of bytes, a block at a time."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    for start in range(0, len(data), _BLOCK_BYTES):
        block = data[start : start + _BLOCK_BYTES]
        yield decoder.decode(block, final=start + len(block) == len(data))


def _on_terminal(documents: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of documents as a terminal shows them: what could drive it, and what is not UTF-8, is escaped."""
    return (shown(text).encode() for data in documents for text in _blocks(data, "backslashreplace"))


def _joined_rows(source: str, n_rows: int) -> tuple[str, ...]:
    """A note for the rows of an array of two dimensions that were decoded as one text."""
    if n_rows < 2:
        return ()
    name = "the array on stdin" if source == STDIO else source
    again = again_with("--document line")
    return (
        f"the {n_rows:,} rows of {name} are one text, one behind the other; {again} for a line feed after each; "
        "--skip-special leaves out padding",
    )


def _without_offsets(source: str, input_format: str) -> tuple[str, ...]:
    """A warning for an array whose documents are not known."""
    input_format = id_files.format_of(source) if input_format == "auto" else input_format
    if input_format == "ids" or id_files.has_offsets(source):
        return ()
    if source == STDIO:
        return ("the array on stdin was decoded as one document; in FILE of encode -o FILE, decode FILE finds each",)
    return (f"{source} was decoded as one document: no {source + OFFSETS_SUFFIX} beside it says where each begins",)


def _held(texts: Iterable[bytes], source: str) -> list[str]:
    """All texts for one JSON object. Raises `DocumentTooLarge`, also for a stream that does not end."""
    held, size = list[str](), 0
    for text in texts:
        size += len(text) + _TEXT_OVERHEAD_BYTES
        if size > MAX_HELD_BYTES:
            raise DocumentTooLarge(
                f"{counted(len(held) + 1, 'text')} need more than {format_bytes(MAX_HELD_BYTES)}",
                where="stdin" if source == STDIO else source,
                limit="texts of one JSON object on stdout",
                fix=("name a file, to which they are written as they come: ", Setting("output", "text.txt")),
                bytes=MAX_HELD_BYTES,
            )
        held.append(text.decode("utf-8", "surrogateescape"))
    return held


def _refuse_other_kinds(source: str, input_format: str) -> None:
    """Raises `MissingInput` for ids where a file is expected, `OptionError` for a file of another kind."""
    if _IDS.fullmatch(source) and not Path(source).exists():
        fix = "for ids: " + piped(" ".join(re.findall(r"\d+", source)), "decode", arguments_of_command(), [source])
        raise MissingInput(f"no file {source!r}", fix=fix, path=source)
    kind = kind_of_file(source)
    if kind == SHARD and input_format != "auto":
        fact = f"{source} is {NAMES[SHARD]}, whose ids follow a header"
        raise OptionError(fact, where=source, fix="leave --input-format out", option="input_format", path=source)
    name = NAMES.get(kind) if kind != SHARD else None
    if name is None and input_format in ("auto", "ids") and id_files.format_of(source) == "ids":
        name = _foreign_tokenizer(source, kind)
    if name is not None:
        folder = Path(source).parent
        fix = f"name the folder: {folder}" if kind in (MANIFEST, LAYOUT) else "name a file of ids, or packed data"
        raise OptionError(f"{source} is {name}, not ids", where=source, fix=fix, option="source", path=source)
    beside = id_files.companion_of(source)
    if beside is not None:
        raise OptionError(
            f"{source} is {beside.name}, not ids", where=source, fix=beside.fix, option="source", path=source
        )


def _foreign_tokenizer(source: str, kind: str) -> str | None:
    """What a file of a tokenizer of another library is; None for other files."""
    head = read_file(source, HEAD_BYTES) if Path(source).is_file() else b""
    if kind == RANKS and not head.split()[0].isdigit():
        # Lines of two ids look like ranks, too.
        return "a rank file of tiktoken"
    if names_tokenizer(source):
        return "a tokenizer.json of Hugging Face"
    if content_of(head) not in (None, SENTENCEPIECE) or not head.strip():
        return None
    foreign = foreign_file(source, head)
    return foreign.name if foreign else None


def _read_ids(
    source: str, input_format: str, docs: str | None, tok: Tokenizer, *, by_row: bool
) -> Iterable[id_files.IdRow]:
    """The documents `docs` of a file of ids."""
    if source == STDIO:
        note_terminal()
    rows = id_files.read_ids(source, input_format, itemsize=tok.dtype.itemsize, by_row=by_row)
    if docs is None:
        return rows
    all_rows = list(rows)
    return [all_rows[index] for index in document_range(len(all_rows), docs, source)]


def _tokenizer_name(
    name: str | None, source: str, data: packed.Data | None, docs: str | None, split: str | None
) -> str:
    """The tokenizer to use: `name`, or that of packed data.

    Raises `OptionError` where there is none, and for `--docs` or `--split` of ids that have neither; `MissingInput`
    where the source does not exist.
    """
    found = name or (data and data.tokenizer)
    is_part = data is None and (split is not None or (docs is not None and not id_files.has_offsets(source)))
    if (is_part or found is None) and source != STDIO and not Path(source).exists():
        raise missing_input(source)
    if is_part:
        raise OptionError(
            f"--docs and --split need packed data, and {source!r} is not",
            limit="folders of slmtok pack; token files of nanoGPT, llama2.c, llm.c or numpy under their usual names",
            fix=_of_all(source, lacks_tokenizer=found is None),
            option="docs",
        )
    if found is None:
        raise OptionError(
            "--tokenizer is missing",
            where=f"{source}, which another program wrote" if data else "slmtok decode",
            fix=f"slmtok decode {shlex.quote(source)} -t tok.json",
            option="--tokenizer",
        )
    if name is None and not Path(str(found)).exists():
        raise MissingInput(
            f"the tokenizer {str(found)!r} of the packed data is lost",
            where=source,
            fix=f"slmtok decode {shlex.quote(source)} -t TOK names it",
            path=str(found),
        )
    return str(found)


def _of_all(source: str, *, lacks_tokenizer: bool) -> str:
    """The command that decodes all of a file of ids, with a tokenizer beside it where it `lacks_tokenizer`."""
    named = ["-t", tokenizer_beside(source) or "TOK"] if lacks_tokenizer else []
    words = without_options(arguments_of_command(), ("--docs", "--split"))
    return f"leave --docs and --split out: {command_line(click.get_current_context(), [*words, *named])}"


def _locate(error: UnknownId, where: str, tokenizer: Tokenizer) -> UnknownId:
    """The engine's error with the line or document that it is about; of an id that a model may pad with also that."""
    id = error.fields.get("id")
    error.where = f"{where}, {error.where}" if error.where else where
    if isinstance(id, int) and tokenizer.n_vocab <= id < tokenizer.padded_vocab:
        error.limit = f"{error.limit}; a model may have padding up to {tokenizer.padded_vocab - 1}"
        error.fix = f"{UNKNOWN_ID_FIX}; if a model gave them, mask its padding, as slm sample does"
    return complete_error(error)


def _to_text(data: bytes, errors: str, where: str) -> bytes:
    """The bytes to write: unchanged where they are UTF-8, else as `errors` says."""
    if errors == "keep":
        return data
    parts: list[bytes] = []
    try:
        for text in _blocks(data, errors):
            parts.append(text.encode())
    except UnicodeDecodeError as error:
        # The object begins behind the characters that were decoded.
        position = sum(map(len, parts)) + error.start
        raise InvalidText(
            f"the decoded bytes are not UTF-8 (byte 0x{data[position]:02X} at {position})",
            where=where,
            fix="--errors keep to write the bytes as they are, or --errors replace",
        ) from None
    return b"".join(parts)
