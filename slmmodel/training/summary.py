"""What came of a run, for people: of `slm train`, `slm info` and notebooks. Does not import torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmmodel.sizes import format_bytes, format_count, format_time


def summary_of(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and texts from a `result.json`; an empty text where there is nothing to say."""
    speed = result["tokens"] / max(result["seconds"], 1e-9)
    validation = ""
    if result["val_bpb"] is not None:
        best = "" if result["best_bpb"] in (None, result["val_bpb"]) else f"; best {result['best_bpb']:.4f}"
        bits = f"{result['val_bpb']:.4f} bits per byte without overlapping windows"
        validation = f"{bits}, {result['val_loss']:.4f} nats per id{best}"
    seen = f"{result['tokens']:,} ids, {format_bytes(result['bytes'])}, {result['epochs']:.2f} epochs"
    return [
        ("ended", f"{result['reason']}, step {result['step']:,} of {result['steps']:,}"),
        ("branch", "\n".join(result.get("branch", []))),
        ("model", f"{format_count(result['parameters'])} parameters, {result['precision']} on {result['device']}"),
        ("seen", f"{seen}, {result['flops']:.3g} FLOPs"),
        ("loss", "" if result["loss"] is None else f"{result['loss']:.4f} nats per id"),
        ("validation", validation),
        ("skipped", f"{result['skipped']:,} steps" if result["skipped"] else ""),
        ("time", f"{format_time(result['seconds'])} of training, {format_count(speed)} ids/s"),
    ]
