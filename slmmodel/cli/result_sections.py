"""Results of evaluations on a page: certificates of `slm eval`, `slm pairs`, `slm passkey`, and others with shares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from slmmodel.cli.baselines import best_ngram
from slmmodel.cli.result_files import (
    PASSKEY,
    PROBE,
    PROMPT_SHEET,
    format_bits,
    load_certificate,
    load_result,
    measure_rows,
)
from slmmodel.cli.run_sections import Subject
from slmmodel.errors import OptionError, SlmmodelError
from slmmodel.files import reading
from slmmodel.run_entries import EVALUATIONS
from slmtok import schema
from slmtok.cli.results import read_printed
from slmtok.envelope import baseline_limits
from slmtok.errors import SlmtokError
from slmtok.file_kinds import NAMES, kind_of_file, read_head
from slmtok.pages.sections import Block, Paragraph, Table

_ENVELOPE = re.compile(rb'\s*\{\s*"kind"\s*:\s*"([a-z-]+)"')
_SCHEMA = re.compile(rb'\s*\{\s*"schema"\s*:\s*"slm\.([a-z-]+)/\d+"')
_PAIRS = schema.table(
    {
        "groups": schema.mapping(
            schema.table(
                {"pairs": schema.integer(1), "share": schema.number, "low": schema.number, "high": schema.number},
                is_open=True,
            )
        )
    },
    is_open=True,
)
LIMIT = "certificates of slm eval, files of slm passkey, slm probe and slm prompts, and what slm pairs --json printed"


def kind_of(path: str) -> str | None:
    """The kind of a result: that of its envelope, or the command that printed it with `--json`."""
    head = read_head(path)
    found = _ENVELOPE.match(head) or _SCHEMA.match(head)
    return None if found is None else found[1].decode()


def results_of(subject: Subject) -> list[str]:
    """The files of results in the folder of a run. Raises `Unreadable`."""
    folder = subject.run.path / EVALUATIONS
    if not folder.is_dir():
        return []
    with reading(folder):
        return sorted(str(path) for path in folder.iterdir() if path.suffix == ".json")


def evaluations(subjects: Sequence[Subject], more: Sequence[str]) -> Iterator[Block]:
    """A table of certificates of all runs, then every other result.

    `more`: further files, of which one that is not shown is an error; in the folder of a run it is a note. Raises
    `OptionError`, `CorruptFile`, `MissingInput`.
    """
    certificates: list[tuple[str, dict[str, Any]]] = []
    others: list[Block] = []
    for name, path in [(f"{each.name}: {Path(path).stem}", path) for each in subjects for path in results_of(each)]:
        try:
            others += _result(name, path, certificates)
        except (SlmmodelError, SlmtokError) as error:
            others.append(Paragraph(f"{name} is not shown: {error.fact}.", role="warning"))
    for path in more:
        others += _result(path, path, certificates)
    if certificates:
        yield Table("Bits per byte, with the interval over documents", _HEAD, [_row(*each) for each in certificates])
        yield Paragraph("bpb_total counts the bits of closing specials too: rank models by it.")
    for name, found in certificates:
        baselines = found.get("baselines")
        if baselines and (limits := baseline_limits(baselines, found["sums"]["bytes"])):
            yield Paragraph(f"{name}: the baselines are {limits}.")
        yield from breakdown_tables(name, found.get("breakdown", {}))
    yield from others


def _result(name: str, path: str, certificates: list[tuple[str, dict[str, Any]]]) -> list[Block]:
    """What is shown of one file; a certificate is added to the others."""
    kind = drawn_kind(path)
    if kind == "certificate":
        certificates.append((name, load_certificate(path)))
        return []
    return list(_DRAWN[kind](name, path))


def is_drawn(kind: str | None) -> bool:
    """Whether a page shows results of a kind."""
    return kind == "certificate" or kind in _DRAWN


def drawn_kind(path: str) -> str:
    """The kind of a result that a page shows. Raises `OptionError` for other files, and what `read_head` raises."""
    kind = kind_of(path)
    if kind is None or not is_drawn(kind):
        named = NAMES.get(kind_of_file(path), f"a file of the kind {kind}" if kind else "which is no result")
        raise OptionError(
            f"a report does not show {path}, {named}",
            limit=LIMIT,
            fix=f"leave {path} out: the results in RUN/eval are shown without --with",
            option="with",
        )
    return kind


def breakdown_tables(name: str, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Block]:
    """The tables of `slm eval --breakdown`."""
    for table, rows in tables.items():
        head = list(dict.fromkeys(key for row in rows for key in row))
        cells = [[_cell(row.get(key)) for key in head] for row in rows]
        if cells:
            yield Table(f"{name}: bits {table.replace('_', ' ')}", [key.replace("_", " ") for key in head], cells, True)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if type(value) is int else "" if value is None else str(value)


_HEAD = ["", "bpb_total", "interval", "bpb_content", "bytes", "documents", "best n-gram", "xz after training"]


def _row(name: str, found: Mapping[str, Any]) -> list[str]:
    interval, baselines, sums = found["interval"], found.get("baselines"), found["sums"]
    ngram = xz = ""
    if baselines:
        order, best = best_ngram(baselines)
        ngram, xz = f"{best:.4f} (order {order})", f"{baselines['xz']['after_train']:.4f}"
    between = "" if interval is None else f"{interval['low']:.4f} to {interval['high']:.4f}"
    bits = [format_bits(found["bpb_total"]), between, format_bits(found["bpb_content"])]
    return [name, *bits, f"{sums['bytes']:,}", f"{sums['documents']:,}", ngram, xz]


def _pairs(name: str, path: str) -> Iterator[Block]:
    groups = read_printed(path, _PAIRS, "run the command with --json again")["groups"]
    rows = [
        [group, f"{one['pairs']:,}", f"{one['share']:.1%}", f"{one['low']:.1%} to {one['high']:.1%}"]
        for group, one in groups.items()
    ]
    yield Table(f"{name}: minimal pairs; guessing is right in 50 %", ["", "pairs", "right", "95 % interval"], rows)


def _passkey(name: str, path: str) -> Iterator[Block]:
    found = load_result(path, PASSKEY)
    lengths, depths = found["settings"]["lengths"], found["settings"]["depths"]
    cells = {(cell["length"], cell["depth"]): cell for cell in found["cells"]}
    rows = [[f"{depth:g} %", *(_shown(cells[length, depth]) for length in lengths)] for depth in depths]
    rows.append(["all depths", *(_shown(line) for line in found["by_length"])])
    head = ["depth", *(f"{length:,} ids" for length in lengths)]
    yield Table(f"{name}: passkeys found, share and 95 % interval; chance {found['chance']:g}", head, rows)
    if segments := found.get("by_segments_between"):
        rows = [[str(line["segments"]), _shown(line)] for line in segments]
        yield Table(f"{name}: by segments between number and question", ["segments", "found"], rows, is_folded=True)


def _shown(cell: Mapping[str, Any]) -> str:
    low, high = cell["interval"]
    return f"{cell['exact'] / cell['samples']:.0%} ({low:.0%} to {high:.0%})"


def _probe(name: str, path: str) -> Iterator[Block]:
    found = load_result(path, PROBE)
    rows = [
        [
            one["task"],
            _shown(one),
            f"{one['commonest']:.0%}",
            f"{one['answer_ids_correct'] / one['answer_ids']:.0%}",
            "|".join(one["example_as_ids"]),
        ]
        for one in found["probes"]
    ]
    title = f"{name}: right answers after {found['settings']['steps']:,} steps of training on each task"
    yield Table(title, ["task", "right, 95 % interval", "commonest answer", "right ids", "cut as"], rows)


def _prompts(name: str, path: str) -> Iterator[Block]:
    found = load_result(path, PROMPT_SHEET)
    yield Table(
        f"{name}: continuations of {len(found['prompts'])} prompts, shares of runs of ids", *measure_rows(found)
    )
    sheet = found["sheet"]
    rows = [
        [prompt, *(line["continuations"][number] for line in sheet)] for number, prompt in enumerate(found["prompts"])
    ]
    yield Table(f"{name}: the continuations", ["prompt", *(line["method"] for line in sheet)], rows, is_folded=True)


_DRAWN = {"pairs": _pairs, "passkey": _passkey, "probe": _probe, "prompts": _prompts}
"""To show another kind, add its function."""
