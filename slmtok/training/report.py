"""The report of a training run, its first merges step by step, and the error for a corpus that is too small.

Merges are replayed on the most frequent pieces, so explaining them costs little for any corpus. Nothing here prints.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING

from slmtok._engine import MAX_REFUSALS
from slmtok.errors import CorpusTooSmall, Message, Setting
from slmtok.indexing import explains_indexing
from slmtok.schemes import Learned, internal_merges
from slmtok.sizes import counted
from slmtok.specials import FIRST_LEARNED
from slmtok.token_text import escape_token
from slmtok.training.counts import BLOCK_PIECES

if TYPE_CHECKING:
    from slmtok.aliases import Token
    from slmtok.options import TrainOptions
    from slmtok.tokenizer import Tokenizer
    from slmtok.training.api import Trained
    from slmtok.training.counts import PretokenCounts


@explains_indexing
@dataclass(frozen=True, kw_only=True)
class TrainReport:
    """One training run. Times in seconds, sizes in bytes; none of it goes into the tokenizer file."""

    scheme: str
    pattern: str
    files: int
    documents: int
    bytes: int
    invalid_bytes: int
    invalid_documents: int
    first_invalid: tuple[str | None, int, int] | None
    """(file, document in it, byte in that) of the first byte that is not UTF-8."""
    gap_pieces: int
    gap_bytes: int
    capped_documents: int
    capped_bytes: int
    skipped_records: int
    sampled_documents: int
    """Documents outside of `sample`."""
    complete: bool
    """False where `max_bytes` or `max_chars` ended the reading."""
    pieces: int
    distinct: int
    n_vocab: int
    learned: int
    """Merges (or tokens, for schemes without merges)."""
    required: int
    refused: tuple[tuple[Token, str, int], ...]
    """(token, option that refused it, count), the 100,000 most frequent."""
    next_count: int
    last_count: int
    """How often the last merge's pair occurred when it was chosen."""
    bytes_per_token: float | None
    """On `sample_bytes` of the corpus, spread over all of it; the corpus itself is counted whole."""
    sample_bytes: int
    first_tokens: tuple[Token, ...]
    longest_tokens: tuple[Token, ...]
    count_seconds: float
    learn_seconds: float
    peak_memory: int | None
    """Peak memory of the process, None where the system does not report it."""
    memory_limit: int | None
    """The memory limit of counting."""
    merge_memory: int | None
    """Estimated memory of the merge loop; None for schemes without merges."""
    spills: int
    """Tables that counting wrote to temporary files."""
    spilled_bytes: int
    counts_sha256: str
    corpus_digest: str | None
    fingerprint: str

    def to_dict(self) -> dict[str, object]:
        """All values as JSON values; tokens as text with escapes."""
        content = dataclasses.asdict(self)
        for key in ("first_tokens", "longest_tokens"):
            content[key] = [readable(token) for token in content[key]]
        content["refused"] = [[readable(token), option, count] for token, option, count in self.refused]
        return content


def readable(token: bytes) -> str:
    """A token as text, with escapes for invalid UTF-8."""
    return token.decode("utf-8", "backslashreplace")


def first_invalid(counts: PretokenCounts) -> tuple[str | None, int, int] | None:
    """(file, document in it, byte in that) of the first byte that is not UTF-8; None for counts from a file."""
    found = counts.native.first_invalid
    return None if found is None else (*counts.stats.locate(found[0]), found[1])


def make_report(
    counts: PretokenCounts,
    tokenizer: Tokenizer,
    learned: Learned,
    *,
    learn_seconds: float,
    peak_memory: int | None,
    listed: int = 10,
) -> TrainReport:
    """The report of a run that took `learn_seconds` after counting."""
    native = counts.native
    tokens = [token for _, token in tokenizer.vocabulary.items()][256:]
    sample = counts.stats.sample.kept
    return TrainReport(
        scheme=tokenizer.scheme,
        pattern=tokenizer.pattern.name or tokenizer.pattern.regex,
        files=len(counts.stats.files),
        **dataclasses.asdict(counts.totals),
        first_invalid=first_invalid(counts),
        sampled_documents=counts.stats.skipped.sampled,
        complete=counts.stats.complete,
        pieces=counts.pieces,
        distinct=counts.distinct,
        n_vocab=tokenizer.n_vocab,
        learned=len(tokens),
        required=learned.required,
        refused=learned.refused,
        next_count=learned.next_count,
        last_count=learned.counts[-1] if learned.counts else 0,
        bytes_per_token=bytes_per_token(tokenizer, sample),
        sample_bytes=sum(map(len, sample)),
        first_tokens=tuple(tokens[:listed]),
        longest_tokens=tuple(nsmallest(listed, tokens, key=lambda token: (-len(token), token))),
        count_seconds=counts.seconds,
        learn_seconds=learn_seconds,
        peak_memory=peak_memory,
        memory_limit=counts.memory,
        merge_memory=counts.merge_memory if tokenizer.scheme == "bpe" else None,
        spills=native.spills[0],
        spilled_bytes=native.spills[1],
        counts_sha256=counts.sha256,
        corpus_digest=counts.stats.corpus_digest,
        fingerprint=tokenizer.fingerprint,
    )


