"""Changing a trained vocabulary: `slice` takes a prefix, `extend` appends tokens, `prune` removes tokens.

Slicing and extending keep every id: slicing an extended tokenizer to its old size gives the old fingerprint. Pruning
renumbers the tokens that stay, in their order. A token stays as long as another one is made of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import numpy as np

from slmtok.calls import Expression, argument_text, call_text, explains_calls
from slmtok.checks import U64, are_texts, check_int, is_text, refuse_masked
from slmtok.errors import (
    InvalidTokens,
    Message,
    OptionError,
    RequiredTooMany,
    Setting,
    SlmtokError,
    UnknownOption,
    VocabularyTooSmall,
    WrongType,
    value_text,
)
from slmtok.file_kinds import COUNTS, kind_of_file
from slmtok.indexing import explains_indexing
from slmtok.option_values import size_meant
from slmtok.options import CountOptions, TrainOptions, build_options, changed_options, option_specs
from slmtok.path_arguments import inputs_and_output
from slmtok.record_texts import left_out
from slmtok.schemes import SCHEMES
from slmtok.specials import FIRST_LEARNED, SPELLING, pairs_meant
from slmtok.token_text import SPACE
from slmtok.tokenizer import Tokenizer, check_tokenizer, names_file, read_tokenizer, refuse_swapped
from slmtok.training.api import check_no_reading, count, require_text
from slmtok.training.counts import BLOCK_PIECES, PretokenCounts
from slmtok.training.learn import learn_more
from slmtok.vocabulary import foreign_ids, part_of_size, vocabulary_too_small

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok.aliases import Progress
    from slmtok.schemes import Learned
    from slmtok.training.ingest import CorpusLike
    from slmtok.vocabulary import Merge, Vocabulary

_MAX_LISTED_IDS = 10
_CUT = ", pattern=tok.pattern.regex"
"""In a call that counts text: the pattern of a tokenizer."""


@explains_indexing
@dataclass(frozen=True)
class SegmentationChanges:
    """How a larger vocabulary changes the encoding of counted text: occurrences of pieces, and ids."""

    pieces: int
    changed: int
    ids_before: int
    ids_after: int


@explains_indexing
class Extended(NamedTuple):
    """A larger tokenizer with all ids of the previous one."""

    tokenizer: Tokenizer
    learned: Learned
    changes: SegmentationChanges

    def __getattr__(self, name: str) -> NoReturn:
        raise _in_tokenizer(self, name)


@explains_indexing
class Pruned(NamedTuple):
    """A smaller tokenizer; `id_map[old]` is the new id, int64, shape (old n_vocab,), -1 for removed ids."""

    tokenizer: Tokenizer
    id_map: NDArray[np.int64]
    kept_as_parts: tuple[int, ...]
    """Old ids that were to be removed and stay as parts of other tokens."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _in_tokenizer(self, name)


def _in_tokenizer(found: NamedTuple, name: str) -> AttributeError:
    """The error for an attribute that a result lacks: its tokenizer may have it."""
    what = type(found).__name__
    hint = f"; its tokenizer has: .tokenizer.{name}" if hasattr(Tokenizer, name) and not name.startswith("_") else ""
    return AttributeError(f"{what} has no attribute {name!r}{hint}", name=name, obj=None if hint else found)


@explains_calls
def slice(tokenizer: Tokenizer, n_vocab: int) -> Tokenizer:
    """The tokenizer of the first `n_vocab` ids: what training to that size would have given."""
    refuse_swapped(
        tokenizer, n_vocab, "slmtok.slice(tokenizer, n_vocab)", call_text("slmtok.slice", [n_vocab, tokenizer], {})
    )
    check_tokenizer(tokenizer)
    provenance = {**tokenizer.provenance, "sliced_from": tokenizer.fingerprint}
    try:
        return _resized(tokenizer, tokenizer.vocabulary.slice(n_vocab), provenance)
    except InvalidTokens as error:
        if error.fields.get("option") == "n_vocab" and tokenizer.scheme != "byte":
            larger = _extend_text(tokenizer, "CORPUS", None, {"vocab_size": n_vocab})
            error.fix = f"{larger}.tokenizer makes a larger one, of the text at the path CORPUS"
        raise
    except WrongType as error:
        if not any(map(str.isdigit, value_text(n_vocab))):
            error.fix = "n_vocab=SIZE, the number of ids to keep; slmtok.prune(tok, ids=IDS) removes single ids"
        raise


