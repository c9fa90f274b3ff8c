"""What `--match` holds equal: sizes and steps from bytes per id alone."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from slmmodel.ablation.matches import MATCHES, MAX_SPREAD, Candidate, Reference, Shape, plan, spread
from slmmodel.data.order import document_order
from slmmodel.data.packs import Concat
from slmmodel.errors import InvalidConfig
from slmmodel.models.presets import preset

SIZES = {512: 2.1, 1024: 2.6, 2048: 3.1, 4096: 3.55, 8192: 3.9}
"""Bytes per id of a vocabulary size, about as English has them."""


def reference(batch_size: int = 8, seq_len: int = 256, steps: int = 900) -> Reference:
    model = {**preset("cpu-demo").config().model_dump(), "n_vocab": 1024, "padded_vocab": 1024, "seq_len": seq_len}

    def seconds(arm: Candidate, shape: Shape) -> float:
        return replace(shape, steps=1).flops / 1e10

    shape = Shape(model, batch_size, steps)
    return Reference(replace(shape, seconds_per_step=seconds(arms([1024])[0], shape)), SIZES[1024], seconds=seconds)


def arms(sizes=SIZES) -> list[Candidate]:
    return [Candidate(SIZES[size], {"n_vocab": size, "padded_vocab": size}) for size in sizes]


@pytest.mark.parametrize("match", MATCHES)
def test_the_matched_quantity_agrees_within_one_percent(match: str) -> None:
    shapes = plan(match, reference(), arms())
    found = [shape.quantities(arm.bytes_per_token) for shape, arm in zip(shapes, arms(), strict=True)]
    assert spread([each[MATCHES[match].quantity] for each in found]) <= MAX_SPREAD
    own = shapes[list(SIZES).index(1024)]
    # The baseline is its own match, whichever quantity is equal.
    assert (own.seq_len, own.batch_size, own.steps) == (256, 8, 900)
    assert own.model["d_model"] == 128 and own.model["d_ff"] == 352
    if match not in ("tokens", "params"):
        assert spread([each["context_bytes"] for each in found]) <= MAX_SPREAD
    if match == "tokens":
        assert {(shape.seq_len, shape.batch_size, shape.steps) for shape in shapes} == {(256, 8, 900)}
    if match in ("bytes", "body-params", "flops", "time", "tokens"):
        assert len({each["body_parameters"] for each in found}) == 1


def test_bytes_follow_the_formula_where_eights_agree() -> None:
    of = reference()
    arm = Candidate(3.25, {"n_vocab": 2048, "padded_vocab": 2048})
    (shape,) = plan("bytes", of, [arm])
    seq_len = round(of.context_bytes / 3.25 / 8) * 8
    assert shape.seq_len == seq_len == 208
    assert shape.batch_size == round(8 * of.context_bytes / (seq_len * 3.25))
    # An arm that eights miss by more than 1 % moves all arms to a finer multiple.
    pair = plan("bytes", of, [arm, Candidate(3.15, dict(arm.vocab))])
    assert [each.seq_len for each in pair] == [204, 212]


def test_flops_count_the_head() -> None:
    small, large = plan("bytes", reference(), arms([512, 4096]))
    assert small.flops > 1.1 * large.flops and small.steps == large.steps
    small, large = plan("flops", reference(), arms([512, 4096]))
    assert small.steps < large.steps
    per_token = {shape.counts().flops_per_token - 6 * 4 * 128 * shape.seq_len for shape in (small, large)}
    assert max(per_token) - min(per_token) == 6 * 128 * (4096 - 512)
    assert small.flops == pytest.approx(large.flops, rel=MAX_SPREAD)


def test_flops_that_whole_steps_cannot_match_name_enough_of_them() -> None:
    of = reference()
    short = replace(of, shape=replace(of.shape, steps=1))
    with pytest.raises(InvalidConfig, match="the flops of the arms differ by") as caught:
        plan("flops", short, arms([512, 4096]))
    found = re.fullmatch(r"budget='steps=(\d+)', or more", str(caught.value.fix))
    assert found
    plan("flops", replace(of, shape=replace(of.shape, steps=int(found[1]))), arms([512, 4096]))


def test_parameters_move_the_width_by_sixteens() -> None:
    shapes = plan("params", reference(), arms([512, 8192]))
    assert [shape.model["d_model"] % 16 for shape in shapes] == [0, 0]
    assert shapes[0].model["d_model"] > shapes[1].model["d_model"]
    assert {shape.model["n_layers"] for shape in shapes} == {4}
    totals = [shape.counts().parameters for shape in shapes]
    assert totals == pytest.approx([reference().shape.counts().parameters] * 2, rel=MAX_SPREAD)


def test_what_cannot_agree_is_refused() -> None:
    with pytest.raises(InvalidConfig, match=r"the bytes of the arms differ by \d"):
        plan("bytes", reference(batch_size=1, seq_len=8), arms())
    of = reference()
    with pytest.raises(InvalidConfig, match="no width gives"):
        plan(
            "params", replace(of, shape=replace(of.shape, model={**of.shape.model, "d_model": 16, "d_ff": 16})), arms()
        )


def test_all_arms_read_the_same_text_at_the_same_time() -> None:
    """The property of `data.options.shuffle_bytes`, on the first third of an epoch; without it, texts differ."""
    rng = np.random.default_rng(1)
    nbytes = rng.integers(200, 4000, 300)
    order = document_order(len(nbytes), 5, 0)
    edges = np.concatenate([[0], np.cumsum(nbytes[order])])

    def read(bytes_per_token: float, seq_len: int, unit: int) -> np.ndarray:
        from slmmodel.data.order import permute

        packing = Concat(np.ceil(nbytes / bytes_per_token).astype(np.int64), seq_len, order=order)
        first = packing.first_bytes(nbytes)
        assert (np.diff(first) > 0).all() and first[0] == 0 and first[-1] < edges[-1]
        taken = np.arange(len(packing))
        if unit:
            taken = np.argsort(permute(first // unit, int(nbytes.sum()) // unit + 1, 5, 0), kind="stable")
        else:
            taken = permute(taken, len(packing), 5, 0)
        marks = np.zeros(edges[-1], bool)
        for index in taken[: len(packing) // 3]:
            marks[first[index] : first[index] + round(seq_len * bytes_per_token)] = True
        return marks

    def shared(unit: int) -> float:
        a, b = read(2.0, 128, unit), read(3.2, 80, unit)
        return float((a & b).sum() / max(a.sum(), b.sum()))

    assert shared(256) > 0.8
    assert shared(0) < shared(256) - 0.1
