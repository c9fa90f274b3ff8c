"""`Ragged`: many id sequences in two flat arrays; documents are views."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, overload

from slmtok.calls import OF_ROWS, Expression, argument_text, explains_calls
from slmtok.checks import U32, check_index, check_int, integer_meant, refuse_masked, text_as_slice
from slmtok.errors import OptionError, WrongType, value_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids


SHOWN_DOCUMENTS, SHOWN_IDS = 5, 16
"""In a notebook."""
_MADE = f"tok.encode_batch(texts), or {OF_ROWS}"
_PARTS = "ragged[0] is a row, ragged.ids all ids, ragged.pad(value) an array"
_NON_NEGATIVE = "slmtok.Ragged(ids[ids >= 0], np.append(0, np.cumsum(ids >= 0))[offsets])"
_KEPT = frozenset(("<u2", "<u4"))
"""Types of ids, in the byte order of every machine that the engine is built for."""
_MASKED = "rows[np.arange(rows.shape[1]) >= ragged.lengths()[:, None]] = {}"
PAD_FIX = "pad=tok.specials.pad, or encode texts of one length"


@explains_calls
@dataclass(frozen=True, eq=False)
class Ragged:
    """The ids of n documents.

    ids: shape (total,), uint16 where n_vocab <= 65536, else uint32; read-only.
    offsets: shape (n + 1,), int64, read-only; document i is `ids[offsets[i]:offsets[i + 1]]`.

    The constructor converts integers of other types, and keeps arrays of these types without a copy. Raises `WrongType`
    for arrays of anything else, and `OptionError` for other shapes, ids that are negative or beyond 32 bits, and
    offsets that do not reach from 0 to the end of the ids.
    """

    ids: Ids
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        if not (hasattr(self.ids, "dtype") and hasattr(self.offsets, "dtype")):
            wrong = self.offsets if hasattr(self.ids, "dtype") else self.ids
            raise WrongType(
                f"a Ragged is made of two arrays of numpy, not of {type(wrong).__name__}",
                limit="ids of all documents end to end, and n + 1 offsets",
                fix=_of_lists(self.ids, self.offsets) or _MADE,
            )
        for array in (self.ids, self.offsets):
            refuse_masked(array, "a.compressed() leaves the masked values of an array out")
        ids, offsets = _integers(self.ids, "ids"), _integers(self.offsets, "offsets")
        shapes = f"{list(ids.shape)} and {list(offsets.shape)}"
        if ids.ndim != 1 or offsets.ndim != 1 or not len(offsets):
            raise OptionError(f"ids and offsets of shapes {shapes}", limit="[total] and [documents + 1]", fix=_MADE)
        first, last, total = int(offsets[0]), int(offsets[-1]), len(ids)
        if (first, last) != (0, total):
            raise OptionError(
                f"the first and last offset are {first:,} and {last:,}",
                limit=f"0 and {total:,}, the ids",
                fix=f"slmtok.Ragged(ids, {meant})" if (meant := _offsets_meant(offsets.tolist(), total)) else _MADE,
            )
        if (falls := offsets[1:] < offsets[:-1]).any():
            document = int(falls.argmax())
            fact = f"the offset {int(offsets[document + 1]):,} is below the one before it"
            raise OptionError(fact, where=f"document {document}", limit="offsets that do not fall", fix=_MADE)
        # All offsets are from 0 to the number of ids, so none is lost in int64.
        object.__setattr__(self, "offsets", offsets.astype("int64", copy=False))
        object.__setattr__(self, "ids", _narrowed(ids))

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("tolist", "to_list", "to_pylist"):
            hint = "; [row.tolist() for row in ragged] has it"
            raise AttributeError(f"a Ragged has no attribute {name!r}{hint}", name=name, obj=None)
        hint = "" if name.startswith("_") else f"; {_PARTS}"
        raise AttributeError(f"a Ragged has no attribute {name!r}{hint}", name=name, obj=self)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Ids: ...
    @overload
    def __getitem__(self, index: slice) -> Ragged: ...
    def __getitem__(self, index: int | slice) -> Ids | Ragged:
        """Document `index` as a view, or a run of documents as a `Ragged` over the same memory (step 1 only)."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise OptionError(
                    f"a slice of a Ragged with step {step}", limit="step 1", fix="index documents one by one instead"
                )
            offsets = self.offsets[start : max(start, stop) + 1]
            rebased = offsets - offsets[0]
            rebased.flags.writeable = False
            return Ragged(self.ids[int(offsets[0]) : int(offsets[-1])], rebased)
        if isinstance(index, str) and text_as_slice(index) is None and integer_meant(index) is None:
            raise WrongType(f"a Ragged has no column {index!r}", fix=_PARTS, option="index")
        if isinstance(index, tuple) and (fix := _rows_and_columns(index)):
            raise WrongType(f"a Ragged has one index, not {len(index)}: its rows differ in length", fix=fix)
        n = len(self)
        index = check_index(index, "ragged[{}]", n)
        if not -n <= index < n:
            raise IndexError(f"document {value_text(index)} of {n}")
        index %= n
        return self.ids[int(self.offsets[index]) : int(self.offsets[index + 1])]

    def __iter__(self) -> Iterator[Ids]:
        bounds = self.offsets.tolist()
        for start, stop in pairwise(bounds):
            yield self.ids[start:stop]

    def __contains__(self, ids: object) -> bool:
        """Whether a document has exactly these ids."""
        import numpy as np

        return any(np.array_equal(row, ids) for row in self)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same ids in the same documents; the widths of the arrays do not matter."""
        import numpy as np

        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.ids, other.ids)

    def __add__(self, other: object) -> NoReturn:
        """Always raises `WrongType`: the sum may be meant of documents or of ids."""
        raise WrongType(
            f"a Ragged has no sum with {type(other).__name__}",
            limit="documents behind one another are a new Ragged",
            fix=f"rows = [*a, *b]; {OF_ROWS.partition(', for')[0]}",
        )

    __radd__ = __add__  # of `sum`

    def __setitem__(self, index: object, ids: object) -> NoReturn:
        """Always raises `WrongType`."""
        raise WrongType("a Ragged is immutable", fix="rows = ragged.to_lists(), whose rows can be replaced")

    __hash__ = None  # type: ignore[assignment]  # a hash would have to read all ids

    def __repr__(self) -> str:
        return f"Ragged({len(self)} documents, {len(self.ids)} ids, {self.ids.dtype})"

    def _repr_html_(self) -> str:
        from slmtok.notebook import html_table

        rows = [
            (str(number), " ".join(map(str, ids[:SHOWN_IDS].tolist())) + " …" * (len(ids) > SHOWN_IDS) or "(no ids)")
            for number, ids in enumerate(self[:SHOWN_DOCUMENTS])
        ]
        rest = len(self) - len(rows)
        return html_table(repr(self), [*rows, ("…", f"{rest:,} more" if rest else "")])

    def lengths(self) -> NDArray[np.int64]:
        """Ids of each document, shape (n,), int64."""
        import numpy as np

        return np.diff(self.offsets)

    def pad(self, value: int) -> NDArray[np.int64]:
        """All documents as rows of one array, shape (n, longest), int64, filled up with the id `value` at the end.

        Raises `WrongType`, `OptionError` for a `value` that is no id.
        """
        import numpy as np

        lengths = self.lengths()
        width = int(lengths.max(initial=0))
        rows = np.full((len(self), width), _check_pad("value", value), dtype=np.int64)
        rows[np.arange(width) < lengths[:, None]] = self.ids[int(self.offsets[0]) : int(self.offsets[-1])]
        return rows

    def to_torch(self, *, pad: int | None = None, dtype: Any = None) -> Any:
        """All documents as rows of one torch tensor, shape (n, longest), int64 unless `dtype` says otherwise.

        pad: the id that fills short rows; without it all documents must have one length. dtype: a torch or numpy
        integer type. Raises `OptionError` for documents of several lengths or a narrow dtype, `MissingExtra`.
        """
        from slmtok._torch import to_tensor
        from slmtok.tensors import cast_ids

        lengths = self.lengths()
        if pad is None and len(self) and lengths.min() != lengths.max():
            raise OptionError(
                f"the documents have {lengths.min()} to {lengths.max()} ids, which no tensor holds",
                limit="one length",
                fix=PAD_FIX,
                option="pad",
            )
        rows = self.pad(0 if pad is None else _check_pad("pad", pad))
        return to_tensor(rows if dtype is None else cast_ids(rows, dtype, int(rows.max(initial=0))))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Always raises `WrongType`: whether `ids` or rows are meant would depend on the lengths."""
        raise WrongType(
            "a Ragged does not become a numpy array by itself",
            limit="ids end to end, or rows of one length",
            fix="ragged.ids for all ids, ragged.pad(tok.specials.pad) for rows, or list(ragged) for a column",
        )

    def __dlpack_device__(self) -> NoReturn:
        """Always raises `WrongType`, as `__array__`; torch calls it for `torch.tensor(ragged)`."""
        raise WrongType(
            "a Ragged does not become a tensor by itself",
            limit="rows of one length",
            fix="ragged.to_torch(pad=tok.specials.pad)",
        )

    def __dlpack__(self, **options: Any) -> NoReturn:
        """Always raises `WrongType`."""
        self.__dlpack_device__()

    def to_lists(self) -> list[list[int]]:
        """Python lists of int; costs 20 to 40 ns per id."""
        return [document.tolist() for document in self]