def _resized(tokenizer: Tokenizer, vocabulary: Vocabulary, provenance: Mapping[str, Any]) -> Tokenizer:
    size = {"vocab": vocabulary.n_vocab} if "vocab" in tokenizer.options else {}
    return Tokenizer(vocabulary, options={**tokenizer.options, **size}, provenance=provenance)


@explains_calls
def extend(
    tokenizer: Tokenizer,
    counts: PretokenCounts,
    options: TrainOptions | None = None,
    *,
    progress: Progress | None = None,
    **keywords: object,
) -> Extended:
    """The tokenizer with more tokens behind its own, learned from counts of the same pattern; every id stays.

    Options as in `slmtok.train`; scheme, pattern and tie break are those of the tokenizer.

    Raises `OptionError` (counts of another pattern or scheme, a size that does not grow, an option without effect),
    `CorpusTooSmall`.
    """
    options = _checked_options(tokenizer, counts, options, keywords)
    _check_kept(tokenizer, options)
    check_no_reading(replace(options, pattern=None), counts)
    return extend_counts(tokenizer, counts, options, progress)


def _checked_options(
    tokenizer: Tokenizer, counts: PretokenCounts, options: TrainOptions | None, keywords: Mapping[str, object]
) -> TrainOptions:
    """The options of a call of `extend`. Raises for a wrong argument; the fix mends those of other types with it."""
    _refuse_order([tokenizer, counts, options], keywords)
    try:
        n_vocab = check_tokenizer(tokenizer).n_vocab
    except WrongType as error:
        if isinstance(tokenizer, (str, os.PathLike)) and (call := _extend_opened(tokenizer, counts, options, keywords)):
            error.fix = call
        raise
    given = options if isinstance(options, TrainOptions) else None
    try:
        options = _larger_options(n_vocab, options, keywords)
    except (OptionError, UnknownOption, VocabularyTooSmall, WrongType) as error:
        fix = error.parts["fix"]
        if _is_corpus(counts) and isinstance(fix, tuple) and isinstance(fix[0], Setting) and fix[0].has_value:
            size, option = {fix[0].name: fix[0].value}, error.fields.get("option")
            kept = {name: value for name, value in keywords.items() if name != option}
            remark = "".join(map(str, fix[1:])).lstrip(" #,")
            error.fix = _extend_text(tokenizer, counts, given, {**kept, **size}) + f"  # {remark}" * bool(remark)
        raise
    if not isinstance(counts, PretokenCounts):
        # Of two tokenizers, a call could name the wrong one.
        text = "slmtok.count('CORPUS') in its place, which counts the text at the path CORPUS"
        call = _extend_text(tokenizer, counts, given, keywords) if _is_corpus(counts) else text
        raise WrongType(f"counts is {type(counts).__name__}, not PretokenCounts", fix=call)
    return options


def _is_corpus(counts: object) -> bool:
    """Whether an argument in the place of counts is text, or names its files."""
    is_other = isinstance(counts, (PretokenCounts, Mapping, bytes))
    return isinstance(counts, (os.PathLike, Iterable)) and not is_other


def _larger_options(n_vocab: int, options: TrainOptions | None, keywords: Mapping[str, object]) -> TrainOptions:
    """Options with a size above the present one, `n_vocab`. Raises for another, and for what is no option."""
    try:
        options = build_options(TrainOptions, options, keywords)
    except WrongType as error:
        if (size := size_meant(options)) and size <= n_vocab:
            error.fix = (Setting("vocab_size", n_vocab + size), f" for {size} more")
        raise
    except UnknownOption as error:
        more = size_meant(keywords.get(str(error.fields["option"])))
        if error.fields["option"] in _NEW_TOKENS and more and "vocab_size" not in keywords:
            error.fix = (Setting("vocab_size", n_vocab + more), f"  # {n_vocab} ids and {more} more")
        raise
    except VocabularyTooSmall as error:
        # Below the size of any tokenizer, it is meant as the number of new ids.
        more = max(cast("int", error.fields["n_vocab"]), 1)
        error.fix = (Setting("vocab_size", n_vocab + more), f" for {more} more")
        raise
    check_larger(options.n_vocab, n_vocab)
    return options


