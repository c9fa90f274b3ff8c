"""`slmtok encode`: text to ids, one document a line, or flat arrays for programs.

Documents are encoded in batches, so that memory follows a batch and not the corpus. Arrays are collected before they
are written, two or four bytes an id, except where the engine maps the input file and writes the output file itself.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from slmtok import corpus
from slmtok.batching import batched
from slmtok.cli.arguments import options_by_flag, without_options
from slmtok.cli.errors import EXTRA
from slmtok.cli.files import STDIO, add_notes, check_output, known_size, read_texts, refuse_missing, text_files, writing
from slmtok.cli.options import (
    Habit,
    argument,
    arguments_of_command,
    choice,
    command,
    instead,
    is_given,
    option,
    options_of,
    output_options,
    threads_option,
    tokenizer_option,
)
from slmtok.cli.output import Outcome, again_with, counted, settings
from slmtok.cli.progress import Progress
from slmtok.cli.reports import unusual_warnings
from slmtok.cli.text_argument import eval_line, is_text, piped
from slmtok.corpus.contents import check_texts, records_as_text, refuse_own_files, text_head_of
from slmtok.corpus.streams import bare_suffix, is_mappable
from slmtok.corpus.unnamed_tables import records_among
from slmtok.errors import Message, MissingInput, OptionError, Setting, UnknownSpecial, suggestion
from slmtok.files import free_name
from slmtok.formats import id_files
from slmtok.id_arrays import NOT_RAW, OFFSETS_SUFFIX, encode_files
from slmtok.opening import load
from slmtok.options import ReadOptions
from slmtok.path_arguments import BINARY_SUFFIXES
from slmtok.sizes import format_bytes
from slmtok.specials import foreign_spelling, spellings_meant
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids
    from slmtok.tokenizer import Tokenizer

BATCH_BYTES = 16 << 20
"""Text that is encoded at a time."""
IDS_PER_WRITE = 1 << 16
"""Ids that are turned into text at a time."""

_NOT_ARRAY = (".bin", *(suffix for suffix in NOT_RAW if suffix != ".npy"))
"""Suffixes of outputs that hold something else than a numpy array."""
_NOT_LINES = (*BINARY_SUFFIXES, ".json", ".jsonl")
"""Suffixes of outputs that hold something else than lines of ids or tokens."""


def _text(value: str | None, arguments: Sequence[str]) -> str:
    """The command that reads a text from stdin, for a text as the value of an option."""
    return piped("some text" if value is None else value, "encode", arguments)


def _words(value: str | None, arguments: Sequence[str]) -> str:
    """The same for words of a text as arguments; "" where one of them is a file."""
    taking = {flag for flag, option in options_by_flag(encode).items() if not option.is_flag}
    given = pairwise(["", *arguments])
    words = [each for before, each in given if before not in taking and not each.startswith("-")]
    return "" if any(map(os.path.exists, words)) else piped(" ".join(words), "encode", arguments, words)


def _n_tokens(value: str | None, arguments: Sequence[str]) -> str:
    """The command that counts the ids."""
    return eval_line(encode, arguments)


_HABITS: dict[str, Habit] = {
    "--model": instead("-t {}", "tok.json"),
    **dict.fromkeys(("--text", "--string", "--prompt"), _text),
    EXTRA: _words,
    "--dtype": instead("leave it out: ids have two bytes up to 65,536 ids, else four"),
    **dict.fromkeys(
        ("--max-length", "--truncation", "--padding", "--pad"),
        instead("leave it out: encode keeps each text whole; in Python, slmtok.compat.as_hf(tok) cuts and pads"),
    ),
    "--add-special-tokens": instead("--bos --eos"),
    "--return-tensors": lambda value, arguments: "--output-format npy",
    **dict.fromkeys(("--count", "--num-tokens", "--n-tokens"), _n_tokens),
}
"""Options of other tools, each with what stands for it here."""
_FORMATS = {"piece": "tokens", "pieces": "tokens", "id": "ids"}
"""Output formats of sentencepiece, each with ours."""


@command("encode", example="slmtok encode text.txt -t tok.json",
         habits=_HABITS)  # fmt: skip
@argument("source", metavar="[FILE|-]", default=STDIO, help="The text; stdin by default.")
@tokenizer_option()
@option("--output-format", type=choice("ids", "tokens", "npy", "bin", foreign=_FORMATS), metavar="ids|tokens|npy|bin",
        default="ids",
        help="Lines of ids, lines of tokens, a numpy array, or raw little-endian ids.")  # fmt: skip
@option("--offsets", is_flag=True, help="Write each id with the bytes that it covers, as id:start:end.")
@option("--allow-special", metavar="NAMES", multiple=True,
        help="Roles or spellings that the text may spell: they become special ids. all allows every one.")  # fmt: skip
@option("--bos", is_flag=True, help="Put the special bos before each document.")
@option("--eos", is_flag=True, help="Put the special eos after each document.")
@options_of(ReadOptions, into="read", skip=("domains",), defaults={"format": "text"})
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
    their records. Files of slmtok, such as packed data, and files that are not text are refused unless --format
    text is given.

    The output formats npy and bin write the ids of all documents in one array, and FILE.offsets.npy beside it: where
    each document begins.
    """
    target = output or STDIO
    is_array = output_format in ("npy", "bin")
    _check(output_format, target, has_offsets=offsets, has_output=output is not None)
    _refuse_fields(source, read)
    refuse_missing([tokenizer])
    files = _find(source, read)
    beside = [target + OFFSETS_SUFFIX] if is_array else []
    check_output(target, *beside, inputs=[*files, tokenizer], force=force)
    _check_name(output_format, target)
    with Progress(expected={"encode": known_size(files, read)}) as progress:
        try:
            job = EncodeJob(load(tokenizer), files, read, bos, eos, _names(allow_special), threads, progress)
        except UnknownSpecial as error:
            flags = [name for name, is_added in (("bos", bos), ("eos", eos)) if is_added]
            _explain_specials(error, tokenizer, flags, _names(allow_special))
            raise
        if settings().as_json and output is None:
            return Outcome(job.collect(has_spans=offsets), warnings=_warnings(source, job, tokenizer))
        if output_format == "bin" and job.can_map(source) and not offsets and target != STDIO:
            job.write_mapped(source, target, force=force)
        elif is_array:
            dtype = job.tokenizer.dtype
            id_files.write_ids(target, list(job.documents()), dtype, has_header=output_format == "npy", force=force)
        else:
            with writing(target, force=force) as stream:
                if offsets or output_format == "tokens":
                    job.write_lines(stream, as_tokens=output_format == "tokens", has_spans=offsets)
                else:
                    job.write_ids(stream)

    array = output_format if is_array and target == STDIO else None
    ids, documents = counted(job.totals["tokens"], "id"), counted(job.totals["documents"], "document")
    line = f"{output}: {ids} of {documents}, {format_bytes(job.totals['bytes'])}"
    result = {"path": target, **job.totals, "fingerprint": job.tokenizer.fingerprint}
    return Outcome(result, summary="" if target == STDIO else line, warnings=_warnings(source, job, tokenizer, array))


