"""`slm demo`: from a text to a model that writes, with its bits per byte proven, in minutes on a CPU."""

from __future__ import annotations

from typing import Annotated

import typer

from slmmodel.cli import _options, _output, _training

_Text = Annotated[
    str | None,
    typer.Argument(metavar="[TEXT]", help="A text file; simple stories, made here, without it.", show_default=False),
]
_Output = Annotated[
    str, typer.Option("--output", "-o", metavar="DIR", help="A new folder.", rich_help_panel=_options.OUTPUT)
]
_Vocab = Annotated[
    int | None,
    typer.Option(
        "--vocab",
        metavar="N",
        parser=_options.whole,
        help="Ids of the tokenizer, specials included (1536; stories 4096).",
        show_default=False,
    ),
]
_Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Shape and numbers of the model (cpu-demo; stories cpu-stories).",
        show_default=False,
    ),
]
_Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", parser=_options.whole, help="Of initial weights and of the order of data."),
]


def demo(
    text: _Text = None,
    output: _Output = "demo",
    vocab: _Vocab = None,
    budget: _training.Budget = None,
    preset: _Preset = None,
    seed: _Seed = 0,
    threads: _options.Threads = 0,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Go from a text to a tokenizer, token shards, a model, its bits per byte, and text that it writes.

    The tokenizer and the model see the first nine tenths of a text; the rest is scored. Without a text there are
    stories, of six of slmtok's plots; one in two hundred is kept for scoring.
    """
    from slmmodel.cli import _demo

    return _demo.run(_demo.Asked(text, output, vocab, budget, preset, seed, threads, force, quiet))
