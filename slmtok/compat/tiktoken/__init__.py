"""tiktoken's names on our engine: replace `import tiktoken` by `import slmtok.compat.tiktoken as tiktoken`.

Names, defaults and exceptions are those of tiktoken 0.14.0. Intended differences: text that the pattern does not match
is kept; `eot_token` is found by its role; `decode_with_offsets` accepts invalid UTF-8; a single `str` in a batch call
is a `TypeError`; a name in `allowed_special` that is no special token gives a warning; bad sizes are `ValueError`;
pickles carry the content; files come from tiktoken's cache folder, never from the network; exceptions are classes of
`slmtok.errors` that inherit the built-in ones; completions of `encode_with_unstable` are sorted;
`<|reserved_200018|>` of o200k_harmony, a second name of `<|endofprompt|>`, is text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from slmtok.calls import explains_calls
from slmtok.checks import check_errors, utf8_of
from slmtok.compat._shared import check_str, split_rows
from slmtok.compat.tiktoken import load, model
from slmtok.compat.tiktoken._checks import (
    Allowed,
    Disallowed,
    IdOverflow,
    Rules,
    as_batch,
    as_id_rows,
    as_ids,
    as_ranks,
    as_specials,
    character_starts,
    check_n_vocab,
    check_num_threads,
    check_overflow,
    encode_repaired,
    repair,
    to_uint32,
)
from slmtok.compat.tiktoken.model import encoding_name_for_model
from slmtok.errors import InvalidRanks, InvalidText, Setting, UnknownId, UnknownName, UnknownSpecial, WrongType
from slmtok.id_arrays import complete_error, decode_row
from slmtok.vocabulary import translate_rank_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Encoder
    from slmtok.tokenizer import Tokenizer

__all__ = [
    "Encoding",
    "IdOverflow",
    "encoding_for_model",
    "encoding_name_for_model",
    "from_tokenizer",
    "get_encoding",
    "list_encoding_names",
    "load",
    "model",
]

_END_OF_TEXT = "<|endoftext|>"


class Encoding:
    """Ranks, a split pattern and special tokens. Immutable. The module lists the differences from tiktoken."""

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        """pat_str: the name of one of our patterns, or a regex. mergeable_ranks: token -> id.

        Raises `InvalidPattern`, `InvalidRanks`, `InvalidSpecials`, and `OptionError` if `explicit_n_vocab` differs;
        all are `ValueError`.
        """
        from slmtok._engine import Encoder
        from slmtok.patterns import parse_pattern

        if not isinstance(name, str):
            raise WrongType(f"the name of an encoding must be a str, not {type(name).__name__}", fix="name='mine'")
        ranks = as_ranks(mergeable_ranks)
        specials = as_specials(special_tokens, ranks)
        try:
            encoder = Encoder.from_ranks(
                parse_pattern(pat_str),
                list(ranks),
                to_uint32(ranks.values()),
                specials=[(id, text.encode()) for text, id in specials.items()],
            )
        except InvalidRanks as error:
            raise translate_rank_error(error, ranks) from None
        self._set(name, encoder, ranks, specials)
        if explicit_n_vocab:
            check_n_vocab(explicit_n_vocab, len(ranks) + len(specials), self.n_vocab)

    def _set(
        self,
        name: str,
        encoder: Encoder,
        ranks: dict[bytes, int],
        specials: dict[str, int],
        *,
        roles: Mapping[str, str] = MappingProxyType({}),
        origin: tuple[Any, ...] | None = None,
    ) -> Encoding:
        """Sets the content. `roles`: spelling -> role. `origin`: the arguments of `from_tokenizer`, if called."""
        self._name = name
        self._encoder = encoder
        self._ranks = ranks
        self._specials = specials
        self._roles = roles
        self._origin = origin
        return self

    def __repr__(self) -> str:
        return f"<Encoding {self._name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._origin is not None:
            tokenizer, spell, name = self._origin
            return partial(from_tokenizer, spell=spell, name=name), (tokenizer,)
        ranks, specials = self._ranks, self._specials
        return partial(Encoding, pat_str=self._pat_str, mergeable_ranks=ranks, special_tokens=specials), (self._name,)

    # --- encoding ---

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text, special tokens treated as text. Raises `WrongType` unless it is a `str`."""
        return encode_repaired(self._encoder.encode_list, check_str(text))

    @explains_calls
    def encode(
        self, text: str, *, allowed_special: Allowed = frozenset(), disallowed_special: Disallowed = "all"
    ) -> list[int]:
        """The ids of a text. Raises `SpecialInText` if it spells a disallowed special token.

        allowed_special: spellings that become special ids, "all" or a set. disallowed_special: spellings that raise;
        "all" means all that are not allowed, `()` none. minbpe's "none" and "none_raise" are accepted, too.
        """
        rules = Rules.of(self._specials, allowed_special, disallowed_special or (), self._roles)
        rules.check(check_str(text), roles=self._roles)
        return rules.encode(text, self._specials, self.encode_ordinary)

    @explains_calls
    def encode_to_numpy(
        self, text: str, *, allowed_special: Allowed = frozenset(), disallowed_special: Disallowed = "all"
    ) -> NDArray[np.uint32]:
        """As `encode`, as a read-only array of uint32, shape (n,)."""
        import numpy as np

        rules = Rules.of(self._specials, allowed_special, disallowed_special or (), self._roles)
        rules.check(check_str(text), roles=self._roles)
        if rules.allowed:
            ids = to_uint32(rules.encode(text, self._specials, self.encode_ordinary))
        else:
            ids = encode_repaired(self._encoder.encode, text).astype(np.uint32)
        ids.flags.writeable = False
        return ids

    @explains_calls
    def encode_ordinary_batch(self, text: Sequence[str], *, num_threads: int = 8) -> list[list[int]]:
        """`encode_ordinary` of each text, in order."""
        return self._encode_many(as_batch(text), check_num_threads(num_threads))

    @explains_calls
    def encode_batch(
        self,
        text: Sequence[str],
        *,
        num_threads: int = 8,
        allowed_special: Allowed = frozenset(),
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:
        """`encode` of each text, in order. `SpecialInText` names the document."""
        rules = Rules.of(self._specials, allowed_special, disallowed_special, self._roles)
        texts, threads = as_batch(text), check_num_threads(num_threads)
        for index, one in enumerate(texts, 1):
            rules.check(one, roles=self._roles, place=f" (document {index:,} of {len(texts):,})")
        if rules.allowed:
            return [rules.encode(one, self._specials, self.encode_ordinary) for one in texts]
        return self._encode_many(texts, threads)

    @explains_calls
    def encode_with_unstable(
        self, text: str, *, allowed_special: Allowed = frozenset(), disallowed_special: Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """(ids that further text does not change, completions of the rest of the text). Arguments as in `encode`."""
        from slmtok.compat.tiktoken._unstable import completions, split_unstable

        ids = self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        rules = Rules.of(self._specials, allowed_special, disallowed_special or (), self._roles)
        part = rules.split(repair(text))[-1].encode()
        if not part:
            return ids, []
        last_piece = part[int(self._encoder.pattern.split(part)[-2]) :]
        tokens = self.decode_tokens_bytes(ids)
        stable = split_unstable(tokens, len(self._merge(last_piece)))
        tail = b"".join(tokens[stable:])
        found = completions(
            tail, self._sorted_tokens, self.decode_single_token_bytes, self._encoder.encode_list, self._merge
        )
        return ids[:stable], sorted(map(list, found))

    @cached_property
    def _sorted_tokens(self) -> list[bytes]:
        return self.token_byte_values()

    @cached_property
    def _merge(self) -> Callable[[bytes], list[int]]:
        """The ids of bytes that are one piece."""
        from slmtok._engine import Encoder, Pattern

        ranks = self._ranks
        return Encoder.from_ranks(Pattern("whole"), list(ranks), to_uint32(ranks.values())).encode_list

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of exactly this token, special or not. Raises `UnknownId` (a `KeyError`) for an unknown token."""
        if not isinstance(text_or_bytes, (str, bytes, bytearray)):
            raise WrongType(f"a token is str or bytes, not {type(text_or_bytes).__name__}", fix="' the', or b' the'")
        token = utf8_of(text_or_bytes) if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
        found = self._ranks.get(token, self._specials.get(token.decode("utf-8", "replace")))
        if found is None:
            raise UnknownId(f"no single token spells {token!r}", fix="encode(text) gives several ids", token=token)
        return found

    def _encode_many(self, texts: list[str], threads: int) -> list[list[int]]:
        try:
            ids, offsets = self._encoder.encode_batch(texts, threads=threads)
        except InvalidText:
            ids, offsets = self._encoder.encode_batch([repair(text) for text in texts], threads=threads)
        return split_rows(ids, offsets)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes. After the first invalid byte tiktoken does not split; we do."""
        return self._encoder.encode_list(text)

    # --- decoding ---

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids, special tokens by their spelling. Raises `UnknownId`, `IdOverflow` (an `OverflowError`)."""
        ids = as_ids(tokens)
        try:
            return self._encoder.decode_bytes(ids)
        except (UnknownId, OverflowError) as error:
            failed = error
        check_overflow(ids)
        raise complete_error(failed) if isinstance(failed, UnknownId) else failed

    @explains_calls
    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids. `errors` as in `bytes.decode`."""
        _check_errors(errors)
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id. Raises as `decode_bytes`."""
        return self.decode_bytes(as_ids([token]))

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in as_ids(tokens)]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """(text, index of the first character of each id). Invalid UTF-8 is no error."""
        spelled = self.decode_tokens_bytes(tokens)
        return b"".join(spelled).decode("utf-8", "replace"), character_starts(spelled)

    @explains_calls
    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """`decode` of each."""
        _check_errors(errors)
        found = self.decode_bytes_batch(batch, num_threads=num_threads)
        return [text.decode("utf-8", errors=errors) for text in found]

    @explains_calls
    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """`decode_bytes` of each."""
        flat, offsets = as_id_rows(batch)
        try:
            return self._encoder.decode_batch(flat, offsets, threads=check_num_threads(num_threads))
        except (UnknownId, OverflowError) as error:
            failed = error
        for document, (start, stop) in enumerate(pairwise(offsets.tolist())):
            check_overflow(flat[start:stop], document)
            decode_row(self._encoder, flat[start:stop], document)
        raise failed

    # --- metadata ---

    @property
    def name(self) -> str:
        """The name."""
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
        """The id with the role `eos`, else the id spelled `<|endoftext|>`. Raises `UnknownSpecial`."""
        for text, role in self._roles.items():
            if role == "eos":
                return self._specials[text]
        if _END_OF_TEXT not in self._specials:
            raise UnknownSpecial(
                f"no special token is the end of text: none has the role 'eos' or the spelling {_END_OF_TEXT!r}",
                limit=f"specials: {', '.join(self._specials) or 'none'}",
                fix="pass the id that ends a text explicitly",
            )
        return self._specials[_END_OF_TEXT]

    @property
    def special_tokens_set(self) -> set[str]:
        """The spellings of all special tokens."""
        return set(self._specials)

    def is_special_token(self, token: int) -> bool:
        """Whether the id is a special token's. Raises `WrongType` unless it is an int."""
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
        """Not a copy, since programs read it in loops. Do not modify it."""
        return self._ranks

    @property
    def _special_tokens(self) -> dict[str, int]:
        return self._specials


def _check_errors(errors: str) -> None:
    # The default needs no check, which would cost a short call a tenth.
    if errors != "replace":
        check_errors(errors)


def from_tokenizer(
    tokenizer: Tokenizer, *, spell: Mapping[str, str] | None = None, name: str | None = None
) -> Encoding:
    """A tokenizer as an `Encoding`.

    spell: role -> spelling, for this view only. Unnamed reserved ids appear as `<|reserved_6|>`, so that no id is
    missing. name: `slmtok-` and the start of the fingerprint by default. Raises `UnknownSpecial` for an unknown role,
    `InvalidSpecials` for a spelling that is in use.
    """
    from slmtok.patterns import compile_pattern
    from slmtok.schemes import SCHEMES
    from slmtok.specials import role_spellings
    from slmtok.tokenizer import check_tokenizer

    check_tokenizer(tokenizer)
    spellings = role_spellings(spell)
    for role in spellings:
        if role not in tokenizer.specials:
            error = tokenizer.specials.unknown(role)
            if meant := error.fields.get("role"):
                error.fix = (Setting("spell", {meant if each == role else each: to for each, to in spellings.items()}),)
            raise error
    # All roles at once, so that two can exchange their spellings; then unnamed reserved ids by number.
    specials = tokenizer.specials.respelled(spellings, option="spell").completed()
    vocabulary = tokenizer.vocabulary.with_specials(specials)
    pairs = [(token.id, (token.text or "").encode()) for token in specials.tokens]
    encoder = SCHEMES[vocabulary.scheme].build(vocabulary, compile_pattern(vocabulary.pattern), pairs)
    return Encoding.__new__(Encoding)._set(
        name or f"slmtok-{tokenizer.fingerprint[:8]}",
        encoder,
        {token: id for id, token in vocabulary.items()},
        specials.spellings,
        roles={text: role for role in specials for text in [specials.text(role)]},
        origin=(tokenizer, dict(spell or {}), name),
    )


def get_encoding(encoding_name: str) -> Encoding:
    """A public encoding. Raises `UnknownName` (a `ValueError`), and `MissingInput` if its rank file is not cached."""
    from slmtok.formats.tiktoken import ENCODINGS, find_ranks

    if not isinstance(encoding_name, str):
        raise UnknownName(
            f"an encoding is named by a str, not by {type(encoding_name).__name__}", fix="get_encoding('cl100k_base')"
        )
    if encoding_name not in ENCODINGS and os.path.exists(encoding_name):  # noqa: PTH110
        raise UnknownName(
            f"{encoding_name!r} is a file, not the name of an encoding",
            limit=f"known: {', '.join(ENCODINGS)}",
            fix=f"slmtok.compat.tiktoken.from_tokenizer(slmtok.load({encoding_name!r}))",
            name=encoding_name,
        )
    return _read(encoding_name, str(find_ranks(encoding_name)))


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding of a model. Raises `UnknownModel` (a `KeyError`), and as `get_encoding`."""
    return get_encoding(encoding_name_for_model(model_name))


@lru_cache(maxsize=8)
def _read(name: str, path: str) -> Encoding:
    """Cached by file, since programs call `get_encoding` often and an `Encoding` is immutable."""
    from slmtok.formats.tiktoken import from_tiktoken

    return from_tokenizer(from_tiktoken(name), name=name)


def list_encoding_names() -> list[str]:
    """The names of the public encodings."""
    from slmtok.formats.tiktoken import ENCODINGS

    return list(ENCODINGS)
