"""Arrays of ids: checked, decoded, joined, streamed, and written to files.

The engine refuses ids outside the vocabulary. Values that it cannot take at all (integers beyond 64 bits, other types)
are refused here with the same text.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, pairwise
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NoReturn, SupportsIndex, cast, final

from slmtok import _engine, atomic
from slmtok.calls import argument_text, warn_caller
from slmtok.checks import as_list, check_choice, check_int, check_path, refuse_bool, refuse_masked, refuse_spans
from slmtok.errors import MissingInput, OptionError, Setting, UnknownId, Unreadable, WrongType, value_text
from slmtok.file_content import HEAD_BYTES, content_of, is_utf_8, text_meant
from slmtok.files import mention_texts, missing_input, refuse_text, unreadable
from slmtok.id_holders import (
    DECODE,
    ENCODED_COLUMNS,
    TEXTS,
    call_of_pieces,
    call_with_ids,
    call_with_rows,
    columns_of,
    of_rows,
)
from slmtok.path_arguments import BINARY_SUFFIXES, free_name, glob_matches
from slmtok.ragged import Ragged
from slmtok.record_texts import scalar, short_text
from slmtok.system_memory import free_memory
from slmtok.vocabulary import PADDING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Encoder
    from slmtok.aliases import Ids, Progress, Text
    from slmtok.specials import Specials

OFFSETS_SUFFIX = ".offsets.npy"
"""Of the file beside a file of ids: where each document begins, int64, one more than documents."""
ID_MAP_SUFFIX = ".ids.npy"
"""Of the file beside a tokenizer that was cut: the new id of each old one, int64, -1 where it is gone."""
NOT_RAW = tuple({*BINARY_SUFFIXES, ".json", ".jsonl", ".csv", ".tsv", ".gz", ".zst", ".xz"} - {".bin"})
"""Suffixes of files that hold something else than ids as raw integers."""
_TAKEN = frozenset(("<u2", "<u4", "<i8"))
"""Types of arrays that the engine takes as a whole, in the byte order of every machine that it is built for."""
_MASK_IDS = 16
"""Ids of a list that are looked at to refuse a mask; looking at all would take as long as decoding."""
_TEXT_HEAD_BYTES = 1 << 14
"""Of a text that is encoded, what is looked at for bytes that are not UTF-8."""
_CONVERTED_IDS = 1 << 20
"""Ids of a list that C converts in one call, during which signals are not heard."""
_ARRAY_IDS = 1 << 24
"""Ids of an array that the engine decodes in one call, during which signals are not heard."""
_TEXT_BYTES = 1 << 26
"""Bytes of a text that C converts in one call."""
_HEADERS = {b"SLMSHARD": ("a token shard", 4096), b"\x93NUMPY": ("an array file of numpy", 128)}
"""Beginnings of files with ids behind a header: what such a file is, and the bytes of its header."""
_MIN_WITH_HEADER = 1024
"""Ids of an array whose beginning is looked at; fewer are rarely a whole file, and the look takes 0.3 us."""
_MASK_FIX = "ids[mask] chooses ids of an array"
_MAX_SHOWN = 80
"""Characters of a value that is no id in an error."""
_TEXT_FIX = "tok.encode(text) gives ids"
_NONE_FIX = "ids = {}  # a function without a return statement gives None"
_WORDS_FIX = f"{_TEXT_FIX} of a text; [tok.token_to_id(word) for word in ids] those of words of tokens"
_MIN, _MAX = -(1 << 63), (1 << 63) - 1
_INPUT_IDS = "encoded['input_ids']"


def check_row(ids: object, call: str = DECODE) -> Any:
    """`ids` as one sequence for the engine. Raises `WrongType` for a batch or text; `call` takes one sequence."""
    row = _check_lazy_row(ids, call)
    return as_list(row) if _is_lazy(row) else row


def _is_lazy(row: object) -> bool:
    """Whether the ids of a row are made while it is read, such as those of a `range`."""
    import numpy as np

    return not isinstance(row, (list, tuple, np.ndarray))


def _check_lazy_row(ids: object, call: str) -> Any:
    """As `check_row`, with an iterable that is no sequence or array as it is."""
    import numpy as np

    if isinstance(ids, np.ndarray):
        if type(ids) is not np.ndarray:
            refuse_masked(ids)
        if ids.size >= _MIN_WITH_HEADER or isinstance(ids, np.memmap):
            _refuse_header(ids)
        if ids.ndim == 1 and ids.dtype.kind in "iu":
            # The usual case: the checks below take thirty times as long as decoding a short text.
            return ids if ids.dtype.str in _TAKEN else _widened(ids)
    if isinstance(ids, Ragged):
        raise WrongType("a Ragged holds many id sequences", fix=of_rows(call, "ragged"))
    if isinstance(ids, str) and ids in ENCODED_COLUMNS:
        fix = f"{of_rows(call, _INPUT_IDS)}, or {call.format(_INPUT_IDS)} of one text"
        raise WrongType(f"{ids!r} is the name of a column of a batch, not its ids", fix=fix)
    if isinstance(ids, TEXTS):
        is_ids = isinstance(ids, str) and all(map(str.isdecimal, ids.split())) and bool(ids.strip())
        fix = call.format(_numbers_in(str(ids))) if is_ids else _TEXT_FIX
        if not isinstance(ids, str) and _are_raw_ids(bytes(ids[:_TEXT_HEAD_BYTES])):
            fix = call.format("np.frombuffer(ids, dtype=tok.dtype)")
        raise WrongType(f"ids must be integers, this is {type(ids).__name__}", fix=fix)
    if isinstance(ids, (list, tuple)):
        refuse_mask(ids)
        return ids
    _check_array(ids, call)
    if isinstance(ids, np.ndarray):
        return ids
    if isinstance(ids, (Mapping, AbstractSet)) or not isinstance(ids, Iterable) or columns_of(ids):
        listed = call.format("list(ids)" if isinstance(ids, AbstractSet) else list_of_one(ids))
        fix = call_with_ids(ids, call) or (_TEXT_FIX if isinstance(ids, (Mapping, float)) else listed)
        fix = _NONE_FIX.format("tok.encode(text)") if ids is None else fix
        raise WrongType(f"ids must be an array or a sequence, not {type(ids).__name__}", fix=fix)
    array = _array_of(ids)
    return ids if array is None else array


def _are_raw_ids(head: bytes) -> bool:
    """Whether bytes are integers, of which small ones have zero bytes, rather than text."""
    return b"\0" in head or not is_utf_8(head)


def _numbers_in(text: str) -> str:
    """The list of the ids that a text spells, as a caller writes it; of a long text, how it is made of `ids`."""
    made = "list(map(int, ids.split()))"
    return short_text([int(each) for each in text.split()], made) if len(text) <= _MAX_SHOWN else made


def _refuse_header(ids: NDArray[Any]) -> None:
    """Raises `WrongType` for ids that were read from a file at the place of its header."""
    import numpy as np

    name, start, head = None, 0, ids[:4].tobytes() if ids.ndim == 1 and ids.flags.c_contiguous else b""
    if isinstance(ids, np.memmap) and ids.filename is not None:
        whole = ids
        while isinstance(whole.base, np.memmap):
            whole = whole.base
        name, start = os.fspath(ids.filename), whole.offset + ids.ctypes.data - whole.ctypes.data
        try:
            with open(name, "rb") as file:  # noqa: PTH123 (any path)
                head = file.read(8)
        except OSError:
            return
    magic = next(filter(head.startswith, _HEADERS), None)
    kind, n_bytes = _HEADERS[magic] if magic else ("", 0)
    if start >= n_bytes:
        return
    path = "path" if name is None else repr(name)
    fix = f"np.memmap({path}, dtype={ids.dtype.name!r}, mode='r', offset={n_bytes}), whose ids are those of the file"
    if kind != "a token shard":
        fix = f"np.load({path}, mmap_mode='r')"
    held = f"the header of {'the file' if name is None else path}"
    raise WrongType(f"the ids begin in {held}, which is {kind}", limit=f"{n_bytes} bytes of header, then ids", fix=fix)


def _widened(ids: NDArray[Any]) -> NDArray[Any]:
    """Ids in a type that the engine takes as a whole, where all fit it: one by one, 64 million take seconds."""
    import numpy as np

    return ids if ids.dtype.kind == "u" and len(ids) and ids.max() > _MAX else ids.astype(np.int64)


def _array_of(ids: Any) -> NDArray[Any] | None:
    """The integers of a tensor or another array, whose elements would be objects of 500 bytes; None for others."""
    import numpy as np

    if not hasattr(ids, "dtype"):
        return None
    try:
        array = np.asarray(ids.cpu() if hasattr(ids, "cpu") else ids)
    except (RuntimeError, TypeError, ValueError):
        # A tensor on the device meta has no values.
        return None
    return _widened(array) if array.ndim == 1 and array.dtype.kind in "iu" else None


def list_of_one(id: object, variable: str = "[token_id]") -> str:
    """The list of one id, as a caller writes it; a value that is no id is the variable."""
    return short_text([number], variable) if type(number := scalar(id)) is int else variable


def refuse_mask(ids: list[Any] | tuple[Any, ...]) -> None:
    """Raises `WrongType` for a list that begins with bools, and for ids with their spans."""
    refuse_spans(ids)
    if bool in map(type, ids[:_MASK_IDS]):
        raise WrongType("ids are integers, and these are bool: a mask", fix=_MASK_FIX)


def _check_array(ids: object, call: str) -> None:
    """Raises `WrongType` for an array or tensor with other values than integers, or without one dimension."""
    dtype, shape = getattr(ids, "dtype", None), tuple(getattr(ids, "shape", (1,)))
    if dtype is None or 0 in shape:
        return
    name = str(dtype).removeprefix("torch.")
    # pandas and polars name the type by words of their own.
    if name.lower() in ("bool", "boolean") or (
        name == "object" and shape and bool in map(type, as_list(cast("Any", ids)))
    ):
        raise WrongType("ids are integers, and these are bool: a mask", fix=_MASK_FIX)
    _refuse_floats(ids, call)
    if not shape:
        raise WrongType("ids are a sequence, and this is one id", fix=call.format(list_of_one(ids)))
    if len(shape) > 1:
        raise _wrong_shape(shape, call)


def _refuse_floats(ids: object, call: str) -> None:
    """Raises `WrongType` for an array or tensor of floats; whole ones are ids, others logits, which have a shape."""
    name = str(getattr(ids, "dtype", "")).removeprefix("torch.")
    if not name.startswith(("float", "bfloat", "complex")):
        return
    values, n_dimensions = cast("Any", ids), len(getattr(ids, "shape", ()))
    integers = "ids.long()" if hasattr(ids, "long") else "ids.astype('int64')"
    best = "logits.argmax(-1)"
    calls = {1: call.format(f"[int({best})]"), 2: call.format(best), 3: of_rows(call, best)}
    fix = f"of logits: {calls.get(n_dimensions, best)}"
    if name.startswith("complex") or _are_whole(values):
        fix = f"{integers if n_dimensions < 2 else of_rows(call, integers)}; {fix}"
    raise WrongType(f"ids are integers, and these are {name}", fix=fix)


def _are_whole(values: Any) -> bool:
    try:
        return bool((values == values.round()).all())
    except (RuntimeError, TypeError):
        # Tensors without values, on the device meta.
        return False


def _wrong_shape(shape: tuple[int, ...], call: str) -> WrongType:
    fix = f"{of_rows(call)}, or ids.ravel()"
    return WrongType(f"ids have the shape {shape}", limit="one dimension", fix=fix)


def _shown(value: object, name: str) -> str:
    """A short value of numbers, texts, and lists of these, as a caller writes it; others are the variable `name`."""
    return short_text(value, name) if _is_short_literal(value) else name


def _call_of_rows(rows: object, document: int | None, call: str) -> str:
    """The call that decodes rows of ids in the place of one; `document`, where each of several is such."""
    are_rows = document is None and isinstance(rows, (list, tuple)) and all(hasattr(row, "__len__") for row in rows)
    return of_rows(call, _shown(rows, "rows") if are_rows else "rows")


def _is_short_literal(value: object, depth: int = 2) -> bool:
    """Whether a value is written in a few characters; a long list is not looked through."""
    if isinstance(value, (list, tuple)):
        return depth > 0 and len(value) <= _MAX_SHOWN and all(_is_short_literal(each, depth - 1) for each in value)
    return type(value) in (int, float, str)


def as_id_array(
    ids: object, n_vocab: int | None = None, document: int | None = None, call: str = DECODE
) -> NDArray[np.int64]:
    """Ids as int64, shape (n,). Raises `UnknownId` for an integer beyond 64 bits, `WrongType` for anything else."""
    import numpy as np

    row = check_row(ids, call)
    try:
        parts = [np.asarray(part) for part in ((row,) if isinstance(row, np.ndarray) else _parts(row)[1])]
        array = parts[0] if len(parts) == 1 else np.concatenate(parts)
    except (ValueError, OverflowError, TypeError):
        array = np.empty((0, 0))
    if array.ndim == 1 and array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array.astype(np.int64, copy=False)
    return np.array(check_ids(row, n_vocab, document, call), dtype=np.int64)


def check_ids(row: object, n_vocab: int | None = None, document: int | None = None, call: str = DECODE) -> list[int]:
    """The integers of `row`, checked one by one. Raises as `as_id_array`, with the position."""
    import numpy as np

    if isinstance(row, np.ndarray) and row.ndim != 1:
        raise _wrong_shape(row.shape, call)
    return [
        _check_id(id, n_vocab, position, document, row, call)
        for position, id in enumerate(cast("Iterable[SupportsIndex]", row))
    ]


def _check_id(
    id: SupportsIndex,
    n_vocab: int | None,
    position: int,
    document: int | None = None,
    row: object = None,
    call: str = DECODE,
) -> int:
    """The integer that an id is; `row`, the ids around it, is repeated in a fix where it is short."""
    try:
        refuse_bool(id)
        number = index(id)
    except TypeError:
        shown = value_text(id)
        shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
        numbers = f"list(map(int, {_shown(row, 'ids')}))"
        raise WrongType(
            f"id {shown} is {type(id).__name__}, not an integer",
            where=_where(position, document),
            position=position,
            fix=call_of_pieces(id, call, is_one=False) or call_with_rows(id, call) or _call_of_rows(row, document, call)
            if hasattr(id, "__len__") and not isinstance(id, (str, bytes))
            else (numbers if id.is_integer() else "of logits: logits.argmax(-1); these are no ids")
            if isinstance(id, float)
            else numbers
            if isinstance(id, str) and id.isdecimal()
            else _WORDS_FIX
            if isinstance(id, str)
            else call_of_pieces(row, call, is_one=document is None) or _TEXT_FIX,
        ) from None
    except RuntimeError as error:
        # A tensor on the device meta.
        fix = "make the ids with device='cpu', where tensors have values"
        raise WrongType(f"an id has no value: {error}", where=_where(position, document), fix=fix) from None
    if not _MIN <= number <= _MAX:
        raise _unknown_id(number, n_vocab, position, document)
    return number


def _unknown_id(id: int, n_vocab: int | None, position: int, document: int | None = None) -> UnknownId:
    """The error for an id outside the vocabulary, as the engine words it."""
    fields = {"id": id, "position": position, "n_vocab": n_vocab, "document": document}
    return UnknownId(
        f"id {value_text(id)} is not in the vocabulary",
        where=_where(position, document),
        limit=f"0 <= id < {n_vocab} (n_vocab)" if n_vocab else None,
        fix=_fix_of(id, n_vocab, document),
        **{name: value for name, value in fields.items() if value is not None},
    )


def complete_error(error: UnknownId) -> UnknownId:
    """The engine's error with a fix; an id within the limit is named as a hole."""
    id, n_vocab = error.fields.get("id"), error.fields.get("n_vocab")
    if isinstance(id, int) and isinstance(n_vocab, int) and 0 <= id < n_vocab and error.limit:
        error.limit = error.limit.removesuffix(_HOLE) + _HOLE
    error.fix = error.fix or _fix_of(id, n_vocab, error.fields.get("document"))
    return error


