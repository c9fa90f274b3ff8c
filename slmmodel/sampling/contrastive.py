"""Contrastive search (Su et al. 2022): likely ids whose hidden vector differs from all earlier ones. Deterministic.

Each step runs the k likeliest ids as a batch and takes the one with the largest
`(1 - alpha) p(v) - alpha max_j cos(h_v, h_j)`; the next step continues from its row of the state and its logits. The
cost is a batch of k per step, and the hidden vectors of the whole sequence. alpha = 0 or k = 1 is greedy decoding.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from slmmodel.decoding_options import DecodingOptions, check_method
from slmmodel.models.protocol import Model
from slmmodel.sampling import Continuation, largest, penalise
from slmmodel.sampling.prefill import advance, length_limit, read, start_context


@torch.inference_mode()
def contrastive_search(model: Model, prompt: Sequence[int], options: DecodingOptions) -> Continuation:
    """One continuation, with alpha `options.contrastive` and k `options.contrastive_k`.

    Of the other options, bans, penalties and stop ids apply. Its number `mean_cosine` is the mean over all steps and
    candidates of the largest cosine; near 1, a lower alpha is better. Raises `InvalidInput`,
    `OptionError`, `WrongType`.
    """
    check_method(options, "contrastive")
    alpha, k = options.contrastive, min(options.contrastive_k, model.config.n_vocab)
    assert alpha is not None
    n_ids, reason = length_limit(model, prompt, options.max_new_tokens)
    device = model.embed.weight.device
    state = model.init_state(1, device, capacity=len(prompt) + n_ids)
    logits, hidden = read(model, state, torch.tensor([prompt], device=device))
    state.repeat(k)
    context = start_context([prompt], 0, torch.zeros(1, dtype=torch.int64, device=logits.device))
    history, cosines, new_ids = normalize(hidden[0].float(), dim=-1), list[Tensor](), list[int]()
    for n in range(n_ids):
        penalised = penalise(options, context, logits)
        candidates = penalised.sort(dim=1, descending=True, stable=True).indices[0, :k]
        best = 0
        # After the last position of the context no candidate can be run.
        if len(prompt) + n < model.config.max_context:
            next_logits, next_hidden = advance(model, state, candidates)
            next_hidden = normalize(next_hidden.float(), dim=-1)
            max_cosine = (next_hidden @ history.T).amax(1)
            cosines.append(max_cosine)
            best = _best(penalised, candidates, max_cosine, alpha)
            state.reorder(torch.full((k,), best, device=logits.device))
            logits = next_logits[best : best + 1]
            history = torch.cat([history, next_hidden[best : best + 1]])
        chosen = candidates[best : best + 1]
        if int(chosen) in options.stop_ids:
            reason = "stop"
            break
        new_ids.append(int(chosen))
        context = context.extended(chosen)
    mean = float(torch.cat(cosines).mean()) if cosines else 0.0
    return Continuation(new_ids, reason, {"mean_cosine": mean})


def _best(logits: Tensor, candidates: Tensor, max_cosine: Tensor, alpha: float) -> int:
    """The index of the best candidate. Candidates are sorted by probability, so ties go to the likelier one."""
    probability = torch.softmax(logits[0].double(), 0)[candidates]
    score = (1 - alpha) * probability - alpha * max_cosine.double()
    banned = logits[0, candidates] == float("-inf")
    return int(largest(score.masked_fill(banned, float("-inf"))[None]))
