"""The model card of a run folder (`README.md`), written by a finished run from its own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmmodel.sizes import format_bytes, format_count, format_time


def model_card(config: Mapping[str, Any], result: Mapping[str, Any], n_vocab: int) -> bytes:
    """The card as UTF-8 Markdown."""
    model, optim = config["model"], config["optim"]
    sizes = ("n_layers", "d_model", "n_heads", "n_kv_heads", "hidden_size")
    shape = ", ".join(f"{name} {model[name]}" for name in sizes if name in model)
    lines = [
        "# A small language model",
        "",
        f"A `{model['arch']}` model ({shape}; {format_count(result['parameters'])} parameters) over {n_vocab:,} ids, "
        f"sequence length {model['seq_len']}.",
        "",
        f"* trained on {format_bytes(result['bytes'])} of text in {result['tokens']:,} tokens, "
        f"{result['epochs']:.2f} epochs, {result['steps']:,} steps of {config['run']['batch_tokens']:,} tokens, "
        f"{format_time(result['seconds'])}",
        f"* optimizer {optim['name']}, peak learning rate {optim['lr']:g}, schedule {optim['schedule']['kind']}, "
        f"seed {config['run']['seed']}, {result['precision']}",
        f"* ended because: {result['reason']}",
    ]
    if result.get("val_bpb") is not None:
        lines.append(
            f"* validation without overlapping windows: {result['val_bpb']:.4f} bits per byte, "
            f"{result['val_loss']:.4f} nats per token"
        )
    if result.get("skipped"):
        lines.append(f"* {result['skipped']} steps were skipped because loss or gradient was not finite")
    lines += [
        "",
        "`config.yaml` is the whole configuration, `vocab.json` and `tok.json` the tokenizer, `metrics.jsonl` the",
        "training curve, `fingerprint.json` what it was trained on. `slm sample`, `slm eval` and `slm export` read",
        "this folder.",
        "",
    ]
    return "\n".join(lines).encode()