def _find(source: str, read: ReadOptions) -> list[str]:
    """The source as a corpus. Raises `MissingInput`, which shows how text itself is encoded, and as `corpus.find`.

    A file of slmtok, a run of slm, or a file that is not text is encoded where --format text is given.
    """
    try:
        found = text_files([source], read)
        if not is_given("format"):
            by_content = replace(read, format="auto")
            refuse_own_files([source], found, by_content)
            check_texts(found, read, is_any_read=False)
            if records := records_as_text(found, by_content):
                add_notes([_records_note("stdin" if records.path == STDIO else records.path, records.format)])
        return found
    except MissingInput as error:
        if is_text(source):
            error.where, error.fix = None, "for text: " + piped(source, "encode", arguments_of_command(), [source])
        raise


def _refuse_fields(source: str, read: ReadOptions) -> None:
    """Raises `OptionError` for a field of records, be it the default, where the source is encoded as text."""
    name = next((name for name in ("text_key", "text_template") if is_given(name)), None)
    if name is None or corpus.FORMATS.get(read.format, corpus.FORMATS["jsonl"]).records:
        return
    without: Message = ("leave ", Setting(name), " out")
    found = _format_of_name(source) or records_among([source], replace(read, format="auto"))
    raise OptionError(
        (Setting(name, getattr(read, name)), f" names a field, and encode reads {source!r} as text"),
        limit="encode reads a file as it is, unless --format names its records",
        fix=(Setting("format", found),) if found else without,
        option=name,
    )


