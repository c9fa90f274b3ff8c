"""Rows of ids for the Hugging Face adapter: encoding, truncation, special tokens, chunks, padding. Columns are lists.

The rules are those of `tokenizers`. Lengths are in ids."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from slmtok._torch import to_tensor
from slmtok.checks import check_int
from slmtok.errors import OptionError, WrongType

if TYPE_CHECKING:
    from slmtok.ragged import Ragged
    from slmtok.specials import Specials
    from slmtok.tokenizer import Tokenizer

UNLIMITED = int(1e30)
"""`model_max_length` without a limit, as in Hugging Face."""
_NO_LIMIT = int(1e20)
_PADDINGS = ("longest", "max_length", "do_not_pad")
_TRUNCATIONS = ("longest_first", "only_first", "only_second", "do_not_truncate")
_SIDES = ("right", "left")


@dataclass(frozen=True)
class Plan:
    """Truncation and padding of one call; None where neither is done."""

    truncation: str | None = None
    padding: str | None = None
    max_length: int | None = None
    stride: int = 0
    multiple: int | None = None
    truncation_side: str = "right"
    padding_side: str = "right"


def check_side(value: object, option: str) -> str:
    """`value`, if it is "right" or "left". Raises `OptionError`."""
    return _one_of(value, _SIDES, option)


@dataclass(frozen=True)
class Settings:
    """The options of `as_hf`. `pad` is the role or the spelling of the padding token."""

    add_eos: bool = False
    pad: str = "pad"
    model_max_length: int = UNLIMITED
    padding_side: str = "right"
    truncation_side: str = "right"

    def validated(self, specials: Specials) -> Settings:
        """These settings. Raises `OptionError`, and `UnknownSpecial` for special tokens that the tokenizer lacks."""
        check_side(self.padding_side, "padding_side")
        check_side(self.truncation_side, "truncation_side")
        check_int("model_max_length", self.model_max_length, 1, max=10**100)
        if self.pad != "pad":
            specials.find(self.pad)
        if self.add_eos:
            specials.find("eos")
        return self


def make_plan(
    settings: Settings,
    padding: bool | str,
    truncation: bool | str | None,
    max_length: int | None,
    *,
    stride: int = 0,
    pad_to_multiple_of: int | None = None,
    padding_side: str | None = None,
) -> Plan:
    """The meaning of the options of one call, as in Hugging Face. Raises `OptionError` for contradictory options."""
    max_length = None if max_length is None else check_int("max_length", max_length, 0)
    multiple = None if pad_to_multiple_of is None else check_int("pad_to_multiple_of", pad_to_multiple_of, 1)
    if max_length is not None and padding is False and truncation is None:
        warnings.warn(
            f"max_length={max_length} alone truncates; pass truncation=True or truncation=False",
            stacklevel=3,
        )
        truncation = True
    pad = _choice(padding, _PADDINGS, "padding")
    truncate = _choice(truncation, _TRUNCATIONS, "truncation")
    if max_length is None:
        limit = None if settings.model_max_length > _NO_LIMIT else settings.model_max_length
        truncate = truncate if limit is not None else None
        pad = None if pad == "max_length" and limit is None else pad
        max_length = limit if truncate or pad == "max_length" else None
    if truncate and pad and multiple and max_length is not None and max_length % multiple:
        raise OptionError(
            f"max_length={max_length} is no multiple of pad_to_multiple_of={multiple}",
            limit="with truncation and padding both, a multiple",
            fix=f"max_length={-(-max_length // multiple) * multiple}",
            option="max_length",
        )
    return Plan(
        truncation=truncate,
        padding=pad,
        max_length=max_length,
        stride=check_int("stride", stride, 0),
        multiple=multiple,
        truncation_side=settings.truncation_side,
        padding_side=check_side(settings.padding_side if padding_side is None else padding_side, "padding_side"),
    )


def _choice(value: object, choices: tuple[str, ...], option: str) -> str | None:
    """A choice by name, the first one for True; None for False, None and the last one, which does nothing."""
    if value is False or value is None:
        return None
    found = choices[0] if value is True else _one_of(value, choices, option)
    return None if found == choices[-1] else found


def _one_of(value: object, choices: tuple[str, ...], option: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise OptionError(
            f"{option}={value!r} is unknown",
            limit=f"True, False, {', '.join(choices)}" if option in ("padding", "truncation") else ", ".join(choices),
            fix=f"{option}={choices[0]!r}",
            option=option,
        )
    return value


Span: TypeAlias = tuple[int, int]
"""Start and stop in the ids of a text."""
Window: TypeAlias = tuple[Span, Span | None]
"""The part of the first text and, in a pair, that of the second."""


def check_stride(stride: int, size: int) -> None:
    """Raises `OptionError` unless rows of `size` ids can overlap by `stride` ids."""
    if stride >= size:
        raise OptionError(
            f"stride={stride} leaves no step between rows of {size} ids",
            limit=f"below {size}, which is max_length without special tokens",
            fix=f"stride={size // 2}",
            option="stride",
        )


def spans(length: int, size: int, stride: int, side: str) -> list[Span]:
    """The spans of a text of `length` ids in rows of `size`; truncation keeps the first. Raises `OptionError`."""
    if size >= length:
        return [(0, length)]
    if size == 0:
        return [(0, 0), (0, length)]
    check_stride(stride, size)
    found: list[Span] = []
    for step in range(0, length, size - stride):
        if side == "right":
            span = (step, min(step + size, length))
            last = span[1] == length
        else:
            span = (max(length - step - size, 0), length - step)
            last = span[0] == 0
        found.append(span)
        if last:
            break
    return found


def windows(
    first: int, second: int | None, *, room: int, strategy: str, stride: int = 0, side: str = "right"
) -> list[Window]:
    """The windows of a text of `first` ids, or of a pair, each with at most `room` ids; truncation keeps the first.

    The others hold the overflow, each overlapping its predecessor by `stride` ids. Raises `OptionError` if the text
    to truncate is too short, or the stride too large.
    """
    excess = first + (second or 0) - room
    if excess <= 0:
        return [((0, first), None if second is None else (0, second))]
    keep_first, keep_second = _kept(first, second, room, excess, strategy)
    parts = spans(first, keep_first, stride, side)
    if second is None or keep_second is None:
        return [(part, None) for part in parts]
    others = spans(second, keep_second, stride, side)
    rows: list[Window] = [(parts[0], others[0])]
    rows.extend((part, other) for part in parts[1:] for other in others)
    rows.extend((parts[0], other) for other in others[1:])
    return rows


def _kept(first: int, second: int | None, room: int, excess: int, strategy: str) -> tuple[int, int | None]:
    """The number of ids of each text in the first row."""
    if strategy == "longest_first":
        return (room, None) if second is None else _longest_first(first, second, room)
    cut_first = strategy == "only_first"
    length = first if cut_first else second
    if length is None:
        raise OptionError(
            "truncation='only_second' cuts the second text, and there is none",
            limit="pairs of texts",
            fix="truncation=True, or give text_pair=",
            option="truncation",
        )
    if length <= excess:
        raise OptionError(
            f"{excess} ids are too many, and truncation={strategy!r} may take from {length} only",
            limit=f"{room} ids for both texts, without special tokens",
            fix="a larger max_length=, or truncation='longest_first'",
            option="truncation",
        )
    return (first - excess, second) if cut_first else (first, length - excess)


def _longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """Truncates the longer text until both are equally long, then both."""
    short, long = sorted((first, second))
    long = max(short, room - short) if short <= room else short
    if short + long > room:
        short = room // 2
        long = short + room % 2
    return (short, long) if first <= second else (long, short)


@dataclass(frozen=True)
class Frame:
    """The special tokens around each text of a row; None for none."""

    bos: int | None = None
    eos: int | None = None

    @property
    def size(self) -> int:
        """The number of ids that it adds to a text."""
        return (self.bos is not None) + (self.eos is not None)

    def around(self, inner: list[Any], outer: Callable[[int], Any]) -> list[Any]:
        """`inner` between the values of `outer` for the special tokens."""
        row = inner if self.bos is None else [outer(self.bos), *inner]
        return row if self.eos is None else [*row, outer(self.eos)]


class Side:
    """The encoded first texts, or second texts, of a batch."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], threads: int) -> None:
        ragged = tokenizer.encode_batch(texts, threads=threads)
        self._tokenizer = tokenizer
        self._texts = texts
        self._flat: list[int] = ragged.ids.tolist()
        self._bounds: list[int] = ragged.offsets.tolist()

    def length(self, sample: int) -> int:
        """The number of ids of a text."""
        return self._bounds[sample + 1] - self._bounds[sample]

    def ids(self, sample: int, span: Span) -> list[int]:
        """The ids of a span of a text."""
        start = self._bounds[sample]
        return self._flat[start + span[0] : start + span[1]]

    def offsets(self, sample: int, span: Span) -> list[tuple[int, int]]:
        """The characters of each id of a span, as (start, end)."""
        return self._spans(sample)[span[0] : span[1]]

    def _spans(self, sample: int) -> list[tuple[int, int]]:
        return character_spans(
            self._texts[sample], self.ids(sample, (0, self.length(sample))), self._tokenizer.byte_lengths()
        )