def _fix_of(id: object, n_vocab: object, document: object = None) -> str:
    """What to do about an id that is not in the vocabulary; models of a padded vocabulary have a few more.

    document: the row of the id among several.
    """
    if not isinstance(id, int):
        return UNKNOWN_ID_FIX
    kept = "[id for id in ids if {}]" if document is None else "[[id for id in row if {}] for row in rows]"
    if isinstance(n_vocab, int) and n_vocab <= id < -(-n_vocab // PADDING) * PADDING:
        return (
            f"leave out ids from {n_vocab} up, which the padding of a model's vocabulary has: "
            f"{kept.format(f'id < {n_vocab}')}; or {UNKNOWN_ID_FIX}"
        )
    masked = f"leave out ids below 0, which mask targets in other libraries: {kept.format('id >= 0')}"
    return masked if id < 0 else UNKNOWN_ID_FIX


def _dtype_meant(row: object, n_vocab: int) -> str | None:
    """The fix for ids that were read from a file as wider numbers, each of which holds several ids; None for others."""
    import numpy as np

    narrow = np.dtype("<u2" if n_vocab <= 1 << 16 else "<u4")
    if not isinstance(row, np.ndarray) or row.dtype.kind not in "iu" or row.dtype.itemsize <= narrow.itemsize:
        return None
    held = np.ascontiguousarray(row).view(narrow)
    # A wide id has zeros beside it.
    if row.max() < _NO_VOCABULARY or held.max() >= n_vocab or np.count_nonzero(held) <= len(row):
        return None
    read = f"ids = np.fromfile(path, dtype=np.{narrow.name})"
    return f"the numbers hold several ids of {narrow.itemsize} bytes each; for those of a file: {read}"


_NO_VOCABULARY = 1_000_000
"""More ids than any vocabulary has."""
UNKNOWN_ID_FIX = "decode with the tokenizer that made the ids"
_HOLE = ", and this one is a hole"


def in_document(error: UnknownId, document: int) -> UnknownId:
    """The error for an id of one row, in a row of several."""
    error.fields["document"] = document
    if isinstance(position := error.fields.get("position"), int):
        error.where = _where(position, document)
    error.fix = None
    return complete_error(error)


def _where(position: int, document: int | None) -> str:
    return f"position {position}" + (f" of document {document}" if document is not None else "")


def as_rows(batch: Ragged | Iterable[Any], n_vocab: int | None = None) -> tuple[object, NDArray[np.int64]]:
    """(flat ids, offsets) of a batch. Raises `WrongType`, `UnknownId`, each with the document."""
    import numpy as np

    if isinstance(batch, Ragged):
        return check_row(batch.ids), batch.offsets
    if isinstance(batch, (*TEXTS, Mapping)) or not isinstance(batch, Iterable) or columns_of(batch):
        one = list_of_one(batch, "ids")
        fix = call_with_ids(batch) or (_TEXT_FIX if isinstance(batch, Mapping) else f"tok.decode({one})")
        fix = _NONE_FIX.format("tok.encode_batch(texts)") if batch is None else fix
        raise WrongType(f"decode_batch takes many id sequences, not {type(batch).__name__}", fix=fix)
    refuse_masked(batch, "[row.compressed() for row in rows], which leaves the masked ids out")
    refuse_spans(batch)
    _refuse_floats(batch, "tok.decode({})")
    arrays = []
    if getattr(batch, "ndim", 1) == 0:
        raise WrongType("decode_batch takes many id sequences, this is one id", fix=f"tok.decode({list_of_one(batch)})")
    for document, row in enumerate(batch):
        if isinstance(row, (int, float, np.integer)) or getattr(row, "ndim", 1) == 0:
            fix = f"tok.decode({_shown(batch, 'ids')})"
            raise WrongType("decode_batch takes many id sequences, this is one", fix=fix)
        call = None if isinstance(row, (list, np.ndarray)) else call_with_rows(row)
        if call is not None:
            raise WrongType(f"row {document} is {type(row).__name__}, not ids", fix=call)
        arrays.append(as_id_array(row, n_vocab, document))
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in arrays], out=offsets[1:])
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64), offsets


