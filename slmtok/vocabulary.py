"""`Vocabulary`: which id stands for which bytes, and nothing else. Pure Python, without the engine.

Two layouts. `own`: sixteen specials, the 256 bytes, then what was learned, so ids never move and a smaller vocabulary
is a prefix of a larger one. `foreign`: a rank table from elsewhere that keeps its own ids, where holes and specials
may stand anywhere. A `Vocabulary` that exists is valid: parts come before wholes, no two tokens spell the same bytes,
every byte has a token. The one exception to "one id, one token" is tie break `hf`: a merge whose bytes spell a special
takes the id of that special. Such a merge is non-emitting: later merges use it, encoding never returns it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
from binascii import b2a_base64
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from slmtok.calls import argument_text
from slmtok.checks import check_int, refuse_bool
from slmtok.errors import (
    InvalidMerges,
    InvalidRanks,
    InvalidSpecials,
    InvalidTokens,
    Setting,
    UnknownId,
    VocabularyTooSmall,
    WrongType,
    value_text,
)
from slmtok.indexing import explains_indexing
from slmtok.specials import FIRST_BYTE, FIRST_LEARNED, N_SPECIALS, Specials, check_own_layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BEHAVIOUR = 1
"""Increases before any id that this package gives may change; files of older numbers keep working."""
MAX_IDS = 1 << 21
"""Ids that the engine can number: the most that a vocabulary, or a rank table from elsewhere, may have."""
MAX_TOKEN_BYTES = 1 << 20
"""Longest token. Each merge may double the length, so a list of thirty merges could spell a token of a gigabyte."""
MAX_TOTAL_BYTES = 32 << 20
"""Length of all tokens together."""
PADDING = 64
"""Models round the size of a vocabulary up to a multiple of this."""

Merge: TypeAlias = tuple[int, ...]
"""(left, right), or (left, right, special) where tie break `hf` reuses the id of a special."""
Layout: TypeAlias = Literal["own", "foreign"]


def not_indexed(what: str, key: object) -> WrongType:
    """The error for an index of a vocabulary or of a tokenizer, with the method that finds an id or a token."""
    fix = "tok.get_vocab(), a dict from word to id"
    if isinstance(key, str):
        fix = f"tok.token_to_id({argument_text(key, 'word')})"
    elif isinstance(key, bytes):
        fix = f"tok.token_id({argument_text(key, 'token')})"
    elif hasattr(key, "__index__"):
        fix = f"tok.token_bytes({argument_text(key, 'id')})"
        if key == 0:
            # A loop over a tokenizer asks for index 0 first.
            fix += ", or tok.get_vocab(), a dict from word to id, for a loop over all"
    limit = "tok.encode gives the ids of a text, tok.token_to_id that of a token" if isinstance(key, str) else None
    return WrongType(f"{what} is neither indexed nor looped over", limit=limit, fix=fix)


def not_searched(what: str, key: object) -> WrongType:
    """The error for `key in` a vocabulary or a tokenizer, with the test of a token's text, its bytes, or an id."""
    fix = f"{argument_text(key, 'id')} in tok.get_vocab().values()"
    if isinstance(key, str):
        fix = f"tok.token_to_id({argument_text(key, 'word')}) is not None"
    elif isinstance(key, bytes):
        fix = f"tok.token_id({argument_text(key, 'token')}) is not None"
    return WrongType(f"{what} holds tokens and ids, and `in` names neither", fix=fix)


