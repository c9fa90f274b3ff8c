"""Options of decoding in other libraries (Hugging Face): the options here that mean what all of a call mean together.

Two of them may mean another thing than each alone: `do_sample=True` with `num_beams=4` is beam sampling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DRAWING = ("temperature", "top_k", "top_p", "min_p")
"""Options that only draws obey."""
BEAM_OPTIONS = ("beam_groups", "diversity_penalty", "length_penalty", "early_stopping")
"""Options that only a beam search obeys."""
BEAM_SAMPLE_OPTIONS = ("length_penalty", "early_stopping")
_RENAMED = {
    "assistant_model": "assistant",
    "bad_words_ids": "banned",
    "eos_token_id": "stop_ids",
    "max_length": "max_new_tokens",
    "max_tokens": "max_new_tokens",
    "min_length": "min_new_tokens",
    "no_repeat_ngram_size": "no_repeat_ngram",
    "num_beam_groups": "beam_groups",
    "num_beams": "beam",
    "penalty_alpha": "contrastive",
}
"""Options that stand for one of ours, each with it."""
_COUNTS = ("num_return_sequences", "n")
_SPECIAL = "the vocabulary of the run has the special ids"
_ONLY_IDS = "generate gives the continuation alone"
_LEFT_OUT = {
    "attention_mask": "one prompt has no padding",
    **dict.fromkeys(("bos_token_id", "pad_token_id"), _SPECIAL),
    **dict.fromkeys(("output_attentions", "output_logits", "output_scores", "return_dict_in_generate"), _ONLY_IDS),
    "use_cache": "generate always keeps the state of its prompt",
}
"""Options without a counterpart, each with the reason."""
WITHOUT_EFFECT = tuple(_LEFT_OUT)
"""Options that change nothing here."""
HABITS = (*_RENAMED, *_COUNTS, *_LEFT_OUT, "do_sample", "greedy")


@dataclass
class Decoding:
    """What a call means here: its options, those that are left out with the reason, and how often it is made."""

    options: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    n: int = 1
    had_prompt: bool = False
    """whether a length counted the prompt, which ours does not"""
    written: dict[str, str] = field(default_factory=dict)
    """of our options, the names that the call had"""

    def remark(self, *more: str) -> str:
        """The comment behind a call in our words: the options that it leaves out, by the reason, and further facts."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            reasons.setdefault(reason, []).append(name)
        facts = [*(f"without {', '.join(names)}: {reason}" for reason, names in reasons.items()), *more]
        return f"  # {'; '.join(facts)}" if facts else ""

    def leave_out(self, names: tuple[str, ...], reason: str) -> None:
        """Removes those of the options that are given."""
        for name in names:
            if self.options.pop(name, None) is not None:
                self.left_out[self.written.get(name, name)] = reason


def as_own_decoding(given: Mapping[str, Any]) -> Decoding:
    """The keywords of a call, each option of `HABITS` among them as ours; the others stay as they are."""
    found = Decoding({name: value for name, value in given.items() if name not in HABITS and value is not None})
    for name, ours in _RENAMED.items():
        if (value := given.get(name)) is None:
            continue
        if ours in found.options:
            found.left_out[name] = f"{ours} has the value"
        else:
            _rename(found, name, ours, value)
    found.left_out |= {name: _LEFT_OUT.get(name, "None sets nothing") for name in HABITS if _is_idle(name, given)}
    _choose_method(found, given)
    _count_calls(found, given)
    return found


def _is_idle(name: str, given: Mapping[str, Any]) -> bool:
    return name in given and (name in _LEFT_OUT or given[name] is None)


def _rename(found: Decoding, name: str, ours: str, value: Any) -> None:
    """Sets our option to the value of another library's, in our form."""
    if ours == "stop_ids":
        value = tuple(value) if isinstance(value, list | tuple) else (value,)
    elif ours == "banned":
        rows = value if isinstance(value, list | tuple) else [value]
        rows = [row if isinstance(row, list | tuple) else [row] for row in rows]
        if any(len(row) != 1 for row in rows):
            found.left_out[name] = "banned takes single ids"
            return
        value = tuple(row[0] for row in rows)
    elif ours in ("beam", "beam_groups") and value == 1:
        found.left_out[name] = "1 is no beam search" if ours == "beam" else "1 is the default"
        return
    found.had_prompt |= name == "max_length"
    found.options[ours], found.written[ours] = value, name


def _choose_method(found: Decoding, given: Mapping[str, Any]) -> None:
    """`do_sample` and `greedy` together with the search that is given; options without effect are left out."""
    options, draws = found.options, given.get("do_sample")
    if given.get("penalty_alpha") is not None and options.get("top_k"):
        options["contrastive_k"] = options.pop("top_k")
    if options.get("beam") and "contrastive" in options:
        found.leave_out(("contrastive",), "a beam search is another way to decode")
    if draws and options.get("beam"):
        options["beam_sample"] = options.pop("beam")
    search = next((name for name in ("beam", "beam_sample", "contrastive", "dola") if options.get(name)), None)
    is_greedy = bool(given.get("greedy")) or (draws is not None and not draws)
    reason = "it draws by default"
    if search == "beam_sample":
        reason = "beam_sample draws"
    elif search in ("beam", "contrastive"):
        reason = f"{search} draws nothing"
        found.leave_out((*DRAWING, "seed"), reason)
    elif is_greedy:
        options.pop("temperature", None)
        found.leave_out((*DRAWING, "seed"), "temperature=0 draws nothing")
        options["temperature"] = 0
    elif options.get("temperature") == 0:
        reason = "temperature=0 draws nothing, 0.8 draws"
    for name in ("do_sample", "greedy"):
        # `greedy=True` alone is `temperature=0`, which says it.
        if given.get(name) is not None and not (is_greedy and search is None):
            found.left_out[name] = reason
    obeyed = {"beam": BEAM_OPTIONS, "beam_sample": BEAM_SAMPLE_OPTIONS}.get(search or "", ())
    idle = tuple(name for name in BEAM_OPTIONS if name not in obeyed)
    found.leave_out(idle, "only a search with beam obeys it")
    if isinstance(options.get("early_stopping"), str):
        found.leave_out(("early_stopping",), "it is True or False")


def _count_calls(found: Decoding, given: Mapping[str, Any]) -> None:
    """The number of continuations, each of a call of its own."""
    name = next((each for each in _COUNTS if given.get(each) is not None), None)
    if name is None:
        return
    options, n = found.options, given[name]
    if options.get("beam") or options.get("beam_sample") or options.get("contrastive") is not None:
        found.left_out[name] = "a search gives its best continuation"
    elif options.get("temperature") == 0:
        found.left_out[name] = "without draws all are equal"
    elif not isinstance(n, int) or n <= 1:
        found.left_out[name] = "a call gives one"
    else:
        found.n = n