def _parts(row: Any) -> tuple[int, Iterable[Any]]:
    """The length of a part of a row, and the parts, between which signals are heard."""
    is_list = isinstance(row, (list, tuple))
    size = _CONVERTED_IDS if is_list else _ARRAY_IDS
    if len(row) <= size or not (is_list or row.flags.c_contiguous):
        return size, (row,)
    if not is_list and row.nbytes > (free_memory() or row.nbytes):
        # Of a file larger than memory: its text would be larger still.
        raise MemoryError(f"cannot allocate {row.nbytes:,} bytes for the ids")
    return size, (row[start : start + size] for start in range(0, len(row), size))


def decode_row(encoder: Encoder, row: Any, document: int | None = None, call: str = DECODE) -> bytes:
    """The bytes of one row. Raises `UnknownId`, `WrongType`, with the position."""
    decoded: list[bytes] = []
    size, parts = _parts(row)
    try:
        for part in parts:
            decoded.append(encoder.decode_bytes(part))
        return decoded[0] if len(decoded) == 1 else b"".join(decoded)
    except UnknownId as error:
        position = error.fields.get("position")
        if isinstance(position, int):
            error.fields["position"] = position = position + len(decoded) * size
            error.where = _where(position, document)
        complete_error(error) if document is None else in_document(error, document)
        error.fix = _dtype_meant(row, encoder.n_vocab) or error.fix
        raise error from None
    except (OverflowError, TypeError):
        pass  # not within it, where an error would be shown below this one
    return encoder.decode_bytes(check_ids(row, encoder.n_vocab, document, call))


