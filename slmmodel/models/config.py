"""`ModelConfig`: everything that decides the shape of a model, and the counts that follow from it. Torch-free.

On disk a configuration is one flat table: `arch`, the sizes, and the options of that architecture. `config_from_dict`
(in `slmmodel.models`) reads the table strictly (no unknown key, no wrong type) and fills in every default; `model_dump`
writes it with all defaults.

Letters: V vocabulary size, V' padded vocabulary size, T sequence length, d d_model, L layers, H query heads,
K key/value heads, h head dimension, F MLP width.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

from slmmodel.errors import Argument, Fix, InvalidConfig
from slmmodel.indexing import explains_indexing
from slmmodel.sizes import MAX_SEQ_LEN, ceil_div, round_up

_MAX_PROPOSED_HEADS = 1 << 12
"""The most heads that a fix may propose."""


Scale = Annotated[float, Field(ge=1e-6, le=1e6)]
"""Of logits or weights, whose products and quotients with it stay finite in float32."""


def derived(default: Callable[[dict[str, Any]], Any]) -> Any:
    """A field whose default follows from the fields above it."""
    return Field(default_factory=default)


LEAVE_IT = "set it within the limit, or leave it to the preset"


def require(condition: bool, fact: str, *, limit: str | None = None, fix: Fix = LEAVE_IT) -> None:
    """Raises `InvalidConfig` with these parts unless the condition holds."""
    if not condition:
        raise InvalidConfig(fact, where="model", limit=limit, fix=fix)


@explains_indexing
class Sizes(NamedTuple):
    """Elements of the backbone: all parameters but embedding and head."""

    matrices: int
    """2-D hidden weights; each element is multiplied once per token"""
    vectors: int
    """norm weights and biases"""
    positions: int
    """learned positions"""
    attention_flops: int
    """operations of attention per token, forward and backward, over a full sequence; 0 without attention"""


class ModelConfig(BaseModel):
    """What all architectures have in common. A subclass adds options and `sizes`, and registers a `diagram`."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    arch: str
    """one of llama, gpt2, infini, lstm, gru and rnn"""
    n_vocab: PositiveInt
    """ids are 0..n_vocab-1; logits have this many columns"""
    padded_vocab: int = derived(lambda config: round_up(config["n_vocab"], 64))
    """rows of the embedding and of the head"""
    seq_len: int = Field(gt=0, le=MAX_SEQ_LEN)
    """longest sequence, and the number of learned positions"""
    n_layers: PositiveInt
    """blocks of a transformer, or layers of cells"""
    d_model: PositiveInt
    """width of the embedding and of the residual stream"""
    tie_embeddings: bool = True
    """the head is the embedding"""
    dropout: float = Field(0.0, ge=0, lt=1)
    """share of activations that a training step sets to zero"""
    softcap: Scale | None = None
    """limit c of logits, which become c tanh(logits / c)"""

    recurrent: ClassVar[bool] = False
    """whether a row is read id by id, so that it cannot hold padding or several documents"""
    unbounded: ClassVar[bool] = False
    """whether the state has a fixed size, so that sequences may be longer than seq_len"""

    @property
    def max_context(self) -> int:
        """Ids of one sequence that the model can read: `seq_len`, or `sys.maxsize` where the state has a fixed size."""
        return sys.maxsize if self.unbounded else self.seq_len

    @property
    def carries_state(self) -> bool:
        """Whether `data.pack: stateful` hands a state from step to step: whether `Model.init_hidden` gives tensors."""
        return self.recurrent

    @model_validator(mode="after")
    def _check_vocab(self) -> ModelConfig:
        require(self.n_vocab <= self.padded_vocab, f"n_vocab is {self.n_vocab}, padded_vocab {self.padded_vocab}")
        return self

    def sizes(self) -> Sizes:
        """Elements of the backbone."""
        raise NotImplementedError


def _by_arch(llama: Any, gpt2: Any) -> Any:
    return derived(lambda config: gpt2 if config["arch"] == "gpt2" else llama)


def _d_ff(config: dict[str, Any]) -> int:
    d = config["d_model"]
    return 4 * d if config["mlp"].startswith("gelu") else round_up(ceil_div(8 * d, 3), 64 if d >= 256 else 32)


