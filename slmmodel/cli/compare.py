"""`slm compare`: two models on the same documents, paired, from their files of losses. No text is needed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slmmodel.cli import _options, _output
from slmmodel.cli._tables import print_rows

_A = Annotated[
    str, typer.Argument(metavar="A", help="Losses of one model: slm eval RUN --losses A.", show_default=False)
]
_B = Annotated[str, typer.Argument(metavar="B", help="Losses of the other one.", show_default=False)]
_Resamples = Annotated[
    int, typer.Option("--resamples", metavar="N", parser=_options.whole, help="Resamples of the bootstrap.")
]
_Content = Annotated[bool, typer.Option("--content", help="Leave out what closes documents: bpb_content.")]


def compare(
    a: _A,
    b: _B,
    resamples: _Resamples = 10_000,
    content: _Content = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Say by how many bits per byte one model beats another, document by document, with an interval."""
    from slmmodel.evaluation import comparison

    found = comparison.compare(
        comparison.read_losses(a), comparison.read_losses(b), content=content, resamples=max(1, resamples)
    )
    result: dict[str, Any] = {
        **found._asdict(),
        "interval": None if found.interval is None else found.interval._asdict(),
        "relative": found.difference / found.bpb_b if found.bpb_b else None,
        "verdict": _verdict(found.interval),
        "of": "bpb_content" if content else "bpb_total",
    }
    return _output.Outcome(result, lambda: _show(a, b, result))


def _verdict(interval: Any) -> str:
    """What the interval says of these two models on these documents; other seeds are another question."""
    if interval is None:
        return "not available: fewer than 20 documents or 4 KiB segments"
    if interval.high < 0:
        return "A is better on these documents"
    if interval.low > 0:
        return "B is better on these documents"
    return "no decision: the interval holds 0"


def _show(a: str, b: str, result: dict[str, Any]) -> None:
    found = result["interval"]
    between = "" if found is None else f"{found['low']:+.4f} to {found['high']:+.4f} ({found['level']:.0%}, paired)"
    print_rows(
        [
            ("A", f"{result['bpb_a']:.4f}   {a}"),
            ("B", f"{result['bpb_b']:.4f}   {b}"),
            ("A minus B", f"{result['difference']:+.4f}   {100 * (result['relative'] or 0):+.2f} %"),
            ("interval", between),
            ("documents", f"{result['documents']:,}, of which A is cheaper on {result['a_better']:,}"),
            ("verdict", result["verdict"]),
        ],
        title=f"{result['of']}, bits per byte",
    )