def decode_ids(encoder: Encoder, ids: object, specials: Specials | None = None, call: str = DECODE) -> bytes:
    """The bytes of ids, without `specials` if any are given. Raises `UnknownId`, `WrongType`, with the position."""
    if specials is None and _is_plain(ids):
        try:
            return encoder.decode_bytes(ids)
        except (OverflowError, TypeError, UnknownId):
            pass  # checked below, which says what is wrong
    row = _check_lazy_row(ids, call)
    if not _is_lazy(row):
        return _decode_part(encoder, row, specials, call)
    decoded, first, rest = list[bytes](), 0, iter(row)
    # An iterator may have no end; its first wrong id ends the call.
    while part := as_list(islice(rest, _CONVERTED_IDS)):
        try:
            decoded.append(_decode_part(encoder, part, specials, call))
        except (UnknownId, WrongType) as error:
            position = error.fields.get("position")
            if isinstance(position, int):
                error.fields["position"] = first + position
                error.where = _where(first + position, None)
            raise
        first += len(part)
    return b"".join(decoded)


def text_of(decoded: bytes, errors: str) -> str:
    """The text of decoded ids. `errors` as in `bytes.decode`; signals are heard in a long text."""
    if len(decoded) <= _TEXT_BYTES:
        return decoded.decode("utf-8", errors)
    decoder, view = codecs.getincrementaldecoder("utf-8")(errors), memoryview(decoded)
    starts = range(0, len(view), _TEXT_BYTES)
    try:
        return "".join([decoder.decode(view[i : i + _TEXT_BYTES], i == starts[-1]) for i in starts])
    except UnicodeDecodeError:
        pass  # its position would be that in a part
    return decoded.decode("utf-8", errors)