class TransformerConfig(ModelConfig):
    """The blocks that `gpt.py` and `infini.py` share: norms, heads of attention, MLP."""

    n_heads: PositiveInt
    """query heads of attention"""
    n_kv_heads: PositiveInt = derived(lambda config: config["n_heads"])
    """key/value heads, which query heads share evenly; default: n_heads"""
    head_dim: PositiveInt = derived(lambda config: config["d_model"] // config["n_heads"])
    """width of a head; default: d_model / n_heads"""
    mlp: Literal["swiglu", "relu2", "gelu", "gelu_tanh"] = _by_arch("swiglu", "gelu")
    """activation of the MLP; gelu is exact, gelu_tanh as in the published GPT-2; default: gelu for gpt2, else swiglu"""
    d_ff: PositiveInt = derived(_d_ff)
    """width of the MLP; default: 4 d with GELU, else 8 d / 3 rounded up to 64, or to 32 below d = 256"""
    norm: Literal["rms_norm", "layer_norm"] = _by_arch("rms_norm", "layer_norm")
    """default: layer_norm for gpt2, else rms_norm"""
    qk_norm: bool = _by_arch(True, False)
    """RMSNorm of queries and keys before the rotation; default: not for gpt2"""
    rope_base: PositiveFloat = derived(lambda config: 100_000.0 if config["seq_len"] >= 2048 else 10_000.0)
    """base of rotary positions; default: 10,000, or 100,000 for seq_len >= 2048"""
    bias: bool = False
    """biases in projections and LayerNorms"""
    activation_checkpointing: bool = False
    """recompute activations in the backward pass instead of storing them"""

    @model_validator(mode="after")
    def _check_heads(self) -> TransformerConfig:
        kv, is_free = self.n_kv_heads, "head_dim" in self.model_fields_set
        width = Argument("model.d_model", round_up(self.d_model, 2 * self.n_heads))
        fact = f"{self.n_heads} heads do not share {kv} key/value heads evenly"
        most = min(self.d_model, _MAX_PROPOSED_HEADS)
        fitting = [n for n in range(kv, most + 1, kv) if is_free or self.d_model % (2 * n) == 0]
        nearest = min(fitting, key=lambda n: abs(n - self.n_heads), default=None)
        needed = () if is_free or width.value == self.d_model else (" ", width)
        grouped = (Argument("model.n_kv_heads", self.n_heads), *needed)
        fix: Fix = grouped
        if nearest is not None:
            fix = (Argument("model.n_heads", nearest),)
            if self.n_heads <= _MAX_PROPOSED_HEADS:
                # With the number of heads, the settings may stand in the place of the given one.
                fix += (f"; for {self.n_heads} heads ", Argument("model.n_heads", self.n_heads), " ", *grouped)
        require(self.n_heads % kv == 0, fact, limit="n_heads is a multiple of n_kv_heads", fix=fix)
        fact = f"d_model {self.d_model} does not divide into {self.n_heads} heads"
        fix = (width, ", or ", Argument("model.head_dim", max(2, self.d_model // self.n_heads // 2 * 2)))
        limit = "d_model is n_heads times head_dim, where that is not set"
        require(is_free or self.d_model % self.n_heads == 0, fact, limit=limit, fix=fix)
        even = self.head_dim % 2 == 0 or not self.has_rope
        fix = (Argument("model.head_dim", self.head_dim + 1) if is_free else width,)
        require(even, f"head_dim is {self.head_dim}", limit="even, for rotary positions", fix=fix)
        return self

    def sizes(self) -> Sizes:
        """Per layer: matrices 2dHh + 2dKh + 2dF (SwiGLU: 3dF), two norms, QK-norm, biases where `bias` is set.

        Attention over `attention_span` positions takes 6 H h of them: to half of them on average.
        """
        d, heads, kv = self.d_model, self.n_heads * self.head_dim, self.n_kv_heads * self.head_dim
        gate = 1 if self.mlp == "swiglu" else 0
        matrices = 2 * d * (heads + kv) + (2 + gate) * d * self.d_ff
        norm = d * (2 if self.norm == "layer_norm" and self.bias else 1)
        biases = heads + 2 * kv + d + (1 + gate) * self.d_ff + d if self.bias else 0
        vectors = 2 * norm + (2 * self.head_dim if self.qk_norm else 0) + biases
        attention = 6 * self.n_layers * heads * self.attention_span
        return Sizes(self.n_layers * matrices, self.n_layers * vectors + norm, 0, attention)

    @property
    def has_rope(self) -> bool:
        """Whether positions are rotary."""
        return True

    @property
    def attention_span(self) -> int:
        """Positions over which causal attention is computed."""
        return self.seq_len


class DecoderConfig(TransformerConfig):
    """Shape of a transformer decoder (`gpt.py`). `llama` and `gpt2` differ in defaults alone.

    `llama` (Touvron et al. 2023, with QK-norm as in Qwen3) reaches the lower loss; `gpt2` (Radford et al. 2019) is for
    comparisons with nanoGPT and llm.c.
    """

    positions: Literal["rope", "learned"] = _by_arch("rope", "learned")
    """rotary or learned; default: learned for gpt2, else rope"""
    window: PositiveInt | None = None
    """sliding-window attention: a query attends to this many positions, its own included; None: to all before it"""
    attention: Literal["auto", "sdpa", "flex"] = "auto"
    """kernel; auto: FlexAttention for long masked rows on CUDA, else SDPA; training with dropout always uses SDPA"""

    @property
    def has_rope(self) -> bool:
        """Whether positions are rotary."""
        return self.positions == "rope"

    def sizes(self) -> Sizes:
        """With learned positions."""
        positions = self.seq_len * self.d_model if self.positions == "learned" else 0
        return super().sizes()._replace(positions=positions)


class InfiniConfig(TransformerConfig):
    """Shape of an `infini` (`infini.py`): attention within segments, and a compressive memory of those before.

    Munkhdalai et al. 2024. `gate`, `gate_init` and `init_std` are what published experiments varied.
    """

    segment: PositiveInt = 64
    """positions of a segment, within which attention is computed; the last one of a sequence may be shorter"""
    memory: Literal["off", "linear", "delta"] = "delta"
    """what a segment adds to the memory: all its values, or what the memory does not yet return; off: no memory"""
    gate: Literal["sigmoid", "hard_sigmoid", "tanh", "tanh_abs"] = "sigmoid"
    """maps the parameter of a query head to the weight of the memory; hard_sigmoid: 0.2 x + 0.5 within 0 and 1"""
    gate_init: Literal["zeros", "randn"] = "zeros"
    """initial parameters of the gates: 0, or drawn from N(0, 1)"""
    positions: Literal["restart", "continue"] = "restart"
    """rotary positions: 0 at each segment, or running on; equal up to rounding, since attention stays in a segment"""
    rope_base: PositiveFloat = 10_000.0
    """base of rotary positions"""
    bptt_segments: PositiveInt | None = None
    """gradients pass through the memory within groups of this many segments; None: through all"""
    init_std: Scale | None = None
    """standard deviation of initial matrices, embeddings and head, divided by sqrt(2 L) for projections into the
    residual stream; None: the rule of all architectures"""

    unbounded: ClassVar[bool] = True

    @model_validator(mode="after")
    def _check_segments(self) -> InfiniConfig:
        fact = f"segment {self.segment} is larger than seq_len {self.seq_len}, so the memory is never read"
        fix: Fix = (Argument("model.segment", max(self.seq_len // 16, 1)), ", or another model.seq_len")
        require(self.segment <= self.seq_len, fact, limit="at least 16 segments a sequence train the gates", fix=fix)
        fact = "gate tanh_abs with gate_init zeros has gradient 0, so the gates never move"
        require((self.gate, self.gate_init) != ("tanh_abs", "zeros"), fact, fix=(Argument("model.gate_init", "randn"),))
        return self

    @property
    def carries_state(self) -> bool:
        """Whether there is a memory."""
        return self.memory != "off"

    @property
    def attention_span(self) -> int:
        """One segment."""
        return min(self.segment, self.seq_len)

    def sizes(self) -> Sizes:
        """With one gate per layer and query head, and per token H h^2 for reading and K h^2 for writing the memory.

        The delta rule reads each key once more: another K h^2.
        """
        sizes = super().sizes()
        if self.memory == "off":
            return sizes
        products = self.n_heads + self.n_kv_heads * (2 if self.memory == "delta" else 1)
        memory = 6 * self.n_layers * products * self.head_dim**2
        vectors = sizes.vectors + self.n_layers * self.n_heads
        return sizes._replace(vectors=vectors, attention_flops=sizes.attention_flops + memory)


MATRICES_PER_CELL = {"rnn": 1, "gru": 3, "lstm": 4}
"""Matrices of a cell for each of its two inputs; torch stacks them in one parameter."""


class RecurrentConfig(ModelConfig):
    """Shape of an `lstm`, `gru` or `rnn` (`rnn.py`). `dropout` is applied between layers."""

    hidden_size: PositiveInt
    """width of the cells"""

    recurrent: ClassVar[bool] = True
    unbounded: ClassVar[bool] = True

    def sizes(self) -> Sizes:
        """Per layer gates x hidden x (inputs + hidden) and two biases; the projection to d_model; the final norm."""
        rows = MATRICES_PER_CELL[self.arch] * self.hidden_size
        inputs = self.d_model + (self.n_layers - 1) * self.hidden_size
        matrices = rows * (inputs + self.n_layers * self.hidden_size) + self.hidden_size * self.d_model
        return Sizes(matrices, 2 * rows * self.n_layers + self.d_model, 0, 0)


@explains_indexing
@dataclass(frozen=True)
class Counts:
    """Parameters and floating-point operations of a model."""

    parameters: int
    """all trained elements, padded rows included"""
    embedding: int
    """elements of the embedding, and of the head where it is not the embedding"""
    matrices: int
    """elements of the 2-D weights of the backbone"""
    flops_per_token: int
    """forward and backward, head included, causal attention over a full sequence, masks not subtracted"""

    @property
    def embedding_share(self) -> float:
        """Embedding (and head) as a share of all parameters."""
        return self.embedding / self.parameters


def count(config: ModelConfig) -> Counts:
    """The counts of a configuration; nothing is built.

    FLOPs per token are 6 (matrices + V' d), two per multiplication forward and four backward, and those of attention:
    in a decoder 6 L H h T (Kaplan et al. 2020, with the causal half not computed).
    """
    sizes = config.sizes()
    table = config.padded_vocab * config.d_model
    embedding = table * (1 if config.tie_embeddings else 2)
    return Counts(
        parameters=sizes.matrices + sizes.vectors + sizes.positions + embedding,
        embedding=embedding,
        matrices=sizes.matrices,
        flops_per_token=6 * (sizes.matrices + table) + sizes.attention_flops,
    )
