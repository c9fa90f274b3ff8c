"""What an ablation holds equal over its arms: `MATCHES`, by the name that `--match` takes.

A match turns the run of the baseline into the size and length of every arm's run. To add one, write its function and
its line in `MATCHES`. Lengths of sequences are multiples of 8 where the arms then agree within 1 %, else of 4, 2 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from slmmodel.errors import Argument, Fix, InvalidConfig
from slmmodel.models import Counts, ModelConfig, config_from_dict, count

MAX_SPREAD = 0.01
"""Of the matched quantity over the arms: largest over smallest, less 1."""
MULTIPLES = (8, 4, 2, 1)
WIDTH_MULTIPLE = 16


@dataclass(frozen=True)
class Shape:
    """The run of one arm: its model, and how much it reads."""

    model: Mapping[str, Any]
    """the flat table of `ModelConfig`"""
    batch_size: int
    steps: int
    seconds_per_step: float | None = None
    """measured; only for the match `time`"""

    @property
    def seq_len(self) -> int:
        """Tokens of a sequence."""
        return int(self.model["seq_len"])

    @property
    def tokens_per_step(self) -> int:
        """Tokens of a step, padding included."""
        return self.batch_size * self.seq_len

    @property
    def tokens(self) -> int:
        """Tokens of the run."""
        return self.steps * self.tokens_per_step

    def config(self) -> ModelConfig:
        """The model's configuration."""
        return config_from_dict(self.model)

    def counts(self) -> Counts:
        """Parameters and operations of the model."""
        return count(self.config())

    @property
    def flops(self) -> float:
        """Operations of training, head included."""
        return float(self.tokens) * self.counts().flops_per_token

    def quantities(self, bytes_per_token: float) -> dict[str, float]:
        """What a match may hold equal; `bytes` by the mean of the training text."""
        counts = self.counts()
        found = {
            "bytes": self.tokens * bytes_per_token,
            "context_bytes": self.seq_len * bytes_per_token,
            "tokens": float(self.tokens),
            "flops": self.flops,
            "parameters": float(counts.parameters),
            "body_parameters": float(counts.parameters - counts.embedding),
        }
        return found | ({} if self.seconds_per_step is None else {"seconds": self.steps * self.seconds_per_step})


@dataclass(frozen=True)
class Candidate:
    """An arm as a match sees it."""

    bytes_per_token: float
    """of the training text"""
    vocab: Mapping[str, int]
    """`n_vocab` and `padded_vocab`"""


@dataclass(frozen=True)
class Reference:
    """The run of the baseline, which the other arms are matched with."""

    shape: Shape
    bytes_per_token: float
    multiple: int = MULTIPLES[0]
    seconds: Callable[[Candidate, Shape], float] = field(default=lambda candidate, shape: 0.0)
    """Seconds of a step, measured; the match `time` alone asks."""

    @property
    def context_bytes(self) -> float:
        """Bytes that a sequence of the baseline reads."""
        return self.shape.seq_len * self.bytes_per_token


Planner = Callable[[Reference, Candidate], Shape]


class Match(NamedTuple):
    """A way to match arms."""

    quantity: str
    """The key of `Shape.quantities` that is equal."""
    equal: str
    differs: str
    plan: Planner
    equal_context: bool = True
    """Whether sequences read equally many bytes."""


def _same_bytes(reference: Reference, arm: Candidate, body: Mapping[str, Any] | None = None) -> Shape:
    """Equal bytes of a sequence and of a step, and equally many steps."""
    multiple, bpt = reference.multiple, arm.bytes_per_token
    seq_len = max(multiple, round(reference.context_bytes / bpt / multiple) * multiple)
    bytes_per_step = reference.shape.batch_size * reference.context_bytes
    batch_size = max(1, round(bytes_per_step / (seq_len * bpt)))
    model = {**(body or reference.shape.model), **arm.vocab, "seq_len": seq_len}
    return Shape(model, batch_size, reference.shape.steps)


def _same_flops(reference: Reference, arm: Candidate) -> Shape:
    shape = _same_bytes(reference, arm)
    per_step = shape.tokens_per_step * shape.counts().flops_per_token
    return Shape(shape.model, shape.batch_size, max(1, round(reference.shape.flops / per_step)))


def _same_tokens(reference: Reference, arm: Candidate) -> Shape:
    shape = reference.shape
    return Shape({**shape.model, **arm.vocab}, shape.batch_size, shape.steps)


def _same_time(reference: Reference, arm: Candidate) -> Shape:
    shape, per_step = _same_bytes(reference, arm), reference.shape.seconds_per_step
    assert per_step is not None
    seconds, spent = reference.shape.steps * per_step, reference.seconds(arm, shape)
    return Shape(shape.model, shape.batch_size, max(1, round(seconds / spent)), spent)