def _is_plain(ids: object) -> bool:
    """Whether the engine alone tells that ids are wrong: those of a short array, and of a short list that is no mask.

    The checks of others take as long as decoding a sentence.
    """
    if type(ids) is list:
        return len(ids) < _MIN_WITH_HEADER and bool not in map(type, ids[:_MASK_IDS])
    import numpy as np

    return type(ids) is np.ndarray and ids.size < _MIN_WITH_HEADER and not ids.dtype.hasobject


def _decode_part(encoder: Encoder, row: Any, specials: Specials | None, call: str) -> bytes:
    """As `decode_ids`, of a sequence or an array."""
    if specials is None:
        return decode_row(encoder, row, call=call)
    import numpy as np

    array = as_id_array(row, encoder.n_vocab, call=call)
    try:
        return encoder.decode_bytes(array[~np.isin(array, [token.id for token in specials.tokens])])
    except UnknownId:
        pass
    return decode_row(encoder, array)  # raises, with the position among all ids


def decode_batch(encoder: Encoder, batch: Ragged | Iterable[Any], threads: int) -> list[bytes]:
    """The bytes of each row. Raises `UnknownId`, `WrongType`, with position and document; `OptionError`."""
    import numpy as np

    ids, offsets = as_rows(batch, encoder.n_vocab)
    try:
        return encoder.decode_batch(ids, offsets, threads=threads)
    except (UnknownId, OverflowError, TypeError) as error:
        failed = error
    for document, (start, stop) in enumerate(pairwise(offsets.tolist())):
        decode_row(encoder, np.asarray(ids)[start:stop], document)
    raise failed


