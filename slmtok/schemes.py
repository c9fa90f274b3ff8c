"""The schemes: what a vocabulary learns from counts, and which engine call encodes with it.

All share the fixed specials and the 256 bytes, so nothing is ever out of vocabulary: what a scheme has no token for is
spelled in bytes. To add a scheme, write its two functions and its line in `SCHEMES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from slmtok.aliases import Progress
from slmtok.background import run_in_thread
from slmtok.checks import U64
from slmtok.errors import (
    InvalidPattern,
    InvalidRanks,
    OptionError,
    RequiredToken,
    RequiredTooMany,
    Setting,
)
from slmtok.indexing import explains_indexing
from slmtok.specials import FIRST_BYTE, FIRST_LEARNED, Specials
from slmtok.vocabulary import Merge, Vocabulary, translate_rank_error

if TYPE_CHECKING:
    from slmtok import _engine
    from slmtok._engine import Counts, Encoder, Pattern


TieBreak: TypeAlias = Literal["rank", "bytes-greatest", "hf"]
TIE_BREAKS: tuple[TieBreak, ...] = get_args(TieBreak)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a scheme may learn. Zero or None means no limit; `require` holds tokens that must be learned."""

    tie_break: TieBreak = "rank"
    min_count: int = 2
    max_token_bytes: int = 64
    max_token_chars: int = 0
    forbid_regex: str | None = None
    require: tuple[bytes, ...] = ()

    @property
    def required_ids(self) -> int:
        """How many ids the required tokens take; single bytes have theirs already."""
        return sum(len(token) > 1 for token in self.require)

    def scaled(self, scale: int) -> Limits:
        """The same for counts that were all multiplied by `scale`."""
        return replace(self, min_count=min(self.min_count * scale, U64))

    def refuse_idle(self, names: Sequence[str], why: str, limit: str) -> None:
        """Raises `OptionError` for one of these fields that is not the default, and has no effect with the scheme."""
        for name in names:
            value = getattr(self, name)
            if value != getattr(Limits, name):
                raise OptionError(
                    (Setting(name, value), f" has no effect {why}"),
                    limit=limit,
                    fix=("leave ", Setting(name), " out"),
                    option=name,
                )

    def check_room(self, available: int) -> None:
        """Raises `RequiredTooMany` where the required tokens take more ids than there are."""
        if self.required_ids > available:
            raise too_many_required(self.required_ids, available)

    def check_pieces(self, pattern: Pattern) -> None:
        """Raises `RequiredToken` for a token that no piece can be."""
        for token in self.require:
            if len(pattern.split(token)) != 2:
                raise RequiredToken(
                    f"required token {token!r} is not one piece of the pattern",
                    where=(Setting("require"),),
                    limit=f"the pattern {pattern.name or pattern.regex!r}",
                    fix="leave it out, or choose a pattern that does not cut it",
                    token=token,
                )


def too_many_required(needed: int, available: int) -> RequiredTooMany:
    """The error for required tokens that no vocabulary of the size asked for can hold."""
    return RequiredTooMany(
        f"the required tokens take {needed} ids, there are {available}",
        where=(Setting("require"),),
        limit=(Setting("vocab_size"), " less 16 specials and 256 bytes"),
        fix=(Setting("vocab_size", needed + 272), " or more, or require fewer tokens"),
        needed=needed,
        available=available,
    )


@contextmanager
def translate_errors(limits: Limits) -> Iterator[None]:
    """The engine's errors about limits, with the options that they are about."""
    try:
        yield
    except RequiredToken as error:
        error.where = (Setting("require"),)
        error.fix = "leave it out, or choose a pattern and limits that allow it"
        if str(error.fields.get("reason")).startswith("is split"):
            error.limit = "tokens of one piece each, such as a word with the space before it, and not a text"
            error.fix = "leave it out, or choose a pattern that allows it; a text to learn from is part of the corpus"
        raise
    except RequiredTooMany as error:
        needed, available = error.fields.get("needed"), error.fields.get("available")
        if isinstance(needed, int) and isinstance(available, int):
            raise too_many_required(needed, available) from None
        raise
    except InvalidPattern as error:
        if error.fields.get("pattern") != limits.forbid_regex:
            raise
        reason = str(error.fields.get("reason")).strip().rpartition("\n")[2].removeprefix("error: ")
        repaired: tuple[str | Setting, ...] = (
            "repair it; ",
            Setting("forbid_regex", "[0-9]{4}"),
            " forbids tokens with four digits in a row",
        )
        if ending := _GLOB_OF_ENDING.fullmatch(str(limits.forbid_regex)):
            repaired = (Setting("forbid_regex", re.escape(ending[1]) + "$"),)
        raise InvalidPattern(
            (Setting("forbid_regex", limits.forbid_regex), f" does not compile: {reason}"),
            where=(Setting("forbid_regex"),),
            limit="a regular expression without look-around and back-references",
            fix=repaired,
            **error.fields,
        ) from None


