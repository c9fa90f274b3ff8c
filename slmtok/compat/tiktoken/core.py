"""`Encoding`: the class that tiktoken's users know, with its defaults and exceptions, on our engine. Immutable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from slmtok.compat.tiktoken.arguments import check_size, lenient, many_texts, one_text, repaired, thread_count, u32
from slmtok.compat.tiktoken.ids import IdOverflow, check_overflow, one_id, row, rows
from slmtok.compat.tiktoken.offsets import character_starts
from slmtok.compat.tiktoken.special_rules import Allowed, Disallowed, Rules
from slmtok.compat.tiktoken.tables import ranks_of, specials_of
from slmtok.errors import InvalidRanks, InvalidText, UnknownId, UnknownSpecial, WrongType
from slmtok.id_arrays import complete_error, decode_row
from slmtok.vocabulary import translate_rank_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Encoder

__all__ = ["Encoding", "IdOverflow"]

_END_OF_TEXT = "<|endoftext|>"


class Encoding:
    """An encoding: ranks, a split pattern and special tokens. See the package for where it differs from tiktoken's."""

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        """pat_str: name of a pattern of ours, or a regex. mergeable_ranks: token to id, smaller merges first.

        Raises `InvalidPattern`, `InvalidRanks` (all are `ValueError`), `InvalidOption` where `explicit_n_vocab` does
        not fit.
        """
        from slmtok._engine import Encoder
        from slmtok.patterns import parse_pattern

        if not isinstance(name, str):
            raise WrongType(f"an encoding is named by a str, not by {type(name).__name__}", fix="name='mine'")
        ranks = ranks_of(mergeable_ranks)
        specials = specials_of(special_tokens, ranks)
        try:
            encoder = Encoder.from_ranks(
                parse_pattern(pat_str),
                list(ranks),
                u32(ranks.values()),
                specials=[(id, text.encode()) for text, id in specials.items()],
            )
        except InvalidRanks as error:
            raise translate_rank_error(error, ranks) from None
        self._set(name, encoder, ranks, specials, {}, None)
        if explicit_n_vocab:
            check_size(explicit_n_vocab, len(ranks) + len(specials), self.n_vocab)

    @classmethod
    def _make(
        cls,
        name: str,
        encoder: Encoder,
        ranks: dict[bytes, int],
        specials: dict[str, int],
        *,
        roles: dict[str, str],
        origin: tuple[Any, ...],
    ) -> Encoding:
        """An encoding around an encoder that exists. `roles`: spelling to role. `origin`: what pickling keeps."""
        self = cls.__new__(cls)
        self._set(name, encoder, ranks, specials, roles, origin)
        return self

    def _set(
        self,
        name: str,
        encoder: Encoder,
        ranks: dict[bytes, int],
        specials: dict[str, int],
        roles: dict[str, str],
        origin: tuple[Any, ...] | None,
    ) -> None:
        self._name = name
        self._encoder = encoder
        self._ranks = ranks
        self._specials = specials
        self._roles = roles
        self._origin = origin

    def __repr__(self) -> str:
        return f"<Encoding {self._name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        from slmtok.compat.tiktoken.view import rebuild, remake

        if self._origin is not None:
            return rebuild, self._origin
        return remake, (self._name, self._pat_str, self._ranks, self._specials)

    def __getattr__(self, name: str) -> Any:
        if name == "encode_with_unstable":
            raise AttributeError("encode_with_unstable is not offered; encode(text) and tok.stream() cover its uses")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # --- encoding ----------------------------------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which nothing is special. Raises `WrongType` unless it is a `str`."""
        return lenient(self._encoder.encode_list, one_text(text))

    def encode(
        self, text: str, *, allowed_special: Allowed = frozenset(), disallowed_special: Disallowed = "all"
    ) -> list[int]:
        """The ids of a text. Raises `SpecialInText` where it spells a special that is disallowed.

        allowed_special: spellings that become control ids; "all", or a set. disallowed_special: spellings that refuse
        the text; "all" means all that are not allowed, `()` none. minbpe's "none" and "none_raise" are taken too.
        """
        rules = Rules.of(self._specials, allowed_special, disallowed_special or ())
        rules.check(one_text(text), roles=self._roles)
        return self._encode(text, rules)

    def encode_to_numpy(
        self, text: str, *, allowed_special: Allowed = frozenset(), disallowed_special: Disallowed = "all"
    ) -> NDArray[np.uint32]:
        """As `encode`, as a read-only array of uint32, shape (n,)."""
        import numpy as np

        rules = Rules.of(self._specials, allowed_special, disallowed_special or ())
        rules.check(one_text(text), roles=self._roles)
        if rules.allowed:
            ids = u32(self._encode(text, rules))
        else:
            ids = lenient(self._encoder.encode, text).astype(np.uint32)
        ids.flags.writeable = False
        return ids

    def encode_ordinary_batch(self, text: Sequence[str], *, num_threads: int = 8) -> list[list[int]]:
        """`encode_ordinary` of each text, in order."""
        return self._encode_many(many_texts(text), thread_count(num_threads))

    def encode_batch(
        self,
        text: Sequence[str],
        *,
        num_threads: int = 8,
        allowed_special: Allowed = frozenset(),
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:
        """`encode` of each text, in order. A refusal names the document."""
        rules = Rules.of(self._specials, allowed_special, disallowed_special)
        texts, threads = many_texts(text), thread_count(num_threads)
        for index, one in enumerate(texts, 1):
            rules.check(one, roles=self._roles, place=f" (document {index:,} of {len(texts):,})")
        if rules.allowed:
            return [self._encode(one, rules) for one in texts]
        return self._encode_many(texts, threads)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of exactly this token; specials count. Raises `UnknownId` (a `KeyError`) where there is none."""
        if not isinstance(text_or_bytes, (str, bytes, bytearray)):
            raise WrongType(f"a token is str or bytes, not {type(text_or_bytes).__name__}", fix="' the', or b' the'")
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
        found = self._ranks.get(token, self._specials.get(token.decode("utf-8", "replace")))
        if found is None:
            raise UnknownId(f"no single token spells {token!r}", fix="encode(text) gives several ids", token=token)
        return found

    def _encode(self, text: str, rules: Rules) -> list[int]:
        ids: list[int] = []
        for index, part in enumerate(rules.cut(text)):
            ids.extend([self._specials[part]] if index % 2 else self.encode_ordinary(part))
        return ids

    def _encode_many(self, texts: list[str], threads: int) -> list[list[int]]:
        try:
            ids, offsets = self._encoder.encode_batch(texts, threads=threads)
        except InvalidText:
            ids, offsets = self._encoder.encode_batch([repaired(text) for text in texts], threads=threads)
        flat, ends = ids.tolist(), offsets.tolist()
        return [flat[start:end] for start, end in zip(ends, ends[1:], strict=False)]  # noqa: RUF007 (a list is faster)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes. From the first bad byte on tiktoken takes the rest as one piece; we split on."""
        return self._encoder.encode_list(text)

    # --- decoding ----------------------------------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids; specials give their spelling. Raises `UnknownId`, `IdOverflow` (an `OverflowError`)."""
        ids = row(tokens)
        try:
            return self._encoder.decode_bytes(ids)
        except (UnknownId, OverflowError) as error:
            check_overflow(ids)
            if isinstance(error, UnknownId):
                raise complete_error(error) from None
            raise

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids. `errors` as in `bytes.decode`: with "strict", `UnicodeDecodeError`."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id. Raises as `decode_bytes`."""
        return self.decode_bytes([one_id(token)])

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in row(tokens)]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text, and for each id the index of the first character with bytes of it. Bad UTF-8 is no error."""
        spelled = self.decode_tokens_bytes(tokens)
        return b"".join(spelled).decode("utf-8", "replace"), character_starts(spelled)

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """`decode` of each."""
        found = self.decode_bytes_batch(batch, num_threads=num_threads)
        return [text.decode("utf-8", errors=errors) for text in found]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """`decode_bytes` of each."""
        flat, offsets = rows(batch)
        try:
            return self._encoder.decode_batch(flat, offsets, threads=thread_count(num_threads))
        except (UnknownId, OverflowError):
            for document, (start, stop) in enumerate(pairwise(offsets.tolist())):
                check_overflow(flat[start:stop], document)
                decode_row(self._encoder, flat[start:stop], document)
            raise

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def n_vocab(self) -> int:
        """Largest id + 1."""
        return self.max_token_value + 1

    @property
    def max_token_value(self) -> int:
        """Largest id."""
        return max(max(self._ranks.values()), max(self._specials.values(), default=0))

    @property
    def eot_token(self) -> int:
        """The id with the role `eos` or, without roles, the one spelt `<|endoftext|>`. Raises `UnknownSpecial`."""
        for text, role in self._roles.items():
            if role == "eos":
                return self._specials[text]
        if _END_OF_TEXT not in self._specials:
            raise UnknownSpecial(
                f"no special is the end of text: none has the role 'eos' or is spelt {_END_OF_TEXT!r}",
                limit=f"specials: {', '.join(self._specials) or 'none'}",
                fix="name the id that ends a text where it is needed",
            )
        return self._specials[_END_OF_TEXT]

    @property
    def special_tokens_set(self) -> set[str]:
        """The spellings of all specials."""
        return set(self._specials)

    def is_special_token(self, token: int) -> bool:
        """Whether this id is a special's. Raises `WrongType` unless it is an int."""
        if not isinstance(token, int):
            raise WrongType(f"a token is an int, not {type(token).__name__}", fix="int(token)")
        return token in self._specials.values()

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all ordinary tokens, sorted."""
        return sorted(self._ranks)

    @property
    def _pat_str(self) -> str:
        return self._encoder.pattern.regex

    @property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        """Not a copy, since programs read it in loops; not to be changed."""
        return self._ranks

    @property
    def _special_tokens(self) -> dict[str, int]:
        return self._specials