def _extend_opened(
    path: str | os.PathLike[str],
    counts: PretokenCounts,
    options: TrainOptions | None,
    keywords: Mapping[str, object],
) -> str | None:
    """The call of `extend` with the tokenizer in a file, all arguments mended; None where one has another fix."""
    if names_file(counts) and not names_file(path):
        path, counts = cast("Any", (counts, path))
    try:
        tokenizer = read_tokenizer(Path(path)) if os.path.isfile(path) else None  # noqa: PTH113  (false for any name)
    except SlmtokError:
        tokenizer = None
    if tokenizer is None:
        return None
    try:
        _checked_options(tokenizer, counts, options, keywords)
        call = _extend_text(tokenizer, counts, options, keywords)
    except SlmtokError as error:
        mended = error.parts["fix"]
        call = mended if isinstance(mended, str) else ""
    return f"tok = {call_text('slmtok.load', [path], {})}; {call}" if call.startswith("slmtok.extend(tok") else None


_NEW_TOKENS = (
    "new_tokens",
    "n_new_tokens",
    "num_new_tokens",
    "n_new",
    "more",
    "n_tokens",
    "num_tokens",
    "add",
    "num_merges",
    "n_merges",
    "merges",
)
"""Names of other programs for the number of tokens that are added."""


def _refuse_order(given: Sequence[object], keywords: Mapping[str, object]) -> None:
    """Raises `WrongType` for a tokenizer in the place of another argument, and for several paths by position."""
    tokenizer, counts, options = given
    limit = "slmtok.extend(tokenizer, counts)"
    if isinstance(options, PretokenCounts) and (size := size_meant(counts)) is not None:
        fact = f"counts is {type(counts).__name__}, and the PretokenCounts have another place"
        raise WrongType(fact, limit=limit, fix=call_text("slmtok.extend", [tokenizer, options], {"vocab_size": size}))
    is_path = isinstance(options, (str, os.PathLike)) and size_meant(options) is None
    for other in (counts, options) if is_path or isinstance(options, Tokenizer) else (counts,):
        if isinstance(other, Tokenizer) and not isinstance(tokenizer, Tokenizer):
            rest = [each for each in given if each is not other]
            refuse_swapped(tokenizer, other, limit, _extend_several(other, rest, keywords))
    if is_path and isinstance(tokenizer, Tokenizer):
        fact = "extend() takes options by name, not a path"
        raise WrongType(fact, limit=limit, fix=_extend_several(tokenizer, [counts, options], keywords))


def _extend_several(tokenizer: Tokenizer, given: Sequence[object], keywords: Mapping[str, object]) -> str:
    """A call of `extend` with the other arguments: options, counts or texts, and perhaps an output behind them."""
    options = next((each for each in given if isinstance(each, TrainOptions)), None)
    counts = [each for each in given if isinstance(each, PretokenCounts)]
    paths = [each for each in given if isinstance(each, (str, os.PathLike))]
    corpus: object = given[0]
    output = None
    if counts:
        corpus, output = counts[0], (os.fspath(paths[-1]) if paths else None)
    elif len(paths) > 1:
        corpus, output = inputs_and_output(paths)
    call = _extend_text(tokenizer, corpus, options, keywords)
    return f"{call}.tokenizer.save({output!r})" if output else call