@explains_indexing
@dataclass(frozen=True)
class PatternSpec:
    """A split pattern as a file records it: its name if it has one, its regex, the Unicode version of its classes."""

    name: str | None
    regex: str
    unicode: str


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The ids of one tokenizer. `merges` (scheme `bpe`) or `tokens` (all else) say what was learned.

    In layout `own`, `tokens[k]` has id 272 + k. In layout `foreign`, `tokens[i]` is id i, None for a hole or a special,
    and the order of ids is the order of ranks.
    """

    scheme: str
    pattern: PatternSpec
    specials: Specials
    merges: tuple[Merge, ...] = ()
    tokens: tuple[bytes | None, ...] = ()
    layout: Layout = "own"

    def __post_init__(self) -> None:
        """Raises `InvalidMerges`, `InvalidTokens` or `InvalidSpecials`, naming the index at fault."""
        if self.layout == "own":
            check_own_layout(self.specials)
        _ = self.token_table

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.fingerprint == other.fingerprint and self.specials == other.specials

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __getitem__(self, key: object) -> NoReturn:
        """Raises `WrongType` with the method that finds an id or a token. Python calls it to iterate, from 0 up."""
        raise not_indexed("a Vocabulary", key)

    def __contains__(self, key: object) -> NoReturn:
        """Raises `WrongType` with the test of a token or an id."""
        raise not_searched("a Vocabulary", key)

    def __repr__(self) -> str:
        return f"Vocabulary({self.scheme}, {self.layout}, n_vocab={self.n_vocab}, fingerprint={self.fingerprint[:8]}…)"

    # --- what an id means -------------------------------------------------------------------------------------------

    @cached_property
    def token_table(self) -> tuple[bytes | None, ...]:
        """The bytes of each id in the order of ids, None for specials and holes; building it checks the parts."""
        if self.layout == "foreign":
            return check_foreign_tokens(self.tokens, self.specials)
        head: list[bytes | None] = [None] * N_SPECIALS
        head.extend(bytes((byte,)) for byte in range(256))
        head.extend(merges_to_bytes(self.merges) if self.scheme == "bpe" else check_tokens(self.tokens))
        return tuple(head)

    @property
    def n_vocab(self) -> int:
        """Largest id + 1."""
        return len(self.token_table)

    @property
    def padded_vocab(self) -> int:
        """`n_vocab` rounded up to a multiple of 64: the size that models use."""
        return -(-self.n_vocab // PADDING) * PADDING

    @cached_property
    def byte_lengths(self) -> NDArray[np.uint32]:
        """Bytes of text that each id stands for, shape (n_vocab,), uint32, read-only; 0 for specials and holes."""
        import numpy as np

        lengths = np.fromiter((len(token or b"") for token in self.token_table), dtype=np.uint32, count=self.n_vocab)
        lengths.flags.writeable = False
        return lengths

    def token_bytes(self, id: int) -> bytes:
        """The bytes of an id; for a special those of its spelling, empty if it has none. Raises `UnknownId`."""
        refuse_bool(id)
        try:
            id = operator.index(id)
        except TypeError:
            fact = f"an id is an integer, not {type(id).__name__} {id!r}"
            fix = f"tok.token_to_id({id!r}) gives the id of a token" if isinstance(id, str) else "an id, such as 300"
            if hasattr(id, "__len__") and not isinstance(id, (str, bytes)):
                fix = f"[tok.token_bytes(id) for id in {argument_text(id, 'ids')}]"
            raise WrongType(fact, fix=fix) from None
        known = 0 <= id < self.n_vocab
        token = self.token_table[id] if known else None
        if token is None:
            token = self._special_texts.get(id)
        if token is not None:
            return token
        raise UnknownId(
            f"id {value_text(id)} is not in the vocabulary",
            limit=f"0 <= id < {self.n_vocab} (n_vocab)" + (", and this one is a hole" if known else ""),
            fix="use an id that tok.encode(text) gave",
            id=id,
            n_vocab=self.n_vocab,
        )

    def token_id(self, token: bytes) -> int | None:
        """The id of exactly these bytes among ordinary tokens, or None; a special's spelling is not a token."""
        if not isinstance(token, (bytes, bytearray, memoryview)):
            kind = type(token).__name__
            fix = f"tok.token_id({token!r}.encode())" if isinstance(token, str) else "tok.token_id(b' the')"
            raise WrongType(f"a token is bytes, not {kind}", fix=fix)
        return self._ids.get(bytes(token))

    def items(self) -> Iterator[tuple[int, bytes]]:
        """(id, bytes) of all ordinary tokens, in the order of ids."""
        return ((id, token) for id, token in enumerate(self.token_table) if token is not None)

    @cached_property
    def _ids(self) -> Mapping[bytes, int]:
        return {token: id for id, token in self.items()}

    @cached_property
    def _special_texts(self) -> Mapping[int, bytes]:
        return {token.id: (token.text or "").encode() for token in self.specials.tokens}

    # --- identity ---------------------------------------------------------------------------------------------------

    @cached_property
    def body(self) -> bytes:
        """`merges` or `tokens` as the tokenizer file writes them: one element a line, without the brackets around."""
        if self.scheme == "bpe" and self.layout == "own":
            if all(len(merge) == 2 for merge in self.merges):
                return ",\n".join(map("[%d,%d]".__mod__, self.merges)).encode()
            return ",\n".join("[" + ",".join(map(str, merge)) + "]" for merge in self.merges).encode()
        return b",\n".join(
            b"null" if token is None else b'"' + b2a_base64(token, newline=False) + b'"' for token in self.tokens
        )

    @cached_property
    def fingerprint(self) -> str:
        """sha256 (hex) of what decides the ids of text. Names and spellings of specials are not part of it."""
        head = {
            "behaviour": BEHAVIOUR,
            "block": N_SPECIALS if self.layout == "own" else 0,
            "layout": self.layout,
            "regex": self.pattern.regex,
            "scheme": self.scheme,
            "unicode": self.pattern.unicode,
        }
        text = json.dumps(head, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode() + b"\n" + self.body).hexdigest()

    # --- new vocabularies from this one -----------------------------------------------------------------------------

    def with_specials(self, specials: Specials) -> Vocabulary:
        """The same ids under other names: equal fingerprint."""
        return dataclasses.replace(self, specials=specials)

    def slice(self, n_vocab: int) -> Vocabulary:
        """The first `n_vocab` ids as a vocabulary of their own.

        Raises `VocabularyTooSmall` below 272 and `InvalidTokens` where it would have to grow or the layout is foreign.
        """
        example = part_of_size(n_vocab, self.n_vocab)
        n_vocab = check_int("n_vocab", n_vocab, -(10**100), 10**100, example=example)
        if self.layout == "foreign":
            raise foreign_ids("cut")
        if n_vocab < FIRST_LEARNED:
            raise vocabulary_too_small(n_vocab, self.scheme, option="n_vocab", example=example)
        if n_vocab > self.n_vocab:
            raise InvalidTokens(
                f"a vocabulary of {self.n_vocab} ids cannot be cut to {n_vocab}",
                limit=f"{FIRST_LEARNED} to {self.n_vocab}",
                fix=f"n_vocab={self.n_vocab}, or less",
                option="n_vocab",
            )
        room = n_vocab - FIRST_LEARNED
        if self.scheme != "bpe":
            return dataclasses.replace(self, tokens=self.tokens[:room])
        kept = 0
        while room:
            room -= len(self.merges[kept]) == 2
            kept += 1
        return dataclasses.replace(self, merges=self.merges[:kept])


