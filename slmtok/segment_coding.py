"""Typed segments to ids and back, for a given tokenizer. The types themselves are in `slmtok.segments`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from slmtok import special_text
from slmtok.arguments import BYTES_LIKE, joined
from slmtok.errors import WrongType
from slmtok.id_rows import as_array, decode_row
from slmtok.offsets import byte_spans
from slmtok.segments import Segment, Segments, Special, Trusted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids
    from slmtok.specials import Specials
    from slmtok.tokenizer import Tokenizer


def encode_segments(tokenizer: Tokenizer, parts: Iterable[Segment]) -> Segments:
    """See `Tokenizer.encode_segments`."""
    import numpy as np

    if isinstance(parts, (str, *BYTES_LIKE, Special, Trusted)) or not isinstance(parts, Iterable):
        raise WrongType(
            f"encode_segments takes a list of segments, not {type(parts).__name__}", fix="tok.encode_segments([text])"
        )
    ids: list[Ids] = []
    spans: list[NDArray[np.int64]] = []
    owners: list[NDArray[np.int64]] = []
    for index, part in enumerate(parts):
        found, where = _encode_segment(tokenizer, part, index)
        ids.append(found)
        spans.append(where)
        owners.append(np.full(len(found), index, dtype=np.int64))
    if not ids:
        return Segments(joined([], tokenizer.dtype), np.empty((0, 2), np.int64), np.empty(0, np.int64))
    return Segments(joined(ids, tokenizer.dtype), np.concatenate(spans), np.concatenate(owners))


def _encode_segment(tokenizer: Tokenizer, part: Segment, index: int) -> tuple[Ids, NDArray[np.int64]]:
    import numpy as np

    if isinstance(part, Special):
        return joined([np.array([special_id(tokenizer.specials, part)])], tokenizer.dtype), np.zeros((1, 2), np.int64)
    if not isinstance(part, Trusted):
        if not isinstance(part, (str, *BYTES_LIKE)):
            raise WrongType(
                f"segment {index} is {type(part).__name__}",
                limit="str, bytes, Special(role), Trusted(text, allow=…)",
                fix="slmtok.Special('bos'), or the text itself",
            )
        ids = tokenizer.encode(part)
        return ids, byte_spans(ids, tokenizer.byte_lengths())
    ids = tokenizer.encode(part.text, allow_special="all" if part.allow == "all" else tuple(part.allow))
    lengths = tokenizer.byte_lengths().copy()
    for text, id in special_text.allowed(tokenizer.specials, "all").items():
        lengths[id] = len(text.encode())
    return ids, byte_spans(ids, lengths)


def special_id(specials: Specials, part: Special) -> int:
    """The id that a `Special` segment stands for. Raises `UnknownSpecial`."""
    if isinstance(part.name, str):
        return specials.find(part.name).id
    if any(token.id == part.name for token in specials.tokens):
        return int(part.name)
    raise specials.unknown(part.name)


def decode_segments(tokenizer: Tokenizer, ids: object) -> list[Special | str | bytes]:
    """See `Tokenizer.decode_segments`."""
    import numpy as np

    array = as_array(ids, tokenizer.n_vocab)
    decode_row(tokenizer._encoder, array)  # what is wrong is told with its position among all ids
    names = {
        token.id: Special(token.role if token.role is not None else token.id) for token in tokenizer.specials.tokens
    }
    parts: list[Special | str | bytes] = []
    start = 0
    for position in [*np.flatnonzero(np.isin(array, list(names))).tolist(), len(array)]:
        if position > start:
            data = tokenizer.decode_bytes(array[start:position])
            try:
                parts.append(data.decode())
            except UnicodeDecodeError:
                parts.append(data)
        if position < len(array):
            parts.append(names[int(array[position])])
        start = position + 1
    return parts
