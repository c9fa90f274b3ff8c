"""Typed segments: special tokens enter an encoding as objects, not as strings.

Plain `str` and `bytes` are always text, whatever they spell. `Special(role)` is one control id. `Trusted(text,
allow=…)` is the only text in which the spellings that it names become control ids. No merge crosses a segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from slmtok.calls import explains_calls
from slmtok.checks import BYTES_LIKE, texts_of_one
from slmtok.errors import WrongType, value_text
from slmtok.id_arrays import as_id_array, decode_row, join_ids
from slmtok.indexing import explains_indexing
from slmtok.record_texts import segment_list, short_text
from slmtok.spans import byte_spans
from slmtok.specials import allowed_spellings, check_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids
    from slmtok.specials import Specials
    from slmtok.tokenizer import Tokenizer


@explains_indexing
@explains_calls
@dataclass(frozen=True, repr=False)
class Special:
    """One special token, by role (or by spelling); a reserved one without name by its id."""

    name: str | int

    def __post_init__(self) -> None:
        if isinstance(self.name, bool) or not (isinstance(self.name, (str, int)) or hasattr(self.name, "__index__")):
            raise WrongType(
                f"Special({self.name!r}) is named by {type(self.name).__name__}",
                limit="a role, a spelling, or an id",
                fix="slmtok.Special('bos')",
            )

    def __repr__(self) -> str:
        # The call that makes it, which fixes repeat.
        return f"slmtok.Special({value_text(self.name)})"


@explains_indexing
@explains_calls
@dataclass(frozen=True, repr=False)
class Trusted:
    """Text in which the specials in `allow` (roles, spellings or "all") are found, leftmost first, then longest."""

    text: str | bytes
    allow: Iterable[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, (str, bytes, bytearray, memoryview)):
            raise WrongType(
                f"Trusted holds text, not {type(self.text).__name__}", fix="slmtok.Trusted('<s>', allow={'bos'})"
            )
        # A tuple: a generator could be read only once.
        object.__setattr__(self, "allow", check_names("allow", self.allow))

    def __repr__(self) -> str:
        return f"slmtok.Trusted({self.text!r}, allow={self.allow!r})"


SHOWN_SEGMENTS, SHOWN_IDS = 8, 16
"""In a notebook."""
Segment: TypeAlias = Special | Trusted | str | bytes


@explains_indexing
@dataclass(frozen=True, eq=False)
class Segments:
    """What `encode_segments` returns, one row an id.

    ids: shape (n,), uint16 or uint32, read-only.
    spans: shape (n, 2), int64: bytes of the id's own segment, end exclusive; (0, 0) for a `Special`.
    segments: shape (n,), int64: index of the segment that the id came from, for loss masks.
    """

    ids: Ids
    spans: NDArray[np.int64]
    segments: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)

    def _repr_html_(self) -> str:
        from slmtok.notebook import html_table

        shown = sorted(set(self.segments.tolist()))[:SHOWN_SEGMENTS]
        rows = [(str(each), " ".join(map(str, self.ids[self.segments == each][:SHOWN_IDS].tolist()))) for each in shown]
        return html_table(f"Segments of {len(self)} ids: the first of each segment", rows)


# --- encoding and decoding --------------------------------------------------------------------------------------------


def encode_segments(tokenizer: Tokenizer, parts: Iterable[Segment]) -> Segments:
    """See `Tokenizer.encode_segments`."""
    import numpy as np

    if isinstance(parts, (str, *BYTES_LIKE, Special, Trusted)) or not isinstance(parts, Iterable):
        fix = f"tok.encode_segments({texts_of_one(parts) if isinstance(parts, (str, bytes)) else segment_list(parts)})"
        raise WrongType(f"encode_segments takes a list of segments, not {type(parts).__name__}", fix=fix)
    ids: list[Ids] = []
    spans: list[NDArray[np.int64]] = [np.empty((0, 2), np.int64)]
    owners: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    for index, part in enumerate(parts):
        found, where = _encode_segment(tokenizer, part, index, parts)
        ids.append(found)
        spans.append(where)
        owners.append(np.full(len(found), index, dtype=np.int64))
    return Segments(join_ids(ids, tokenizer.dtype), np.concatenate(spans), np.concatenate(owners))


def _encode_segment(
    tokenizer: Tokenizer, part: Segment, index: int, parts: Iterable[Segment]
) -> tuple[Ids, NDArray[np.int64]]:
    import numpy as np

    if isinstance(part, Special):
        return join_ids([np.array([special_id(tokenizer.specials, part)])], tokenizer.dtype), np.zeros((1, 2), np.int64)
    if not isinstance(part, Trusted):
        if not isinstance(part, (str, *BYTES_LIKE)):
            raise WrongType(
                f"segment {index} is {type(part).__name__}",
                limit="str, bytes, Special(role), Trusted(text, allow=…)",
                fix=_call_of_messages(tokenizer.specials, parts if isinstance(parts, (list, tuple)) else [part])
                or "the text of the segment; slmtok.Special(role) for the special token of a role",
            )
        ids = tokenizer.encode(part)
        return ids, byte_spans(ids, tokenizer.byte_lengths())
    ids = tokenizer.encode(part.text, allow_special=tuple(part.allow) if part.allow != "all" else "all")
    lengths = tokenizer.byte_lengths().copy()
    for text, id in allowed_spellings(tokenizer.specials, "all").items():
        lengths[id] = len(text.encode())
    return ids, byte_spans(ids, lengths)


def _call_of_messages(specials: Specials, parts: Sequence[object]) -> str | None:
    """The call that encodes messages, each a special token and a text; None unless all parts are such."""
    messages = [_message_in(part) for part in parts]
    if None in messages:
        return None
    pairs = [each for each in messages if each is not None]
    roles = dict.fromkeys(role for role, _ in pairs if role not in specials)
    call = specials.call_with({role: f"<|{role}|>" for role in roles})
    if call is None:
        return None
    segments = ", ".join(f"slmtok.Special({role!r}), {short_text(text, 'text')}" for role, text in pairs)
    return f"tok = {call}; " * bool(roles) + f"tok.encode_segments([{segments}])"


def _message_in(part: object) -> tuple[str, str] | None:
    """(role, text) of a message: a pair, or a dict with `role` and `content`; None for other values."""
    pair = (part.get("role"), part.get("content")) if isinstance(part, Mapping) else part
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        return None
    role, text = pair
    return (role, text) if isinstance(role, str) and role.isidentifier() and isinstance(text, str) else None


def special_id(specials: Specials, part: Special) -> int:
    """The id that a `Special` segment stands for. Raises `UnknownSpecial`."""
    if isinstance(part.name, str):
        return specials.find(part.name, in_python=True).id
    if any(token.id == part.name for token in specials.tokens):
        return int(part.name)
    raise specials.unknown(part.name)


def decode_segments(tokenizer: Tokenizer, ids: object) -> list[Special | str | bytes]:
    """See `Tokenizer.decode_segments`."""
    import numpy as np

    array = as_id_array(ids, tokenizer.n_vocab, call="tok.decode_segments({})")
    decode_row(tokenizer._encoder, array)  # raises with the position among all ids
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
