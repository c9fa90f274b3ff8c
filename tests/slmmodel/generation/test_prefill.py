"""Reading prompts: a long one is read in pieces, with equal results and memory that does not grow with its length."""

from __future__ import annotations

import math
from typing import Any

import pytest
import slmmodel_tiny as tiny
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from slmmodel.decoding_methods import METHODS
from slmmodel.errors import NotFinite
from slmmodel.evaluation.retrieval import recall, sequence_nats
from slmmodel.generation import generate
from slmmodel.models import build, config_from_dict
from slmmodel.models.protocol import Model
from slmmodel.sampling import prefill
from slmmodel.sampling.assisted import assisted

SEGMENT = 8


class LargestTensor(TorchDispatchMode):
    """Notes the size of the largest tensor of numbers that an operation gives; ids are not counted."""

    largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for part in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(part, Tensor) and part.is_floating_point():
                self.largest = max(self.largest, part.numel())
        return out


def infini(memory: str, positions: str) -> Model:
    shape = {"n_layers": 2, "d_model": 32, "n_heads": 4, "n_kv_heads": 2, "n_vocab": 50, "seq_len": 32}
    config = {"arch": "infini", "segment": SEGMENT, "memory": memory, "positions": positions, **shape}
    return build(config_from_dict(config), seed=0).eval()


def prompt(length: int) -> list[int]:
    return torch.randint(50, (length,), generator=torch.Generator().manual_seed(length)).tolist()


@pytest.mark.parametrize("positions", ["restart", "continue"])
@pytest.mark.parametrize("memory", ["off", "linear", "delta"])
@pytest.mark.parametrize("piece", [SEGMENT, 3 * SEGMENT + 1, 64])
def test_pieces_of_a_prompt_are_the_prompt(
    monkeypatch: pytest.MonkeyPatch, memory: str, positions: str, piece: int
) -> None:
    model, rows = infini(memory, positions), [prompt(77), prompt(77)[::-1]]
    with torch.inference_mode():
        _, whole = prefill.prefill(model, rows, 1)
        monkeypatch.setattr(prefill, "PIECE_IDS", piece)
        state, logits = prefill.prefill(model, rows, 1)
        torch.testing.assert_close(logits, whole, rtol=0, atol=1e-5)
        assert state.length.tolist() == [77, 77]


@pytest.mark.parametrize("positions", ["restart", "continue"])
def test_memory_does_not_grow_with_the_prompt(monkeypatch: pytest.MonkeyPatch, positions: str) -> None:
    monkeypatch.setattr(prefill, "PIECE_IDS", 64)
    model, largest = infini("delta", positions), []
    for length in (128, 1024):
        with torch.inference_mode(), LargestTensor() as noted:
            prefill.prefill(model, [prompt(length)], 1)
        largest.append(noted.largest)
    assert largest[0] == largest[1]
    monkeypatch.setattr(prefill, "PIECE_IDS", 1 << 20)
    with torch.inference_mode(), LargestTensor() as whole:
        prefill.prefill(model, [prompt(1024)], 1)
    assert whole.largest > 4 * largest[0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_logits_that_are_not_finite(value: float) -> None:
    """No id is drawn from them: it would be one that the model does not have."""
    sound, broken = tiny.model("llama"), tiny.model("llama")
    with torch.no_grad():
        broken.norm.gain.fill_(value)
    options = {"max_new_tokens": 4}
    calls = [
        lambda: generate(broken, [[1, 2]], max_new_tokens=4),
        lambda: prefill.next_log_probabilities(broken, [1, 2]),
        lambda: assisted(sound, broken, [1, 2], tiny.decoding(**options)),
        lambda: assisted(broken, sound, [1, 2], tiny.decoding(**options)),
        lambda: recall(broken, [[1, 2]], [[3]], max_new_tokens=2),
        lambda: sequence_nats(broken, [[1, 2, 3]]),
        *(
            lambda changes=changes: METHODS[next(iter(changes))].decode(
                broken, [1, 2], tiny.decoding(**options, **changes), 1
            )
            for changes in ({"beam": 2}, {"beam_sample": 2}, {"contrastive": 0.6}, {"dola": "high"})
        ),
    ]
    for call in calls:
        with pytest.raises(NotFinite, match="logits of the model are not finite"):
            call()
