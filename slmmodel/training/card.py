"""The card of a bundle: what a person should know who finds the folder. Written by a finished run, from its own
numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmmodel.sizes import format_bytes, format_count, format_time


def card(config: Mapping[str, Any], result: Mapping[str, Any], vocab_size: int) -> bytes:
    """`README.md`, as UTF-8."""
    model, optim = config["model"], config["optim"]
    shape = ", ".join(
        f"{key} {model[key]}" for key in ("n_layers", "d_model", "n_heads", "n_kv_heads", "hidden_size") if key in model
    )
    lines = [
        "# A small language model",
        "",
        f"A `{model['arch']}` model ({shape}; {format_count(result['parameters'])} parameters) over "
        f"{vocab_size:,} ids, sequences of {model['seq_len']} ids.",
        "",
        f"* trained on {format_bytes(result['bytes'])} of text in {result['tokens']:,} ids, "
        f"{result['epochs']:.2f} epochs, {result['steps']:,} steps of {config['run']['batch_tokens']:,} ids, "
        f"{format_time(result['seconds'])}",
        f"* optimizer {optim['name']}, peak rate {optim['lr']:g}, schedule {optim['schedule']['kind']}, "
        f"seed {config['run']['seed']}, {result['precision']}",
        f"* ended because: {result['reason']}",
    ]
    if result.get("val_bpb") is not None:
        lines.append(
            f"* validation, plain rows: {result['val_bpb']:.4f} bits per byte, {result['val_loss']:.4f} nats per id"
        )
    if result.get("skipped"):
        lines.append(f"* {result['skipped']} steps were skipped: loss or gradient was not finite")
    lines += [
        "",
        "`config.yaml` is the whole configuration, `vocab.json` and `tok.json` the tokenizer, `metrics.jsonl` the",
        "course of the training, `data.lock` what it was trained on. `slm sample`, `slm eval`, `slm export` take this",
        "folder.",
        "",
    ]
    return "\n".join(lines).encode()
