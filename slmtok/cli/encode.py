"""`slmtok encode`: text to ids, one document a line, or flat arrays for programs.

Documents are encoded in batches, so that memory follows a batch and not the corpus. Arrays are collected before they
are written, two or four bytes an id, except where the engine maps the input file and writes the output file itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from slmtok import specials
from slmtok.batching import batched
from slmtok.cli.files import (
    STDIO,
    check_json_output,
    check_output,
    known_size,
    open_tokenizer,
    refuse_terminal,
    writing,
)
from slmtok.cli.options import (
    argument,
    choice,
    command,
    option,
    options_of,
    output_options,
    threads_option,
    tokenizer_option,
)
from slmtok.cli.output import Outcome, grouped, settings, write_line
from slmtok.cli.progress import Progress
from slmtok.corpus.formats import FORMATS
from slmtok.corpus.streams import bare_suffix, is_plain
from slmtok.errors import OptionError
from slmtok.options import ReadOptions
from slmtok.sizes import format_bytes
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids
    from slmtok.tokenizer import Tokenizer

_FORMATS = ("ids", "tokens", "npy", "bin")
BATCH_BYTES = 16 << 20
"""Text that is encoded at a time."""
IDS_PER_WRITE = 1 << 16
"""Ids that are turned into text at a time."""


@command("encode", example="slmtok encode text.txt -t tok.json")
@argument("source", metavar="[FILE|-]", default=STDIO, help="The text; stdin by default.")
@tokenizer_option()
@option("--output-format", type=choice(*_FORMATS), metavar="|".join(_FORMATS), default="ids",
        help="Lines of ids, lines of tokens, a numpy array, or raw little-endian ids.")  # fmt: skip
@option("--offsets", is_flag=True, help="Write each id with the bytes that it covers, as id:start:end.")
@option("--allow-special", metavar="NAMES", multiple=True,
        help="Roles or spellings that the text may spell: they become special ids. all allows every one.")  # fmt: skip
@option("--bos", is_flag=True, help="Put the special bos before each document.")
@option("--eos", is_flag=True, help="Put the special eos behind each document.")
@options_of(ReadOptions, into="read", defaults={"format": "text"})
@threads_option()
@output_options()
def encode(
    tokenizer: str,
    source: str,
    output_format: str,
    offsets: bool,
    allow_special: tuple[str, ...],
    bos: bool,
    eos: bool,
    read: ReadOptions,
    threads: int,
    output: str | None,
    force: bool,
) -> Outcome:
    """Encode text to ids, on stdout by default, one document a line.

    Every file is read as text: JSON lines are encoded as they are, unless --format jsonl or auto selects the text of
    their records.

    The output formats npy and bin write the ids of all documents in one array, and FILE.offsets.npy beside it: where
    each document begins.
    """
    target = output or STDIO
    is_array = output_format in ("npy", "bin")
    warnings = _record_warnings(source, read)
    from slmtok.corpus import find

    files = find([source], read)
    _check(output_format, target, has_offsets=offsets, has_output=output is not None)
    beside = [target + ".offsets.npy"] if is_array else []
    check_output(target, *beside, inputs=[*files, tokenizer], force=force)
    with Progress(expected={"encode": known_size(files, read)}) as progress:
        job = EncodeJob(
            open_tokenizer(tokenizer), source, read, bos, eos, _names(allow_special), offsets, threads, progress
        )
        if settings().as_json and output is None:
            return Outcome(job.collect(), warnings=warnings)
        if output_format == "bin" and job.can_map and target != STDIO:
            job.write_mapped(target, force=force)
        elif is_array:
            job.write_array(target, has_header=output_format == "npy", force=force)
        else:
            with writing(target, force=force) as stream:
                job.write_lines(stream, as_tokens=output_format == "tokens")

    def summary() -> None:
        if target != STDIO:
            documents, tokens = grouped(job.totals["documents"]), grouped(job.totals["tokens"])
            write_line(f"{output}: {tokens} ids of {documents} documents, {format_bytes(job.totals['bytes'])}")

    result = {"path": target, **job.totals, "fingerprint": job.tokenizer.fingerprint}
    return Outcome(result, summary=summary, warnings=warnings)


def _names(values: Iterable[str]) -> tuple[str, ...]:
    """The names of `--allow-special`: repeated, or several in one value with commas between."""
    return tuple(name for value in values for name in ([value] if value == "," else value.split(",")) if name)


def _record_warnings(source: str, read: ReadOptions) -> tuple[str, ...]:
    """A warning for a file of records that is encoded as text."""
    if read.format != "text" or bare_suffix(source) not in FORMATS["jsonl"].suffixes:
        return ()
    return (f"{source} was encoded as it is, JSON included; --format jsonl encodes the text of its records",)


def _check(output_format: str, target: str, *, has_offsets: bool, has_output: bool) -> None:
    if has_offsets and output_format != "ids":
        raise OptionError(
            f"--offsets needs --output-format ids, not {output_format}",
            where="slmtok encode",
            fix="--output-format ids",
            option="offsets",
        )
    if has_output:
        check_json_output(target)
    elif settings().as_json and output_format != "ids":
        raise OptionError(
            f"--json without -o prints ids, not --output-format {output_format}", fix="-o FILE", option="json"
        )
    if output_format in ("npy", "bin"):
        refuse_terminal(target, f"--output-format {output_format}")


@dataclass(frozen=True)
class Encoded:
    """One document: its ids, and the bytes of its text."""

    ids: Ids
    n_bytes: int


@dataclass
class EncodeJob:
    """One run of `slmtok encode`. `totals` counts the documents encoded so far."""

    tokenizer: Tokenizer
    source: str
    read: ReadOptions
    bos: bool
    eos: bool
    allow: tuple[str, ...]
    has_spans: bool
    threads: int
    progress: Progress
    totals: dict[str, int] = field(default_factory=lambda: {"documents": 0, "bytes": 0, "tokens": 0})

    def __post_init__(self) -> None:
        """Raises `UnknownSpecial` for a name that the tokenizer does not have."""
        needed = [name for name in self.allow if name != "all"]
        needed += ["bos"] * self.bos + ["eos"] * self.eos
        for name in needed:
            self.tokenizer.specials.find(name)

    def documents(self) -> Iterator[Encoded]:
        """The encoded documents of the source, in order."""
        from slmtok.corpus import find
        from slmtok.corpus import read as read_corpus

        texts = (document.text for document in read_corpus(find(self.source, self.read), self.read))
        for batch in batched(texts, BATCH_BYTES):
            for encoded in self._encode(batch):
                self.totals["documents"] += 1
                self.totals["bytes"] += encoded.n_bytes
                self.totals["tokens"] += len(encoded.ids)
                yield encoded

    def _encode(self, texts: list[bytes]) -> Iterator[Encoded]:
        if self.allow:
            allow = "all" if "all" in self.allow else self.allow
            for text in texts:
                yield Encoded(self.tokenizer.encode(text, bos=self.bos, eos=self.eos, allow_special=allow), len(text))
            return
        rows = self.tokenizer.encode_batch(
            texts, threads=self.threads, bos=self.bos, eos=self.eos, progress=self.progress
        )
        for ids, text in zip(rows, texts, strict=True):
            yield Encoded(ids, len(text))

    @cached_property
    def _widths(self) -> NDArray[np.int64]:
        """The bytes of the text that each id covers; a special covers its spelling."""
        widths = self.tokenizer.byte_lengths().astype("int64")
        for spelling, id in specials.allowed_spellings(self.tokenizer.specials, "all").items():
            widths[id] = len(spelling.encode())
        return widths

    def spans(self, ids: Ids) -> Iterator[NDArray[np.int64]]:
        """`id, start, end` of each id of one document, shape (n, 3), a part at a time. bos and eos cover nothing."""
        import numpy as np

        done = 0
        for first in range(0, len(ids), IDS_PER_WRITE):
            part = ids[first : first + IDS_PER_WRITE]
            widths = self._widths[part]
            if self.bos and first == 0:
                widths[0] = 0
            if self.eos and first + len(part) == len(ids):
                widths[-1] = 0
            ends = done + np.cumsum(widths)
            done = int(ends[-1])
            yield np.stack([part.astype(np.int64), ends - widths, ends], axis=1)

    def write_lines(self, stream: BinaryIO, *, as_tokens: bool) -> None:
        """One document a line: ids, `id:start:end`, or printable tokens."""
        words = _TokenWords(self.tokenizer) if as_tokens else None
        for encoded in self.documents():
            gap = b""
            for part in self._line_parts(encoded.ids, words):
                stream.write(gap + part.encode())
                gap = b" "
            stream.write(b"\n")

    def _line_parts(self, ids: Ids, words: _TokenWords | None) -> Iterator[str]:
        if words is None and self.has_spans:
            for rows in self.spans(ids):
                yield " ".join(["%d:%d:%d"] * len(rows)) % tuple(rows.ravel().tolist())
            return
        for start in range(0, len(ids), IDS_PER_WRITE):
            part = ids[start : start + IDS_PER_WRITE].tolist()
            yield " ".join(map(str if words is None else words.word, part))

    def write_array(self, target: str, *, has_header: bool, force: bool) -> None:
        """All ids in one array; beside a file its `.offsets.npy`: int64, one more than documents."""
        import numpy as np

        from slmtok import atomic
        from slmtok.id_arrays import write_npy

        parts = list(self.documents())
        dtype = self.tokenizer.dtype.newbyteorder("<")
        ids = np.concatenate([part.ids for part in parts] or [np.empty(0, dtype)]).astype(dtype, copy=False)
        if target == STDIO:
            _write_ids(sys.stdout.buffer, ids, has_header)
            return
        offsets = np.zeros(len(parts) + 1, dtype=np.dtype("<i8"))
        np.cumsum([len(part.ids) for part in parts], out=offsets[1:])
        with atomic.outputs(target, target + ".offsets.npy", force=force) as (ids_path, offsets_path):
            with ids_path.open("wb") as file:
                _write_ids(file, ids, has_header)
            with offsets_path.open("wb") as file:
                write_npy(file, offsets)

    @property
    def can_map(self) -> bool:
        """Whether the engine can read the source itself, so that neither text nor ids are held in memory."""
        is_whole_text = self.read.format == "text" and self.read.separator is None and not self.read.is_selective
        is_plain_file = is_plain(self.source) and Path(self.source).is_file()
        return is_plain_file and is_whole_text and not (self.has_spans or self.allow)

    def write_mapped(self, target: str, *, force: bool) -> None:
        """As `write_array` without a header, from file to file within the engine."""
        rows = self.tokenizer.encode_files(
            self.source,
            target,
            document=self.read.document,
            threads=self.threads,
            bos=self.bos,
            eos=self.eos,
            force=force,
            progress=self.progress,
        )
        lengths = self.tokenizer.byte_lengths()
        parts = (rows.ids[start : start + IDS_PER_WRITE] for start in range(0, len(rows.ids), IDS_PER_WRITE))
        n_bytes = sum(int(lengths[part].sum(dtype="int64")) for part in parts)
        self.totals.update(documents=len(rows), tokens=len(rows.ids), bytes=n_bytes)

    def collect(self) -> dict[str, object]:
        """All documents as `--json` prints them: ids and, with `--offsets`, spans."""
        rows: list[dict[str, object]] = []
        for encoded in self.documents():
            row: dict[str, object] = {"ids": encoded.ids.tolist()}
            if self.has_spans:
                row["spans"] = [span for part in self.spans(encoded.ids) for span in part[:, 1:].tolist()]
            rows.append(row)
        return {"fingerprint": self.tokenizer.fingerprint, "totals": self.totals, "documents": rows}


class _TokenWords:
    """The printable word of each id, cached."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._words: dict[int, str] = {}

    def word(self, id: int) -> str:
        found = self._words.get(id)
        if found is None:
            found = self._words[id] = escape_token(self._tokenizer.token_bytes(id))
        return found


def _write_ids(stream: BinaryIO, ids: NDArray[np.generic], has_header: bool) -> None:
    if has_header:
        from slmtok.id_arrays import write_npy

        write_npy(stream, ids)
    else:
        stream.write(ids.data)
