"""`slmtok align`: where one model spends more bits than another, byte by byte."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slmtok.analysis.align import Alignment, Losses, Segment, Sums, check_scored, read_losses
from slmtok.analysis.align import align as align_losses
from slmtok.cli.arguments import arguments_of, command_line, is_packed, without_options
from slmtok.cli.files import (
    PAGE,
    check_is_file,
    check_output,
    names_tokenizer,
    read_texts,
    text_files,
    writing,
)
from slmtok.cli.loss_files import lacking_losses, run_of
from slmtok.cli.needed import NEVER
from slmtok.cli.options import INTEGER, argument, command, option, options_of, output_options
from slmtok.cli.output import Outcome, counted, table, write_text
from slmtok.cli.progress import Progress
from slmtok.errors import MissingInput, OptionError
from slmtok.file_kinds import LOSSES, is_run, kind_of_file
from slmtok.files import free_name, similar_file
from slmtok.options import ReadOptions
from slmtok.sizes import format_bytes
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.aliases import Progress as Report

MAX_SHOWN = 60
"""Characters of a string in the table."""


def _refuse_tokenizers(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The second argument. Raises `OptionError` where both are tokenizers, which another command compares."""
    both = [ctx.params.get("a"), value]
    if all(isinstance(each, str) and names_tokenizer(each) for each in both):
        given = arguments_of(ctx)
        on = [word for flag, text in pairwise(given) if flag == "--on" for word in (flag, text)]
        raise OptionError(
            f"{' and '.join(map(repr, both))} are tokenizers, not losses of models on a text",
            where=ctx.command_path,
            limit="files that slm eval RUN --losses FILE wrote; slmtok diff compares tokenizers",
            fix=shlex.join(["slmtok", "diff", *map(str, both), *on]),
            option="a",
        )
    return value


@command("align", example="slmtok align a.losses b.losses --on val.jsonl",
         habits=lacking_losses("slmtok align", needs_text=True))  # fmt: skip
@argument("a", metavar="A", help="Losses of one model, from slm eval RUN --losses A.")
@argument("b", metavar="B", callback=_refuse_tokenizers,
          help="Losses of the other model, from slm eval RUN --losses B.")  # fmt: skip
@option("--on", metavar="TEXT|DATA", multiple=True, required=True,
        help="The text that was scored, or the packed data. Repeat for several texts.")  # fmt: skip
@option("--top", metavar="N", type=INTEGER, default=10, help="How many strings the tables have.")
@options_of(ReadOptions, into="read", needs={"domains": NEVER})
@output_options(help="Write a page with the text coloured by bits.")
def align(a: str, b: str, on: tuple[str, ...], top: int, read: ReadOptions, output: str | None, force: bool) -> Outcome:
    """Compare the losses of two models on a text, with different tokenizers if need be: which strings cost more bits.

    A and B are files that slm eval RUN --losses FILE wrote. Bits are compared between places where tokens of both
    models end, by kind of string, and for the strings that gain and lose most.
    """
    from slmtok.pages.loss_map import MAX_MAP_BYTES, loss_map

    if output is not None:
        check_is_file(output)
        check_output(output, inputs=[a, b, *on], force=force, content=PAGE)
    _refuse_exchanged(a, b, on)
    _refuse_runs(a, b, on, read)
    with _score_missing(a, b, on):
        first, second = read_losses(a), read_losses(b)
    texts = _texts(on, read, first)
    found, mapped = Alignment(), list[list[Segment]]()
    room = MAX_MAP_BYTES if output is not None else -1
    with Progress() as progress, _score_both(a, b, on):
        for document in align_losses(first, second, _counted(texts, progress)):
            found.documents += 1
            if room >= 0:
                # The last one may go beyond the limit.
                mapped.append(document)
                room -= sum(len(segment.text) for segment in document)
            for segment in document:
                found.add(segment)
    if output is not None:
        with writing(output, force=force) as file:
            file.write(loss_map(mapped, a, b).encode())
    result = _result(found, first, second, top) | ({"path": output} if output else {})
    return Outcome(result, lambda: write_text(_table(result)))


