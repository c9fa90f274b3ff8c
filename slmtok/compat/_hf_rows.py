"""Rows of ids for the Hugging Face adapter: encoding, truncation, special tokens, chunks, padding. Columns are lists.

The rules are those of `tokenizers`. Lengths are in ids."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from slmtok._torch import to_tensor
from slmtok.calls import Expression, call_text, warn_caller
from slmtok.checks import ALL_TEXTS, check_int, is_missing, refuse_masked, refuse_table, type_shown
from slmtok.errors import OptionError, Setting, WrongType, python_naming, value_text
from slmtok.foreign_options import EXAMPLE_LENGTH, TRUNCATION_SIDE, closest, hf_options, nearest_name
from slmtok.record_texts import map_call, short_text, texts_in, texts_of_rows
from slmtok.spans import byte_spans

if TYPE_CHECKING:
    from slmtok.ragged import Ragged
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


def check_side(value: object, option: str, *, is_of_call: bool = True) -> str:
    """`value`, if it is "right" or "left". Raises `OptionError`, with the option of a call that takes the value."""
    way = option.removesuffix("_side")
    if isinstance(value, str) and value in {"padding": _PADDINGS, "truncation": _TRUNCATIONS}[way]:
        settings = hf_options({way: value}, several=True)
        fix = call_text("hf", [Expression("text")], settings)
        raise OptionError(
            f"{option}={value!r} is unknown",
            limit=", ".join(_SIDES),
            fix=", ".join(f"{each}={to!r}" for each, to in settings.items())
            if is_of_call
            else f"hf = slmtok.compat.as_hf(tok); {fix}",
            option=option,
        )
    return _one_of(value, _SIDES, option)


@dataclass(frozen=True)
class Settings:
    """The options of `as_hf`. `pad` is the role or the spelling of the padding token."""

    add_eos: bool = False
    pad: str = "pad"
    model_max_length: int = UNLIMITED
    padding_side: str = "right"
    truncation_side: str = "right"

    def validated(self) -> Settings:
        """These settings. Raises `OptionError`."""
        check_side(self.padding_side, "padding_side", is_of_call=False)
        check_side(self.truncation_side, "truncation_side", is_of_call=False)
        _check_length("model_max_length", self.model_max_length, 1)
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
    multiple = None if pad_to_multiple_of is None else check_int("pad_to_multiple_of", pad_to_multiple_of, 1)
    max_length = None if max_length is None else _check_length("max_length", max_length, 0, multiple)
    if max_length is not None and padding is False and truncation is None:
        warn_caller(f"max_length={max_length} alone truncates; pass truncation=True or truncation=False")
        truncation = True
    pad = _choice(padding, _PADDINGS, "padding", max_length)
    truncate = _choice(truncation, _TRUNCATIONS, "truncation", max_length)
    if max_length is None:
        limit = None if settings.model_max_length > _NO_LIMIT else settings.model_max_length
        truncate = truncate if limit is not None else None
        if pad == "max_length" and limit is None:
            warn_caller(
                "padding='max_length' pads nothing without a length, as in transformers; "
                f"give max_length={EXAMPLE_LENGTH}, for instance, or as_hf(tok, model_max_length={EXAMPLE_LENGTH})"
            )
            pad = None
        max_length = limit if truncate or pad == "max_length" else None
    if truncate and pad and multiple and max_length is not None and max_length % multiple:
        raise OptionError(
            f"max_length={max_length} is no multiple of pad_to_multiple_of={multiple}",
            limit="with truncation and padding both, a multiple",
            fix=f"max_length={_round_up(max_length, multiple)}",
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


def _check_length(name: str, value: object, min: int, multiple: int | None = None) -> int:
    """`value`, if it is a number of ids. Raises `OptionError`, `WrongType`, with a length that has room for text."""
    try:
        return check_int(name, value, min, max=10**100)
    except (OptionError, WrongType) as error:
        if error.fix in (f"{name}={min}", f"{name}=1", f"{name}={min}, or more"):
            error.fix = f"{name}={_round_up(EXAMPLE_LENGTH, multiple)}, or leave {name} out for no limit"
        if min == 0 and isinstance(error, OptionError):
            error.limit = "0 or more; with truncation, more than the special tokens of a row"
        raise


def _round_up(length: int, multiple: int | None) -> int:
    """The next multiple, or `length` without one."""
    return length if multiple is None else -(-length // multiple) * multiple


def _choice(value: object, choices: tuple[str, ...], option: str, max_length: int | None) -> str | None:
    """A choice by name, the first one for True; None for False, None and the last one, which does nothing."""
    if value is False or value is None:
        return None
    found = choices[0] if value is True else _one_of(value, choices, option, max_length)
    return None if found == choices[-1] else found


def _one_of(value: object, choices: tuple[str, ...], option: str, max_length: int | None = None) -> str:
    if not isinstance(value, str) or value not in choices:
        close = closest(value, choices) if isinstance(value, str) else None
        given = {option: value} if max_length is None else {option: value, "max_length": max_length}
        meant = {option: close} if close else {} if choices == _SIDES else hf_options(given, several=True)
        settings = [Setting(each, to) for each, to in meant.items() if each not in given or to is not given[each]]
        fix = ", ".join(map(python_naming, settings)) or ", or ".join(f"{option}={each!r}" for each in choices)
        if option == "truncation" and value == "left":
            fix = TRUNCATION_SIDE
        raise OptionError(
            f"{option}={value_text(value)} is unknown",
            limit=f"True, False, {', '.join(choices)}" if option in ("padding", "truncation") else ", ".join(choices),
            fix=fix,
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
    found = [(start, min(start + size, length)) for start in range(0, length - stride, size - stride)]
    return found if side == "right" else [(length - stop, length - start) for start, stop in found]


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
    """The encoded first texts, or second texts, of a batch. A text is one part, or several words encoded separately."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[Text | None], threads: int, *, split: bool) -> None:
        counts = [len(words or ()) for words in texts] if split else None
        self._parts: list[str] = [word for words in texts for word in words or ()] if split else _without_none(texts)
        self._tokenizer = tokenizer
        self._split = split
        self._flat: list[int]
        self._part_bounds: list[int]
        if len(self._parts) == 1:  # a batch of one takes six times as long
            self._flat = tokenizer.encode_list(self._parts[0])
            self._part_bounds = [0, len(self._flat)]
        else:
            ragged = tokenizer.encode_batch(self._parts, threads=threads)
            self._flat, self._part_bounds = ragged.ids.tolist(), ragged.offsets.tolist()
        self._first_part: Sequence[int] = range(len(texts) + 1) if counts is None else [0, *accumulate(counts)]
        self._bounds: list[int] = self._part_bounds
        if counts is not None:
            self._bounds = [self._part_bounds[part] for part in self._first_part]

    def length(self, sample: int) -> int:
        """The number of ids of a text."""
        return self._bounds[sample + 1] - self._bounds[sample]

    def ids(self, sample: int, span: Span) -> list[int]:
        """The ids of a span of a text."""
        start = self._bounds[sample]
        return self._flat[start + span[0] : start + span[1]]

    def offsets(self, sample: int, span: Span) -> list[tuple[int, int]]:
        """The characters of each id of a span, as (start, end)."""
        lengths = self._tokenizer.byte_lengths()
        found = [each for text, ids in self._parts_of(sample) for each in character_spans(text, ids, lengths)]
        return found[span[0] : span[1]]

    def words(self, sample: int, span: Span) -> list[int]:
        """The word of each id of a span: its index in the list of words, or in the pieces of the split pattern."""
        parts = self._parts_of(sample)
        if self._split:
            found = [word for word, (_, ids) in enumerate(parts) for _ in ids]
        else:
            found = [piece for text, ids in parts for piece in self._pieces(text, ids)]
        return found[span[0] : span[1]]

    def _pieces(self, text: str, ids: list[int]) -> list[int]:
        import numpy as np

        ends = byte_spans(np.asarray(ids, dtype=np.uint32), self._tokenizer.byte_lengths())[:, 1]
        bounds = self._tokenizer._encoder.pattern.split(text).astype(np.int64)
        found: list[int] = (np.searchsorted(bounds, ends) - 1).tolist()
        return found

    def _parts_of(self, sample: int) -> list[tuple[str, list[int]]]:
        """(text, ids) of each part of a text."""
        parts = range(self._first_part[sample], self._first_part[sample + 1])
        bounds = self._part_bounds
        return [(self._parts[part], self._flat[bounds[part] : bounds[part + 1]]) for part in parts]


