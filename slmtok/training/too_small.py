"""The error for a corpus that cannot fill the vocabulary: how far it got, which limits bit, what helps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmtok.errors import CorpusTooSmall
from slmtok.specials import FIRST_LEARNED

if TYPE_CHECKING:
    from slmtok.schemes import Learned
    from slmtok.training.counts import PretokenCounts
    from slmtok.training.options import TrainOptions


@dataclass(frozen=True)
class _Bit:
    """A limit that kept something out: as it was given, what it kept out, and the option that would let it in."""

    option: str
    kept_out: str
    remedy: str | None = None

    def __str__(self) -> str:
        return f"{self.option} ({self.kept_out})" if self.kept_out else self.option


def too_small(n_vocab: int, learned: Learned, options: TrainOptions, counts: PretokenCounts) -> CorpusTooSmall:
    """The error for `n_vocab` ids where `options.size` were asked for. Limits that did nothing are not named."""
    made, asked = n_vocab - FIRST_LEARNED, options.size - FIRST_LEARNED
    what, best = ("merge", "pair") if options.scheme == "bpe" else ("token", "piece")
    left = learned.next_count
    times = {0: f"no {best} is left", 1: f"the next best {best} occurs once", 2: f"the next best {best} occurs twice"}
    bit = [*_of_learning(learned, options), *_of_reading(counts)]
    remedies = [f"vocab={n_vocab}", *(one.remedy for one in bit if one.remedy is not None)]
    remedies.append("allow_smaller=True to accept the smaller file")
    return CorpusTooSmall(
        f"corpus supports {n_vocab} ids, vocab= asked for {options.size}",
        where=f"{what} {made} of {asked}; {times.get(left, f'the next best {best} occurs {left} times')}",
        limit=", ".join(map(str, bit)) or f"the {counts.bytes:,} bytes of the corpus have no more to learn",
        fix=", or ".join(remedies),
        supported=n_vocab,
        asked=options.size,
        next_count=left,
        limits=[one.option for one in bit],
    )


def _of_learning(learned: Learned, options: TrainOptions) -> list[_Bit]:
    bit: list[_Bit] = []
    left = learned.next_count
    if 0 < left < options.min_count:
        bit.append(_Bit(f"min_count={options.min_count}", "", f"min_count={left}"))
    refused = Counter(option for _, option, _ in learned.refused)
    for name in ("max_token_bytes", "max_token_chars", "forbid_regex"):
        if refused[name]:
            remedy = None if name == "forbid_regex" else f"a larger {name}="
            bit.append(_Bit(f"{name}={getattr(options, name)!r}", f"refused {_number(refused[name], 'token')}", remedy))
    return bit


def _of_reading(counts: PretokenCounts) -> list[_Bit]:
    bit: list[_Bit] = []
    totals, given = counts.totals, counts.options
    if totals.capped_documents:
        cut = f"cut {_number(totals.capped_documents, 'document')}"
        bit.append(_Bit(f"doc_cap={given.get('doc_cap')}", cut, "a larger doc_cap="))
    if not counts.stats.complete:
        for name in ("max_bytes", "max_chars"):
            if given.get(name) is not None:
                bit.append(_Bit(f"{name}={given[name]}", "the rest was not read", f"a larger {name}="))
    if totals.skipped_records:
        bit.append(_Bit("skip_malformed=True", f"left out {_number(totals.skipped_records, 'record')}"))
    return bit


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
