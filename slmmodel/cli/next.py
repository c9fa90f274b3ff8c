"""`slm next`: what a model expects after a prompt. Tokens with probabilities, log-probabilities and bars."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from slmmodel.cli import _options, _output

BAR = 30
"""Columns of a bar of probability 1."""

_Top = Annotated[int, typer.Option("--top", metavar="N", parser=_options.whole, help="How many tokens; 0 lists all.")]


def next(
    run: _options.RunArgument,
    prompt: _options.Prompt = None,
    ids: _options.PromptIds = None,
    top: _Top = 10,
    step: _options.Step = None,
    tokenizer: _options.RunTokenizer = None,
    device: _options.Device = "auto",
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """List the likeliest next tokens, of all that the model has: nothing is banned, cut off or made colder."""
    import torch

    from slmmodel.cli._opened import open_run, prompt_ids
    from slmmodel.cli._sampling import read_prompt
    from slmmodel.sampling.prefill import check_prompts, prefill

    opened = open_run(run, tokenizer=tokenizer, device=device, step=step)
    begin = prompt_ids(opened, read_prompt(prompt), ids)
    check_prompts(opened.model, [begin])
    with torch.inference_mode():
        _, logits, _ = prefill(opened.model, [begin], 0)
        logp = torch.log_softmax(logits[0].double(), 0).cpu()
    order = logp.sort(descending=True, stable=True).indices[: top or len(logp)]
    words = [str(id) for id in order.tolist()] if opened.text is None else opened.text.words(order.tolist())
    roles = {id: role for role, id in opened.vocab.specials.items()}
    rows = [
        {"id": id, "token": word, "role": roles.get(id), "p": float(logp[id].exp()), "logp": float(logp[id])}
        for id, word in zip(order.tolist(), words, strict=True)
    ]
    entropy = float(-(logp.exp() * logp.clamp(min=-745)).sum())
    shown = sum(float(logp[id].exp()) for id in order.tolist())
    result = {"prompt_ids": begin, "next": rows, "mass": shown, "entropy_nats": entropy, "n_vocab": len(logp)}
    return _output.Outcome(result, lambda: _show(rows, shown, entropy, len(logp)))


def _show(rows: list[dict[str, Any]], mass: float, entropy: float, n_vocab: int) -> None:
    width = min(40, max((len(row["token"]) for row in rows), default=5))
    out = sys.stdout
    out.write(f"{'id':>7}  {'token':<{width}}  {'p':>8}  {'log p':>8}\n")
    for row in rows:
        bar = "█" * round(row["p"] * BAR)
        token = _output.printable(row["token"])
        out.write(f"{row['id']:>7}  {token:<{width}}  {row['p']:>8.4f}  {row['logp']:>8.3f}  {bar}\n")
    out.write(f"{len(rows)} of {n_vocab:,} ids hold {100 * mass:.1f} %; entropy {entropy:.3f} nats\n")
    out.flush()