def join_ids(parts: Sequence[Ids], dtype: np.dtype[Any]) -> Ids:
    """One read-only array of all parts."""
    import numpy as np

    ids = np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype=dtype)
    ids.flags.writeable = False
    return cast("Ids", ids)


# --- streaming --------------------------------------------------------------------------------------------------------


@final
class StreamDecoder:
    """Decodes ids one by one into text as soon as characters are complete.

    Ill-formed bytes become U+FFFD, one for each maximal subpart.
    """

    __slots__ = ("_decoder", "_n_ids", "_n_vocab")

    def __init__(self, encoder: _engine.Encoder) -> None:
        self._decoder = _engine.StreamDecoder(encoder)
        self._n_vocab = encoder.n_vocab
        self._n_ids = 0

    def __reduce__(self) -> NoReturn:
        """Raises `WrongType`: a copy would share the incomplete character with its original."""
        fact = "a stream of ids is neither copied nor pickled"
        raise WrongType(fact, limit="a new stream, to which the same ids are pushed, equals it", fix="tok.stream()")

    def push(self, id: int) -> str:
        """The text that this id completes. Raises `UnknownId`, `WrongType`, and then leaves the state unchanged."""
        try:
            refuse_bool(id)
            # A daemon thread in `__index__` inside the engine would abort the process at the end of the interpreter.
            text = self._decoder.push(index(id))
        except UnknownId as error:
            raise complete_error(error) from None
        except (OverflowError, TypeError):
            try:
                text = self._decoder.push(_check_id(id, self._n_vocab, self._n_ids))
            except WrongType as error:
                ids = _shown(id, "ids") if isinstance(id, (list, tuple)) else "ids"
                error.fix = f"one id a call: [stream.push(each) for each in {ids}]"
                raise
        self._n_ids += 1
        return text

    def finish(self) -> str:
        """U+FFFD for an incomplete character at the end, else nothing."""
        return self._decoder.finish()


