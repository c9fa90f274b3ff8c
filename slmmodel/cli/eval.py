"""`slm eval`: bits per byte that are proven right, or a refusal; with baselines beside them and a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmmodel.cli import _options, _output
from slmmodel.errors import OutputExists

if TYPE_CHECKING:
    pass

_Run = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="The folder of a run; with --check, that of the file.", show_default=False),
]
_On = Annotated[
    str | None,
    typer.Option("--on", metavar="DATA", help="Packed data; that of training if left out.", show_default=False),
]
_Split = Annotated[
    str | None, typer.Option("--split", metavar="NAME", help="Default: val where there is one, else train.")
]
_SeqLen = Annotated[
    int | None,
    typer.Option("--seq-len", metavar="N", parser=_options.whole, help="Pairs of a window.", show_default=False),
]
_ContextBytes = Annotated[
    int | None,
    typer.Option(
        "--context-bytes",
        metavar="N",
        parser=_options.whole,
        help="The same in bytes of this text.",
        show_default=False,
    ),
]
_Stride = Annotated[
    int | None,
    typer.Option(
        "--stride",
        metavar="N",
        parser=_options.whole,
        help="Pairs from window to window (half of --seq-len).",
        show_default=False,
    ),
]
_Precision = Annotated[
    str,
    typer.Option(
        "--precision", metavar="NAME", parser=_options.choice("fp32", "bf16", "fp16"), help="fp32, bf16 or fp16."
    ),
]
_Stateful = Annotated[bool, typer.Option("--stateful", help="Recurrent models: keep the state through each document.")]
_Baselines = Annotated[bool, typer.Option("--baselines/--no-baselines", help="Byte n-grams, bz2 and xz beside it.")]
_Breakdown = Annotated[
    bool, typer.Option("--breakdown", help="Where the bits go: by frequency, bytes, position, domain.")
]
_Losses = Annotated[
    str | None,
    typer.Option(
        "--losses", metavar="FILE", help="Write the loss of each target, for slm compare.", show_default=False
    ),
]
_Certificate = Annotated[
    str | None, typer.Option("--certificate", metavar="FILE", help="Default: RUN/eval/NAME.json.", show_default=False)
]
_Check = Annotated[
    str | None,
    typer.Option("--check", metavar="FILE", help="Compute a certificate again and compare.", show_default=False),
]


def eval(
    run: _Run = None,
    on: _On = None,
    split: _Split = None,
    seq_len: _SeqLen = None,
    context_bytes: _ContextBytes = None,
    stride: _Stride = None,
    step: _options.Step = None,
    precision: _Precision = "fp32",
    device: _options.Device = "auto",
    stateful: _Stateful = False,
    with_baselines: _Baselines = True,
    breakdown: _Breakdown = False,
    losses: _Losses = None,
    certificate: _Certificate = None,
    check: _Check = None,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Score a run on every byte of its validation documents; print bits per byte, and write the proof."""
    from slmmodel.checkpoint import RunFolder
    from slmmodel.cli import _evaluation

    bundle = RunFolder.open(_evaluation.run_of(run, check))
    asked = _evaluation.Asked(on, split, seq_len, context_bytes, stride, step, precision, device, quiet, stateful)
    if check is not None:
        return _evaluation.checked(bundle, check, asked)
    for path in (losses, certificate):
        if path is not None and Path(path).exists() and not force:
            raise OutputExists(f"output {path!r} exists", fix="name another file, or --force", path=path)
    source = _evaluation.source_of(bundle, asked)
    found = _evaluation.evaluated(bundle, source, asked)
    result: dict[str, Any] = dict(found.certificate)
    result["baselines"] = _evaluation.beside(bundle, source, asked) if with_baselines else None
    if breakdown:
        result["breakdown"] = _evaluation.broken_down(bundle, source, found.scores)
    result["written"] = _evaluation.write(bundle, source, asked, found, result, certificate, losses)
    return _output.Outcome(result, lambda: _evaluation.show(result))