def _without_none(texts: Sequence[Any]) -> list[str]:
    return [text or "" for text in texts] if None in texts else list(texts)


def character_spans(text: str, ids: Sequence[int], byte_lengths: Any) -> list[tuple[int, int]]:
    """The characters of which each id has bytes, as (start, end): the offsets of `tokenizers`."""
    import numpy as np

    starts, ends = byte_spans(np.asarray(ids, dtype=np.uint32), byte_lengths).T
    if not text.isascii():
        begun = np.cumsum((np.frombuffer(text.encode(), dtype=np.uint8) & 0xC0) != 0x80)
        starts, ends = begun[starts] - 1, begun[ends - 1]
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


class Rows:
    """The rows of a batch, and their columns."""

    def __init__(self, first: Side, second: Side | None, rows: list[tuple[int, Window]], frame: Frame) -> None:
        """rows: of each, the index of its text in the batch, and its window."""
        self._sides = (first,) if second is None else (first, second)
        self._rows = rows
        self._frame = frame

    def _column(
        self, inner: Callable[[int, Side, int, Span], list[Any]], outer: Callable[[int], Any]
    ) -> list[list[Any]]:
        return [self.values(index, inner, outer) for index in range(len(self._rows))]

    def values(
        self, index: int, inner: Callable[[int, Side, int, Span], list[Any]], outer: Callable[[int], Any]
    ) -> list[Any]:
        """A value for each id of a row: those of `inner` for the ids of a text, `outer` for special tokens."""
        sample, window = self._rows[index]
        values: list[Any] = []
        for which, side in enumerate(self._sides):
            span = window[which]
            if span is not None:
                part = self._frame.around(inner(which, side, sample, span), outer)
                values = part if not which else values + part
        return values

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
            [which for which, span in enumerate(window) if span for _ in range(span[1] - span[0] + extra)]
            for _, window in self._rows
        ]

    def samples(self) -> list[int]:
        """The index of the text of each row."""
        return [sample for sample, _ in self._rows]