def character_spans(text: str, ids: Sequence[int], byte_lengths: Any) -> list[tuple[int, int]]:
    """The characters of which each id has bytes, as (start, end): the offsets of `tokenizers`."""
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
    """One row: the index of its text in the batch, and its window."""

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
        """1 for special tokens, 0 for text."""
        return self._column(lambda which, side, sample, span: [0] * (span[1] - span[0]), lambda id: 1)

    def offsets(self) -> list[list[tuple[int, int]]]:
        """The characters of each id in its own text; (0, 0) for special tokens."""
        return self._column(lambda which, side, sample, span: side.offsets(sample, span), lambda id: (0, 0))

    def type_ids(self) -> list[list[int]]:
        """0 for the first text and its special tokens, 1 for the second."""
        extra = self._frame.size
        return [
            [which for which, span in enumerate(row.window) if span for _ in range(span[1] - span[0] + extra)]
            for row in self._rows
        ]

    def samples(self) -> list[int]:
        """The index of the text of each row."""
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
    """Encodes and truncates. Without `overflow` each text has one row. Raises `OptionError`, `InvalidText`."""
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
        raise OptionError(
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


def as_texts(text: object, name: str = "text") -> tuple[list[str], bool]:
    """(texts, whether a sequence was given). Raises `WrongType` for anything but a str or a sequence of str."""
    if isinstance(text, str):
        return [text], False
    if isinstance(text, (bytes, bytearray, dict)) or not isinstance(text, Iterable):
        raise WrongType(
            f"{name} must be a str or a list of str, not {type(text).__name__}",
            fix="for bytes: tok.encode(data) of slmtok's tokenizer",
        )
    texts = list(text)
    for index, one in enumerate(texts):
        if not isinstance(one, str):
            raise WrongType(f"{name} {index} is {type(one).__name__}, not str", fix="leave it out, or str(it)")
    return texts, True


@dataclass(frozen=True)
class Chunks:
    """Rows of ids, the number of dropped ids, and whether a row is shorter than the others."""

    rows: list[list[int]]
    dropped: int
    short: bool


def chunk_rows(ragged: Ragged, length: int, *, min_fill: float, stride: int, concatenate: bool) -> Chunks:
    """Rows of `length` ids. Raises `OptionError`.

    The last row of a sequence may be shorter; it is kept if it has at least `min_fill` of the length. Ids that overlap
    the previous row do not count as dropped.
    """
    length = check_int("length", length, 1)
    stride = check_int("stride", stride, 0, length - 1)
    if isinstance(min_fill, bool) or not isinstance(min_fill, (int, float)) or not 0 <= min_fill <= 1:
        raise OptionError(
            f"min_fill={min_fill!r} is out of range", limit="0 to 1", fix="min_fill=0.5", option="min_fill"
        )
    least = Fraction(min_fill) * length
    rows: list[list[int]] = []
    dropped = 0
    for ids in _sequences(ragged, concatenate):
        for start in range(0, max(len(ids) - stride, 1), length - stride):
            row = ids[start : start + length]
            if len(row) >= least and row:
                rows.append(row)
            else:
                dropped += len(row) - (stride if start else 0)
    return Chunks(rows, dropped, any(len(row) < length for row in rows))


def _sequences(ragged: Ragged, concatenate: bool) -> Iterable[list[int]]:
    return [ragged.ids.tolist()] if concatenate else (document.tolist() for document in ragged)


PADDING_VALUES = {"attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1, "offset_mapping": (0, 0)}
"""The padding value of each column; `input_ids` take the pad id."""


def _target_length(lengths: Sequence[int], plan: Plan) -> int:
    """The length to which rows are padded; longer rows are unchanged."""
    width = plan.max_length if plan.padding == "max_length" and plan.max_length is not None else max(lengths, default=0)
    return -(-width // plan.multiple) * plan.multiple if plan.multiple else width


def _pad(column: Sequence[Sequence[Any]], width: int, fill: Any, side: str) -> list[Sequence[Any]]:
    """Each row padded to `width`."""
    if side == "left":
        return [[*[fill] * (width - len(row)), *row] if len(row) < width else row for row in column]
    return [[*row, *[fill] * (width - len(row))] if len(row) < width else row for row in column]


def pad_columns(
    columns: Mapping[str, Any], plan: Plan, pad_id: int | None, extra_values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Pads all columns of rows; others (`length`, the mapping) are unchanged.

    extra_values: padding values of further columns. Raises `OptionError` without a pad token.
    """
    if plan.padding is None:
        return dict(columns)
    if pad_id is None:
        raise OptionError(
            "there is no pad token to pad with",
            limit="a special token with the role pad, or as_hf(tok, pad=...)",
            fix="as_hf(tok, pad='eos')",
            option="padding",
        )
    width = _target_length([len(row) for row in columns["input_ids"]], plan)
    fills = {**PADDING_VALUES, "input_ids": pad_id, **(extra_values or {})}
    return {
        name: _pad(column, width, fills[name], plan.padding_side) if name in fills else column
        for name, column in columns.items()
    }


def check_tensor_type(return_tensors: object) -> None:
    """Raises `OptionError` unless `return_tensors` is None, "np" or "pt"."""
    if return_tensors not in (None, "np", "pt"):
        raise OptionError(
            f"return_tensors={return_tensors!r} is unknown",
            limit="'np' (numpy), 'pt' (torch), or None for lists",
            fix="return_tensors='np'",
            option="return_tensors",
        )


def to_array(name: str, rows: Sequence[Any], tensor_type: str) -> Any:
    """A column as one int64 array or tensor. Raises `OptionError` if its rows differ in length."""
    import numpy as np

    lengths = {len(row) for row in rows if hasattr(row, "__len__")}
    if len(lengths) > 1:
        raise OptionError(
            f"the rows of {name} have {min(lengths)} to {max(lengths)} ids, which no tensor holds",
            limit="rows of one length",
            fix="padding=True, and truncation=True with max_length= for rows that may be too long",
            option="return_tensors",
        )
    array = np.asarray(rows, dtype=np.int64)
    return array if tensor_type == "np" else to_tensor(np.ascontiguousarray(array))