def part_of_size(value: object, n_vocab: int) -> int:
    """A smaller size for a fix: what a value such as 0.5, 50% or -100 leaves of `n_vocab`, else the half."""
    text = value_text(value).strip("'\" ")
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.5
    if FIRST_LEARNED - n_vocab <= share < 0:
        return n_vocab + int(share)
    return max(FIRST_LEARNED, int(n_vocab * (share if 0 < share < 1 else 0.5)))


def foreign_ids(change: str) -> InvalidTokens:
    """The error for a vocabulary of layout `foreign` that would have to change."""
    return InvalidTokens(
        f"a tokenizer of another library keeps its ids, which cannot be {change}",
        limit="tokenizers that slmtok trained (layout own, not foreign)",
        fix="train one: slmtok.train('CORPUS', vocab_size=8192)",
    )


def vocabulary_too_small(
    n_vocab: int, scheme: str, *, option: str = "vocab_size", example: int = 512
) -> VocabularyTooSmall:
    """The error for a size without room for the specials and the bytes.

    `option` is how the size was given, `example` a size that is possible.
    """
    return VocabularyTooSmall(
        (Setting(option, n_vocab), f" is below the minimum size for scheme {scheme}"),
        limit=f"{FIRST_LEARNED} = {N_SPECIALS} specials + 256 bytes",
        fix=(Setting(option, example), ", or another size from the limit up"),
        n_vocab=n_vocab,
        minimum=FIRST_LEARNED,
        scheme=scheme,
        option=option,
    )


# --- from merges or tokens to the bytes of each id, checked -----------------------------------------------------------


def merges_to_bytes(merges: tuple[Merge, ...]) -> list[bytes]:
    """The bytes of the ids 272, 273, … that `merges` make. Raises `InvalidMerges` with the index at fault."""
    table = _bytes()
    # Invalid merges, and those of tie break `hf`, fail here.
    with suppress(KeyError, TypeError, ValueError):
        total = 256
        for id, (left, right) in enumerate(merges, FIRST_LEARNED):
            table[id] = token = table[left] + table[right]
            total += len(token)
            if total > MAX_TOTAL_BYTES or len(token) > MAX_TOKEN_BYTES:
                return check_merges(merges)
        if len(set(table.values())) == len(table):
            return list(table.values())[256:]
    return check_merges(merges)