class Alignment:
    """The text, the word and the characters of each id of a result, padding included; computed on request."""

    def __init__(self, rows: Rows, ids: Sequence[Sequence[int]], side: str) -> None:
        """`ids`: those of each row, padding included, which is on `side`."""
        self._rows, self._widths, self._side = rows, list(map(len, ids)), side

    def __len__(self) -> int:
        return len(self._widths)

    def ids(self, row: int, pad_id: int | None) -> list[int]:
        """The ids of a row."""
        return self._padded(row, lambda which, side, sample, span: side.ids(sample, span), lambda id: id, pad_id)

    def sequences(self, row: int) -> list[int | None]:
        """0 for ids of the first text, 1 for those of the second, None for special tokens."""
        return self._padded(row, lambda which, side, sample, span: [which] * (span[1] - span[0]))

    def words(self, row: int) -> list[int | None]:
        """The index of the word of each id in its text, None for special tokens."""
        return self._padded(row, lambda which, side, sample, span: side.words(sample, span))

    def token_at(self, row: int, char: int, sequence: int) -> int | None:
        """The position of the first id that has bytes of a character, None if there is none."""
        spans = self._padded(row, lambda which, side, sample, span: side.offsets(sample, span))
        places = enumerate(zip(self.sequences(row), spans, strict=True))
        return next((at for at, (of, span) in places if of == sequence and span[0] <= char < span[1]), None)

    def _padded(
        self,
        row: int,
        inner: Callable[[int, Side, int, Span], list[Any]],
        outer: Callable[[int], Any] = lambda id: None,
        fill: int | None = None,
    ) -> list[Any]:
        width = self._widths[row]
        return list(_pad([self._rows.values(row, inner, outer)], width, fill, self._side)[0])


def make_rows(tokenizer: Tokenizer, inputs: Inputs, plan: Plan, frame: Frame, *, overflow: bool, threads: int) -> Rows:
    """Encodes and truncates. Without `overflow` each text has one row. Raises `OptionError`, `InvalidText`."""
    first = Side(tokenizer, inputs.first, threads, split=inputs.split)
    second = None if inputs.second is None else Side(tokenizer, inputs.second, threads, split=inputs.split)
    cutters = {pair: _cutter(plan, frame, pair=pair) for pair in inputs.kinds}
    if second is None or inputs.second is None:
        found = [cutters[False](first.length(sample), None) for sample in range(len(inputs.first))]
    else:
        found = [
            cutters[text is not None](first.length(sample), None if text is None else second.length(sample))
            for sample, text in enumerate(inputs.second)
        ]
    rows = [(sample, window) for sample, cuts in enumerate(found) for window in (cuts if overflow else cuts[:1])]
    return Rows(first, second, rows, frame)