def _texts(on: Sequence[str], read: ReadOptions, losses: Losses) -> Iterable[bytes]:
    """The documents of texts; of packed data those of the split that has as many bytes as the losses, else val."""
    if len(on) != 1 or not is_packed(on[0]):
        return read_texts(text_files(on, read), read)
    from slmtok.analysis.audit import packed_documents
    from slmtok.shards import open_shards
    from slmtok.shards.check import packed_tokenizer

    shards = open_shards(on[0])
    tokenizer = packed_tokenizer(shards.folder, shards.fingerprint)
    n_bytes = {name: sum(shard.entry["bytes"] for shard in shards.shards[name]) for name in shards.splits}
    # slm eval scores val, where there is one.
    names = sorted(n_bytes, key=lambda name: (n_bytes[name] != losses.nbytes.sum(), name != "val"))
    batches = packed_documents(tokenizer, shards, names[:1])
    return (document for documents, _ in batches for document in documents)


def _refuse_exchanged(a: str, b: str, on: Sequence[str]) -> None:
    """Raises `OptionError` for losses as the value of --on, and the text in their place."""
    losses = [path for path in (a, b, *on) if kind_of_file(path) == LOSSES]
    texts = [path for path in (a, b, *on) if path not in losses]
    given = next((path for path in on if path in losses), None)
    if given is None or len(losses) != 2 or not all(map(os.path.exists, texts)):
        return
    context = click.get_current_context()
    rest = [word for word in without_options(arguments_of(context), ("--on",)) if word not in (a, b)]
    words = [*losses, *(word for text in texts for word in ("--on", text)), *rest]
    place, text = ("A", a) if a in texts else ("B", b)
    raise OptionError(
        f"--on {given} is a file of losses, and {place} {text!r} is none",
        where=context.command_path,
        limit="A and B are losses, --on is the text",
        fix=command_line(context, words),
        option="on",
    )


def _refuse_runs(a: str, b: str, on: Sequence[str], read: ReadOptions) -> None:
    """Raises `OptionError` for runs of slm in the place of their losses.

    Where the other file has losses of another text, the fix scores both: scoring takes minutes, and would be in vain.
    """
    runs = {path: run for path in (a, b) if (run := run_of(path))}
    if not runs:
        return
    other = next((path for path in (a, b) if path not in runs), None)
    are = "are runs" if len(runs) > 1 else "is a run"
    if any(map(os.path.isfile, runs)):
        are = "are of runs" if len(runs) > 1 else "is a file of a run"
    fact = f"{' and '.join(map(repr, runs))} {are} of slm, not losses on a text"
    a, b = (runs.get(path, path) for path in (a, b))
    where, fix = None, _scoring_line([a, b], [*runs.values()], on)
    if other is not None and kind_of_file(other) == LOSSES:
        try:
            scored = read_losses(other)
            check_scored(scored, _texts(on, read, scored))
        except OptionError as error:
            if error.fields.get("option") != "on":
                raise
            fact += f"; besides, {other} has losses of another text: {error.fact}"
            where, fix = error.where, f"{_scoring_line([a, b], [a, b], on)}, with the run of {other} as RUN"
    raise OptionError(fact, where=where, limit="files that slm eval RUN --losses FILE wrote", fix=fix, option="a")


@contextmanager
def _score_missing(a: str, b: str, on: Sequence[str]) -> Iterator[None]:
    """Names the commands that write losses in the error for those which do not exist."""
    try:
        yield
    except MissingInput as error:
        missing = [path for path in (a, b) if path.endswith(".losses") and not Path(path).exists()]
        if error.fields["path"] in missing and similar_file(str(error.fields["path"])) is None:
            error.fix = _scoring_line([a, b], missing, on)
        raise


@contextmanager
def _score_both(a: str, b: str, on: Sequence[str]) -> Iterator[None]:
    """Names the commands that score both models on the text in the error for losses of other documents."""
    try:
        yield
    except OptionError as error:
        if error.fields.get("option") == "on":
            error.fix = (
                "name the text that slm eval scored, with the same options, or the packed data; for this text: "
                f"{_scoring_line([a, b], [a, b], on)}, with the run of each file as RUN"
            )
        raise


