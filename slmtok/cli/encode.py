"""`slmtok encode`: text to ids. One document a line, or flat arrays for programs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from slmtok.cli import _corpus, _files, _ids, _numbers, _options, _output
from slmtok.cli._corpus_options import with_corpus_as
from slmtok.cli._progress import Progress
from slmtok.corpus import ReadOptions, find
from slmtok.corpus.readers import READERS
from slmtok.corpus.streams import bare_suffix
from slmtok.errors import InvalidOption

_KINDS = ("ids", "tokens", "npy", "bin")


_Source = Annotated[str, typer.Argument(metavar="[FILE|-]", help="The text.", show_default="stdin")]
_To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="|".join(_KINDS),
        parser=_options.choice(*_KINDS),
        help="Lines of ids, lines of tokens, a numpy array, or raw little-endian ids.",
    ),
]
_Offsets = Annotated[bool, typer.Option("--offsets", help="Each id with the bytes it stands for, as id:start:end.")]
_AllowSpecial = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-special",
        metavar="NAMES",
        help="Roles or spellings that become control ids where the text spells them; all for every one.",
        show_default=False,
    ),
]
_Bos = Annotated[bool, typer.Option("--bos", help="Begin each document with the special bos.")]
_Eos = Annotated[bool, typer.Option("--eos", help="End each document with the special eos.")]


@with_corpus_as(format="text")
def encode(
    tokenizer: _options.TokenizerOption,
    source: _Source = "-",
    to: _To = "ids",
    offsets: _Offsets = False,
    allow_special: _AllowSpecial = None,
    bos: _Bos = False,
    eos: _Eos = False,
    *,
    read: ReadOptions,
    threads: _options.Threads = 0,
    output: _options.Output = None,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Turn text into ids: on stdout, one document a line, unless told otherwise.

    A file is text, whatever its name: records of JSON lines are encoded as they stand, unless --format jsonl or auto
    asks for their text.

    --to npy and --to bin write the ids of all documents in one array and, beside it, FILE.offsets.npy: where each
    begins.
    """
    target = output or _files.STDIO
    warnings = _records(source, read)
    files = find([source], read)
    _check(to, target, offsets=offsets, as_json=as_json, to_file=output is not None)
    beside = [target + ".offsets.npy"] if to in ("npy", "bin") else []
    _files.check_output(target, *beside, inputs=[*files, tokenizer], force=force)
    plan = _ids.Plan(
        source=source,
        read=read,
        bos=bos,
        eos=eos,
        allow=_ids.special_names(allow_special or []),
        spans=offsets,
        threads=threads,
    )
    with Progress(quiet=quiet, expected={"encode": _corpus.plain_size(files, read)}) as progress:
        job = _ids.Job(tokenizer, plan, progress)
        if as_json and output is None:
            return _output.Outcome(job.collect(), warnings=warnings)
        if to == "bin" and job.can_map and target != _files.STDIO:
            job.write_mapped(target, force=force)
        elif to in ("npy", "bin"):
            job.write_array(target, numpy_header=to == "npy", force=force)
        else:
            with _files.writing(target, force=force) as stream:
                job.write_lines(stream, tokens=to == "tokens")

    def show() -> None:
        for warning in () if quiet else warnings:
            _output.note(warning)
        if output not in (None, _files.STDIO) and not quiet:
            sys.stdout.write(f"{output}: {_summary(job.totals)}\n")

    done = {"path": target, **job.totals, "fingerprint": job.tokenizer.fingerprint}
    return _output.Outcome(done, show, warnings=warnings)


def _summary(totals: dict[str, int]) -> str:
    documents, tokens = (_numbers.grouped(totals[key]) for key in ("documents", "tokens"))
    return f"{tokens} ids of {documents} documents, {_numbers.in_bytes(totals['bytes'])}"


def _records(source: str, read: ReadOptions) -> tuple[str, ...]:
    """A note about files whose records training would read, and which are text here."""
    if read.format != "text" or bare_suffix(source) not in READERS["jsonl"].suffixes:
        return ()
    return (f"{source} was encoded as it is, JSON and all; --format jsonl encodes the text of its records",)


def _check(to: str, target: str, *, offsets: bool, as_json: bool, to_file: bool) -> None:
    if offsets and to != "ids":
        raise InvalidOption(
            f"--offsets goes with --to ids, not with --to {to}", where="slmtok encode", fix="--to ids", option="offsets"
        )
    if to_file:
        _files.not_with_json(target, as_json)
    elif as_json and to != "ids":
        raise InvalidOption(f"--json without -o prints ids, not --to {to}", fix="-o FILE", option="json")
    if to in ("npy", "bin"):
        _files.refuse_terminal(target, f"--to {to}")