def _of_lists(ids: Any, offsets: Any) -> str | None:
    """The call with arrays for flat lists in their place; None for other values."""
    values = [each.tolist() if hasattr(each, "dtype") else each for each in (ids, offsets)]
    if not all(isinstance(each, list) and not any(isinstance(one, (list, tuple)) for one in each) for each in values):
        return None
    shown = ids if hasattr(ids, "dtype") else Expression(f"np.array({argument_text(ids, 'ids')})")
    meant = _offsets_meant(values[1], len(ids)) or f"np.array({argument_text(values[1], 'offsets')})"
    return f"slmtok.Ragged({argument_text(shown, 'ids')}, {meant})"


def _offsets_meant(values: list[Any], total: int) -> str | None:
    """The offsets of `total` ids, of lengths in their place or of the ends of documents; None for other values."""
    if not all(type(each) is int and each >= 0 for each in values) or (values[:1] == [0] and values[-1] == total):
        return None
    if sum(values) == total:
        return f"np.cumsum({argument_text([0, *values], '[0, *lengths]')})"
    if values[-1:] == [total] and values == sorted(values):
        return f"np.array({argument_text([0, *values], '[0, *offsets]')})"
    return None


def _rows_and_columns(index: tuple[object, ...]) -> str | None:
    """What an index of a table of equal rows means here: columns of each row; None for other tuples."""
    parts = [_index_text(each) for each in index]
    if len(parts) != 2 or None in parts:
        return None
    rows, columns = parts
    if not isinstance(index[0], slice):
        return f"ragged[{rows}][{columns}]"
    return f"[row[{columns}] for row in {'ragged' if rows == ':' else f'ragged[{rows}]'}]"