def _check_kept(tokenizer: Tokenizer, options: TrainOptions) -> None:
    """Raises `OptionError` for an option that the tokenizer decides, with another value."""
    pattern = tokenizer.pattern
    kept: dict[str, tuple[object, ...]] = {
        "scheme": (tokenizer.scheme,),
        "tie_break": (tokenizer.options.get("ties", "rank"),),
        "pattern": (pattern.name, pattern.regex),
        "special": (),
    }
    for name in changed_options(options, kept):
        value = getattr(options, name)
        if value in kept[name]:
            continue
        own = f"; that of the tokenizer is {kept[name][0]!r}" if kept[name] else ""
        call = tokenizer.specials.call_with(options.special or {})
        raise OptionError(
            (Setting(name, value), f" has no effect: extend keeps what the tokenizer has{own}"),
            fix=f"tok = {call} first, and leave it out" if name == "special" and call else "leave it out",
            option=name,
        )


def extend_counts(
    tokenizer: Tokenizer, counts: PretokenCounts, options: TrainOptions, progress: Progress | None = None
) -> Extended:
    """As `extend`; the options of reading are those with which the counts were made."""
    _check_own(tokenizer.vocabulary)
    check_learns(tokenizer, f"slmtok.train(CORPUS, vocab_size={options.n_vocab})")
    require_text(counts)
    options = replace(options, scheme=tokenizer.scheme, tie_break=tokenizer.options.get("ties", "rank"))
    try:
        larger, learned = learn_more(tokenizer, counts, options, progress)
    except RequiredTooMany as error:
        needed, available = (int(str(error.fields[name])) for name in ("needed", "available"))
        error.limit = (Setting("vocab_size"), f", which counts the {tokenizer.n_vocab} present ids too")
        error.fix = (Setting("vocab_size", options.n_vocab - available + needed), " or more, or require fewer tokens")
        raise
    return Extended(larger, learned, compare_segmentation(tokenizer, larger, counts))


def _extend_text(
    tokenizer: Tokenizer, corpus: object, options: TrainOptions | None, keywords: Mapping[str, object]
) -> str:
    """A call of `extend`; a corpus is counted, with the pattern of the tokenizer, and a counts file is opened."""
    if isinstance(corpus, PretokenCounts):
        return call_text("slmtok.extend", [tokenizer, corpus], keywords, options)
    texts = [each for each in corpus if isinstance(each, str)] if isinstance(corpus, (list, tuple)) else []
    if texts and all(map(SPELLING.fullmatch, texts)):
        return tokenizer.specials.call_with(pairs_meant(texts)) or f"leave them out: {tokenizer.specials.none_reserved}"
    if texts and all(SPELLING.fullmatch(each) or _WORD.fullmatch(each) for each in texts):
        return _extend_words(tokenizer, texts, keywords)
    if are_texts(corpus) and not any(map(os.path.exists, cast("list[str]", corpus))):
        corpus = Expression(f"slmtok.Texts({argument_text(corpus, 'texts')})")
    of_counting = {name for name, _, _ in option_specs(CountOptions)}
    reading = {name: value for name, value in keywords.items() if name in of_counting}
    others = {name: value for name, value in keywords.items() if name not in of_counting}
    if tokenizer.scheme != CountOptions().scheme:
        reading["scheme"] = tokenizer.scheme
    kept = call_text("", [], others, options)[1:-1]
    if isinstance(corpus, (str, os.PathLike)) and kind_of_file(os.fspath(corpus)) == COUNTS:
        opened = call_text("slmtok.PretokenCounts.load", [corpus], {})
        return f"slmtok.extend(tok, {', '.join(filter(None, (opened, kept)))})"
    scheme = SCHEMES[tokenizer.scheme]
    cut = _CUT if scheme.own_pattern and tokenizer.pattern.name != scheme.pattern else ""
    counted = call_text("slmtok.count", [corpus], reading)[:-1] + f"{cut})"
    return f"slmtok.extend(tok, {', '.join(filter(None, (counted, kept)))})"


_WORD = re.compile(r"[\w'-]+", re.ASCII)


