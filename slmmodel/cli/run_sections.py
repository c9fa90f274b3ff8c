"""What a report says of runs from their files alone: facts, curves, parameters, a batch, gates, evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.curves import LABELS, Curve, read_curve
from slmmodel.errors import MissingInput, SlmmodelError
from slmmodel.folder_lock import FolderHandle
from slmmodel.run_files import origins
from slmmodel.sizes import format_count, format_time
from slmtok.cli.output import counted
from slmtok.pages.charts import Line, line_chart
from slmtok.pages.pictures import mask_picture, row_bars
from slmtok.pages.sections import Block, Figure, Paragraph, Table
from slmtok.sizes import format_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmmodel.config import RunConfig
    from slmmodel.data.batch import Batch
    from slmmodel.models import ModelConfig

MAX_POINTS = 200
"""Of a curve: a longer one is drawn as means."""
IDS_PER_PARAMETER = 20
"""Where a model of a given cost is best (Hoffmann et al., 2022)."""
MAX_ROWS = 6
MAX_MASK = 1024
"""Columns of a row whose mask is drawn."""


@dataclass(frozen=True)
class Subject:
    """One run of a report. curve: None before its first step."""

    name: str
    run: RunFolder
    config: RunConfig
    model: ModelConfig
    curve: Curve | None

    @staticmethod
    def open(name: str, path: str) -> Subject:
        """The run in a folder. Raises what `RunFolder.open` raises."""
        from slmmodel.config import RunConfig
        from slmmodel.models import config_from_dict, count

        run = RunFolder.open(path)
        run.handle = FolderHandle(run.path)
        model = config_from_dict(run.config["model"])
        try:
            curve = read_curve(run)
        except MissingInput:
            curve = None
        if curve is not None:
            per_token = count(model).flops_per_token
            lines = [{**line, "flops": per_token * line["tokens"]} for line in curve.lines]
            curve = curve._replace(name=name, lines=lines)
        return Subject(name, run, RunConfig(**run.config), model, curve)


def facts(subjects: Sequence[Subject]) -> Iterator[Block]:
    """What each run is and how far it came; a run that has not finished is named first."""
    from slmmodel.models import count

    columns: list[dict[str, str]] = []
    for subject in subjects:
        result, model = subject.run.result, subject.model
        last: Mapping[str, Any] = subject.curve.lines[-1] if subject.curve else {}
        if not result:
            yield Paragraph(_unfinished(subject, last), role="warning")
        counts = count(model)
        found = {
            "model": f"{model.arch}, {format_count(counts.parameters)} parameters",
            "embedding": f"{counts.embedding_share:.1%} of the parameters",
            "sequences": f"{model.seq_len:,} ids, {subject.config.data.pack}",
            "vocabulary": f"{subject.run.vocab.n_vocab:,} ids, {subject.run.vocab.fingerprint[:16]}",
            "step": f"{last.get('step', 0):,}" + (f" of {result['steps']:,}" if result else ""),
            "seen": f"{last.get('tokens', 0):,} ids, {format_bytes(last.get('bytes') or 0)}",
            "FLOPs": f"{last.get('flops', 0.0):.3g}",
            "time": format_time(last.get("seconds", 0.0)),
            "wanted": _wanted(counts.parameters, last, result),
            "branch": "; ".join(origins(subject.run.fingerprint)),
            "validation": "",
            "ended": result.get("reason", "not finished"),
        }
        from slmmodel.training.status import comparable_validations

        lines = subject.curve.lines if subject.curve else []
        bits = [line["val_bpb"] for line in comparable_validations(lines, subject.run.fingerprint)]
        if bits:
            found["validation"] = f"{bits[-1]:.4f} bits per byte; best {min(bits):.4f}"
        columns.append(found)
    rows = [[label, *(each[label] for each in columns)] for label in columns[0]]
    head = ["", *(each.name for each in subjects)]
    yield Table("Runs of this page", head, [row for row in rows if any(row[1:])])
    yield Paragraph(
        f"wanted: {IDS_PER_PARAMETER} ids a parameter, where a model of a given cost is best (Hoffmann et al., 2022)."
    )


def _wanted(parameters: int, last: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """The text at which a larger model would be the better use of compute, in the units of this run."""
    if not last.get("bytes") or not last["tokens"]:
        return ""
    ids = IDS_PER_PARAMETER * parameters
    n_bytes = ids * last["bytes"] / last["tokens"]
    text = f"{format_count(ids)} ids, {format_bytes(round(n_bytes))}"
    if not result.get("documents") or not result["bytes"]:
        return text
    return f"{text}, {format_count(round(n_bytes * result['documents'] / result['bytes']))} such documents"


def _unfinished(subject: Subject, last: Mapping[str, Any]) -> str:
    steps = subject.run.fingerprint.get("steps")
    if not last:
        return f"{subject.name} has not finished: it has no step yet."
    newest = subject.run.newest()
    weights = "it has no checkpoint yet" if newest is None else f"its weights on this page are those of step {newest:,}"
    of = "" if steps is None else f" of {steps:,}"
    return f"{subject.name} has not finished: its last step is {last['step']:,}{of}; {weights}."


def curves(subjects: Sequence[Subject]) -> Iterator[Block]:
    """Bits per byte of training and validation against bytes, ids, FLOPs and time."""
    drawn = [(number, each.curve) for number, each in enumerate(subjects) if each.curve is not None]
    for field, label in LABELS.items():
        lines = []
        for number, curve in drawn:
            x, y = _thinned(*curve.points(field, "bpb_train"))
            if x:
                lines.append(Line(f"{curve.name}, training", x, y, number))
            x, y = curve.points(field, "val_bpb")
            if x:
                lines.append(Line(f"{curve.name}, validation", x, y, number, marked=True))
        if lines:
            svg = line_chart(lines, x=label, y="bits per byte")
            yield Figure(f"Bits per byte against {label}; training as means over at most {MAX_POINTS} parts", svg)


def _thinned(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """At most `MAX_POINTS` points: means of neighbours."""
    import numpy as np

    n = min(MAX_POINTS, len(x))
    if not n:
        return [], []
    parts = zip(np.array_split(np.array(x, dtype=float), n), np.array_split(np.array(y, dtype=float), n), strict=True)
    means = [(float(a[-1]), float(b.mean())) for a, b in parts]
    return [point[0] for point in means], [point[1] for point in means]


def gates(subjects: Sequence[Subject]) -> Iterator[Block]:
    """The weight of the memory in each layer of an `infini`, over the training and at its end."""
    for subject in subjects:
        if subject.curve is None:
            continue
        steps, listed = subject.curve.points("step", "gates")
        if not listed:
            continue
        layers = list(zip(*listed, strict=True))
        lines = [
            Line(f"layer {layer}", steps, [_mean(heads) for heads in found], layer, marked=len(steps) < 20)
            for layer, found in enumerate(layers)
        ]
        svg = line_chart(lines, x="step", y="gate: weight of the memory")
        yield Figure(f"{subject.name}: mean gate of each layer over its heads", svg)
        rows = [
            [str(layer), f"{_mean(heads):.3f}", " ".join("" if gate is None else f"{gate:.2f}" for gate in heads)]
            for layer, heads in enumerate(listed[-1])
        ]
        yield Table(f"{subject.name}: gates at step {steps[-1]:,}", ["layer", "mean", "heads"], rows, is_folded=True)


def _mean(heads: Sequence[float | None]) -> float:
    known = [gate for gate in heads if gate is not None]
    return sum(known) / max(1, len(known))


def parameters(subjects: Sequence[Subject]) -> Iterator[Block]:
    """Elements by part and by layer."""
    from slmmodel.models import count
    from slmmodel.training.estimate import parameters_by_layer, parameters_by_part

    found = [(each, parameters_by_part(each.model), parameters_by_layer(each.model)) for each in subjects]
    parts = list(dict.fromkeys(part for _, by_part, _ in found for part in by_part))
    head = ["part", *(each.name for each in subjects)]
    rows = [[part, *(_share(by_part.get(part, 0), sum(by_part.values())) for _, by_part, _ in found)] for part in parts]
    rows.append(["all", *(_share(total := count(each.model).parameters, total) for each in subjects)])
    yield Table("Parameters by part", head, rows)
    for subject, _, by_layer in found:
        names = list(dict.fromkeys(part for layer in by_layer.values() for part in layer))
        rows = [
            [layer, *(f"{sizes.get(name, 0):,}" for name in names), f"{sum(sizes.values()):,}"]
            for layer, sizes in by_layer.items()
        ]
        yield Table(f"{subject.name}: parameters by layer and part", ["layer", *names, "all"], rows, is_folded=True)


def _share(number: int, total: int) -> str:
    return f"{number:,} ({number / max(1, total):.1%})" if number else ""


def batches(subjects: Sequence[Subject]) -> Iterator[Block]:
    """The first batch of each run: its rows, and the attention mask of the first of them."""
    for subject in subjects:
        try:
            batch = _first_batch(subject)
        except SlmmodelError as error:
            yield Paragraph(f"{subject.name}: no batch is drawn: {error.fact}.", role="warning")
            continue
        documents = batch.document_ids.numpy()
        rows = documents[:MAX_ROWS].tolist()
        number = sum(len({each for each in row if each >= 0}) for row in rows)
        padding = float((documents < 0).mean())
        shape = (
            f"{counted(len(rows), 'row')} of {documents.shape[1]:,} ids with {counted(number, 'document')} by colour"
        )
        of_all = f"the first of {len(documents):,} in the first batch, {padding:.1%} of which is padding"
        yield Figure(f"{subject.name}: {shape}; {of_all}", row_bars(rows))
        if (mask := _mask(subject, batch)) is not None:
            allowed, words = mask
            yield Figure(f"{subject.name}: {words}; queries downwards, keys to the right", mask_picture(allowed))


def _first_batch(subject: Subject) -> Batch:
    """Raises what opening the data raises."""
    from slmmodel.cli.recorded import training_data
    from slmmodel.data.loader import Cursor
    from slmmodel.training.stages import DataStages

    loader = DataStages(training_data(subject.run), subject.config).loader
    try:
        return loader.batch(loader.global_batch(Cursor()).sequence_keys)
    finally:
        loader.close()


def _mask(subject: Subject, batch: Batch) -> tuple[NDArray[np.bool_], str] | None:
    """The mask of the first row [T, T], and what it shows; None for a model without attention."""
    import torch

    from slmmodel.models.attention import evaluate, mask_function

    model = subject.model
    if model.recurrent:
        return None
    ids = batch.document_ids[:1, :MAX_MASK]
    isolated = subject.config.data.doc_mask and not batch.one_document_per_row
    window = getattr(model, "window", None)
    allowed = evaluate(mask_function(ids if isolated else None, window), 1, 0, ids.shape[1], torch.device("cpu"))[0, 0]
    words = "attention of the first row" + (", inside each document" if isolated else "")
    words += f", over {window:,} ids" if window else ""
    if (segment := getattr(model, "segment", None)) is not None:
        at = torch.arange(len(allowed)) // segment
        allowed = allowed & (at[:, None] == at[None, :])
        words += f", inside segments of {segment:,} ids; what lies before them is read from the memory"
    return allowed.numpy(), words