def _cutter(plan: Plan, frame: Frame, *, pair: bool) -> Callable[[int, int | None], list[Window]]:
    if plan.truncation is None or plan.max_length is None:
        return lambda first, second: [((0, first), None if second is None else (0, second))]
    added = frame.size * (1 + pair)
    if plan.max_length <= added:
        raise OptionError(
            f"max_length={plan.max_length} leaves no room for text beside {added} special tokens",
            limit=f"{added + 1} or more",
            fix=f"max_length={_round_up(added + 126, plan.multiple)}"
            + (", or add_special_tokens=False" if added and plan.max_length else ""),
            option="max_length",
        )
    room = plan.max_length - added
    if plan.stride:
        check_stride(plan.stride, plan.max_length - frame.size)
    return partial(windows, room=room, strategy=plan.truncation, stride=plan.stride, side=plan.truncation_side)


Text: TypeAlias = "str | list[str]"
"""A text, or its words."""


@dataclass(frozen=True)
class Inputs:
    """The texts of a call: the first of each sample, and the second or None, all None as one None.

    `many`: they were given as a batch. `split`: a text is a list of words.
    """

    first: list[Text]
    second: list[Text | None] | None
    many: bool
    split: bool

    @property
    def kinds(self) -> set[bool]:
        """Whether samples are pairs: some, all or none."""
        return {False} if self.second is None else {text is not None for text in self.second}


_CALL = ("hf", "is_split_into_words")


def parse_inputs(text: object, text_pair: object, *, split: bool, call: tuple[str, str] = _CALL) -> Inputs:
    """The texts of a call: `text` with `text_pair`, or pairs as tuples. split: a text is a list of words.

    call: the function that takes a list of texts, and its option for words, which fixes name.
    An empty `text_pair` of a single text is no text, as in Hugging Face. Raises `WrongType`, `OptionError`.
    """
    first, many = _samples(text, "text", split=split)
    if text_pair is None and not split and set(map(type, first)) <= {str}:
        return Inputs(first, None, many, split)
    if text_pair is None:
        pairs = [tuple(one) if _is_pair(one, split=split) else (one, None) for one in first]
    else:
        others, others_many = _samples(text_pair, "text_pair", split=split)
        if others_many != many or len(others) != len(first):
            raise OptionError(
                f"{len(first)} texts and {len(others)} in text_pair are no pairs",
                limit="two texts, or two lists of one length",
                fix="text_pair=[one for each text]",
                option="text_pair",
            )
        pairs = list(zip(first, others if many or text_pair else [None], strict=True))
    check = _check_words if split else partial(_check_text, call=call)
    second = [None if other is None else check(other, "text_pair", index) for index, (_, other) in enumerate(pairs)]
    return Inputs(
        [check(one, "text", index) for index, (one, _) in enumerate(pairs)],
        None if second.count(None) == len(second) else second,
        many,
        split,
    )


def _samples(text: object, name: str, *, split: bool) -> tuple[list[Any], bool]:
    """(samples, whether they were given as a batch)."""
    if isinstance(text, str) and not split:
        return [text], False
    refuse_table(text)
    if isinstance(text, (str, bytes, bytearray, Mapping)) or not isinstance(text, Iterable):
        held = map_call(text) or texts_in(text, brackets=True) if isinstance(text, Mapping) else None
        if isinstance(text, os.PathLike):
            held = f"open({os.fspath(text)!r}, encoding='utf-8').read()"
        raise WrongType(
            f"{name} must be {'a list of words' if split else 'a str or a list of str'}, not {type_shown(text)}",
            fix="text.split()" if split else held or _one_text(text, name),
        )
    samples = list(text)
    if samples and isinstance(samples[0], Mapping) and (held := texts_in(text, first=samples[0], brackets=True)):
        raise WrongType(f"{name} 0 is {type(samples[0]).__name__}, not str", limit="a str or a list of str", fix=held)
    if split and all(isinstance(one, str) for one in samples[:1]):
        return [samples], False
    return samples, True


def _one_text(text: object, name: str) -> str:
    """The fix for what is neither a text nor several."""
    if isinstance(text, (bytes, bytearray)):
        return "for bytes: tok.encode(data) of slmtok's tokenizer"
    digits = short_text(text, "x") if type(text) in (int, float) else "x"
    meant = "'some text'" if digits == "x" else repr(digits)
    if is_missing(text):
        meant = "text if isinstance(text, str) else ''"
    whole = f" for its digits, or hf.decode([{digits}]) for an id" if type(text) is int and digits != "x" else ""
    return (f"hf({meant})" if name == "text" else f"{name}={meant}") + whole


def _is_pair(sample: object, *, split: bool) -> bool:
    is_two = isinstance(sample, (list, tuple)) and len(sample) == 2
    return is_two and not (split and isinstance(sample[0], str))  # type: ignore[index]  # a sequence, see is_two