def _names(values: Iterable[str]) -> tuple[str, ...]:
    """The names of `--allow-special`: repeated, or several in one value with commas between.

    Raises `OptionError` for a value without a name.
    """
    values = list(values)
    if "" in values:
        raise OptionError(
            "--allow-special is empty",
            limit="roles or spellings, or all",
            fix="--allow-special all, or leave it out",
            option="allow_special",
        )
    return tuple(name for value in values for name in ([value] if value == "," else value.split(",")) if name)


def _explain_specials(error: UnknownSpecial, tokenizer: str, flags: Sequence[str], names: Sequence[str]) -> None:
    """Changes the fix to the command that gives the tokenizer the specials which it lacks, if it has ids for them.

    flags: roles of the options --bos and --eos; names: those of --allow-special.
    """
    specials = load(tokenizer).specials
    options = {name: f"--allow-special {shlex.quote(name)}" for name in names if name != "all"}
    options |= {name: f"--{name}" for name in flags}
    lacking = [name for name in options if name not in specials and name not in specials.spellings]
    meant = {name: spelling for name in lacking if (spelling := specials.spelling_meant(name)) != name}
    lacking = [meant.get(name, name) for name in lacking]
    options |= {meant[name]: options[name] for name in meant}
    roles = {name: role for name in lacking if name.isidentifier() and (role := specials.role_meant(name))}
    if not specials.n_reserved:
        # Nothing but a misspelt name can be meant.
        roles |= {name: near for name in lacking if (near := suggestion(name, specials.spellings))}
    meant |= roles
    allowed = f"--allow-special {shlex.quote(','.join(meant.get(name, name) for name in names))}"
    lacking = [name for name in lacking if name not in roles]
    if not lacking:
        error.fix = allowed
        return
    spelled = spellings_meant(lacking)
    new = [role for role in spelled if role not in specials]
    if len(new) > specials.n_reserved:
        error.limit = specials.none_reserved
        packed = "; slmtok pack adds bos and eos as new ids" if {*new} <= {"bos", "eos"} else ""
        error.fix = f"leave {' and '.join(options[name] for name in lacking)} out{packed}"
        return
    pairs = " ".join(shlex.quote(f"{role}={text}") for role, text in spelled.items())
    output = free_name("with-special.json")
    error.fix = f"slmtok set-special {shlex.quote(tokenizer)} {pairs} -o {output} # and name -t {output}"
    if meant:
        error.fix += f" {allowed}"


def _warnings(source: str, job: EncodeJob, tokenizer: str, array: str | None = None) -> tuple[str, ...]:
    """Warnings for zero bytes, spellings that are no special, and a file of records that is encoded as text.

    tokenizer: its name. array: the format of an array on stdout, which has no document offsets.
    """
    zeros = tuple(unusual_warnings((0, 0, job.zeros)))
    if job.foreign:
        spelling, role = job.foreign
        pair, output = shlex.quote(f"{role}={spelling}"), free_name("with-special.json")
        fix = f"; slmtok set-special {shlex.quote(tokenizer)} {pair} -o {output} makes one that has it" if role else ""
        zeros += (f"{spelling!r} of the text is no special token of the tokenizer and stays text{fix}",)
    if array and job.totals["documents"] > 1:
        documents = counted(job.totals["documents"], "document")
        with_file = again_with(f"-o {free_name(f'ids.{array}')}")
        zeros += (f"{documents} are one array on stdout; {with_file} also writes where each begins",)
    format = _format_of_name(source) if job.read.format == "text" else None
    # One object of JSON is no record.
    if format is None or (format == "json" and not text_head_of(source, job.read).lstrip().startswith(b"[")):
        return zeros
    return (*zeros, _records_note(source, format))


def _format_of_name(source: str) -> str | None:
    """The format of records that the name of a source says; None for other names."""
    suffix = bare_suffix(source)
    return next((name for name, each in corpus.FORMATS.items() if each.records and suffix in each.suffixes), None)