def _extend_words(tokenizer: Tokenizer, words: Sequence[str], keywords: Mapping[str, object]) -> str:
    """What adds specials, and what learns words: counts of the words alone have too few pairs to merge."""
    special = pairs_meant([each for each in words if SPELLING.fullmatch(each)])
    call = tokenizer.specials.call_with(special)
    added = (
        f"{call} adds specials"
        if call
        else f"leave out {', '.join(special.values())}: {tokenizer.specials.none_reserved}"
    )
    size = {"vocab_size": tokenizer.n_vocab + len(words) - len(special), **keywords}
    learned = call_text("slmtok.extend", [Expression("tok"), Expression("slmtok.count('CORPUS')")], size)
    learns = f"{learned} learns words from the text at the path CORPUS; none is added as it is"
    return f"{added}; {learns}" if special else learns


def check_learns(tokenizer: Tokenizer, fix: str) -> None:
    """Raises `OptionError` for a tokenizer of a scheme that learns nothing; `fix` trains one of another."""
    if SCHEMES[tokenizer.scheme].fixed_size:
        raise OptionError(
            f"a tokenizer of scheme {tokenizer.scheme} cannot be extended: the scheme learns nothing",
            limit="a tokenizer of scheme bpe, word or char",
            fix=fix,
            option="tokenizer",
        )


def check_larger(n_vocab: int, present: int) -> None:
    """Raises `OptionError` for a size that is not above the present one."""
    if n_vocab <= present:
        raise OptionError(
            (Setting("vocab_size", n_vocab), " is not larger than the tokenizer"),
            limit=f"more than {present}: it counts the present ids too",
            fix=(
                Setting("vocab_size", present + max(n_vocab, 1)),
                f" for {max(n_vocab, 1)} more; slice makes a smaller one",
            ),
            option="vocab_size",
        )


def compare_segmentation(before: Tokenizer, after: Tokenizer, counts: PretokenCounts) -> SegmentationChanges:
    """Compares two tokenizers on the pieces of counts. The merges of the second begin with those of the first."""
    found = [0, 0, 0, 0]

    def compare(items: list[tuple[bytes, int]]) -> None:
        texts, numbers = _columns(items)
        old, new = before.count_tokens(texts), after.count_tokens(texts)
        # A piece changes if and only if it has fewer ids.
        parts = numbers, numbers[old != new], numbers * old.astype(np.uint64), numbers * new.astype(np.uint64)
        found[:] = [total + int(part.sum()) for total, part in zip(found, parts, strict=True)]

    counts.native.visit_items(compare, BLOCK_PIECES)
    return SegmentationChanges(*found)


def _columns(items: list[tuple[bytes, int]]) -> tuple[list[bytes], NDArray[np.uint64]]:
    return [piece for piece, _ in items], np.array([number for _, number in items], dtype=np.uint64)


def usage(tokenizer: Tokenizer, counts: PretokenCounts) -> NDArray[np.uint64]:
    """Occurrences of each id in the encoding of the counted text, shape (n_vocab,), uint64."""
    used = np.zeros(tokenizer.n_vocab, dtype=np.uint64)

    def add(items: list[tuple[bytes, int]]) -> None:
        texts, numbers = _columns(items)
        rows = tokenizer.encode_batch(texts)
        np.add.at(used, rows.ids, np.repeat(numbers, np.diff(rows.offsets)))

    counts.native.visit_items(add, BLOCK_PIECES)
    return used


