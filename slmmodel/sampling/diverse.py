"""Diverse beam search (Vijayakumar et al. 2018): groups of beams, each kept away from the ids of those before it.

In each step the groups choose one after another; an extension loses `diversity_penalty` for each beam of an earlier
group that takes the same id in this step (Hamming diversity). Scores are those of beam search, which one group equals.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from slmmodel.errors import OptionError
from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions, check_range
from slmmodel.sampling.beam import Beam, BeamGroup
from slmmodel.sampling.prefill import advance, check_prompts, max_new_ids, prefill


@torch.inference_mode()
def diverse_beam_search(
    model: Model,
    prompt: Sequence[int],
    options: SamplingOptions | None = None,
    *,
    beams: int = 6,
    groups: int = 3,
    diversity_penalty: float = 0.5,
    max_new_tokens: int = 256,
    length_penalty: float = 1.0,
) -> list[Beam]:
    """The `beams` best continuations of all groups, best first; continuations that several groups find stand once.

    Of the options, bans, penalties and stop ids apply. Raises `InvalidInput`, `OptionError`.
    """
    check_range("beam", beams, 1)
    check_range("beam_groups", groups, 1, beams)
    check_range("diversity_penalty", diversity_penalty, 0)
    if beams % groups:
        raise OptionError(
            f"{beams} beams do not divide into {groups} groups",
            limit="a multiple",
            fix=f"{-(-beams // groups) * groups} beams",
            option="--beam-groups",
        )
    check_prompts(model, [prompt])
    options = options if options is not None else SamplingOptions()
    limit = max_new_ids(model, prompt, max_new_tokens)
    size = beams // groups
    state, logits = prefill(model, [prompt], limit)
    state.repeat(beams)
    logits = logits.expand(beams, -1)
    members = [BeamGroup(prompt, size, options, length_penalty, logits.device) for _ in range(groups)]
    for step in range(1, limit + 1):
        rows, ids = (
            torch.arange(beams, device=logits.device),
            torch.zeros(beams, dtype=torch.int64, device=logits.device),
        )
        taken = torch.zeros(logits.shape[1], dtype=torch.float64, device=logits.device)
        for number, group in enumerate(members):
            if not group.is_done:
                part = slice(number * size, (number + 1) * size)
                chosen, ids[part] = group.extend(logits[part], is_last=step == limit, penalty=diversity_penalty * taken)
                rows[part] = number * size + chosen
                taken += torch.bincount(ids[part][group.is_running], minlength=len(taken))
        if all(group.is_done for group in members):
            break
        state.reorder(rows)
        logits, _ = advance(model, state, ids)
    found = {(tuple(beam.ids), beam.ended): beam for group in members for beam in group.finished}
    return sorted(found.values(), key=lambda beam: -beam.score)[:beams]