def _records_note(source: str, format: str) -> str:
    included = "all columns" if format in ("csv", "tsv") else "JSON"
    again = again_with(f"--format {format}")
    return f"{source} was encoded as it is, {included} included; {again} for the text of its records"


def _check(output_format: str, target: str, *, has_offsets: bool, has_output: bool) -> None:
    if has_offsets and output_format != "ids":
        raise OptionError(
            f"--offsets needs --output-format ids, not {output_format}",
            fix=_as_ids(target),
            option="offsets",
        )
    if settings().as_json and output_format != "ids" and not has_output:
        raise OptionError(
            f"--json without -o prints ids, not --output-format {output_format}", fix="-o FILE", option="json"
        )
    if output_format in ("npy", "bin") and target == STDIO and sys.stdout.isatty():
        raise OptionError(
            f"--output-format {output_format} is binary, and stdout is a terminal", fix="-o FILE", option="output"
        )


def _as_ids(target: str) -> str:
    """The command line without an output format, and with the name of a text as its output."""
    name = free_name(str(Path(target).with_suffix(".txt"))) if Path(target).suffix.lower() in _NOT_LINES else target
    words = without_options(arguments_of_command(), ("--output-format",))
    renamed = {target: name, f"--output={target}": f"--output={name}"}
    return shlex.join(["slmtok", "encode", *(renamed.get(word, word) for word in words)])


def _check_name(output_format: str, target: str) -> None:
    """Raises `OptionError` for ids or tokens under the name of another kind of file."""
    suffix = Path(target).suffix.lower()
    if (output_format == "bin" and suffix in NOT_RAW) or (output_format == "npy" and suffix in _NOT_ARRAY):
        other = "npy" if output_format == "bin" else "bin"
        name = f"-o {shlex.quote(free_name(str(Path(target).with_suffix(f'.{output_format}'))))}"
        raise OptionError(
            f"{target!r} would hold {'raw ids' if output_format == 'bin' else 'a numpy array'}, "
            f"which {suffix} does not stand for",
            limit=f"--output-format is {output_format}",
            fix=f"--output-format {other}, or {name}" if suffix == f".{other}" else name,
            option="output",
        )
    if output_format in ("ids", "tokens") and suffix in _NOT_LINES:
        array = suffix[1:] if suffix in (".npy", ".bin") else "npy"
        name = "" if suffix == f".{array}" else f" -o {shlex.quote(free_name(str(Path(target).with_suffix('.npy'))))}"
        as_json = ", or --json > " + shlex.quote(target) if suffix == ".json" and output_format == "ids" else ""
        raise OptionError(
            f"{target!r} would hold text: --output-format is {output_format}",
            limit=f"a name ending {suffix} says that the file does not hold lines of {output_format}",
            fix=f"--output-format {array}{name}{as_json or ', or another name'}",
            option="output_format",
        )


