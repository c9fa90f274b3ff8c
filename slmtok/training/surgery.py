"""Changing a vocabulary that is there: `extend` appends to it, `prune` takes out what is not used.

Extending keeps every id; slicing what was extended to the old size gives the old fingerprint. Pruning numbers what
stays anew, in its old order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from slmtok.checks import check_int
from slmtok.errors import InvalidTokens, OptionError, WrongType
from slmtok.schemes import SCHEMES
from slmtok.specials import FIRST_LEARNED
from slmtok.tokenizer import Tokenizer
from slmtok.training.api import count
from slmtok.training.counts import PretokenCounts
from slmtok.training.pruning import Plan
from slmtok.training.run import extend_counts
from slmtok.vocabulary import vocabulary_too_small

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Progress
    from slmtok.schemes import Learned
    from slmtok.training.ingest import CorpusLike
    from slmtok.vocabulary import Vocabulary

_BLOCK = 1 << 17


@dataclass(frozen=True)
class Recut:
    """How much of the text behind counts a larger vocabulary cuts otherwise: occurrences of pieces, and ids."""

    pieces: int
    changed: int
    ids_before: int
    ids_after: int


class Extended(NamedTuple):
    """A larger tokenizer with all ids of the one before, and how it went."""

    tokenizer: Tokenizer
    learned: Learned
    recut: Recut


class Pruned(NamedTuple):
    """A smaller tokenizer; `id_map[old]` is the new id, int64, shape (old n_vocab,), -1 for what is gone."""

    tokenizer: Tokenizer
    id_map: NDArray[np.int64]
    kept_as_parts: tuple[int, ...]
    """Old ids that were to go and stay, because others are made of them."""


def slice(tokenizer: Tokenizer, n_vocab: int) -> Tokenizer:
    """The tokenizer of the first `n_vocab` ids: what training to that size would have given."""
    provenance = {**tokenizer.provenance, "sliced_from": tokenizer.fingerprint}
    vocabulary = tokenizer.vocabulary.slice(n_vocab)
    options = tokenizer.options
    if "vocab" in options:
        options["vocab"] = vocabulary.n_vocab
    return Tokenizer(vocabulary, options=options, provenance=provenance)


def extend(
    tokenizer: Tokenizer,
    counts: PretokenCounts,
    vocab: int,
    *,
    min_count: int = 2,
    max_token_bytes: int = 64,
    max_token_chars: int = 0,
    forbid_regex: str | None = None,
    require: Iterable[str | bytes] = (),
    allow_smaller: bool = False,
    mix: Mapping[str, Fraction | float | str] | None = None,
    temperature: float | str | None = None,
    progress: Progress | None = None,
) -> Extended:
    """The tokenizer with more tokens behind its own, learned from counts of the same pattern; arguments as in `train`.

    Raises `OptionError` (counts of another pattern or scheme, a size that is none), `CorpusTooSmall`.
    """
    from slmtok.training.options import TrainOptions, required

    vocabulary = tokenizer.vocabulary
    _check_own(vocabulary)
    if check_int("vocab", vocab) <= vocabulary.n_vocab:
        raise OptionError(
            f"vocab={vocab} is no more than the tokenizer has",
            limit=f"more than {vocabulary.n_vocab}",
            fix=f"vocab={2 * vocabulary.n_vocab}, or slice to a smaller one",
            option="vocab",
        )
    options = TrainOptions(
        vocab=vocab,
        scheme=tokenizer.scheme,
        ties=tokenizer.options.get("ties", "rank"),
        min_count=min_count,
        max_token_bytes=max_token_bytes,
        max_token_chars=max_token_chars,
        forbid_regex=forbid_regex,
        require=required(require),
        allow_smaller=allow_smaller,
        mix=mix or {},
        temperature=temperature,
    )
    larger, learned = extend_counts(tokenizer, counts, options, progress)
    return Extended(larger, learned, recut(tokenizer, larger, counts))


def recut(before: Tokenizer, after: Tokenizer, counts: PretokenCounts) -> Recut:
    """Compares two tokenizers on the pieces of counts. The second one's merges begin with those of the first."""
    import numpy as np

    found = [0, 0, 0, 0]
    for texts, numbers in _blocks(counts):
        old, new = before.count_tokens(texts), after.count_tokens(texts)
        # Whatever is merged further has fewer ids.
        parts = numbers, numbers[old != new], numbers * old.astype(np.uint64), numbers * new.astype(np.uint64)
        found = [sum_ + int(part.sum()) for sum_, part in zip(found, parts, strict=True)]
    return Recut(*found)


def _blocks(counts: PretokenCounts) -> Iterable[tuple[list[bytes], NDArray[np.uint64]]]:
    import numpy as np

    items = counts.items()
    for start in range(0, len(items), _BLOCK):
        block = items[start : start + _BLOCK]
        yield [piece for piece, _ in block], np.array([number for _, number in block], dtype=np.uint64)