# --- dropout ----------------------------------------------------------------------------------------------------------


def encode_with_dropout(
    encoder: Encoder,
    texts: Sequence[Text],
    rate: float,
    *,
    has_merges: bool,
    seed: int,
    epoch: int,
    **options: Any,
) -> tuple[Ids, NDArray[np.int64]]:
    """Ids and offsets of texts, each merge skipped with probability `rate`. See `Tokenizer.encode_batch`."""
    import numpy as np

    from slmtok._engine import Documents

    if isinstance(rate, bool) or not isinstance(rate, (int, float)):
        raise WrongType(f"dropout is {type(rate).__name__}, not a probability", fix="dropout=0.1", option="dropout")
    if not has_merges:
        fact = (Setting("dropout", rate), " for a tokenizer without merges")
        raise OptionError(fact, limit="scheme bpe", fix=("leave ", Setting("dropout"), " out"), option="dropout")
    if not 0 <= rate <= 1:
        fix = (Setting("dropout", 0.1),)
        raise OptionError((Setting("dropout", rate), " is no probability"), limit="0 to 1", fix=fix, option="dropout")
    documents, rates = Documents(texts), np.full(len(texts), rate, dtype=np.float64)
    seed, epoch = check_int("seed", seed), check_int("epoch", epoch)
    return encoder.encode_with_dropout(documents, rates, seed=seed, epoch=epoch, **options)


# --- files ------------------------------------------------------------------------------------------------------------


def encode_files(
    encoder: Encoder,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    document: Literal["file", "line"],
    threads: int,
    delimiters: dict[str, int | None],
    max_doc_bytes: int,
    force: bool,
    progress: Progress | None,
) -> Ragged:
    """See `Tokenizer.encode_files`."""
    import numpy as np

    paragraphs = "slmtok.pack has separator='\\n\\n', and writes a folder"
    check_choice("document", document, ("file", "line"), elsewhere={"paragraph": paragraphs})
    sources = _sources(paths, out)
    target = atomic.output_path(check_path(out))
    table = target.with_name(target.name + OFFSETS_SUFFIX)
    with atomic.outputs(target, table, inputs=sources, force=force) as (ids_part, table_part):
        offsets = encoder.encode_files(
            sources,
            os.fspath(ids_part),
            document=document,
            threads=threads,
            **delimiters,
            max_doc_bytes=max_doc_bytes,
            progress=progress,
        )
        with table_part.open("wb") as file:
            write_npy(file, np.asarray(offsets, dtype="<i8"))
    return open_ids(target, wide=encoder.wide)


def raw_output(out: str | os.PathLike[str]) -> str:
    """The name of a file of raw ids. Raises `OptionError` for one that says that the file holds something else."""
    name = check_path(out)
    suffix = Path(name).suffix
    if suffix.lower() in NOT_RAW:
        is_array = suffix.lower() == ".npy"
        raise OptionError(
            f"{name!r} would hold raw ids, which {suffix} does not stand for",
            limit=f"numpy.save({name!r}, ragged.ids) saves the ids of the result" if is_array else "raw ids, as .bin",
            fix=repr(free_name(name.removesuffix(suffix) + ".bin")),
            option="out",
            path=name,
        )
    return name


_OF_PATHS = "tok.encode_files(['CORPUS'], out)"


