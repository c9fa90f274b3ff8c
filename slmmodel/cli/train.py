"""`slm train`: token data to a trained model in a bundle. An unfinished run of the same folder goes on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from slmmodel.cli import _options, _output, _plotting, _training
from slmmodel.cli._progress import Progress
from slmmodel.cli._raw import data_of, is_text
from slmmodel.cli._tables import Row, print_rows
from slmmodel.errors import MissingShards
from slmmodel.sizes import format_bytes, format_count

_Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="Packed data, as slmtok pack wrote it; or text, with -t.", show_default=False),
]
_Output = Annotated[
    str, typer.Option("--output", "-o", metavar="RUN", help="The folder of the run.", rich_help_panel=_options.OUTPUT)
]
_Config = Annotated[
    str | None,
    typer.Option(
        "--config", metavar="FILE", help="Settings as YAML.", show_default=False, rich_help_panel=_training.SETTINGS
    ),
]
_Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Shape and numbers to begin with; chosen by the size of the data where it is left out.",
        show_default=False,
        rich_help_panel=_training.SETTINGS,
    ),
]
_Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        parser=_options.whole,
        help="Of initial weights and of the order of data.",
        show_default="0",
        rich_help_panel=_training.SETTINGS,
    ),
]
_Val = Annotated[
    str | None,
    typer.Option(
        "--val",
        metavar="DATA|none",
        help="Validation data; the data's own split where it is left out.",
        show_default=False,
    ),
]
_Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE.png",
        help="Loss and learning rate against ids and bytes, as a picture; needs slmtok[report].",
        show_default=False,
        rich_help_panel=_options.OUTPUT,
    ),
]
_Tokenizer = Annotated[
    str | None,
    typer.Option(
        "-t",
        "--tokenizer",
        metavar="FILE",
        help="DATA is text (any corpus of slmtok), tokenized while it is read.",
        show_default=False,
    ),
]
_MicroBatch = Annotated[
    str | None,
    typer.Option(
        "--micro-batch", metavar="ROWS", help="Rows at once; changes no result but rounding.", show_default="auto"
    ),
]
_Precision = Annotated[
    str | None,
    typer.Option("--precision", metavar="NAME", help="fp32, bf16, fp16 or fp64.", show_default="auto"),
]
_Device = Annotated[
    str | None,
    typer.Option("--device", metavar="NAME", help="cpu, cuda, cuda:N or mps.", show_default="auto"),
]
_Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", "--num-threads", "--n-threads", metavar="N", parser=_options.whole, help="CPU threads.",
        show_default="torch's own choice",
    ),
]  # fmt: skip


def train(
    data: _Data,
    output: _Output = "run",
    config: _Config = None,
    sets: _training.Set = None,
    preset: _Preset = None,
    budget: _training.Budget = None,
    seed: _Seed = None,
    val: _Val = None,
    tokenizer: _Tokenizer = None,
    micro_batch: _MicroBatch = None,
    precision: _Precision = None,
    device: _Device = None,
    threads: _Threads = None,
    evaluate: _training.Evaluate = True,
    plot: _Plot = None,
    allow_mismatch: _options.AllowMismatch = None,
    dry_run: _options.DryRun = False,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Train a model on token data.

    With nothing but DATA, the preset follows from the size of the data. The same command again continues what was
    interrupted, to the same bits.
    """
    _check(data, tokenizer)
    named: dict[str, Any] = {
        "data.train": data, "model.preset": preset, "run.seed": seed, "data.val": val, "run.micro_batch": micro_batch,
        "run.precision": precision, "run.device": device, "run.threads": threads,
    }  # fmt: skip
    options = {name: value for name, value in named.items() if value is not None}
    given = _training.settings(config, sets, budget, options)
    if plot is not None:
        _plotting.check(plot, force=force)
    if dry_run:
        return _planned(given, data, tokenizer, val, quiet)
    from slmmodel.train import train as run

    with Progress(quiet=quiet) as progress, data_of(data, tokenizer, val) as made:
        result = run(
            given,
            data=made,
            output=output,
            force=force,
            allow_mismatch=allow_mismatch or (),
            report=progress,
            note=_training.tell(quiet),
        )
    proof = _training.scored(result, device or "auto", quiet) if evaluate and _training.first_rank() else None
    if plot is not None and _training.first_rank():
        _plotting.plot(result.path / "metrics.jsonl", plot)
    return _training.finish(result, proof, quiet)


def _check(data: str, tokenizer: str | None) -> None:
    """Raises `MissingShards` for a path that is neither packed data nor comes with a tokenizer."""
    if tokenizer is None and (is_text(data) or not Path(data).exists()):
        raise MissingShards(
            f"{data!r} is no finished token data",
            where="it has no manifest.json",
            fix=f"slmtok pack CORPUS -t TOK -o {shlex.quote(data)}; or -t TOK, to tokenize text while training",
            path=data,
        )


def _planned(given: dict[str, Any], data: str, tokenizer: str | None, val: str | None, quiet: bool) -> _output.Outcome:
    from slmmodel.train import plan

    with data_of(data, tokenizer, val) as made:
        numbers = plan(given, data=made)

    def count(name: str) -> str:
        return "by the clock" if numbers[name] is None else format_count(numbers[name])

    rows: list[Row] = [
        ("model", f"{numbers['arch']}, preset {numbers['preset'] or 'none'}, seq_len {numbers['seq_len']}"),
        (
            "parameters",
            f"{format_count(numbers['parameters'])}; embedding share {numbers['embedding_share']:.1%}; "
            "8-15 % is usual near the optimum",
        ),
        ("optimizer", f"{numbers['optimizer']}, peak rate {numbers['lr']:g}"),
        ("steps", f"{count('steps')} of {numbers['batch_size']:,} sequences, {numbers['tokens_per_step']:,.0f} tokens"),
        ("seen", f"{count('tokens')} ids, {'' if numbers['bytes'] is None else format_bytes(numbers['bytes'])}"),
        ("epochs", "by the clock" if numbers["epochs"] is None else f"{numbers['epochs']:.2f}"),
        ("padding", f"{numbers['padding_share']:.2%} of positions"),
        ("FLOPs", "by the clock" if numbers["flops"] is None else f"{numbers['flops']:.3g}"),
        (
            "memory",
            f"{format_bytes(numbers['memory_bytes'])} for weights, gradients and optimizer, activations besides",
        ),
    ]
    notes = tuple(numbers.pop("notes"))
    return _output.Outcome(numbers, None if quiet else lambda: print_rows(rows, title="would train"), warnings=notes)