def check_merges(merges: tuple[Merge, ...]) -> list[bytes]:
    """As `merges_to_bytes`, for merges of two or three ids, and with the reason where one is wrong."""
    table = _bytes()
    made: list[bytes] = []
    first: dict[bytes, int] = {}
    total = 256
    for index, merge in enumerate(merges):
        try:
            token = table[merge[0]] + table[merge[1]]
        except (KeyError, IndexError, TypeError):
            raise _bad_merge(index, merge, "has a part that no earlier line makes") from None
        total += len(token)
        if len(token) > MAX_TOKEN_BYTES or total > MAX_TOTAL_BYTES:
            raise _too_long(index, merge, len(token), total)
        if len(merge) == 2:
            table[FIRST_LEARNED + len(made)] = token
            made.append(token)
        elif len(merge) == 3 and 0 <= merge[2] < N_SPECIALS and merge[2] not in table:
            table[merge[2]] = token
        else:
            raise _bad_merge(index, merge, "names a third id that is no special, or one that an earlier merge took")
        if first.setdefault(token, index) != index:
            shown = repr(token) if len(token) <= 40 else f"{token[:40]!r}… ({len(token):,} bytes)"
            raise _bad_merge(index, merge, f"spells {shown}, as merge {first[token]} does")
    return made


def _bytes() -> dict[int, bytes]:
    return {FIRST_BYTE + byte: bytes((byte,)) for byte in range(256)}


def _bad_merge(index: int, merge: Merge, reason: str) -> InvalidMerges:
    return InvalidMerges(
        f"merge {index} {list(merge)} {reason}",
        limit=f"parts are bytes ({FIRST_BYTE} to {FIRST_LEARNED - 1}) or earlier merges, and no two merges are equal",
        fix="train again, or fetch the file again",
        index=index,
        merge=list(merge),
    )


def _too_long(index: int, merge: Merge, length: int, total: int) -> InvalidMerges:
    one = f"spells a token of {length:,} bytes"
    return InvalidMerges(
        f"merge {index} {list(merge)} " + (one if length > MAX_TOKEN_BYTES else f"makes {total:,} bytes of tokens"),
        limit=f"{MAX_TOKEN_BYTES:,} bytes in a token, {MAX_TOTAL_BYTES:,} in all of them",
        fix="train with max_token_bytes=64, or fetch the file again",
        index=index,
        merge=list(merge),
    )


def check_tokens(tokens: tuple[bytes | None, ...]) -> list[bytes]:
    """The learned tokens of layout `own`: two bytes or more each, all different."""
    seen: set[bytes] = set()
    for index, token in enumerate(tokens):
        if token is None or len(token) < 2 or token in seen:
            reason = "is a hole" if token is None else "is listed twice" if token in seen else "is a byte or empty"
            raise InvalidTokens(
                f"token {index} {token!r} {reason}",
                limit="two bytes or more, all different, without holes",
                fix="train again, or fetch the file again",
                index=index,
                token=token,
            )
        seen.add(token)
    return [token for token in tokens if token is not None]


def check_foreign_tokens(tokens: tuple[bytes | None, ...], specials: Specials) -> tuple[bytes | None, ...]:
    """The bytes by id of a foreign table, checked: no empty or repeated token, all 256 bytes, specials in holes."""
    # By sets, because a loop over all ids takes a fifth of the time of loading a large vocabulary.
    present = [token for token in tokens if token is not None]
    distinct = set(present)
    if len(distinct) < len(present) or b"" in distinct:
        first: dict[bytes, int] = {}
        pairs = ((id, token) for id, token in enumerate(tokens) if token is not None)
        id, token = next(pair for pair in pairs if not pair[1] or first.setdefault(pair[1], pair[0]) != pair[0])
        raise InvalidTokens(
            f"token {id} {token!r} {f'repeats id {first[token]}' if token else 'is empty'}",
            limit="each token once, none empty",
            fix="fetch the table again",
            index=id,
            token=token,
        )
    for byte in range(256):
        if bytes((byte,)) not in distinct:
            raise InvalidTokens(
                f"no token is the byte 0x{byte:02X}",
                limit="all 256 bytes",
                fix="add it, or use another table",
                index=byte,
            )
    size = len(tokens)
    for special in specials.tokens:
        if special.id < size and tokens[special.id] is not None:
            raise InvalidSpecials(
                f"special {special.text!r} has id {special.id}, which is the token {tokens[special.id]!r}",
                limit="ids that no token has",
                fix=f"give it an id from {size} up",
                id=special.id,
            )
    last = max((special.id for special in specials.tokens), default=-1)
    return tokens + (None,) * (last + 1 - size)


def translate_rank_error(error: InvalidRanks, ranks: Mapping[bytes, int]) -> InvalidRanks:
    """The error of the engine about a rank table, with the rank of its token and a remedy."""
    token, reason = error.fields.get("token"), error.fields.get("reason")
    if not isinstance(token, bytes) or token not in ranks:
        return error
    translated = InvalidRanks(
        f"rank {ranks[token]} ({token!r}) {reason}",
        limit="each token is two earlier ones, merged",
        fix=f"leave {token!r} out, or give lower ranks to the tokens that it is merged from",
    )
    translated.fields = {**error.fields, "rank": ranks[token]}
    return translated
