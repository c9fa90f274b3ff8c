"""What a model recalls from its prompt, and how likely whole sequences are. Ids only: commands make the texts."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from itertools import takewhile
from typing import NamedTuple

import torch

from slmmodel.errors import Argument, InvalidInput
from slmmodel.evaluation.scoring import negative_log_likelihood
from slmmodel.indexing import explains_indexing
from slmmodel.models.protocol import Model
from slmmodel.sampling.prefill import advance, check_logits, check_prompts, prefill
from slmmodel.sizes import Z95


@explains_indexing
class Recall(NamedTuple):
    """What a model made of one prompt."""

    generated: list[int]
    """ids of the greedy continuation, before the first id that ends a document"""
    n_correct: int
    """ids of the answer that are the likeliest ones after the true ids before them"""


def wilson(successes: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927); 0 to 1 without observations."""
    if not n:
        return 0.0, 1.0
    share, z2 = successes / n, Z95**2 / n
    centre = share + z2 / 2
    margin = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n))
    # Rounding would leave the share itself outside, by 1e-17.
    low = (centre - margin) / (1 + z2) if successes else 0.0
    return low, (centre + margin) / (1 + z2) if successes < n else 1.0


def recall(
    model: Model,
    prompts: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    *,
    max_new_tokens: int,
    stop_ids: Container[int] = (),
) -> list[Recall]:
    """Continues each prompt greedily, at most to one of `stop_ids`, and scores its answer id by id.

    A prompt is read once: its state is doubled, one copy reads the generated ids and the other those of the answer.
    Raises `InvalidInput` for prompts that the model cannot read.
    """
    check_prompts(model, prompts)
    steps = max(max_new_tokens, *map(len, answers))
    with torch.inference_mode():
        state, logits = prefill(model, prompts, steps)
        state.repeat(2)
        likeliest, generated, read = logits.argmax(-1).repeat_interleave(2), list[list[int]](), list[list[int]]()
        for step in range(steps):
            generated.append(likeliest[0::2].tolist())
            read.append(likeliest[1::2].tolist())
            if step + 1 == steps:
                break
            forced = likeliest.clone()
            for row, answer in enumerate(answers):
                if step < len(answer):
                    forced[2 * row + 1] = answer[step]
            logits, _ = advance(model, state, forced)
            likeliest = logits.argmax(-1)
    found = []
    for row, answer in enumerate(answers):
        correct = sum(read[step][row] == id for step, id in enumerate(answer))
        new = takewhile(lambda id: id not in stop_ids, (ids[row] for ids in generated[:max_new_tokens]))
        found.append(Recall(list(new), correct))
    return found


def sequence_nats(model: Model, sequences: Sequence[Sequence[int]]) -> list[float]:
    """The negative log-probability in nats of all ids of each sequence after its first; one batch, padded at the end.

    Raises `InvalidInput` for sequences that the model cannot read.
    """
    check_prompts(model, [ids[:-1] for ids in sequences])
    device = next(model.parameters()).device
    width = max(map(len, sequences))
    ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in sequences], device=device)
    with torch.inference_mode():
        logits = model(ids[:, :-1]).logits
        assert logits is not None
        check_logits(logits)
        nats = negative_log_likelihood(logits, ids[:, 1:])
    return [float(row[: len(ids) - 1].sum()) for row, ids in zip(nats, sequences, strict=True)]


def ignore_memory(model: Model) -> None:
    """Sets the gates of `infini` to 0, so that only the last segment is read. Raises `InvalidInput` for others."""
    gated = [module for module in model.modules() if hasattr(module, "gate_function")]
    for module in gated:
        module.gate_function = torch.zeros_like  # type: ignore[assignment]
    if not gated:
        raise InvalidInput(
            f"the model has no memory to ignore, model.arch is {model.config.arch}",
            limit="infini, with model.memory linear or delta",
            fix=("leave out ", Argument("ignore_memory")),
        )