def _check_text(text: object, name: str, index: int, call: tuple[str, str] = _CALL) -> str:
    if not isinstance(text, str):
        raise WrongType(
            f"{name} {index} is {type_shown(text)}, not str",
            limit="a str, or (text, text_pair)",
            fix=f"{call[1]}=True for words"
            if isinstance(text, (list, tuple))
            else f"{call[0]}({ALL_TEXTS})"
            if is_missing(text)
            else f"{call[0]}([{rows}])"
            if (rows := texts_of_rows(text))
            else "leave it out, or str(it)",
        )
    return text


def _check_words(words: object, name: str, index: int) -> list[str]:
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
        kind = type(words).__name__
        raise WrongType(f"{name} {index} is no list of words but {kind}", limit="a list of str", fix="text.split()")
    return list(words)


def as_texts(texts: object) -> list[str]:
    """Texts as a list. Raises `WrongType` for anything but a str or a sequence of str."""
    return [_check_text(one, "text", index) for index, one in enumerate(_samples(texts, "texts", split=False)[0])]


def to_plain(value: Any) -> Any:
    """`value` with arrays, tensors and their scalars as lists and numbers. Raises `WrongType` for a masked array."""
    refuse_masked(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return value
    items = value if isinstance(value, list) else list(value)
    return items if not items or isinstance(items[0], int) else [to_plain(item) for item in items]


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
            f"min_fill={value_text(min_fill)} is out of range", limit="0 to 1", fix="min_fill=0.5", option="min_fill"
        )
    least = Fraction(min_fill) * length
    rows: list[list[int]] = []
    dropped = 0
    for document in [ragged.ids] if concatenate else ragged:
        ids = document.tolist()
        for start in range(0, max(len(ids) - stride, 1), length - stride):
            row = ids[start : start + length]
            if len(row) >= least and row:
                rows.append(row)
            else:
                dropped += len(row) - (stride if start else 0)
    return Chunks(rows, dropped, any(len(row) < length for row in rows))


PADDING_VALUES = {"attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1, "offset_mapping": (0, 0)}
"""The padding value of each column; `input_ids` take the pad id."""


def _pad(column: Sequence[Sequence[Any]], width: int, fill: Any, side: str) -> list[Sequence[Any]]:
    """Each row padded to `width`; longer rows are unchanged."""
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
    length = plan.max_length if plan.padding == "max_length" else None
    width = _round_up(max(map(len, columns["input_ids"]), default=0) if length is None else length, plan.multiple)
    fills = {**PADDING_VALUES, "input_ids": pad_id, **(extra_values or {})}
    return {
        name: _pad(column, width, fills[name], plan.padding_side) if name in fills else column
        for name, column in columns.items()
    }


def check_tensor_type(return_tensors: object) -> None:
    """Raises `OptionError` unless `return_tensors` is None, "np" or "pt"."""
    if return_tensors not in (None, "np", "pt"):
        is_torch = nearest_name(return_tensors, ("np", "pt"))
        raise OptionError(
            f"return_tensors={value_text(return_tensors)} is unknown",
            limit="'np' (numpy), 'pt' (torch), or None for lists",
            fix="return_tensors='pt'" if is_torch else "return_tensors='np', or return_tensors='pt'",
            option="return_tensors",
        )


def tensor_type_of(values: object) -> str | None:
    """ "np" or "pt" for an array or a tensor, or a list of them; None for anything else."""
    one = values[0] if isinstance(values, (list, tuple)) and values else values
    kind = type(one).__module__.partition(".")[0]
    return {"numpy": "np", "torch": "pt"}.get(kind) if hasattr(one, "tolist") else None


def to_array(name: str, rows: Sequence[Any], tensor_type: str) -> Any:
    """A column as one array or tensor: integers as int64. Raises `OptionError` if its rows differ in length."""
    import numpy as np

    lengths = {len(row) for row in rows if hasattr(row, "__len__")}
    if len(lengths) > 1:
        raise OptionError(
            f"the rows of {name} have {min(lengths)} to {max(lengths)} ids, which no tensor holds",
            limit="rows of one length",
            fix="padding=True, and truncation=True with max_length= for rows that may be too long",
            option="return_tensors",
        )
    array = np.asarray(rows)
    if array.dtype.kind in "iu" or not array.size:
        array = array.astype(np.int64)
    if tensor_type == "np":
        return array
    return to_tensor(np.ascontiguousarray(array, dtype=np.float32 if array.dtype.kind == "f" else None))
