"""DoLa, decoding by contrasting layers (Chuang et al. 2023): ids whose probability grows in the upper layers.

The head also reads an earlier layer M, through the final norm as it reads the last layer N: distributions q_M and q_N.
M is the candidate layer with the largest Jensen-Shannon divergence from q_N, chosen anew in each step. Of the ids with
`q_N >= alpha max q_N`, the logits become `log q_N - log q_M`; all others are dropped. Then the options of sampling
apply. The cost is one product with the head for each candidate layer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import get_ident
from typing import Any

import torch
from torch import Tensor

from slmmodel.decoding_options import DecodingOptions, check_method
from slmmodel.errors import Argument, InvalidInput, OptionError
from slmmodel.models.protocol import Model, State
from slmmodel.sampling import Continuation, SamplingOptions, StepContext, check_option_range, penalise, pick
from slmmodel.sampling.prefill import advance, length_limit, read_prompts, start_context


@torch.inference_mode()
def dola(
    model: Model, prompt: Sequence[int], options: DecodingOptions, *, alpha: float = 0.1, sample: int = 0
) -> Continuation:
    """One continuation. All options apply; `sample` is its number in the request, as a key of its draws.

    options.dola: candidates for M, as in `candidate_layers`. The paper advises `high` for short answers, `low` for
    reasoning, and a repetition penalty of 1.2. Raises `InvalidInput`, also for a model without blocks, and
    `OptionError`, `WrongType`.
    """
    check_method(options, "dola")
    check_option_range("alpha", alpha, 0, 1)
    limit, reason = length_limit(model, prompt, options.max_new_tokens)
    blocks: Any = getattr(model, "blocks", None)
    if blocks is None:
        raise InvalidInput(
            f"the architecture {model.config.arch!r} has no blocks to contrast", limit="decoders", fix="leave out dola"
        )
    chosen = candidate_layers(options.dola, len(blocks))
    device = model.embed.weight.device
    state = model.init_state(1, device, capacity=len(prompt) + limit)
    if len(prompt) > 1:
        read_prompts(model, state, torch.tensor([prompt[:-1]], device=device))
    context = start_context([prompt], 0, torch.tensor([sample], device=device))
    next_id, new_ids = torch.tensor([prompt[-1]], device=device), list[int]()
    with _outputs_of([blocks[layer - 1] for layer in chosen]) as outputs:
        for _ in range(limit):
            logits = _contrasted(model, state, next_id, outputs, context, options, alpha)
            next_id = pick(options, context, logits)
            if int(next_id) in options.stop_ids:
                reason = "stop"
                break
            new_ids.append(int(next_id))
            context = context.extended(next_id)
    return Continuation(new_ids, reason)


def candidate_layers(layers: str, n_layers: int) -> list[int]:
    """The layers, counted from 1, that `low`, `high` or a list such as `2,4` names; never the last.

    The halves are those of the paper, without the embedding: a head that is tied to it predicts every id from itself.
    Raises `OptionError`.
    """
    halves = {"low": range(1, max(2, n_layers // 2)), "high": range(max(1, n_layers // 2), n_layers)}
    words = layers.replace(" ", "").split(",")
    chosen = list(halves.get(layers, map(int, words) if all(word.isdecimal() for word in words) else ()))
    example = ",".join(map(str, range(1, min(n_layers, 3))))
    if n_layers < 2 or not chosen or not all(1 <= layer < n_layers for layer in chosen):
        raise OptionError(
            f"dola is {layers!r}, and the model has {n_layers} layers",
            limit=f"low, high, or layers from 1 to {n_layers - 1} such as {example}"
            if n_layers > 1
            else "2 layers or more",
            fix=(Argument("dola", "high"),) if n_layers > 1 else "leave out dola",
            option="--dola",
        )
    return sorted(set(chosen))


@contextmanager
def _outputs_of(blocks: Sequence[torch.nn.Module]) -> Iterator[dict[int, Tensor]]:
    """A table with the last output of each block in this thread, [1, 1, d] where one id is read."""
    outputs: dict[int, Tensor] = {}
    reader = get_ident()

    def keep(index: int, block: torch.nn.Module, inputs: Any, output: Tensor) -> None:
        # A hook is called for all threads that share the model.
        if get_ident() == reader:
            outputs[index] = output

    hooks = [block.register_forward_hook(partial(keep, index)) for index, block in enumerate(blocks)]
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


def _contrasted(
    model: Model,
    state: State,
    id: Tensor,
    outputs: dict[int, Tensor],
    context: StepContext,
    options: SamplingOptions,
    alpha: float,
) -> Tensor:
    """Reads an id, int64 [1]; gives the contrasted logits [1, V]."""
    final, _ = advance(model, state, id)
    early = model.unembed(model.norm(torch.cat([outputs[index][:, 0] for index in sorted(outputs)])))
    log_final, log_early = (torch.log_softmax(logits.double(), 1) for logits in (final, early))  # [1, V], [layers, V]
    log_early = log_early[divergence(log_final, log_early).argmax()]
    # What the options forbid does not set the bound, else nothing might be left.
    allowed = ~penalise(options, context, final).isneginf()
    bound = log_final.masked_fill(~allowed, -math.inf).amax() + math.log(max(alpha, 1e-300))
    return (log_final - log_early).masked_fill(~allowed | (log_final < bound), -math.inf)


def divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    """The Jensen-Shannon divergence of each row of log q [n, V] from log p [1, V], in nats, [n]."""
    log_mean = torch.logaddexp(log_p, log_q) - math.log(2)
    terms = log_p.exp() * (log_p - log_mean) + log_q.exp() * (log_q - log_mean)
    return terms.sum(1) / 2