def _scoring_line(paths: Sequence[str], scored: Sequence[str], on: Sequence[str]) -> str:
    """The commands that score the text for those of two `paths` that are in `scored`, and compare the losses.

    A path is a run, or a file of losses, of which RUN stands for the run.
    """
    text = [word for each in on for word in ("--on", each)]
    lines, files = list[list[str]](), dict[str, str]()
    for path in dict.fromkeys(paths):
        files[path] = path
        if path in scored:
            name = path.rstrip("/").removesuffix(".losses")
            files[path] = free_name(f"{name}.losses")
            run = next(filter(is_run, (path, name)), "RUN")
            lines.append(["slm", "eval", run, *text, "--losses", files[path]])
    lines.append(["slmtok", "align", *(files[path] for path in paths), *text])
    return " && ".join(map(shlex.join, lines))


def _counted(texts: Iterable[bytes], progress: Report) -> Iterator[bytes]:
    done = 0
    for text in texts:
        yield text
        done += len(text)
        progress("align", done, 0)


def _result(found: Alignment, a: Losses, b: Losses, top: int) -> dict[str, Any]:
    return {
        "a": a.path,
        "b": b.path,
        "documents": found.documents,
        **_sums(found.total, found.total.nbytes),
        "kinds": {name: _sums(sums, found.total.nbytes) for name, sums in sorted(found.kinds.items())},
        "b_gains": _strings(found, top, gain=True),
        "b_loses": _strings(found, top, gain=False),
    }


def _sums(sums: Sums, n_bytes: int) -> dict[str, Any]:
    return {
        "segments": sums.count,
        "bytes": sums.nbytes,
        "bits_a": sums.bits_a,
        "bits_b": sums.bits_b,
        "bpb_a": _per_byte(sums.bits_a, sums.nbytes),
        "bpb_b": _per_byte(sums.bits_b, sums.nbytes),
        "share": _per_byte(sums.bits_b - sums.bits_a, n_bytes),
    }


def _per_byte(bits: float, n_bytes: int) -> float | None:
    """None for no bytes: empty documents have bits, those of the special that ends them."""
    return bits / n_bytes if n_bytes else None


def _strings(found: Alignment, top: int, *, gain: bool) -> list[dict[str, Any]]:
    return [
        {
            "text": escape_token(text),
            "hex": text.hex(),
            "count": sums.count,
            "bits_a": sums.bits_a,
            "bits_b": sums.bits_b,
        }
        for text, sums in found.largest(top, gain=gain)
    ]


def _table(result: dict[str, Any]) -> str:
    kinds = sorted(result["kinds"].items(), key=lambda item: -abs(item[1]["share"] or 0))
    rows = [
        [name, f"{one['bytes']:,}", *(_shown(one[of]) for of in ("bpb_a", "bpb_b")), _shown(one["share"], "+")]
        for name, one in [*kinds, ("all", result)]
    ]
    n_documents, n_segments = counted(result["documents"], "document"), f"{result['segments']:,} segments"
    head = ["", "bytes", "bpb of a", "bpb of b", "b - a, of all bytes"]
    of_strings = ["string", "times", "bits of a", "bits of b", "b - a"]
    text = (
        f"{n_documents}, {format_bytes(result['bytes'])}, {n_segments}\n  a  {result['a']}\n  b  {result['b']}\n\n"
        + table(head, rows)
    )
    for title, strings in (("b gains most", result["b_gains"]), ("b loses most", result["b_loses"])):
        if strings:
            text += f"\n{title}\n" + table(of_strings, list(map(_row, strings)))
    return text


def _shown(per_byte: float | None, sign: str = "") -> str:
    return "" if per_byte is None else f"{per_byte:{sign}.4f}"


def _row(one: dict[str, Any]) -> list[str]:
    difference = one["bits_b"] - one["bits_a"]
    bits = [f"{one['bits_a']:,.1f}", f"{one['bits_b']:,.1f}", f"{difference:+,.1f}"]
    return [one["text"][:MAX_SHOWN], f"{one['count']:,}", *bits]
