"""Ways to decode beside plain draws, as a table: `slm sample` and `Run.generate` take them from it.

An option selects each of them (`SampleConfig.beam` and so on). To add one, write its file in `slmmodel/sampling`, a
function here that takes the options, and its line in `METHODS`. Options are checked here without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmmodel.checks import warn_caller
from slmmodel.decoding_options import DecodingOptions
from slmmodel.errors import Argument, Fix, OptionError
from slmmodel.foreign_decoding import BEAM_OPTIONS, BEAM_SAMPLE_OPTIONS, DRAWING
from slmmodel.sizes import round_up

if TYPE_CHECKING:
    from slmmodel.models.protocol import Model
    from slmmodel.sampling import Continuation


@dataclass(frozen=True)
class Method:
    """One line of the table."""

    decode: Callable[[Model, Sequence[int], DecodingOptions, int], list[Continuation]]
    """From model, prompt, options and a number n: n continuations, or fewer where no more are found"""
    draws: bool
    """whether temperature and filters have an effect"""
    options: tuple[str, ...] = ()
    """options that have no effect without it"""


def _beam(model: Model, prompt: Sequence[int], options: DecodingOptions, n: int) -> list[Continuation]:
    from slmmodel.sampling.beam import beam_search

    return [beam.continuation for beam in beam_search(model, prompt, options)[:n]]


def _beam_sample(model: Model, prompt: Sequence[int], options: DecodingOptions, n: int) -> list[Continuation]:
    from slmmodel.sampling.beam_sample import beam_sample

    return [beam.continuation for beam in beam_sample(model, prompt, options)[:n]]


def _contrastive(model: Model, prompt: Sequence[int], options: DecodingOptions, n: int) -> list[Continuation]:
    from slmmodel.sampling.contrastive import contrastive_search

    return [contrastive_search(model, prompt, options)]


def _dola(model: Model, prompt: Sequence[int], options: DecodingOptions, n: int) -> list[Continuation]:
    from slmmodel.sampling.dola import dola

    return [dola(model, prompt, options, sample=number) for number in range(n)]


METHODS: dict[str, Method] = {
    "beam": Method(_beam, draws=False, options=BEAM_OPTIONS),
    "beam_sample": Method(_beam_sample, draws=True, options=BEAM_SAMPLE_OPTIONS),
    "contrastive": Method(_contrastive, draws=False, options=("contrastive_k",)),
    "dola": Method(_dola, draws=True),
}
"""By the option that selects it, with any value but its default."""
ASSISTANT_OPTIONS = ("lookahead",)


def chosen_method(options: DecodingOptions, *, greedy: bool = False, assistant: bool = False) -> str | None:
    """The name of the method that the options select; None for plain draws, with or without an assistant.

    Raises `OptionError` for two ways to decode, and for an option that would have no effect.
    """
    fields = type(options).model_fields
    changed = {name for name in fields if getattr(options, name) != fields[name].default}
    chosen = [name for name in METHODS if name in changed]
    name = chosen[0] if chosen else None
    draws = name is None or METHODS[name].draws
    if options.min_new_tokens > options.max_new_tokens:
        raise OptionError(
            f"min_new_tokens {options.min_new_tokens} is more than max_new_tokens {options.max_new_tokens}",
            fix=(Argument("max_new_tokens", options.min_new_tokens), ", or more"),
            option="min_new_tokens",
        )
    ways = ["assistant"] * assistant + ["greedy"] * (greedy and not draws) + chosen
    if len(ways) > 1:
        drawn = any(way == "assistant" or (way in METHODS and METHODS[way].draws) for way in ways)
        raise _several(ways, [] if drawn else [option for option in DRAWING if option in changed])
    if not draws or greedy:
        way = name if name and not draws else "greedy"
        idle = [option for option in DRAWING if option in changed]
        idle += ["n"] if "n" in changed and way in ("greedy", "contrastive") else []
        if idle:
            have = "has" if len(idle) == 1 else "have"
            fact = f"{' and '.join(idle)} {have} no effect with {way}, which draws nothing"
            raise _contradiction(fact, idle, way, _enough_beams(options, way))
    if name and (enough := _enough_beams(options, name)):
        width, n = getattr(options, name), getattr(options, "n", 1)
        fix: Fix = (*enough, ", or ", Argument("n", width))
        raise OptionError(f"n {n} is more than {name} {width}", limit="one sample a beam", fix=fix, option="n")
    if ways and "overflow" in changed:
        raise _contradiction(f"overflow {options.overflow!r} has no effect with {ways[0]}", ["overflow"], ways[0])
    in_effect = METHODS[name].options if name else ASSISTANT_OPTIONS * assistant
    owners: dict[str, list[str]] = {option: ["assistant"] for option in ASSISTANT_OPTIONS}
    for other, method in METHODS.items():
        for option in method.options:
            owners.setdefault(option, []).append(other)
    for option, having in owners.items():
        if option in changed and option not in in_effect:
            given = [part for owner in having for part in (" or ", Argument(owner))][1:]
            raise OptionError(
                f"{option} has no effect without {' or '.join(having)}",
                fix=("leave out ", Argument(option), ", or give ", *given),
                option=option,
            )
    return name


def warn_without_effect(options: DecodingOptions, given: Collection[str], method: str | None) -> None:
    """Warns of options of draws that were given where nothing is drawn; `method` as of `chosen_method`."""
    if options.temperature and (method is None or METHODS[method].draws):
        return
    idle = [name for name in (*DRAWING, "seed") if name in given and name != "temperature"]
    if idle:
        warn_caller(f"{' and '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect: nothing is drawn")


def _several(ways: Sequence[str], idle: Sequence[str]) -> OptionError:
    """The error for several ways to decode; the `idle` options have no effect with any of them."""
    named = [part for way in ways for part in (" or ", Argument(way))][1:]
    ignored = [part for option in idle for part in (" and ", Argument(option))][1:]
    fix = ("leave out ", *reversed(named)) if len(ways) == 2 else ("keep one of ", *named)
    more = (", and leave out ", *ignored, ", which has no effect with either") if idle else ()
    fact = f"{', '.join(ways[:-1])} and {ways[-1]} together"
    return OptionError(fact, limit="one way to decode", fix=(*fix, *more), option=ways[1])


def _enough_beams(options: DecodingOptions, name: str) -> tuple[Argument, ...]:
    """The option for as many beams as samples; none where there are enough, and for methods without beams."""
    width, n = {"beam": options.beam, "beam_sample": options.beam_sample}.get(name), getattr(options, "n", 1)
    if not width or n <= width:
        return ()
    return (Argument(name, round_up(n, options.beam_groups if name == "beam" else 1)),)


def _contradiction(fact: str, idle: Sequence[str], other: str, instead: Sequence[Argument] = ()) -> OptionError:
    """The error for options without effect beside another; `instead` is what the other has to be without them."""
    named = [part for option in idle for part in (" and ", Argument(option))][1:]
    more: tuple[str | Argument, ...] = (" and give ", *instead) if instead else ()
    fix: Fix = ("leave out ", *named, *more, ", or leave out " if len(idle) > 1 or more else " or ", Argument(other))
    return OptionError(fact, limit="one way to decode", fix=fix, option=idle[0])
