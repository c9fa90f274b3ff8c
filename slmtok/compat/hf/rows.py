"""From texts to rows of ids: encoding, cutting, framing by specials. Rows are Python lists; nothing is padded here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from slmtok.compat.hf.windows import Span, Window, check_stride, windows
from slmtok.errors import InvalidOption, WrongType

if TYPE_CHECKING:
    from slmtok.compat.hf.plan import Plan
    from slmtok.tokenizer import Tokenizer


@dataclass(frozen=True)
class Frame:
    """The specials around each text of a row; None where there is none."""

    bos: int | None = None
    eos: int | None = None

    @property
    def size(self) -> int:
        """Ids that it adds to a text."""
        return (self.bos is not None) + (self.eos is not None)

    def around(self, inner: list[Any], outer: Callable[[int], Any]) -> list[Any]:
        """`inner` between what `outer` makes of the two ids."""
        row = inner if self.bos is None else [outer(self.bos), *inner]
        return row if self.eos is None else [*row, outer(self.eos)]


class Side:
    """The ids of the first texts of a batch, or of the second ones."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], threads: int) -> None:
        ragged = tokenizer.encode_batch(texts, threads=threads)
        self._tokenizer = tokenizer
        self._texts = texts
        self._flat: list[int] = ragged.ids.tolist()
        self._bounds: list[int] = ragged.offsets.tolist()

    def length(self, sample: int) -> int:
        """Ids of a text."""
        return self._bounds[sample + 1] - self._bounds[sample]

    def ids(self, sample: int, span: Span) -> list[int]:
        """The ids of part of a text."""
        start = self._bounds[sample]
        return self._flat[start + span[0] : start + span[1]]

    def offsets(self, sample: int, span: Span) -> list[tuple[int, int]]:
        """The characters of each id as (start, end); ids that share a character all have all of it."""
        return self._spans(sample)[span[0] : span[1]]

    def _spans(self, sample: int) -> list[tuple[int, int]]:
        return character_spans(
            self._texts[sample], self.ids(sample, (0, self.length(sample))), self._tokenizer.byte_lengths()
        )


def character_spans(text: str, ids: Sequence[int], byte_lengths: Any) -> list[tuple[int, int]]:
    """The characters that each id has bytes of, as (start, end): `tokenizers`' offsets."""
    import numpy as np

    if not ids:
        return []
    ends = np.cumsum(byte_lengths[np.asarray(ids)], dtype=np.int64)
    starts = ends - byte_lengths[np.asarray(ids)]
    if not text.isascii():
        begun = np.cumsum((np.frombuffer(text.encode(), dtype=np.uint8) & 0xC0) != 0x80)
        starts, ends = begun[starts] - 1, begun[ends - 1]
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


@dataclass(frozen=True)
class Row:
    """One row: which sample it comes from, and which parts of its texts."""

    sample: int
    window: Window


class Rows:
    """The rows of a batch, and their columns."""

    def __init__(self, first: Side, second: Side | None, rows: list[Row], frame: Frame) -> None:
        self._sides = (first,) if second is None else (first, second)
        self._rows = rows
        self._frame = frame

    def _column(
        self, inner: Callable[[int, Side, int, Span], list[Any]], outer: Callable[[int], Any]
    ) -> list[list[Any]]:
        around = self._frame.around
        column = []
        for row in self._rows:
            values: list[Any] = []
            for which, side in enumerate(self._sides):
                span = row.window[which]
                if span is not None:
                    part = around(inner(which, side, row.sample, span), outer)
                    values = part if not which else values + part
            column.append(values)
        return column

    def ids(self) -> list[list[int]]:
        """The ids of each row."""
        return self._column(lambda which, side, sample, span: side.ids(sample, span), lambda id: id)

    def special_tokens_mask(self) -> list[list[int]]:
        """1 where the frame stands, 0 where text does."""
        return self._column(lambda which, side, sample, span: [0] * (span[1] - span[0]), lambda id: 1)

    def offsets(self) -> list[list[tuple[int, int]]]:
        """The characters of each id in its own text; (0, 0) for the frame."""
        return self._column(lambda which, side, sample, span: side.offsets(sample, span), lambda id: (0, 0))

    def type_ids(self) -> list[list[int]]:
        """0 for the first text and its frame, 1 for the second."""
        extra = self._frame.size
        return [
            [which for which, span in enumerate(row.window) if span for _ in range(span[1] - span[0] + extra)]
            for row in self._rows
        ]

    def samples(self) -> list[int]:
        """The sample of each row."""
        return [row.sample for row in self._rows]


def make_rows(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    plan: Plan,
    frame: Frame,
    *,
    overflow: bool,
    threads: int,
) -> Rows:
    """Encodes and cuts. Without `overflow` each sample has one row. Raises `InvalidOption`, `InvalidText`."""
    first = Side(tokenizer, texts, threads)
    second = None if pairs is None else Side(tokenizer, pairs, threads)
    cut = _cutter(plan, frame, pair=second is not None)
    rows: list[Row] = []
    for sample in range(len(texts)):
        found = cut(first.length(sample), None if second is None else second.length(sample))
        rows.extend(Row(sample, window) for window in (found if overflow else found[:1]))
    return Rows(first, second, rows, frame)


def _cutter(plan: Plan, frame: Frame, *, pair: bool) -> Callable[[int, int | None], list[Window]]:
    if plan.truncation is None or plan.max_length is None:
        return lambda first, second: [((0, first), None if second is None else (0, second))]
    added = frame.size * (1 + pair)
    if plan.max_length <= added:
        raise InvalidOption(
            f"max_length={plan.max_length} leaves no room for text beside {added} special tokens",
            limit=f"{added + 1} or more",
            fix=f"max_length={added + 126}" + (", or add_special_tokens=False" if added else ""),
            option="max_length",
        )
    room = plan.max_length - added
    if plan.stride:
        check_stride(plan.stride, plan.max_length - frame.size)
    cut = partial(windows, room=room, strategy=plan.truncation, stride=plan.stride, side=plan.truncation_side)
    return lambda first, second: cut(first, second)


def texts_of(text: object, name: str = "text") -> tuple[list[str], bool]:
    """(texts, whether there were many). Raises `WrongType` for anything but a str or a sequence of them."""
    if isinstance(text, str):
        return [text], False
    if isinstance(text, (bytes, bytearray, dict)) or not isinstance(text, Iterable):
        raise WrongType(
            f"{name} must be a str or a list of str, not {type(text).__name__}",
            fix="bytes: tok.encode(data) of slmtok's own tokenizer",
        )
    texts = list(text)
    for index, one in enumerate(texts):
        if not isinstance(one, str):
            raise WrongType(f"{name} {index} is {type(one).__name__}, not str", fix="leave it out, or str(it)")
    return texts, True
