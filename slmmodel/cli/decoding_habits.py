"""Options of decoding of other libraries on the command line: ours that mean what all of a line mean together."""

from __future__ import annotations

import shlex
from ast import literal_eval
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slmmodel.cli.options import SPELLINGS
from slmmodel.decoding_options import SampleConfig
from slmmodel.foreign_decoding import HABITS, WITHOUT_EFFECT, Decoding, as_own_decoding
from slmmodel.sizes import round_up
from slmtok.cli.options import Habit

_NOT_ON_THE_LINE = ("banned", "stop_ids", "choices", "constraint")
"""Fields without an option."""
_OURS = {
    flag.lstrip("-").replace("-", "_"): name
    for name in SampleConfig.model_fields
    if name not in _NOT_ON_THE_LINE
    for flag in SPELLINGS.get(name, (f"--{name}",))
}
"""Our options as they are written, each with its field."""
_OTHER_WORDS = {"temp": "temperature", "num_samples": "n", "num_return_sequences": "n"}
FOREIGN = tuple(name for name in (*HABITS, "num_samples") if name not in _OURS)
_SWITCHES = (
    *("do_sample", "greedy", "early_stopping"),
    *(name for name in WITHOUT_EFFECT if not name.endswith("_id")),
)
"""Options that may stand without a value."""
_NOTHING = "nothing here stands for it"
_COUNT = "n"
_EXAMPLES = {"num_beams": "4", "num_return_sequences": "3", "num_samples": "3", "max_length": "256"}


class _Given(NamedTuple):
    """An option of decoding: its words on the line, its name there, the one that is translated, and its value."""

    words: list[str]
    written: str
    name: str
    value: Any


def combined(arguments: Sequence[str]) -> tuple[list[str], str] | None:
    """The arguments with options of decoding in our words, and what is left out, with the reason.

    None without an option of another library, and for one that changes no other.
    """
    parts = _parts(arguments)
    given = [part for part in parts if isinstance(part, _Given)]
    foreign = [part for part in given if part.written in FOREIGN]
    if not foreign:
        return None
    # Of two spellings of one option, ours has the value.
    once = {part.name: part for part in sorted(given, key=lambda part: part.written == part.name)}
    meant = _as_decoding({name: part.value for name, part in once.items() if name != _COUNT})
    other = _count(meant, once[_COUNT].value) if _COUNT in once else ""
    mended = [
        [part] if isinstance(part, str) else _written(part, meant) if once[part.name] is part else [] for part in parts
    ]
    pairs = zip(parts, mended, strict=True)
    changed = [(part, words) for part, words in pairs if isinstance(part, _Given) and part.words != words]
    if changed == [(foreign[0], _written_alone(foreign[0]))] and not other:
        return None
    words = [word for words in mended for word in words]
    return words, other + _without(given, once, meant)


def _written_alone(given: _Given) -> list[str]:
    """The words of an option as ours, without any other."""
    meant = Decoding({_COUNT: given.value}) if given.name == _COUNT else _as_decoding({given.name: given.value})
    return _written(given, meant)


def alone(name: str) -> Habit:
    """What stands for an option of another library by itself."""

    def instead_of(value: str | None, arguments: Sequence[str]) -> str:
        text = _EXAMPLES.get(name) if value is None else value
        given = _Given([], name, _OTHER_WORDS.get(name, name), True if text is None else _value(text))
        if words := _written_alone(given):
            return shlex.join(words)
        return f"leave it out: {_as_decoding({name: given.value}).left_out.get(name, _NOTHING)}"

    return instead_of


DECODING_HABITS = {f"--{name.replace('_', '-')}": alone(name) for name in FOREIGN}
"""Options of other libraries, each by itself."""