def _same_parameters(reference: Reference, arm: Candidate) -> Shape:
    """Depth is fixed; the width is a multiple of 16, and the MLP takes up what is left."""
    model, wanted = dict(reference.shape.model), reference.shape.counts().parameters
    if "d_ff" not in model:
        raise InvalidConfig(
            f"the match params moves d_ff, which a {model['arch']} does not have",
            limit="architectures with an MLP: llama, gpt2, infini",
            fix=(Argument("match", "body-params"),),
            option="match",
        )
    ratio, heads = model["d_ff"] / model["d_model"], int(model["n_heads"])
    found: list[tuple[float, dict[str, Any]]] = []
    for d_model in range(WIDTH_MULTIPLE, 2 * int(model["d_model"]) + 1, WIDTH_MULTIPLE):
        if d_model % heads or (d_model // heads) % 2:
            continue
        body = {**model, **arm.vocab, "d_model": d_model, "head_dim": d_model // heads}
        smallest, one = (count(config_from_dict({**body, "d_ff": d_ff})).parameters for d_ff in (1, 2))
        d_ff = 1 + round((wanted - smallest) / (one - smallest))
        if d_ff >= d_model:
            found.append((abs(d_ff / d_model - ratio), {**body, "d_ff": d_ff}))
    if not found:
        raise InvalidConfig(
            f"no width gives {wanted:,} parameters with a vocabulary of {arm.vocab['n_vocab']:,}",
            limit="the embedding alone takes most of them",
            fix=(Argument("match", "body-params"), ", or a larger model"),
            option="match",
        )
    return _same_bytes(reference, arm, min(found, key=lambda each: each[0])[1])


_AS_BYTES = "bytes of a step, bytes of context, steps"
MATCHES: dict[str, Match] = {
    "bytes": Match("bytes", f"{_AS_BYTES}, all bytes read", "tokens, FLOPs, parameters of the embedding", _same_bytes),
    "flops": Match("flops", "FLOPs of training with the head, bytes of context", "bytes read, steps", _same_flops),
    "params": Match("parameters", f"all parameters, {_AS_BYTES}", "width of the body, FLOPs", _same_parameters),
    "body-params": Match("body_parameters", f"parameters without embeddings, {_AS_BYTES}", "embedding", _same_bytes),
    "tokens": Match(
        "tokens",
        "tokens of a step and in all, tokens of context",
        "bytes read, which favours long tokens,",
        _same_tokens,
        False,
    ),
    "time": Match("seconds", "seconds of training on this machine, bytes of context", "everything else", _same_time),
}


def plan(name: str, reference: Reference, arms: Sequence[Candidate]) -> list[Shape]:
    """The runs of all arms. Raises `InvalidConfig` where they cannot agree within 1 %."""
    match = MATCHES[name]
    for multiple in MULTIPLES:
        aligned = Reference(reference.shape, reference.bytes_per_token, multiple, reference.seconds)
        shapes = [match.plan(aligned, arm) for arm in arms]
        found = [shape.quantities(arm.bytes_per_token) for shape, arm in zip(shapes, arms, strict=True)]
        off = spread([each[match.quantity] for each in found])
        context = spread([each["context_bytes"] for each in found]) if match.equal_context else 0.0
        if max(off, context) <= MAX_SPREAD:
            return shapes
    fix: Fix = (Argument("model.seq_len", 2 * reference.shape.seq_len), ", or more tokens a step or a longer run")
    if context <= MAX_SPREAD and match.plan in _BY_STEPS:
        fix = (Argument("budget", f"steps={_steps_to_agree(match.quantity, reference, shapes, found)}"), ", or more")
    raise InvalidConfig(
        f"the {match.quantity.replace('_', ' ')} of the arms differ by {max(off, context):.1%}",
        where=f"sequences of {', '.join(str(shape.seq_len) for shape in shapes)} ids",
        limit=f"{MAX_SPREAD:.0%}, with whole ids and whole sequences",
        fix=fix,
        option="match",
    )


_BY_STEPS = (_same_flops, _same_time)
"""Matches of whole steps, which agree in a run that is long enough."""


def _steps_to_agree(
    quantity: str, reference: Reference, shapes: Sequence[Shape], found: Sequence[Mapping[str, float]]
) -> int:
    """Steps of the baseline from which half a step of each arm is at most half of `MAX_SPREAD`."""
    wanted = reference.shape.quantities(reference.bytes_per_token)[quantity]
    fewest = min(shape.steps * wanted / each[quantity] for shape, each in zip(shapes, found, strict=True))
    return math.ceil(reference.shape.steps / (MAX_SPREAD * fewest))


def spread(values: Sequence[float]) -> float:
    """How much the largest exceeds the smallest."""
    return max(values) / min(values) - 1 if min(values) > 0 else float("inf")