def usage(tokenizer: Tokenizer, counts: PretokenCounts) -> NDArray[np.uint64]:
    """How often each id comes when the text behind counts is encoded, shape (n_vocab,), uint64."""
    import numpy as np

    used = np.zeros(tokenizer.n_vocab, dtype=np.uint64)
    for texts, numbers in _blocks(counts):
        rows = tokenizer.encode_batch(texts)
        np.add.at(used, rows.ids, np.repeat(numbers, np.diff(rows.offsets)))
    return used


def prune(
    tokenizer: Tokenizer,
    *,
    ids: Iterable[int] | None = None,
    unused_on: CorpusLike | PretokenCounts | None = None,
    keep: int | None = None,
) -> Pruned:
    """The tokenizer without some of its tokens, leaves first; new ids keep the order of the old ones.

    ids: these. unused_on: those that do not come when this text (or counts of the same pattern) is encoded. keep: with
        `unused_on`, the least used ones until so many ids are left; a token's uses go to its parts when it goes.

    Raises `OptionError`, `InvalidTokens` (a foreign vocabulary), `VocabularyTooSmall`, `WrongType`.
    """
    vocabulary = tokenizer.vocabulary
    _check_own(vocabulary)
    if (ids is None) == (unused_on is None) or (ids is not None and keep is not None):
        raise OptionError(
            "prune needs to know what may go: ids=, or unused_on= with or without keep=",
            limit="one of ids= and unused_on=",
            fix="tok.prune(unused_on='corpus.txt', keep=4096)",
            option="unused_on",
        )
    plan = Plan(vocabulary)
    if ids is not None:
        wanted = _wanted(ids, vocabulary)
    else:
        used = [int(number) for number in usage(tokenizer, _counted(tokenizer, unused_on))]
        wanted = {id for id in range(FIRST_LEARNED, vocabulary.n_vocab) if not used[id]}
    if keep is None:
        plan.remove(wanted)
    else:
        plan.shrink(used, _judged(keep, vocabulary))
        wanted = set()
    smaller, id_map = plan.outcome()
    options = {**tokenizer.options, "vocab": smaller.n_vocab} if "vocab" in tokenizer.options else tokenizer.options
    provenance = {**tokenizer.provenance, "source": "pruned", "source_sha256": tokenizer.sha256}
    stay = tuple(sorted(wanted - plan.gone))
    return Pruned(Tokenizer(smaller, options=options, provenance=provenance), id_map, stay)


def _check_own(vocabulary: Vocabulary) -> None:
    if vocabulary.layout == "foreign":
        raise InvalidTokens(
            "a foreign vocabulary keeps its own ids, and is not changed",
            limit="layout own",
            fix="train a vocabulary of your own with slmtok.train",
        )


def _judged(keep: int, vocabulary: Vocabulary) -> int:
    number = check_int("keep", keep)
    if number < FIRST_LEARNED:
        raise vocabulary_too_small(number, vocabulary.scheme, option="keep")
    if number > vocabulary.n_vocab:
        raise OptionError(
            f"keep={number} is more than there are",
            limit=f"{FIRST_LEARNED} to {vocabulary.n_vocab}",
            fix=f"keep={vocabulary.n_vocab // 2}",
            option="keep",
        )
    return number


def _wanted(ids: Iterable[int], vocabulary: Vocabulary) -> set[int]:
    wanted: set[int] = set()
    for id in ids:
        if isinstance(id, bool) or not hasattr(id, "__index__"):
            raise WrongType(f"ids= takes check_int numbers, not {id!r}", fix="ids=[300, 301]")
        number = int(id.__index__())
        if not FIRST_LEARNED <= number < vocabulary.n_vocab:
            raise OptionError(
                f"id {number} cannot be pruned",
                limit=f"{FIRST_LEARNED} to {vocabulary.n_vocab - 1}: specials and bytes stay",
                fix="leave it out",
                option="ids",
            )
        wanted.add(number)
    return wanted


def _counted(tokenizer: Tokenizer, text: CorpusLike | PretokenCounts | None) -> PretokenCounts:
    regex = tokenizer.pattern.regex
    if isinstance(text, PretokenCounts):
        if text.native.pattern.regex != regex:
            raise OptionError(
                "the counts were made with another pattern than the tokenizer has",
                where=f"{text.native.pattern.regex!r} and {regex!r}",
                fix="count again with the tokenizer's pattern",
                option="unused_on",
            )
        return text
    assert text is not None
    own = SCHEMES[tokenizer.scheme].own_pattern
    return count(text, scheme=tokenizer.scheme, pattern=regex if own else None)