@explains_calls
def prune(
    tokenizer: Tokenizer,
    *,
    ids: Iterable[int] | None = None,
    unused_on: CorpusLike | PretokenCounts | None = None,
    keep: int | None = None,
) -> Pruned:
    """The tokenizer without some of its tokens, leaves first; new ids keep the order of the old ones.

    ids: remove these. unused_on: remove those that do not occur when this text (or counts of the same pattern) is
        encoded. keep: with `unused_on`, remove the least used ones until `keep` ids are left; the uses of a removed
        token go to its parts.

    Raises `OptionError`, `InvalidTokens` (a foreign vocabulary), `VocabularyTooSmall`, `WrongType`.
    """
    vocabulary = check_tokenizer(tokenizer).vocabulary
    _check_own(vocabulary)
    if (ids is None) == (unused_on is None) or (ids is not None and keep is not None):
        kept: tuple[str | Setting, ...] = () if keep is None else (", ", Setting("keep", keep))
        raise OptionError(
            (Setting("ids"), " or ", Setting("unused_on"), " must say what to remove"),
            limit="ids alone, or unused_on with or without keep",
            fix=(Setting("unused_on", "CORPUS"), *kept, left_out(["ids"] * (ids is not None))),
            option="unused_on",
        )
    pruning = Pruning(vocabulary)
    if ids is not None:
        wanted = _check_ids(ids, vocabulary)
    else:
        counts = _counts_of(tokenizer, unused_on)
        require_text(counts)
        used = [int(number) for number in usage(tokenizer, counts)]
        wanted = {id for id in range(FIRST_LEARNED, vocabulary.n_vocab) if not used[id]}
    if keep is None:
        pruning.remove(wanted)
    else:
        pruning.shrink(used, _check_keep(keep, vocabulary))
        wanted = set()
    smaller, id_map = pruning.result()
    provenance = {**tokenizer.provenance, "source": "pruned", "source_sha256": tokenizer.sha256}
    return Pruned(_resized(tokenizer, smaller, provenance), id_map, tuple(sorted(wanted - pruning.removed)))


def _check_own(vocabulary: Vocabulary) -> None:
    if vocabulary.layout == "foreign":
        raise foreign_ids("changed")


_WITHOUT_KEEP = ("leave ", Setting("keep"), " out: tokens that do not occur are removed, and no others")


def _check_keep(keep: int, vocabulary: Vocabulary) -> int:
    example = part_of_size(keep, vocabulary.n_vocab)
    try:
        number = check_int("keep", keep, -U64, example=example)
    except WrongType as error:
        if not isinstance(keep, (float, str)) or not any(map(str.isdigit, str(keep))):
            error.limit = "the number of ids that are left; no option keeps tokens by name"
            error.fix = _WITHOUT_KEEP
        raise
    if number < FIRST_LEARNED:
        raise vocabulary_too_small(number, vocabulary.scheme, option="keep", example=example)
    if number > vocabulary.n_vocab:
        raise OptionError(
            (Setting("keep", number), f" is more than the {vocabulary.n_vocab} ids of the tokenizer"),
            limit=f"{FIRST_LEARNED} to {vocabulary.n_vocab}; slmtok extend adds tokens",
            fix=_WITHOUT_KEEP,
            option="keep",
        )
    return number


def _check_ids(ids: Iterable[int], vocabulary: Vocabulary) -> set[int]:
    if isinstance(ids, (str, bytes)) and is_text(ids):
        fact = (Setting("ids"), f" takes integers, not a text of {len(ids):,} characters")
        raise WrongType(fact, fix="ids=json.loads(text), if it is JSON with a list of ids")
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise WrongType((Setting("ids"), f" takes integers, not {value_text(ids)}"), fix=_ids_meant(ids, vocabulary))
    refuse_masked(ids)
    given = ids if hasattr(ids, "__len__") else [*ids]
    if _is_mask(given) and len(cast("Any", given)) == vocabulary.n_vocab:
        fact = (Setting("ids"), " takes integers, and these are bool: a mask")
        raise WrongType(fact, fix="ids=np.flatnonzero(ids)", option="ids")
    wanted: set[int] = set()
    wrong: list[int] = []
    for id in given:
        if isinstance(id, bool) or not hasattr(id, "__index__"):
            raise WrongType((Setting("ids"), f" takes integers, not {id!r}"), fix=_ids_meant(given, vocabulary))
        number = int(id.__index__())
        if FIRST_LEARNED <= number < vocabulary.n_vocab:
            wanted.add(number)
        else:
            wrong.append(number)
    if -1 in wrong and len(cast("list[int]", given)) == vocabulary.n_vocab:
        raise OptionError(
            (
                Setting("ids"),
                f" is an id map: the new ids of all {vocabulary.n_vocab} ids, -1 for a removed one",
            ),
            limit="the ids to remove",
            fix="ids=np.flatnonzero(np.asarray(id_map) < 0) removes what it removes",
            option="ids",
        )
    if wrong := [*dict.fromkeys(wrong)]:
        listed = ", ".join(map(str, wrong[:_MAX_LISTED_IDS])) + ", …" * (len(wrong) > _MAX_LISTED_IDS)
        raise OptionError(
            f"id {listed} cannot be pruned" if len(wrong) == 1 else f"{len(wrong):,} ids cannot be pruned: {listed}",
            limit=f"{FIRST_LEARNED} to {vocabulary.n_vocab - 1}: specials and bytes stay",
            fix="leave it out" if len(wrong) == 1 else "leave them out",
            option="ids",
        )
    return wanted