def _sources(paths: object, out: object) -> list[str]:
    """The files to read. Raises `WrongType`, `MissingInput`, `Unreadable` for other than regular files."""
    if not isinstance(paths, (str, os.PathLike)) and not isinstance(paths, Iterable):
        raise WrongType(f"encode_files takes paths, not {type(paths).__name__}", fix=_OF_PATHS)
    # The lines of an open file are no paths.
    is_one = isinstance(paths, (str, os.PathLike)) or hasattr(paths, "read")
    sources = [cast("str", paths)] if is_one else as_list(cast("Iterable[str]", paths))
    if not sources:
        raise MissingInput("the list of paths is empty", fix=_OF_PATHS)
    names = [check_path(source) for source in sources]
    for name in names:
        refuse_text(name, "tok.encode_batch(texts), if they are texts; else check the names")
        place = Path(name)
        if "\0" in name or not place.exists():
            error = missing_input(name)
            if place.suffix == ".bin" and isinstance(out, (str, os.PathLike)) and os.path.isfile(out):  # noqa: PTH113
                error.limit = f"encode_files(paths, out), and {os.fspath(out)!r} is a file"
                error.fix = f"tok.encode_files({os.fspath(out)!r}, {name!r})"
            mention_texts(error, paths, "tok.encode_batch(texts), if they are texts; else check the names")
            found = glob_matches(name) if len(names) == 1 else []
            if lost := [each for each in found if not os.path.exists(each)]:  # noqa: PTH110
                raise missing_input(lost[0])
            if found:
                error.fix = f"import glob; tok.encode_files(sorted(glob.glob({name!r})), {argument_text(out, 'out')})"
            raise error
        if not place.is_file():
            raise Unreadable(
                f"{name!r} is not a regular file",
                where=name,
                limit="files that can be memory-mapped",
                fix="name the files themselves; for a pipe, tok.encode_batch(texts)",
                path=name,
            )
    return names


def _is_like(source: str, out: str) -> bool:
    """Whether an output is another file that exists and is named as the source is, so that it holds text as well."""
    suffix = Path(source).suffix
    return bool(suffix) and Path(out).suffix == suffix and os.path.isfile(out) and not os.path.samefile(source, out)  # noqa: PTH113, PTH121


def text_sources(paths: object, out: object, *, force: bool = False) -> list[str]:
    """The files to read. Raises `OptionError` for one that is not text, and what `encode_files` raises for paths.

    out: the output of the call, which is no other text unless `force` replaces it.
    """
    names = _sources(paths, out)
    if not force and len(names) == 1 and isinstance(out, (str, os.PathLike)) and _is_like(names[0], os.fspath(out)):
        fix = f"tok.encode_files({[names[0], os.fspath(out)]}, {free_name('ids.bin')!r})"
        raise WrongType(f"out {os.fspath(out)!r} is a text that exists", limit="several texts are a list", fix=fix)
    for name in names:
        try:
            with Path(name).open("rb", buffering=0) as file:
                head = file.read(_TEXT_HEAD_BYTES)
        except OSError:
            continue  # The engine reports it.
        content = content_of(head[:HEAD_BYTES])
        if content is None:
            if not is_utf_8(head):
                of_text = f"tok.encode_batch([open({name!r}, encoding=NAME).read()]) reads another encoding"
                warn_caller(f"{name!r} is not UTF-8, and its bytes are encoded as they are; {of_text}")
            if name.lower().endswith((".jsonl", ".ndjson")):
                packed = f"slmtok.pack({name!r}, tok, {free_name('data')!r}) encodes the text of its records"
                warn_caller(f"{name!r} is encoded as it is, JSON included; {packed}")
            continue
        raise OptionError(
            f"{name!r} is {content.name}, not text",
            where=name,
            limit="files of UTF-8 text",
            fix=text_meant(name, content),
            path=name,
        )
    return names


def write_npy(stream: BinaryIO, array: NDArray[Any]) -> None:
    """Writes what `np.save` does. That one bypasses the stream and loses the cause of a failed write."""
    import numpy as np

    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    stream.write(np.ascontiguousarray(array).data)


def open_ids(target: Path, *, wide: bool) -> Ragged:
    """The two files of `encode_files`, mapped into memory, read-only."""
    import numpy as np

    dtype = np.dtype("<u4" if wide else "<u2")
    try:
        offsets = np.load(target.with_name(target.name + OFFSETS_SUFFIX), mmap_mode="r", allow_pickle=False)
        is_empty = target.stat().st_size == 0
        return Ragged(join_ids([], dtype) if is_empty else np.memmap(target, dtype=dtype, mode="r"), offsets)
    except OSError as error:
        raise unreadable(str(target), error) from error