def bytes_per_token(tokenizer: Tokenizer, texts: list[bytes]) -> float | None:
    """Bytes per id on these texts, None for no text."""
    ids = sum(len(tokenizer.encode_list(text)) for text in texts)
    return sum(map(len, texts)) / ids if ids else None


# --- a corpus that is too small ---------------------------------------------------------------------------------------


def corpus_too_small(n_vocab: int, learned: Learned, options: TrainOptions, counts: PretokenCounts) -> CorpusTooSmall:
    """The error for `n_vocab` ids where more were asked for. Limits without effect are not named."""
    made, wanted = n_vocab - FIRST_LEARNED, options.n_vocab - FIRST_LEARNED
    what, best = ("merge", "pair") if options.scheme == "bpe" else ("token", "piece")
    left = learned.next_count
    times = {0: f"no {best} is left", 1: f"the next best {best} occurs once", 2: f"the next best {best} occurs twice"}
    limits = _limits(learned, options, counts, n_vocab)
    remedies: list[Message] = [(Setting("vocab_size", n_vocab),), *(remedy for *_, remedy in limits if remedy)]
    remedies.append((Setting("allow_smaller", True), " to accept the smaller file"))
    return CorpusTooSmall(
        (
            f"corpus supports {n_vocab} ids, ",
            Setting("vocab_size"),
            f" {'is' if options.vocab_size is None else 'asked for'} {options.n_vocab}"
            f"{' by default' if options.vocab_size is None else ''}",
        ),
        where=f"{what} {made} of {wanted}; {times.get(left, f'the next best {best} occurs {left} times')}",
        limit=_join([(setting, f" ({effect})" if effect else "") for setting, effect, _ in limits], ", ")
        or f"the {counts.bytes:,} bytes of the corpus have no more to learn",
        fix=_join(remedies, ", or "),
        supported=n_vocab,
        asked=options.n_vocab,
        next_count=left,
        limits=[setting.name for setting, *_ in limits],
    )


def _join(messages: Sequence[Message], separator: str) -> tuple[str | Setting, ...]:
    parts: list[str | Setting] = []
    for message in messages:
        parts.extend((separator,) if parts else ())
        parts.extend((message,) if isinstance(message, str) else message)
    return tuple(parts)


_LOW_COUNT = 2
"""The default of `min_count`."""
_MAX_GAIN = 2
"""How many times as many ids a lower `min_count` is expected to give at most."""


def _limits(
    learned: Learned, options: TrainOptions, counts: PretokenCounts, n_vocab: int
) -> list[tuple[Setting, str, tuple[str | Setting, ...]]]:
    """The limits that kept something out: (as it was set, what it kept out, the setting that would admit it)."""
    left, totals, recorded = learned.next_count, counts.totals, counts.options
    found: list[tuple[Setting, str, tuple[str | Setting, ...]]] = []
    if 0 < left < options.min_count:
        # The count of the next candidate admits that one, hardly all that are missing. Only training again would tell
        # how many ids it gives.
        lower = (Setting("min_count", min(left, _LOW_COUNT)), ", which may suffice")
        is_near = options.n_vocab <= _MAX_GAIN * n_vocab
        found.append((Setting("min_count", options.min_count), "", lower if is_near else ()))
    refused = Counter(option for _, option, _ in learned.refused)
    at_least = "at least " if len(learned.refused) >= MAX_REFUSALS else ""
    for name in ("max_token_bytes", "max_token_chars", "forbid_regex"):
        if refused[name]:
            remedy = () if name == "forbid_regex" else ("a larger ", Setting(name))
            found.append(
                (Setting(name, getattr(options, name)), f"refused {at_least}{counted(refused[name], 'token')}", remedy)
            )
    if totals.capped_documents:
        effect = f"truncated {counted(totals.capped_documents, 'document')}"
        found.append(
            (Setting("max_doc_chars", recorded.get("doc_cap")), effect, ("a larger ", Setting("max_doc_chars")))
        )
    for name in ("max_bytes", "max_chars"):
        if not counts.stats.complete and recorded.get(name) is not None:
            found.append((Setting(name, recorded[name]), "the rest was not read", ("a larger ", Setting(name))))
    if totals.skipped_records:
        found.append((Setting("skip_malformed", True), f"left out {counted(totals.skipped_records, 'record')}", ()))
    return found


