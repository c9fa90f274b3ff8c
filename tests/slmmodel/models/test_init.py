"""Initial weights depend on seed and name alone; norms and rotary positions equal their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from slmmodel_tiny import VARIANTS, config, model

from slmmodel.models import build
from slmmodel.models.gpt import RMSNorm, apply_rope, rope_tables
from slmmodel.models.init import normal
from slmmodel.rng import key, splitmix64


def test_golden_values_of_the_mixer() -> None:
    assert splitmix64(0) == 16294208416658607535
    assert splitmix64(1) == 10451216379200822465
    some = [0, 1, 2**63, 2**64 - 1]
    assert splitmix64(np.array(some, dtype=np.uint64)).tolist() == [splitmix64(x) for x in some]
    assert key(1, "a") != key("a", 1) != key(1, "b")


@pytest.mark.parametrize("seed", [0, 5, -1, 2**63, 2**64 + 3])
def test_a_key_mixes_one_part_after_the_other(seed: int) -> None:
    mixed = splitmix64(seed & (2**64 - 1))
    assert key(seed) == mixed
    for first, second in ((0, 0), (2, 7), (2**40, 1)):
        assert key(seed, first) == splitmix64(mixed ^ first)
        assert key(seed, first, second) == splitmix64(splitmix64(mixed ^ first) ^ second)


def test_golden_values_of_the_normal_numbers() -> None:
    """Six values written out by the formula, in Python's own arithmetic."""
    import math

    base = key(0, "embed.weight")
    expected = []
    for pair in range(3):
        u, w = (
            (splitmix64((base + (2 * pair + i) * 0x9E3779B97F4A7C15) & (2**64 - 1)) >> 11) * 2.0**-53 for i in (0, 1)
        )
        radius = math.sqrt(-2 * math.log1p(-u))
        expected += [radius * math.cos(2 * math.pi * w), radius * math.sin(2 * math.pi * w)]
    np.testing.assert_allclose(normal(base, 6), expected, rtol=1e-6)


def test_the_numbers_are_normal_and_the_first_ones_do_not_depend_on_their_count() -> None:
    long = normal(key(7), 200_001)
    assert abs(long.mean()) < 0.01
    assert abs(long.std() - 1) < 0.01
    assert abs((long**3).mean()) < 0.05
    assert abs((long**4).mean() - 3) < 0.1
    for n in (1, 2, 65_535, 65_537):
        np.testing.assert_array_equal(normal(key(7), n), long[:n])


@pytest.mark.parametrize("name", VARIANTS)
def test_models_that_differ_in_vocabulary_share_all_else(name: str) -> None:
    torch.manual_seed(5)
    small, large = build(config(name), seed=4), build(config(name, n_vocab=300, padded_vocab=320), seed=4)
    assert torch.initial_seed() == 5
    other = build(config(name), seed=5)
    for (key_, one), two, three in zip(small.named_parameters(), large.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two[: len(one)]), key_
        if one.ndim > 1 and one.any():
            assert not torch.equal(one, three), key_


def test_building_leaves_the_global_random_state_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    for name in VARIANTS:
        build(config(name))
    assert torch.equal(torch.get_rng_state(), before)


def test_residual_projections_begin_small_where_the_head_is_tied() -> None:
    weight = dict(build(config("llama", d_model=256, n_layers=8)).named_parameters())["blocks.3.mlp.down.weight"]
    assert float(weight.detach().std()) == pytest.approx(0.02 / 4, rel=0.05)


def rms_norm(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
    """The module with this weight."""
    norm = RMSNorm(len(gain))
    norm.gain = torch.nn.Parameter(gain)
    return norm(x)


def rms_norm_reference(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
    """The formula, with statistics in fp32."""
    wide = x if x.dtype == torch.float64 else x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5) * gain).to(x.dtype)


@pytest.mark.parametrize("shape", [(3, 5, 8), (2, 3, 4, 8)])
def test_rms_norm_equals_its_formula(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    x, gain = torch.randn(shape, generator=generator), torch.randn(shape[-1], generator=generator)
    torch.testing.assert_close(rms_norm(x, gain), rms_norm_reference(x, gain), atol=1e-5, rtol=1e-5)


def test_fp64_stays_fp64() -> None:
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gain = torch.ones(8, dtype=torch.float64)
    exact = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(rms_norm(x, gain), exact, atol=1e-14, rtol=1e-14)
    made = model("llama").double()
    whole = made(torch.arange(10)[None]).logits
    with torch.inference_mode():
        state = made.init_state(1, "cpu")
        made(torch.arange(9)[None], state=state)
        step = made(torch.tensor([[9]]), state=state).logits
    assert whole is not None and step is not None
    torch.testing.assert_close(step[:, 0], whole[:, -1], atol=1e-12, rtol=1e-12)


def test_rotary_scores_depend_on_distance_alone() -> None:
    rope = rope_tables(16, 8, 10_000.0)
    q, k = (torch.randn(1, 1, 1, 8, generator=torch.Generator().manual_seed(s)).expand(1, 16, 1, 8) for s in (1, 2))
    turned_q, turned_k = apply_rope(q, rope)[0, :, 0], apply_rope(k, rope)[0, :, 0]
    scores = turned_q @ turned_k.T
    for distance in range(5):
        line = scores.diagonal(-distance)
        torch.testing.assert_close(line, line[:1].expand_as(line), atol=1e-5, rtol=1e-5)


def test_bf16_autocast_keeps_statistics_in_fp32() -> None:
    made = model("llama")
    given = torch.arange(10)[None]
    wide = made(given).logits
    with torch.autocast("cpu", dtype=torch.bfloat16):
        narrow = made(given).logits
        masked = made(given, document_ids=torch.zeros(1, 10, dtype=torch.int32)).logits
    assert wide is not None and narrow is not None and masked is not None
    torch.testing.assert_close(narrow.float(), wide, atol=0.2, rtol=0.1)
    x, gain = torch.randn(5, 8, generator=torch.Generator().manual_seed(0)).bfloat16(), torch.ones(8)
    assert rms_norm(x, gain).dtype == torch.bfloat16
    torch.testing.assert_close(rms_norm(x, gain), rms_norm_reference(x, gain))
    torch.testing.assert_close(masked.float(), wide, atol=0.2, rtol=0.1)
