"""DoLa against its formulas, with every layer computed again for each id."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from slmmodel_tiny import SEQ_LEN, decoding, model

from slmmodel.errors import InvalidInput, OptionError
from slmmodel.generation import generate
from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions, StepContext, pick
from slmmodel.sampling.dola import candidate_layers, divergence, dola

DECODERS = pytest.mark.parametrize("name", ["llama", "gpt2", "infini", "infini-off", "llama-plain", "llama-relu2"])
PROMPT = [1, 2, 3, 4, 5, 6, 7]
N_LAYERS = 5


def layer_logits(made: Model, ids: list[int]) -> list[torch.Tensor]:
    """float64 [V] after each layer for the last of `ids`: models of the first blocks alone, each run from the start."""
    found: list[torch.Tensor] = []
    blocks: Any = made.blocks
    for n in range(1, N_LAYERS + 1):
        made.blocks = torch.nn.ModuleList(list(blocks)[:n])
        logits = made(torch.tensor([ids])).logits
        assert logits is not None
        found.append(logits[0, -1].double())
    made.blocks = blocks
    return found


def shannon(p: list[float], q: list[float]) -> float:
    mean = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return sum(a * math.log(a / m) + b * math.log(b / m) for a, b, m in zip(p, q, mean, strict=True)) / 2


@torch.inference_mode()
def reference(made: Model, options: SamplingOptions, layers: list[int], alpha: float, n: int) -> list[int]:
    """The published algorithm with lists, one id at a time."""
    ids = list(PROMPT)
    for _ in range(n):
        *early, last = (torch.softmax(logits, 0).tolist() for logits in layer_logits(made, ids))
        premature = max((early[layer - 1] for layer in layers), key=lambda q: shannon(last, q))
        allowed = [p for id, p in enumerate(last) if id not in options.banned]
        logits = [
            math.log(p / q) if p >= alpha * max(allowed) else -math.inf for p, q in zip(last, premature, strict=True)
        ]
        whole = torch.tensor([ids])
        context = StepContext(whole, torch.ones_like(whole, dtype=torch.bool), len(PROMPT), torch.tensor([3]))
        id = int(pick(options, context, torch.tensor([logits])))
        if id in options.stop_ids:
            break
        ids.append(id)
    return ids[len(PROMPT) :]


@DECODERS
@pytest.mark.parametrize(
    ("options", "layers", "alpha"),
    [
        (SamplingOptions(temperature=0), "high", 0.1),
        (SamplingOptions(temperature=0, repetition_penalty=1.2, banned=(5, 9)), "low", 0.3),
        (SamplingOptions(seed=3, temperature=0.9, top_p=0.9, stop_ids=(2, 3)), "1,4", 0.02),
    ],
)
def test_equal_to_the_reference(name: str, options: SamplingOptions, layers: str, alpha: float) -> None:
    made = model(name, n_layers=N_LAYERS)
    found = dola(made, PROMPT, decoding(options, dola=layers, max_new_tokens=10), alpha=alpha, sample=3)
    assert found.ids == reference(made, options, candidate_layers(layers, N_LAYERS), alpha, 10)
    assert not any(block._forward_hooks for block in made.blocks)


def test_the_contrast_has_an_effect_and_alpha_1_has_none() -> None:
    made, options = model("llama", n_layers=N_LAYERS), SamplingOptions(temperature=0)
    greedy = generate(made, [PROMPT], options, max_new_tokens=12)[0].ids
    contrasted = decoding(options, dola="high", max_new_tokens=12)
    assert dola(made, PROMPT, contrasted, alpha=1.0).ids == greedy
    assert dola(made, PROMPT, contrasted, alpha=0.0).ids != greedy
    assert dola(made, PROMPT[:1], decoding(options, dola="high", max_new_tokens=3), alpha=1.0).ids == (
        generate(made, [PROMPT[:1]], options, max_new_tokens=3)[0].ids
    )


def test_the_divergence() -> None:
    p, q = torch.tensor([[0.7, 0.2, 0.1]]).double(), torch.tensor([[0.1, 0.1, 0.8], [0.7, 0.2, 0.1]]).double()
    found = divergence(p.log(), q.log()).tolist()
    assert found == pytest.approx([shannon(p[0].tolist(), row.tolist()) for row in q])
    assert found[1] == pytest.approx(0.0, abs=1e-12)


def test_the_end_of_the_context_and_bans() -> None:
    found = dola(model("llama"), [1] * (SEQ_LEN - 2), decoding(dola="high", max_new_tokens=50))
    assert (len(found.ids), found.reason) == (3, "context")
    options = decoding(banned=tuple(range(60)), dola="high", max_new_tokens=9)
    assert set(dola(model("llama"), PROMPT, options).ids) <= set(range(60, 70))


def test_layers() -> None:
    assert candidate_layers("low", 32) == list(range(1, 16)) and candidate_layers("high", 32) == list(range(16, 32))
    assert candidate_layers("low", 2) == candidate_layers("high", 2) == [1]
    assert candidate_layers("3, 1,3", 4) == [1, 3]
    for wrong, n_layers in (("4", 4), ("0", 4), ("middle", 4), ("1,x", 4), ("-1", 4), ("", 4), ("high", 1)):
        with pytest.raises(OptionError, match="dola is"):
            candidate_layers(wrong, n_layers)


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'lstm' has no blocks"):
        dola(model("lstm"), PROMPT, decoding(dola="high"))
    for alpha in (-0.1, 1.1, math.nan):
        with pytest.raises(OptionError, match="alpha is"):
            dola(model("llama"), PROMPT, decoding(dola="high"), alpha=alpha)


def test_threads_that_share_a_model_get_what_each_gets_alone() -> None:
    made, options = model("llama", n_layers=N_LAYERS), decoding(max_new_tokens=8, temperature=0, dola="high")
    prompts = [[1, 2 + at, 3, 7 - at % 5] for at in range(8)]
    alone = [dola(made, prompt, options).ids for prompt in prompts]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda prompt: dola(made, prompt, options).ids, prompts * 5))
    assert together == alone * 5