# --- the first merges -------------------------------------------------------------------------------------------------


TRACKED_PIECES = 4000
"""Number of the most frequent pieces that may be examples; a merge outside of them has no example."""


@explains_indexing
@dataclass(frozen=True)
class MergeStep:
    """One merge. `before` and `after` are an example as token bytes; both are empty where no tracked piece has it."""

    number: int
    """From 1."""
    left: bytes
    right: bytes
    joined: bytes
    id: int
    count: int
    """How often the pair occurred in the corpus when it was chosen."""
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]


def explain(trained: Trained, steps: int, *, example: bytes | None = None) -> list[MergeStep]:
    """The first `steps` merges of a run with their public ids; none for a scheme that does not merge."""
    merges, ids, _ = internal_merges(trained.learned.merges)
    frequent: list[tuple[bytes, int]] = []

    def keep(items: list[tuple[bytes, int]]) -> None:
        frequent[:] = most_frequent([*frequent, *items])

    trained.counts.native.visit_items(keep, BLOCK_PIECES)
    return explain_merges(frequent, merges, trained.learned.counts, steps=steps, example=example, ids=ids[256:])


def most_frequent(pieces: Iterable[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    """The `TRACKED_PIECES` most frequent pieces, the first by their bytes where counts are equal."""
    return nsmallest(TRACKED_PIECES, pieces, key=lambda item: (-item[1], item[0]))


def explain_merges(
    pieces: Iterable[tuple[bytes, int]],
    merges: Sequence[Sequence[int]],
    counts: Sequence[int],
    *,
    steps: int,
    example: bytes | None = None,
    ids: Sequence[int] | None = None,
) -> list[MergeStep]:
    """The first `steps` merges.

    pieces: (piece, count) of the corpus, in any order. merges: pairs of internal ids (bytes 0..255, merge k makes
    256 + k). counts: how often each pair occurred. example: a word to show each merge on that touches it; the others,
    and all if None, are shown on the most frequent piece that has the pair at that moment. ids: the public id that each
    merge makes; 256 + k if None.
    """
    tracked = [piece for piece, _ in most_frequent(pieces)]
    words = [(piece, list(piece)) for piece in (*(() if example is None else (example,)), *tracked)]
    token = [bytes([byte]) for byte in range(256)]
    made: list[MergeStep] = []
    for k, (left, right) in enumerate(merges[:steps]):
        joined = token[left] + token[right]
        token.append(joined)
        shown: tuple[list[int], list[int]] = ([], [])
        for piece, current in words:
            if joined in piece:  # much cheaper than replaying
                merged = _merged(current, (left, right), 256 + k)
                if not shown[0] and len(merged) < len(current):
                    shown = current[:], merged
                current[:] = merged
        before, after = (tuple(token[id] for id in part) for part in shown)
        id = 256 + k if ids is None else ids[k]
        made.append(MergeStep(k + 1, token[left], token[right], joined, id, int(counts[k]), before, after))
    return made


def _merged(ids: Sequence[int], pair: tuple[int, int], new: int) -> list[int]:
    """`ids` with `new` in place of each `pair`, from the left."""
    out: list[int] = []
    for id in ids:
        if out and (out[-1], id) == pair:
            out[-1] = new
        else:
            out.append(id)
    return out


def render_steps(steps: Sequence[MergeStep]) -> str:
    """The steps as plain text, a line each: pair, new token and id, count, example before and after. `␣` is a space."""
    rows = [("merge", "left + right = token", "id", "times", "for example")]
    for step in steps:
        left, right, joined = map(escape_token, (step.left, step.right, step.joined))
        example = "  →  ".join("|".join(map(escape_token, part)) for part in (step.before, step.after))
        numbers = str(step.number), f"{left} + {right} = {joined}", str(step.id), f"{step.count:,}"
        rows.append((*numbers, example if step.before else "(in rare words only)"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (map("{:{}{}}".format, row, "><>><", widths) for row in rows)
    return "".join("  ".join(line).rstrip() + "\n" for line in lines)
