"""`Packing`: how documents fill sequences of `seq_len` ids; every packing and windowing strategy derives from it.

It is the setting `data.pack`; the command `slmtok pack` writes the ids of documents and fills no sequences.

A document of n ids has n - 1 inputs: every id but the last. The target of an input is the id that follows it; it is
scored where it counts in the loss. A packing maps the index of a sequence to spans of inputs. It depends on the lengths
of documents, never on their ids, and is never stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import Argument, Fix, InvalidConfig, WrongType, suggestion
from slmmodel.indexing import explains_indexing

Ints = NDArray[np.int64]

CHOICES = {
    "crop_offset": ("random", "fixed"),
    "loss_on": ("all", "last"),
    "long": ("split", "error", "drop"),
    "positions": ("reset", "true", "row"),
}
"""Values of options that are words; the other options of strategies are integers from 1 up, or truth values."""


@explains_indexing
class Span(NamedTuple):
    """The inputs `start` to `stop - 1` of document `doc`, from column `column` of a sequence on."""

    doc: int
    start: int
    stop: int
    column: int


class Spans(NamedTuple):
    """The spans of several sequences, ascending and disjoint in each: all int64 [n]."""

    row: Ints
    """Index of the sequence among those asked for, ascending."""
    doc: Ints
    start: Ints
    stop: Ints
    column: Ints


@explains_indexing
class PackingStats(NamedTuple):
    """Totals of one epoch. `scored_*` count how often the target of an input is scored."""

    sequences: int
    columns: int
    """Of all sequences, padding included."""
    inputs: int
    """Of all documents."""
    targets: int
    """Scored targets."""
    padding_share: float
    scored_min: int
    scored_mean: float
    scored_max: int
    documents_cut: int
    inputs_dropped: int


class Packing(ABC):
    """The sequences of one epoch over one block of documents.

    A strategy declares its options with their defaults in `OPTIONS`; `__init__` checks them and calls `_arrange`.
    """

    name: ClassVar[str]
    OPTIONS: ClassVar[Mapping[str, Any]] = {}
    permutes_sequences: ClassVar[bool] = True
    """Whether the loader permutes the groups of sequences (`n_groups`) of an epoch."""
    forms_batches: ClassVar[bool] = False
    """Whether a group is a whole batch (`bucket`), so that a step takes one group; else a sequence is a group."""
    carries_state: ClassVar[bool] = False
    """Whether row `r` of each batch continues row `r` of the one before (truncated BPTT)."""
    validation_pack: ClassVar[str] = "concat"
    """The packing of validation documents in a run that trains with this one."""
    has_offset: ClassVar[bool] = False
    """Whether cuts may be shifted by `offset` inputs."""
    default_positions: ClassVar[str] = "reset"
    """What `data.positions: auto` stands for; `slmmodel.data.batch` defines the three values."""
    joins_documents = False
    """True: the documents of a sequence are one text for the model, with one document id."""

    def __init__(
        self,
        n_inputs: Ints,
        seq_len: int,
        options: Mapping[str, Any] | None = None,
        *,
        order: Ints | None = None,
        offset: int = 0,
        unscored: Ints | None = None,
    ) -> None:
        """`n_inputs` int64 [n_docs]: of each document; `order` permutes the documents; `unscored` [n_docs] counts the
        inputs from the first of a document on whose target is not scored. Raises `InvalidConfig`."""
        given = options or {}
        check_range("seq_len", seq_len, 1, fix="set a positive seq_len")
        for option, value in given.items():
            if option not in self.OPTIONS:
                near = suggestion(option, self.OPTIONS)
                raise InvalidConfig(
                    f"the strategy {self.name!r} has no option {option!r}",
                    limit=f"options: {', '.join(sorted(self.OPTIONS)) or 'none'}",
                    fix=(Argument(setting_of(near), value),) if near else fix_of_option(option, "data.pack"),
                    option=setting_of(option),
                )
            if option in CHOICES:
                check_choice(option, value)
            else:
                _check_value(option, value, self.OPTIONS[option])
        if unscored is not None and "loss_on" in self.OPTIONS:
            raise InvalidConfig(
                f"data.pack {self.name} with passkey tasks of which the answer alone is scored",
                limit="strategies that read each id once",
                fix=(Argument("data.pack", "best_fit"),),
                option="data.pack",
            )
        self.n_inputs, self.seq_len, self.offset, self.unscored = n_inputs, seq_len, offset, unscored
        self.order: Ints = np.arange(len(n_inputs), dtype=np.int64) if order is None else order
        self.options = {**self.OPTIONS, **given}
        self.loss_on = str(self.options.get("loss_on", "all"))
        self._arrange()

    @abstractmethod
    def _arrange(self) -> None:
        """Computes the index of the sequences from `n_inputs`, `order` and `options`."""

    @abstractmethod
    def __len__(self) -> int:
        """Sequences in one epoch."""

    @abstractmethod
    def spans_of(self, indices: Ints) -> Spans:
        """The spans of these sequences int64 [B], each in range."""

    def spans(self, index: int) -> list[Span]:
        """The spans of one sequence. Raises `InvalidConfig` for an index out of range."""
        check_range("the index of the sequence", index, 0, len(self) - 1, fix="use an index in range")
        _, *fields = (field.tolist() for field in self.spans_of(np.array([index], dtype=np.int64)))
        return [Span(*span) for span in zip(*fields, strict=True)]

    @property
    def n_groups(self) -> int:
        """Groups of sequences in one epoch: what the loader permutes and takes, see `forms_batches`."""
        return len(self)

    def sequences_of(self, groups: Ints) -> Ints:
        """The indices of the sequences of these groups int64 [n], in their order."""
        return groups

    def n_columns_of(self, indices: Ints) -> Ints:
        """Columns of each of these sequences: `seq_len`, except in `bucket`."""
        return np.full_like(indices, self.seq_len)

    @property
    def n_columns(self) -> int:
        """Columns of all sequences, padding included."""
        return len(self) * self.seq_len

    @abstractmethod
    def _targets(self, indices: Ints) -> Ints:
        """Scored targets of each of these sequences with `loss_on="all"`: int64 [n]."""

    def n_targets(self, indices: Ints) -> int:
        """Scored targets of these sequences; reads no token data."""
        indices = np.asarray(indices, dtype=np.int64)
        targets = self._targets(indices)
        n_targets = int((np.minimum(targets, 1) if self.loss_on == "last" else targets).sum())
        return n_targets if self.unscored is None else n_targets - int(self.n_unscored(self.spans_of(indices)).sum())

    def n_unscored(self, spans: Spans) -> Ints:
        """Inputs from the first of each span on whose target is not scored: int64 [n]."""
        assert self.unscored is not None
        found: Ints = np.clip(self.unscored[spans.doc] - spans.start, 0, spans.stop - spans.start)
        return found

    @abstractmethod
    def _n_cut(self) -> int:
        """Documents whose inputs are not all in one sequence, or not all placed."""

    def _coverage(self) -> tuple[int, Ints, Ints]:
        """Columns that are not padding, and (times, inputs): `inputs[i]` inputs are scored `times[i]` times.

        Here: of a strategy that places each input at most once.
        """
        targets = self.n_targets(np.arange(len(self), dtype=np.int64))
        return targets, np.array([1, 0]), np.array([targets, int(self.n_inputs.sum()) - targets])

    def stats(self) -> PackingStats:
        """Padding, targets, times scored, documents cut and inputs dropped."""
        filled, times, inputs = self._coverage()
        total, targets, scored = int(self.n_inputs.sum()), int(times @ inputs), times[inputs > 0]
        return PackingStats(
            sequences=len(self),
            columns=self.n_columns,
            inputs=total,
            targets=targets,
            padding_share=1 - filled / self.n_columns if self.n_columns else 0.0,
            scored_min=int(scored.min(initial=targets)),
            scored_mean=targets / total if total else 0.0,
            scored_max=int(scored.max(initial=0)),
            documents_cut=self._n_cut(),
            inputs_dropped=int(inputs[times == 0].sum()),
        )


class EndToEnd(Packing):
    """Sequences that are ranges of all inputs, end to end in document order. 16 bytes a document.

    A range that passes the end of the data continues at their beginning.
    """

    def _arrange(self) -> None:
        self._concatenate(self.n_inputs)

    def _concatenate(self, sizes: Ints) -> None:
        """`sizes` int64 [n_docs]: the inputs of each document, in the order of the data."""
        self._starts = prefix_sums(sizes[self.order])
        self._total = int(self._starts[-1])

    @abstractmethod
    def _ranges(self, indices: Any) -> tuple[Any, Any]:
        """The first input of each sequence and the one behind its last, numbered over all documents; for one index or
        many."""

    def _targets(self, indices: Ints) -> Ints:
        starts, stops = self._ranges(indices)
        targets: Ints = stops - starts
        return targets

    def spans_of(self, indices: Ints) -> Spans:
        """See `Packing`."""
        starts, stops = (np.asarray(bounds) for bounds in self._ranges(indices))
        n_docs, total = len(self.order), max(1, self._total)
        # Documents are numbered on past the end of the data: number `n_docs` is the first one again.
        laps, inputs = np.divmod((starts, np.maximum(stops - 1, starts)), total)
        # side="right" skips documents without inputs: the last document that starts at or before an input.
        first, last = laps * n_docs + self._starts.searchsorted(inputs, side="right") - 1
        row, number = concatenate_ranges(first, np.where(stops > starts, last + 1, first))
        lap, number = np.divmod(number, max(1, n_docs))
        begin, end = lap * total + self._starts[number], lap * total + self._starts[number + 1]
        start, stop = np.maximum(begin, starts[row]), np.minimum(end, stops[row])
        spans = Spans(row, self.order[number], start - begin, stop - begin, start - starts[row])
        has_inputs = stop > start
        return spans if has_inputs.all() else Spans(*(field[has_inputs] for field in spans))

    def _n_cut(self) -> int:
        """Documents in which a sequence begins, other than at their first input."""
        borders = self._ranges(np.arange(len(self), dtype=np.int64))[0] % max(1, self._total)
        owners = np.searchsorted(self._starts, borders, side="right") - 1
        return int(np.unique(owners[self._starts[owners] < borders]).size)


def count_inputs(lengths: Ints) -> Ints:
    """Inputs of documents with these numbers of ids (delimiters included): int64 [n_docs]. Raises `WrongType`."""
    try:
        given = np.asarray(lengths)
    except ValueError:  # lists of several lengths
        given = np.empty((), dtype=object)
    if given.ndim != 1 or (given.size and (given.dtype.kind not in "iu" or given.min() < 0)):
        raise WrongType(
            f"lengths are the numbers of ids of documents, not {str(lengths)[:40]!r}",
            limit="one dimension of integers from 0 up",
            fix=_lengths_of(lengths) or "[len(ids) for ids in documents]; of offsets, np.diff(offsets)",
        )
    if given.size > 1 and given[0] == 0 and (given[1:] > given[:-1]).all():
        # As lengths they would pack other documents. No document has 0 ids, since each has its delimiters.
        raise WrongType(
            f"lengths are offsets: they begin with 0 and ascend to {given[-1]:,}",
            limit="the number of ids of each document, its delimiters included",
            fix="np.diff(offsets) in place of the offsets",
        )
    return np.maximum(given.astype(np.int64, copy=False) - 1, 0)


def _lengths_of(documents: Any) -> str | None:
    """The lengths of the ids of documents in their place, as a caller writes them; None for other values."""
    rows = list(documents) if isinstance(documents, list | tuple) or np.ndim(documents) == 2 else []
    if not rows or not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        return None
    return "[len(ids) for ids in documents]" if len(rows) > _MAX_SHOWN else str([len(row) for row in rows])


_MAX_SHOWN = 8
"""Documents whose lengths a fix repeats."""


def concatenate_ranges(starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """The ranges `starts[i]` to `stops[i] - 1` end to end: of each integer the number `i` of its range, and itself."""
    counts = stops - starts
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) + (starts - prefix_sums(counts)[:-1])[owner]


def prefix_sums(counts: NDArray[np.integer[Any]]) -> Ints:
    """Exclusive prefix sums of `counts` with the total appended: int64 [len(counts) + 1]."""
    out = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=out[1:])
    return out


def setting_of(option: str) -> str:
    """The setting of a run that is an option of a strategy."""
    return f"data.{option}" if option in CHOICES and option != "long" else f"data.options.{option}"


def check_choice(option: str, value: object) -> None:
    """Raises `InvalidConfig` for a value of an option that is not one of its `CHOICES`."""
    choices = CHOICES[option]
    if value not in choices:
        fix, limit = Argument(setting_of(option), choices[0]), f"one of {', '.join(choices)}"
        raise InvalidConfig(f"{option} is {value!r}", limit=limit, fix=(fix,), option=fix.name)


def _check_value(option: str, value: Any, default: bool | int) -> None:
    """Raises `InvalidConfig` for a value that is not of the kind of the default, or a number that is too small."""
    fix = (Argument(f"data.options.{option}", default),)
    is_truth = isinstance(default, bool)
    if isinstance(value, bool) != is_truth or not isinstance(value, bool | int | np.integer):
        limit = "true or false" if is_truth else "an integer"
        raise InvalidConfig(f"{option} is {value!r}", limit=limit, fix=fix, option=f"data.options.{option}")
    if not is_truth:
        check_range(option, int(value), min(default, 1), fix=fix)


def fix_of_option(option: str, setting: str, *, batches: bool = True) -> Fix:
    """The fix for an option that a strategy lacks: the first strategy that has it, as a `setting`.

    batches: False leaves out strategies that form batches.
    """
    found, left = list[str](), [Packing]
    for each in left:
        left += each.__subclasses__()
        if option in each.OPTIONS and "name" in vars(each) and (batches or "batch_size" not in each.OPTIONS):
            found.append(each.name)
    return (Argument(setting, found[0]), ", which has it, or leave it out") if found else "leave it out"


def check_range(name: str, value: int, least: int, most: int | None = None, *, fix: Fix) -> None:
    """Raises `InvalidConfig` for a number below `least` or above `most`."""
    if value < least or (most is not None and value > most):
        limit = f"at least {least}" if most is None else f"{least} to {most}"
        option = fix[0].name if isinstance(fix, tuple) and isinstance(fix[0], Argument) else None
        raise InvalidConfig(f"{name} is {value}", limit=limit, fix=fix, option=option)
