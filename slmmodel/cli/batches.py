"""`slm batches`: what the model is fed. Rows of real batches with targets, document borders, positions, padding."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmmodel.cli import _options, _output
from slmmodel.cli._fed import Feeding, loader_of

if TYPE_CHECKING:
    from slmmodel.data.batch import Batch

_Source = Annotated[str, typer.Argument(metavar="RUN|DATA", help="A run, or packed data.", show_default=False)]
_N = Annotated[int, typer.Option("--n", metavar="N", parser=_options.whole, help="How many batches.")]
_Step = Annotated[
    int, typer.Option("--step", metavar="N", parser=_options.whole, help="The training step of the first one.")
]
_Show = Annotated[
    int, typer.Option("--rows-shown", metavar="N", parser=_options.whole, help="Rows shown of each batch; 0 shows all.")
]
_Split = Annotated[str, typer.Option("--split", metavar="NAME", help="train or val.")]
_Tokenizer = Annotated[
    str | None,
    typer.Option("-t", "--tokenizer", metavar="FILE", help="The tokenizer; without one, ids.", show_default=False),
]
_PANEL = "For data, as slm train would be told"
_SeqLen = Annotated[
    int | None,
    typer.Option(
        "--seq-len", metavar="N", parser=_options.whole, help="Positions of a sequence (128).", rich_help_panel=_PANEL
    ),
]
_BatchSize = Annotated[
    int | None,
    typer.Option(
        "--batch-size", metavar="N", parser=_options.whole, help="Sequences of a batch (16).", rich_help_panel=_PANEL
    ),
]
_Pack = Annotated[
    str | None,
    typer.Option("--pack", metavar="NAME", help="Packing or windowing strategy (concat).", rich_help_panel=_PANEL),
]
_Positions = Annotated[
    str | None, typer.Option("--positions", metavar="NAME", help="reset, true or row.", rich_help_panel=_PANEL)
]
_Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", parser=_options.whole, help="Seed of the order (0).", rich_help_panel=_PANEL),
]
_Words = Callable[[Any], list[str]]


def batches(
    source: _Source,
    n: _N = 2,
    step: _Step = 0,
    rows_shown: _Show = 4,
    split: _Split = "train",
    tokenizer: _Tokenizer = None,
    seq_len: _SeqLen = None,
    batch_size: _BatchSize = None,
    pack: _Pack = None,
    positions: _Positions = None,
    seed: _Seed = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Show rows of real batches, decoded: inputs and targets, document borders, positions and padding."""
    asked = Feeding(seq_len=seq_len, batch_size=batch_size, pack=pack, positions=positions, seed=seed)
    loader, vocab, beside = loader_of(source, split, asked)
    words: _Words = lambda ids: [str(int(id)) for id in ids]  # noqa: E731
    path = tokenizer or beside
    if path is not None:
        from slmmodel.cli.text import Text

        words = Text(path, vocab).words
    from slmmodel.data.loader import Cursor

    cursor, found = Cursor(), []
    for number in range(step + n):
        taken = loader.step(cursor)
        cursor = taken.next
        if number >= step:
            found.append((number, loader.batch(taken.sequences)))
    loader.close()
    result: dict[str, object] = {
        "source": source,
        "split": split,
        "pack": loader.pack,
        "digest": loader.digest,
        "stats": loader.plan(0, 0).stats().to_dict(),
        "batches": [{"step": number, **_described(batch, words, rows_shown)} for number, batch in found],
    }
    return _output.Outcome(result, lambda: _show(result))


def _described(batch: Batch, words: _Words, most: int) -> dict[str, Any]:
    """One batch as plain data: its sizes, and its first rows span by span."""
    count = len(batch.sequences)
    return {
        "rows": count,
        "slots": batch.ids.shape[1],
        "targets": batch.n_targets,
        "bytes": batch.n_bytes,
        "padding": int((batch.doc_id < 0).sum()),
        "single_doc": batch.single_doc,
        "shown": [_row(batch, index, words) for index in range(min(count, most or count))],
    }


def _row(batch: Batch, index: int, words: _Words) -> dict[str, Any]:
    epoch, block, row = batch.sequences[index].tolist()
    doc, positions = batch.doc_id[index].tolist(), batch.positions[index].tolist()
    ids, targets = batch.ids[index].tolist(), batch.targets[index].tolist()
    scored = batch.target_mask[index].tolist()
    edges = [0, *(slot for slot in range(1, len(doc)) if doc[slot] != doc[slot - 1]), len(doc)]
    spans = [
        {
            "document": doc[start] if doc[start] >= 0 else None,
            "slots": [start, stop],
            "positions": [positions[start], positions[stop - 1] + 1],
            "scored": sum(scored[start:stop]),
            "ids": ids[start:stop],
            "targets": [
                target if on else None for target, on in zip(targets[start:stop], scored[start:stop], strict=True)
            ],
            "inputs_read": words(ids[start:stop]),
            "targets_read": [
                word if on else "·" for word, on in zip(words(targets[start:stop]), scored[start:stop], strict=True)
            ],
        }
        for start, stop in pairwise(edges)
    ]
    return {"epoch": epoch, "block": block, "row": row, "spans": spans}


def _show(result: dict[str, Any]) -> None:
    out = sys.stdout
    stats = result["stats"]
    out.write(
        f"{result['source']}, split {result['split']}, {result['pack']}: {stats['sequences']:,} rows an epoch, "
        f"{stats['targets']:,} targets, {100 * stats['padding_share']:.2f} % padding\n"
    )
    for batch in result["batches"]:
        out.write(
            f"\nstep {batch['step']}: {batch['rows']} rows of {batch['slots']} slots, {batch['targets']:,} targets, "
            f"{batch['bytes']:,} bytes, {batch['padding']:,} slots of padding\n"
        )
        for row in batch["shown"]:
            out.write(f"\n  row {row['row']} of epoch {row['epoch']}\n")
            for span in row["spans"]:
                out.write(_span(span))
        hidden = batch["rows"] - len(batch["shown"])
        if hidden:
            out.write(f"\n  and {hidden} more rows; --rows-shown 0 shows all\n")
    out.flush()


def _span(span: dict[str, Any]) -> str:
    start, stop = span["slots"]
    if span["document"] is None:
        return f"    slots {start}-{stop - 1}: padding\n"
    low, high = span["positions"]
    return _output.printable(
        f"    slots {start}-{stop - 1}: document {span['document']} of the row, positions {low}-{high - 1}, "
        f"{span['scored']} scored\n"
        f"      inputs   {'|'.join(span['inputs_read'])}\n"
        f"      targets  {'|'.join(span['targets_read'])}\n"
    )