@dataclass
class EncodeJob:
    """One run of `slmtok encode`. `totals` counts what has been encoded so far, `zeros` the zero bytes in it."""

    tokenizer: Tokenizer
    files: list[str]
    read: ReadOptions
    bos: bool
    eos: bool
    allow: tuple[str, ...]
    threads: int
    progress: Progress
    totals: dict[str, int] = field(default_factory=lambda: {"documents": 0, "bytes": 0, "tokens": 0})
    zeros: int = 0
    foreign: tuple[str, str | None] | None = None
    """Of `--allow-special`: a spelling in the text that is no special, and the role to give it."""

    def __post_init__(self) -> None:
        """Raises `UnknownSpecial` for a name that the tokenizer does not have."""
        for name in [*self.allow, *(["bos"] * self.bos), *(["eos"] * self.eos)]:
            if name != "all":
                self.tokenizer.specials.find(name)

    def _batches(self) -> Iterator[list[bytes]]:
        """The documents of the source, in order, each counted before it is encoded."""
        for texts in batched(read_texts(self.files, self.read), BATCH_BYTES):
            self.totals["documents"] += len(texts)
            self.totals["bytes"] += sum(map(len, texts))
            self.zeros += sum(text.count(0) for text in texts)
            yield texts

    def documents(self) -> Iterator[Ids]:
        """The ids of each document of the source, in order."""
        for texts in self._batches():
            for ids in self._encode(texts):
                self.totals["tokens"] += len(ids)
                yield ids

    def _encode(self, texts: list[bytes]) -> Iterable[Ids]:
        bos, eos = self.bos, self.eos
        if self.allow:
            allow = "all" if "all" in self.allow else self.allow
            for text in texts:
                self.foreign = self.foreign or foreign_spelling(text, self.tokenizer.specials, allow)
            return (self.tokenizer.encode(text, bos=bos, eos=eos, allow_special=allow) for text in texts)
        return self.tokenizer.encode_batch(texts, threads=self.threads, bos=bos, eos=eos, progress=self.progress)

    def write_ids(self, stream: BinaryIO) -> None:
        """One document a line, its ids as decimal numbers: in the engine, which needs no numpy for it."""
        if self.allow:
            return self.write_lines(stream)
        options: Any = {"threads": self.threads, **self.tokenizer._delimiters(bos=self.bos, eos=self.eos)}
        for texts in self._batches():
            written = self.tokenizer._encoder.encode_lines(texts, stream.write, progress=self.progress, **options)
            self.totals["tokens"] += written
        return None

    @cached_property
    def _widths(self) -> NDArray[np.int64]:
        """The bytes of the text that each id covers; a special covers its spelling."""
        from slmtok.specials import allowed_spellings

        widths = self.tokenizer.byte_lengths().astype("int64")
        for spelling, id in allowed_spellings(self.tokenizer.specials, "all").items():
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

    def write_lines(self, stream: BinaryIO, *, as_tokens: bool = False, has_spans: bool = False) -> None:
        """One document a line: ids, `id:start:end`, or printable tokens."""
        word = cache(lambda id: escape_token(self.tokenizer.token_bytes(id))) if as_tokens else str
        for ids in self.documents():
            gap = b""
            for part in self.spans(ids) if has_spans else _parts(ids):
                if has_spans:
                    line = " ".join(["%d:%d:%d"] * len(part)) % tuple(part.ravel().tolist())
                else:
                    line = " ".join(map(word, part.tolist()))
                stream.write(gap + line.encode())
                gap = b" "
            stream.write(b"\n")

    def can_map(self, source: str) -> bool:
        """Whether the engine can read the source itself, so that neither text nor ids are held in memory."""
        is_whole_text = self.read.format == "text" and self.read.separator is None and not self.read.is_selective
        return is_whole_text and not self.allow and is_mappable(source, self.read)

    def write_mapped(self, source: str, target: str, *, force: bool) -> None:
        """As `write_ids` without a header, from file to file within the engine."""
        # Not by way of `Tokenizer.encode_files`, which refuses binary data: --format text reads them.
        rows = encode_files(
            self.tokenizer._encoder,
            source,
            target,
            document=self.read.document,
            threads=self.threads,
            delimiters=self.tokenizer._delimiters(bos=self.bos, eos=self.eos),
            max_doc_bytes=self.read.max_doc_bytes,
            force=force,
            progress=self.progress,
        )
        lengths, zero = self.tokenizer.byte_lengths(), self.tokenizer.token_id(b"\0")
        n_bytes, has_zeros = 0, False
        for part in _parts(rows.ids):
            n_bytes += int(lengths[part].sum(dtype="int64"))
            has_zeros = has_zeros or bool((part == zero).any())
        if has_zeros:
            # Counted in the text, which is exact where tokens hold several.
            with Path(source).open("rb") as file:
                self.zeros = sum(block.count(0) for block in iter(lambda: file.read(BATCH_BYTES), b""))
        self.totals.update(documents=len(rows), tokens=len(rows.ids), bytes=n_bytes)

    def collect(self, *, has_spans: bool) -> dict[str, object]:
        """All documents as `--json` prints them: ids and, with `--offsets`, spans."""
        rows: list[dict[str, object]] = []
        for ids in self.documents():
            rows.append({"ids": ids.tolist()})
            if has_spans:
                rows[-1]["spans"] = [span for part in self.spans(ids) for span in part[:, 1:].tolist()]
        return {"fingerprint": self.tokenizer.fingerprint, "totals": self.totals, "documents": rows}


def _parts(ids: Ids) -> Iterator[Ids]:
    return (ids[start : start + IDS_PER_WRITE] for start in range(0, len(ids), IDS_PER_WRITE))
