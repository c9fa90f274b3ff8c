"""`slm sample`: text, or ids, from a trained model; drawn, greedy, by beam or by contrastive search."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slmmodel.cli import _options, _output, _sampling
from slmmodel.errors import InvalidOption

TEMPERATURE = 0.8
_DRAW, _SEARCH, _LIMITS = "How an id is chosen", "Search instead of drawing", "Where a sample ends"


def _count(name: str, help: str, panel: str, *, short: tuple[str, ...] = ()) -> Any:
    return typer.Option(name, *short, metavar="N", parser=_options.whole, help=help, rich_help_panel=panel)


def _number(name: str, help: str, panel: str) -> Any:
    return typer.Option(name, metavar="X", help=help, rich_help_panel=panel)


_N = Annotated[int, typer.Option("--n", metavar="N", parser=_options.whole, help="How many samples.")]
_MaxNew = Annotated[int, _count("--max-new", "Most new ids.", _LIMITS, short=("--max-new-tokens",))]
_MinNew = Annotated[int, _count("--min-new", "No end before so many.", _LIMITS, short=("--min-new-tokens",))]
_Stop = Annotated[
    list[str] | None,
    typer.Option(
        "--stop",
        metavar="TEXT",
        help="End before this text; repeat for several.",
        rich_help_panel=_LIMITS,
        show_default=False,
    ),
]
_Overflow = Annotated[
    str,
    typer.Option(
        "--overflow",
        parser=_options.choice("stop", "slide"),
        metavar="stop|slide",
        help="At the end of the context: stop, or go on from its last half.",
        rich_help_panel=_LIMITS,
    ),
]
_Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        metavar="X",
        help="Below 1: likelier ids; 0 is greedy.",
        rich_help_panel=_DRAW,
        show_default=str(TEMPERATURE),
    ),
]
_Greedy = Annotated[bool, typer.Option("--greedy", help="The likeliest id at each step.", rich_help_panel=_DRAW)]
_TopK = Annotated[int, _count("--top-k", "From the k likeliest ids; 0 from all.", _DRAW)]
_TopP = Annotated[float, _number("--top-p", "From the fewest ids with this mass.", _DRAW)]
_MinP = Annotated[float, _number("--min-p", "From ids of this share of the likeliest one's probability.", _DRAW)]
_Repetition = Annotated[float, _number("--repetition-penalty", "Above 1: no id twice so easily.", _DRAW)]
_Frequency = Annotated[float, _number("--frequency-penalty", "Off an id's logit for each time it came.", _DRAW)]
_Presence = Annotated[float, _number("--presence-penalty", "Off an id's logit once it came.", _DRAW)]
_NoRepeat = Annotated[int, _count("--no-repeat-ngram", "No n ids in a row twice; 0 allows it.", _DRAW)]
_Beam = Annotated[int, _count("--beam", "Beam search of this width; 0 draws.", _SEARCH)]
_Length = Annotated[float, _number("--length-penalty", "Beams score logp / length^X.", _SEARCH)]
_Early = Annotated[
    bool,
    typer.Option("--early-stopping", help="End a beam search once enough beams are finished.", rich_help_panel=_SEARCH),
]
_Contrastive = Annotated[
    float | None,
    typer.Option(
        "--contrastive",
        metavar="ALPHA",
        help="Contrastive search with this alpha; 0.2-0.4 suits small models.",
        rich_help_panel=_SEARCH,
        show_default=False,
    ),
]
_ContrastiveK = Annotated[int, _count("--contrastive-k", "Candidates of a contrastive search.", _SEARCH)]


def sample(
    run: _options.RunArgument,
    prompt: _options.Prompt = None,
    ids: _options.PromptIds = None,
    n: _N = 1,
    max_new: _MaxNew = 256,
    min_new: _MinNew = 0,
    stop: _Stop = None,
    overflow: _Overflow = "stop",
    temperature: _Temperature = None,
    greedy: _Greedy = False,
    top_k: _TopK = 0,
    top_p: _TopP = 1.0,
    min_p: _MinP = 0.0,
    repetition_penalty: _Repetition = 1.0,
    frequency_penalty: _Frequency = 0.0,
    presence_penalty: _Presence = 0.0,
    no_repeat_ngram: _NoRepeat = 0,
    beam: _Beam = 0,
    length_penalty: _Length = 1.0,
    early_stopping: _Early = False,
    contrastive: _Contrastive = None,
    contrastive_k: _ContrastiveK = 4,
    seed: _options.Seed = 0,
    step: _options.Step = None,
    tokenizer: _options.RunTokenizer = None,
    device: _options.Device = "auto",
    threads: _options.Threads = 0,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Write text with a trained model. Several samples of one seed differ; the same seed gives the same text."""
    from slmmodel.cli._opened import closing_ids, never_generated, open_run, prompt_ids
    from slmmodel.sampling import SamplingOptions

    drawing = {"temperature": temperature, "top-k": top_k, "top-p": top_p - 1, "min-p": min_p}
    _one_way(greedy, beam, contrastive, drawing)
    opened = open_run(run, tokenizer=tokenizer, device=device, step=step, threads=threads)
    begin = prompt_ids(opened, _sampling.read_prompt(prompt), ids)
    options = SamplingOptions(
        temperature=0.0 if greedy else TEMPERATURE if temperature is None else temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
        frequency_penalty=frequency_penalty,
        presence_penalty=presence_penalty,
        no_repeat_ngram=no_repeat_ngram,
        banned=never_generated(opened.vocab),
        stop_ids=closing_ids(opened.vocab),
        min_new_tokens=min_new,
        seed=seed,
    )
    task = _sampling.Task(opened, begin, options, max_new, tuple(stop or ()), stream=not as_json, quiet=quiet)
    if beam:
        return task.beams(beam, n, length_penalty, early_stopping)
    if contrastive is not None:
        return task.contrastive(contrastive, contrastive_k)
    return task.draw(n, overflow)


def _one_way(greedy: bool, beam: int, contrastive: float | None, drawing: dict[str, float | None]) -> None:
    """Refuses two ways at once, and options of drawing (nothing or 0 where off) beside a way that draws nothing."""
    ways = {"greedy": greedy, "beam": beam > 0, "contrastive": contrastive is not None}
    chosen = [name for name, asked in ways.items() if asked]
    if len(chosen) > 1:
        said = " and ".join(f"--{name}" for name in chosen)
        raise InvalidOption(f"{said} were given", fix="choose one of them", option=f"--{chosen[1]}")
    for option in (name for name, value in drawing.items() if value and chosen):
        raise InvalidOption(
            f"--{option} says how to draw, and --{chosen[0]} draws nothing",
            fix=f"leave out --{option}, or --{chosen[0]}",
            option=option,
        )