def _parts(arguments: Sequence[str]) -> list[str | _Given]:
    """The arguments, those of decoding with their values."""
    parts: list[str | _Given] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        flag, equals, text = word.partition("=")
        written = flag.lstrip("-").replace("-", "_")
        name = _OTHER_WORDS.get(written) or _OURS.get(written, written if written in HABITS else "")
        if not (flag.startswith("--") and name):
            parts.append(word)
            continue
        words = [word]
        follows = bool(rest) and (_is_truth(rest[0]) if name in _SWITCHES else not rest[0].startswith("--"))
        if not equals and follows:
            words.append(text := rest.pop(0))
        is_switch = not equals and not follows
        parts.append(_Given(words, written, name, True if is_switch else _value(text)))
    return parts


def _as_decoding(values: Mapping[str, Any]) -> Decoding:
    """As `as_own_decoding`, with `--greedy` where another option than the temperature says that nothing is drawn."""
    meant = as_own_decoding(values)
    for ours in _NOT_ON_THE_LINE:
        if meant.options.pop(ours, None) is not None:
            meant.left_out[meant.written.get(ours, ours)] = _NOTHING
    name = next((each for each in ("do_sample", "greedy") if each in values and each not in meant.left_out), None)
    if name is not None and meant.options.pop("temperature", None) is not None:
        meant.options["greedy"], meant.written["greedy"] = True, name
    return meant


def _is_truth(word: str) -> bool:
    return word.lower() in ("true", "false")


def _value(text: str) -> Any:
    """A number or a truth value; other text as it is."""
    try:
        return literal_eval(text.capitalize() if _is_truth(text) else text)
    except (ValueError, SyntaxError):
        return text


def _count(meant: Decoding, n: Any) -> str:
    """Sets the number of samples, and enough beams for it; gives the line with fewer samples, where it does so."""
    options = meant.options
    if "greedy" in options or options.get("contrastive") is not None or options.get("temperature") == 0:
        meant.left_out["n"] = "without draws all are equal"
        return ""
    options[_COUNT] = n
    name = next((each for each in ("beam", "beam_sample") if each in options), None)
    width = options[name] if name else None
    if name is None or not (isinstance(width, int) and isinstance(n, int) and n > width):
        return ""
    options[name] = round_up(n, options.get("beam_groups", 1))
    return f", or --{name.replace('_', '-')} {width} --n {width}: one sample a beam"


def _written(given: _Given, meant: Decoding) -> list[str]:
    """The words of an option as ours; none where it is left out."""
    of_name = {meant.written.get(ours, ours): ours for ours in _OURS.values()}
    # A search that draws, and its candidates, have options of their own.
    of_name |= {meant.written.get("beam", "beam"): "beam_sample"} if "beam_sample" in meant.options else {}
    of_name |= {"top_k": "contrastive_k"} if "contrastive_k" in meant.options and given.name == "top_k" else {}
    ours = of_name.get(given.name)
    if ours is None or ours not in meant.options or given.name in meant.left_out:
        return []
    value = meant.options[ours]
    # click takes no value of a flag.
    is_sound = value is not True or len(given.words) == 1
    if given.written not in FOREIGN and ours == given.name and value == given.value and is_sound:
        return given.words
    flag = SPELLINGS.get(ours, (f"--{ours.replace('_', '-')}",))[0]
    return [flag] * bool(value) if isinstance(value, bool) else [flag, str(value)]


def _without(given: Sequence[_Given], once: Mapping[str, _Given], meant: Decoding) -> str:
    """What stands behind the line: which options it lacks, with the reason, unless that changes nothing."""
    reasons: dict[str, list[str]] = {}
    for part in given:
        flag, taken = _flag(part), once[part.name]
        if taken is not part:
            reasons.setdefault(f"{' '.join(taken.words)} is given", []).append(flag)
        elif part.name in meant.left_out and part.name not in (*WITHOUT_EFFECT, "do_sample", "greedy"):
            reasons.setdefault(meant.left_out[part.name], []).append(flag)
    return "".join(f", without {' and '.join(flags)}: {reason}" for reason, flags in reasons.items())


def _flag(given: _Given) -> str:
    return given.words[0].partition("=")[0]