def _index_text(part: object) -> str | None:
    """An index or a slice of integers as it is written; None for others."""
    if not isinstance(part, slice):
        return str(part) if type(part) is int else None
    ends = [part.start, part.stop, *[part.step] * (part.step is not None)]
    is_plain = all(type(each) in (int, type(None)) for each in ends)
    return ":".join("" if each is None else str(each) for each in ends) if is_plain else None


def _integers(values: Any, name: str) -> NDArray[Any]:
    """The argument `name` as an array of integers of any width. Raises `WrongType`."""
    import numpy as np

    try:
        array = np.asarray(values)
    except (RuntimeError, TypeError, ValueError) as error:
        # A tensor on another device than the CPU, or on the device meta.
        raise WrongType(
            f"{name} are no array of numpy: {error}", fix="slmtok.Ragged(ids.cpu(), offsets.cpu())"
        ) from None
    if array.dtype.kind in "iu":
        return array
    if not array.size:
        # numpy makes an array of floats of an empty list.
        return array.astype(np.int64)
    if array.dtype.kind == "b" or (array.dtype.kind == "O" and bool in map(type, array.ravel())):
        raise WrongType(f"{name} are integers, and these are bool: a mask", fix=_MADE)
    made = {"ids": "ids", "offsets": "offsets", name: f"{name}.astype('int64')"}
    converted = f"slmtok.Ragged({made['ids']}, {made['offsets']})"
    fact = f"{name} are integers, and these are {'objects' if array.dtype.kind == 'O' else array.dtype}"
    raise WrongType(fact, fix=converted if _is_exact(array) else _MADE)


def _is_exact(array: NDArray[Any]) -> bool:
    """Whether all values are written as integers, so that `astype('int64')` changes none of them."""
    import numpy as np

    if array.dtype.kind not in "fOSU":
        return False
    try:
        with np.errstate(invalid="ignore"):
            return bool((array.astype(np.int64).astype(array.dtype) == array).all())
    except (TypeError, ValueError, OverflowError):
        return False


def _narrowed(ids: NDArray[Any]) -> Ids:
    """Integers as uint16 or uint32, without a copy where they are. Raises `OptionError` for those that are no ids."""
    import numpy as np

    if ids.dtype.str in _KEPT:
        return ids
    outside = np.zeros(0, dtype=bool)
    if ids.dtype.kind == "i" or ids.dtype.itemsize > np.uint32().itemsize:
        outside = (ids < 0) | (ids > U32)
    if outside.any():
        position = int(outside.argmax())
        raise OptionError(
            f"{int(ids[position])} is no id",
            where=f"ids[{position}]",
            limit=f"0 <= id <= {U32}",
            fix=f"leave out ids below 0, which mask targets in other libraries: {_NON_NEGATIVE}"
            if ids[position] < 0
            else _MADE,
        )
    return ids.astype(np.uint16 if ids.dtype.itemsize <= np.uint16().itemsize else np.uint32)


def _check_pad(name: str, value: object) -> int:
    """`value`, if it is an id. Raises `WrongType`, `OptionError`."""
    try:
        return check_int(name, value, 0, U32)
    except (WrongType, OptionError) as error:
        error.fix = f"{name}=tok.specials.pad"
        if type(value) is int and value < 0:
            # It masks targets in other libraries.
            error.fix += f"; for labels: rows = ragged.pad(0); {_MASKED.format(value)}"
        raise