_GLOB_OF_ENDING = re.compile(r"\*([\w.-]+)", re.ASCII)
"""A glob such as `*.com`, in which * has nothing to repeat as a regex."""


@explains_indexing
@dataclass(frozen=True)
class Learned:
    """What training gives: merges (public ids) or tokens, and how it went."""

    merges: tuple[Merge, ...] = ()
    tokens: tuple[bytes, ...] = ()
    counts: tuple[int, ...] = ()
    """How often each merge or token occurred when it was chosen."""
    refused: tuple[tuple[bytes, str, int], ...] = ()
    next_count: int = 0
    """Count of the best candidate left, 0 if none."""
    required: int = 0
    """How many of the merges were made for required tokens."""
    result: _engine.TrainResult | None = field(default=None, compare=False)
    """The engine's own result, for tracing; None for schemes that do not merge."""

    def unscaled(self, scale: int) -> Learned:
        """The same for counts that were all multiplied by `scale`: numbers are divided by it, and rounded down."""
        if scale == 1:
            return self
        refused = tuple((token, option, count // scale) for token, option, count in self.refused)
        counts = tuple(count // scale for count in self.counts)
        return replace(self, counts=counts, refused=refused, next_count=self.next_count // scale)


Learn: TypeAlias = "Callable[[Counts, int, Limits, Specials, Progress | None, Vocabulary | None], Learned]"
Build: TypeAlias = "Callable[[Vocabulary, Pattern, list[tuple[int, bytes]]], Encoder]"


@dataclass(frozen=True)
class Scheme:
    """One way to make and use a vocabulary."""

    name: str
    purpose: str
    pattern: str
    """Name or regex of the pattern it uses unless told otherwise."""
    own_pattern: bool
    """Whether another pattern may be given."""
    fixed_size: bool
    """Whether the vocabulary has the minimum size and never grows."""
    learn: Learn
    """Up to n tokens from counts; with a vocabulary, its learned tokens come first and count among the n."""
    build: Build


def _learn_merges(
    counts: Counts, n: int, limits: Limits, specials: Specials, progress: Progress | None, old: Vocabulary | None
) -> Learned:
    from slmtok import _engine

    named = [token for token in specials.tokens if token.text is not None]
    replay: list[tuple[int, int, int | None]] = []
    if old is not None:
        pairs, public, non_emitting = internal_merges(old.merges)
        ids = [token.id for token in named]
        special = {internal - 256: ids.index(public[internal]) for internal in non_emitting}
        replay = [(left, right, special.get(index)) for index, (left, right) in enumerate(pairs)]
    with translate_errors(limits):
        result = _engine.train(
            counts,
            n,
            tie_break=limits.tie_break,
            min_count=limits.min_count,
            max_token_bytes=limits.max_token_bytes,
            max_token_chars=limits.max_token_chars,
            forbid=limits.forbid_regex,
            require=list(limits.require),
            specials=[(token.text or "").encode() for token in named],
            replay=replay,
            progress=progress,
        )
    reused = {merge: named[special].id for merge, special in result.reused}
    return Learned(
        merges=public_merges(result.merge_list, reused),
        counts=tuple(result.count_list),
        refused=tuple(result.refused),
        next_count=result.next_count,
        required=result.required_merges,
        result=result,
    )


def public_merges(internal: Sequence[Sequence[int]], reused: dict[int, int]) -> tuple[Merge, ...]:
    """Merges in internal ids (bytes 0..255, merge k makes 256 + k) as merges in public ids.

    `reused` maps the index of a merge to the special whose id it takes.
    """
    if not reused:
        return tuple([(left + FIRST_BYTE, right + FIRST_BYTE) for left, right in internal])
    public = list(range(FIRST_BYTE, FIRST_LEARNED))
    fresh = FIRST_LEARNED
    merges: list[Merge] = []
    for index, (left, right) in enumerate(internal):
        pair = (public[left], public[right])
        if index in reused:
            merges.append((*pair, reused[index]))
            public.append(reused[index])
        else:
            merges.append(pair)
            public.append(fresh)
            fresh += 1
    return tuple(merges)


def internal_merges(merges: Sequence[Merge]) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """The inverse: (internal pairs, public id of each internal one, internal ids of the non-emitting merges)."""
    public = list(range(FIRST_BYTE, FIRST_LEARNED))
    internal = {id: index for index, id in enumerate(public)}
    non_emitting: list[int] = []
    pairs: list[tuple[int, int]] = []
    fresh = FIRST_LEARNED
    for merge in merges:
        pairs.append((internal[merge[0]], internal[merge[1]]))
        if len(merge) == 3:
            non_emitting.append(len(public))
        made = merge[2] if len(merge) == 3 else fresh
        fresh += len(merge) == 2
        internal[made] = len(public)
        public.append(made)
    return pairs, public, non_emitting


def _build_merges(vocabulary: Vocabulary, pattern: Pattern, specials: list[tuple[int, bytes]]) -> Encoder:
    from slmtok import _engine

    if vocabulary.layout == "foreign":
        import numpy as np

        tokens = [token for token in vocabulary.token_table if token is not None]
        ids = np.array([id for id, token in enumerate(vocabulary.token_table) if token is not None], dtype=np.uint32)
        try:
            return run_in_thread(lambda: _engine.Encoder.from_ranks(pattern, tokens, ids, specials=specials))
        except InvalidRanks as error:
            raise translate_rank_error(error, {token: id for id, token in vocabulary.items()}) from None
    if all(len(merge) == 2 for merge in vocabulary.merges):
        pairs = [(merge[0] - FIRST_BYTE, merge[1] - FIRST_BYTE) for merge in vocabulary.merges]
        public = range(FIRST_BYTE, FIRST_LEARNED + len(pairs))
        return _engine.Encoder.from_merges(pattern, pairs, public, specials=specials)
    listed, external, non_emitting = internal_merges(vocabulary.merges)
    return _engine.Encoder.from_merges(pattern, listed, external, specials=specials, non_emitting=non_emitting)


def _learn_pieces(
    counts: Counts, n: int, limits: Limits, specials: Specials, progress: Progress | None, old: Vocabulary | None
) -> Learned:
    limits.refuse_idle(("tie_break",), "without merges", "scheme bpe")
    # Known tokens are required ones, which come first.
    known = () if old is None else tuple(token for token in old.tokens if token is not None)
    limits = replace(limits, require=tuple(dict.fromkeys((*known, *limits.require))))
    limits.check_room(n)
    limits.check_pieces(counts.pattern)
    tokens, found, refused = _frequent(counts, n, limits, limits.min_count)
    next_count = 0
    if len(tokens) < n and limits.min_count > 1:
        # How frequent the best piece left is, so that the error can name a sufficient minimum.
        next_count = max(_frequent(counts, len(tokens) + 1, limits, 1)[1][len(tokens) :], default=0)
    required = limits.required_ids - len(known)
    return Learned((), tuple(tokens), tuple(found), tuple(refused), next_count, required)


def _frequent(
    counts: Counts, n: int, limits: Limits, min_count: int
) -> tuple[list[bytes], list[int], list[tuple[bytes, str, int]]]:
    from slmtok import _engine

    with translate_errors(limits):
        return _engine.frequent_pieces(
            counts,
            n,
            min_count=min_count,
            max_token_bytes=limits.max_token_bytes,
            max_token_chars=limits.max_token_chars,
            forbid=limits.forbid_regex,
            require=list(limits.require),
        )


def _build_tokens(vocabulary: Vocabulary, pattern: Pattern, specials: list[tuple[int, bytes]]) -> Encoder:
    from slmtok import _engine

    tokens = [token for token in vocabulary.tokens if token is not None]
    public = range(FIRST_BYTE, FIRST_LEARNED + len(tokens))
    return _engine.Encoder.from_tokens(pattern, tokens, public, specials=specials)


_LEARNING = ("tie_break", "min_count", "max_token_bytes", "max_token_chars", "forbid_regex")
"""Fields of `Limits` that choose among tokens to learn."""


def _learn_nothing(
    counts: Counts, n: int, limits: Limits, specials: Specials, progress: Progress | None, old: Vocabulary | None
) -> Learned:
    if limits.required_ids:
        fact = f"{limits.required_ids} required tokens with scheme byte, which learns nothing"
        raise OptionError(fact, limit="bpe, word, char", fix=("leave ", Setting("require"), " out"))
    limits.refuse_idle(_LEARNING, "with scheme byte, which learns nothing", "scheme bpe, word or char")
    return Learned()


_PIECES = (_learn_pieces, _build_tokens)

SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("bpe", "byte-level byte-pair encoding", "slm", True, False, _learn_merges, _build_merges),
        Scheme("word", "the most frequent words, spaces and marks; the rest in bytes", "word", True, False, *_PIECES),
        Scheme("char", "the most frequent characters; the rest in bytes", "char", False, False, *_PIECES),
        Scheme("byte", "the 256 bytes alone", "slm", False, True, _learn_nothing, _build_tokens),
    )
}


def pattern_of_scheme(kind: Scheme, pattern: str | None) -> str:
    """`pattern`, or the pattern of the scheme if None. Raises `OptionError` where the scheme takes no other."""
    if pattern is None or pattern == kind.pattern:
        return kind.pattern
    if not kind.own_pattern:
        raise OptionError(
            (Setting("pattern", pattern), f" with scheme {kind.name}, which has a pattern of its own"),
            limit=f"scheme {kind.name}: {kind.pattern}",
            fix=("leave ", Setting("pattern"), " out"),
            option="pattern",
        )
    return pattern