def _is_mask(ids: Iterable[object]) -> bool:
    """Whether all values of a list, an array or a tensor are bool."""
    dtype = getattr(ids, "dtype", None)
    kinds = {type(each).__name__ for each in ids} if dtype is None else {str(dtype).removeprefix("torch.")}
    return bool(kinds) and kinds <= _BOOLS


_BOOLS = frozenset(["bool", "bool_"])
"""Names of the types of bools of Python and numpy, of which 1.x has the second."""


def _ids_meant(ids: object, vocabulary: Vocabulary) -> Message:
    """The ids that values of another type spell or are the tokens of, without the other values, as a fix."""
    if isinstance(ids, bytes):
        ids = ids.decode("latin-1")
    if isinstance(ids, str):
        parts: list[object] = [*re.split(r"[\s,;]+", ids.strip(" \n\t[](){}"))]
    else:
        parts = [*ids] if isinstance(ids, Iterable) else [ids]
    numbers = [_integer(part) for part in parts]
    if parts and None not in numbers and len(numbers) <= _MAX_LISTED_IDS:
        return (Setting("ids", numbers),)
    if None not in numbers and parts:
        return "ids=[int(id) for id in ids]"
    found = [
        _id_of_token(part, vocabulary) if number is None else number
        for part, number in zip(parts, numbers, strict=True)
    ]
    known = [*dict.fromkeys(id for id in found if id is not None)]
    lacking = [part for part, id in zip(parts, found, strict=True) if id is None]
    shown = [*dict.fromkeys(map(value_text, lacking))]
    reason = f"{', '.join(shown[:_MAX_LISTED_IDS])}{', …' * (len(shown) > _MAX_LISTED_IDS)}"
    reason += ", no learned token of this vocabulary" * any(isinstance(part, (str, bytes)) for part in lacking)
    reason += "; tok.token_id gives None for bytes that are no token" * (None in lacking)
    if len(known) > _MAX_LISTED_IDS and not any(isinstance(part, (str, bytes)) for part in parts):
        return f"ids=[id for id in ids if isinstance(id, int)]{left_out([reason])}"
    if not known or len(known) > _MAX_LISTED_IDS:
        return f"name ids from {FIRST_LEARNED} to {vocabulary.n_vocab - 1}" + f", without {reason}" * bool(lacking)
    return (Setting("ids", known), left_out([reason] * bool(lacking)))


def _id_of_token(token: object, vocabulary: Vocabulary) -> int | None:
    """The id of a learned token from its bytes, its text or its printable word; None for no such token."""
    if not isinstance(token, (str, bytes)):
        return None
    data = token if isinstance(token, bytes) else token.replace(SPACE, " ").encode(errors="surrogatepass")
    id = vocabulary.token_id(data)
    return id if id is not None and id >= FIRST_LEARNED else None


def _integer(value: object) -> int | None:
    """The integer that a number or its text spells."""
    if type(value).__name__ in _BOOLS:
        return None
    with suppress(TypeError, ValueError, OverflowError):
        number = float(cast("Any", value))
        return int(number) if number.is_integer() else None
    return None


def _counts_of(tokenizer: Tokenizer, text: CorpusLike | PretokenCounts | None) -> PretokenCounts:
    regex = tokenizer.pattern.regex
    if isinstance(text, PretokenCounts):
        counted = text.native.pattern
        if counted.regex != regex:
            wanted = tokenizer.pattern.name or regex
            raise OptionError(
                f"the counts have pattern {counted.name or counted.regex!r}, and the tokenizer has {wanted!r}",
                fix=("count again with ", Setting("pattern", wanted)),
                option="unused_on",
            )
        return text
    assert text is not None
    own = SCHEMES[tokenizer.scheme].own_pattern
    return count(text, scheme=tokenizer.scheme, pattern=regex if own else None)


class Pruning:
    """Removes tokens of a vocabulary, leaves first. A leaf is a token that is no part of another one.

    A leaf never occurs while the bytes of another token are encoded, so removing it changes the encoding of no token
    that stays. Plain Python over the merges, without the engine.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.removed: set[int] = set()
        self._non_emitting = {index: merge for index, merge in enumerate(vocabulary.merges) if len(merge) == 3}
        self._parts: dict[int, Merge] = {}
        self._dependents = [0] * vocabulary.n_vocab
        fresh = FIRST_LEARNED
        for merge in vocabulary.merges:
            for part in set(merge[:2]):
                self._dependents[part] += 1
            if len(merge) == 2:
                self._parts[fresh] = merge
                fresh += 1

    def _remove(self, id: int) -> tuple[int, ...]:
        """Removes a leaf and returns its parts."""
        self.removed.add(id)
        parts = tuple(self._parts.get(id, ()))
        for part in set(parts):
            self._dependents[part] -= 1
        return parts

    def remove(self, wanted: set[int]) -> None:
        """Removes those of `wanted` that are no part of a token that stays."""
        # Parts have smaller ids than the tokens made of them, so one pass from the end suffices.
        for id in sorted(wanted, reverse=True):
            if not self._dependents[id]:
                self._remove(id)

    def shrink(self, used: list[int], size: int) -> None:
        """Removes the least used leaf, of equals the one with the largest id, until `size` ids are left."""
        leaves = [(used[id], -id) for id in range(FIRST_LEARNED, len(used)) if not self._dependents[id]]
        heapify(leaves)
        left = len(used)
        while left > size:
            if not leaves:
                self._add_leaves(leaves, used, self._drop_non_emitting())
                continue
            number, minus = heappop(leaves)
            if used[-minus] != number:
                heappush(leaves, (used[-minus], minus))
                continue
            left -= 1
            parts = self._remove(-minus)
            for part in parts:
                used[part] += number
            self._add_leaves(leaves, used, parts)

    def _add_leaves(self, leaves: list[tuple[int, int]], used: list[int], parts: Iterable[int]) -> None:
        """Adds the parts that have become leaves."""
        for part in set(parts):
            if part >= FIRST_LEARNED and not self._dependents[part]:
                heappush(leaves, (used[part], -part))

    def _drop_non_emitting(self) -> tuple[int, ...]:
        """Removes the last merge with the id of a special, which emits nothing and blocks its parts; returns those."""
        merge = self._non_emitting.pop(max(self._non_emitting))
        for part in set(merge[:2]):
            self._dependents[part] -= 1
        return merge[:2]

    def result(self) -> tuple[Vocabulary, NDArray[np.int64]]:
        """The smaller vocabulary and the id map."""
        stay = np.array([id not in self.removed for id in range(self.vocabulary.n_vocab)])
        id_map = np.where(stay, np.cumsum(stay) - 1, -1).astype(np.int64)
        if self.vocabulary.scheme != "bpe":
            tokens = tuple(
                token for id, token in enumerate(self.vocabulary.tokens, FIRST_LEARNED) if id not in self.removed
            )
            return replace(self.vocabulary, tokens=tokens), id_map
        merges: list[Merge] = []
        fresh = FIRST_LEARNED
        for index, merge in enumerate(self.vocabulary.merges):
            stays = index in self._non_emitting if len(merge) == 3 else fresh not in self.removed
            if stays:
                merges.append(tuple(int(id_map[id]) for id in merge))
            fresh += len(merge) == 2
        return replace(self.vocabulary, merges=tuple(merges)), id_map
