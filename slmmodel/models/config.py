"""`ModelConfig`: everything that decides the shape of a model, and the counts that follow from it. Torch-free.

On disk a configuration is one flat table: `arch`, the sizes, and the options of that architecture. `config_from_dict`
(in `slmmodel.models`) reads the table strictly (no unknown key, no wrong type) and fills in every default; `to_dict`
writes it with all defaults.

Letters: V vocabulary size, V' padded vocabulary size, T sequence length, d d_model, L layers, H query heads,
K key/value heads, h head dimension, F MLP width.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from slmmodel.errors import InvalidModelConfig, suggestion

MAX_SEQ_LEN = 1 << 20
"""Positions: the limit of `seq_len`. Rotary tables and masks of longer sequences would fill the memory."""


def derived() -> Any:
    """A field whose default depends on other fields; None in the table asks for the default."""
    return field(default=None, metadata={"derived": True})


class Sizes(NamedTuple):
    """Elements of the backbone: all parameters but embedding and head."""

    matrices: int
    """2-D hidden weights; each element is multiplied once per token"""
    vectors: int
    """norm weights and biases"""
    positions: int
    """learned positions"""
    attention: int
    """L H h, from which the cost of attention follows; 0 without attention"""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """What all architectures have in common. A subclass adds its own options, `sizes` and `diagram`."""

    arch: str
    n_vocab: int
    """ids are 0..n_vocab-1; logits have this many columns"""
    padded_vocab: int = derived()
    """rows of the embedding and of the head; default: n_vocab rounded up to a multiple of 64"""
    seq_len: int
    """longest sequence, and the number of learned positions"""
    n_layers: int
    d_model: int
    tie_embeddings: bool = True
    """the head is the embedding"""
    dropout: float = 0.0
    softcap: float | None = None
    """c: logits become c tanh(logits / c)"""

    recurrent: ClassVar[bool] = False
    """whether the state has a fixed size, so that sequences may be longer than seq_len"""

    def __post_init__(self) -> None:
        """Fills in the defaults and checks the sizes. Raises `InvalidModelConfig`."""
        self.default("padded_vocab", -(-self.n_vocab // 64) * 64)
        fact = f"n_vocab is {self.n_vocab}, padded_vocab {self.padded_vocab}"
        require(0 < self.n_vocab <= self.padded_vocab, fact)
        fact = f"seq_len is {self.seq_len:,}"
        require(0 < self.seq_len <= MAX_SEQ_LEN, fact, limit=f"1 to {MAX_SEQ_LEN:,}")
        self.at_least_1("n_layers", "d_model")
        require(0 <= self.dropout < 1, f"dropout is {self.dropout}", limit="0 <= dropout < 1")
        require(self.softcap is None or self.softcap > 0, f"softcap is {self.softcap}", limit="above 0")

    def default(self, name: str, value: object) -> None:
        """Sets a `derived` field that was left at None."""
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)

    def at_least_1(self, *names: str) -> None:
        """Raises `InvalidModelConfig` unless each of these fields is at least 1."""
        for name in names:
            require(getattr(self, name) > 0, f"{name} is {getattr(self, name)}", limit="at least 1")

    def sizes(self) -> Sizes:
        """Elements of the backbone."""
        raise NotImplementedError

    def diagram(self) -> str:
        """The model as a Mermaid flowchart."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The flat table with all defaults; `config_from_dict` of it is equal to this configuration."""
        return dataclasses.asdict(self)

    def replace(self, **changes: Any) -> ModelConfig:
        """This configuration with some keys of the flat table changed."""
        return read_config(type(self), {**self.to_dict(), **changes})


_DECODER_DEFAULTS: dict[str, dict[str, Any]] = {
    "llama": {"norm": "rms_norm", "positions": "rope", "mlp": "swiglu", "qk_norm": True},
    "gpt2": {"norm": "layer_norm", "positions": "learned", "mlp": "gelu", "qk_norm": False},
}
_CHOICES = {
    "norm": ("rms_norm", "layer_norm"),
    "positions": ("rope", "learned"),
    "mlp": ("swiglu", "relu2", "gelu", "gelu_tanh"),
    "attention": ("auto", "sdpa", "flex"),
}


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(ModelConfig):
    """Shape of a transformer decoder (`gpt.py`). `llama` and `gpt2` differ in defaults alone.

    `llama` (Touvron et al. 2023, with QK-norm as in Qwen3) reaches the lower loss; `gpt2` (Radford et al. 2019) is for
    comparisons with nanoGPT and llm.c.
    """

    n_heads: int
    n_kv_heads: int = derived()
    """default: n_heads"""
    head_dim: int = derived()
    """default: d_model / n_heads"""
    d_ff: int = derived()
    """width of the MLP; default: 4 d with GELU, else 8 d / 3 rounded up to 64, or to 32 below d = 256"""
    mlp: str = derived()
    """swiglu, relu2, gelu (exact) or gelu_tanh (as in the published GPT-2)"""
    norm: str = derived()
    """rms_norm or layer_norm"""
    positions: str = derived()
    """rope or learned"""
    qk_norm: bool = derived()
    """RMSNorm of queries and keys before the rotation"""
    rope_base: float = derived()
    """default: 10,000, or 100,000 from seq_len 2048 on; without effect on learned positions"""
    bias: bool = False
    """biases in projections and LayerNorms"""
    window: int | None = None
    """sliding-window attention: a query attends to this many positions, its own included; None: to all before it"""
    activation_checkpointing: bool = False
    """recompute activations in the backward pass instead of storing them"""
    attention: str = "auto"
    """sdpa, flex, or auto: FlexAttention for long masked rows on CUDA, else SDPA"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in _DECODER_DEFAULTS[self.arch].items():
            self.default(name, value)
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            require(value in choices, f"{name} is {value!r}", limit=", ".join(choices))
        self.at_least_1("n_heads")
        self.default("n_kv_heads", self.n_heads)
        even = self.n_kv_heads > 0 and self.n_heads % self.n_kv_heads == 0
        require(even, f"{self.n_heads} heads do not share {self.n_kv_heads} key/value heads evenly")
        if self.head_dim is None:
            fact = f"d_model {self.d_model} does not divide into {self.n_heads} heads"
            require(self.d_model % self.n_heads == 0, fact, fix="set model.head_dim")
        self.default("head_dim", self.d_model // self.n_heads)
        even = self.head_dim > 0 and (self.head_dim % 2 == 0 or self.positions == "learned")
        require(even, f"head_dim is {self.head_dim}", limit="even, for rotary positions")
        multiple = 64 if self.d_model >= 256 else 32
        gated = -(-8 * self.d_model // (3 * multiple)) * multiple
        self.default("d_ff", 4 * self.d_model if self.mlp.startswith("gelu") else gated)
        self.default("rope_base", 100_000.0 if self.seq_len >= 2048 else 10_000.0)
        self.at_least_1("d_ff", *([] if self.window is None else ["window"]))
        require(self.rope_base > 0, f"rope_base is {self.rope_base}", limit="above 0")

    def sizes(self) -> Sizes:
        """Per layer: matrices 2dHh + 2dKh + 2dF (SwiGLU: 3dF), two norms, QK-norm, biases where `bias` is set."""
        d, heads, kv = self.d_model, self.n_heads * self.head_dim, self.n_kv_heads * self.head_dim
        gate = 1 if self.mlp == "swiglu" else 0
        matrices = 2 * d * (heads + kv) + (2 + gate) * d * self.d_ff
        norm = d * (2 if self.norm == "layer_norm" and self.bias else 1)
        biases = heads + 2 * kv + d + (1 + gate) * self.d_ff + d if self.bias else 0
        vectors = 2 * norm + (2 * self.head_dim if self.qk_norm else 0) + biases
        positions = self.seq_len * d if self.positions == "learned" else 0
        return Sizes(self.n_layers * matrices, self.n_layers * vectors + norm, positions, self.n_layers * heads)

    def diagram(self) -> str:
        """The model as a Mermaid flowchart."""
        from slmmodel.models.diagram import decoder_diagram

        return decoder_diagram(self)


GATES = {"rnn": 1, "gru": 3, "lstm": 4}
"""Matrices of a cell for each of its two inputs; torch stacks them in one parameter."""


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(ModelConfig):
    """Shape of an `lstm`, `gru` or `rnn` (`rnn.py`). `dropout` is applied between layers."""

    hidden_size: int
    """of the cells"""

    recurrent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least_1("hidden_size")

    def sizes(self) -> Sizes:
        """Per layer gates x hidden x (inputs + hidden) and two biases; the projection to d_model; the final norm."""
        rows = GATES[self.arch] * self.hidden_size
        inputs = self.d_model + (self.n_layers - 1) * self.hidden_size
        matrices = rows * (inputs + self.n_layers * self.hidden_size) + self.hidden_size * self.d_model
        return Sizes(matrices, 2 * rows * self.n_layers + self.d_model, 0, 0)

    def diagram(self) -> str:
        """The model as a Mermaid flowchart."""
        from slmmodel.models.diagram import recurrent_diagram

        return recurrent_diagram(self)


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

    FLOPs per token are 6 (matrices + V' d) + 6 L H h T: two per multiplication forward, four backward, and attention
    to half of the sequence on average (Kaplan et al. 2020, with the causal half not computed).
    """
    sizes = config.sizes()
    table = config.padded_vocab * config.d_model
    embedding = table * (1 if config.tie_embeddings else 2)
    return Counts(
        parameters=sizes.matrices + sizes.vectors + sizes.positions + embedding,
        embedding=embedding,
        matrices=sizes.matrices,
        flops_per_token=6 * (sizes.matrices + table) + 6 * sizes.attention * config.seq_len,
    )


def require(condition: bool, fact: str, *, limit: str | None = None, fix: str | None = None) -> None:
    """Raises `InvalidModelConfig` with these parts unless the condition holds."""
    if not condition:
        fix = fix or "set it within the limit, or leave it to the preset"
        raise InvalidModelConfig(fact, where="model", limit=limit, fix=fix)


_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "str": (str,),
    "int | None": (int, type(None)),
    "float | None": (float, int, type(None)),
}


def read_config(cls: type[ModelConfig], table: Mapping[str, Any]) -> ModelConfig:
    """`cls(**table)` with every key and type checked. Raises `InvalidModelConfig`, which names the nearest key."""
    fields = {item.name: item for item in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in fields:
            raise _unknown_key(name, fields)
        declared = str(fields[name].type)
        allowed = _TYPES[declared] + ((type(None),) if fields[name].metadata.get("derived") else ())
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            expected = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a word"}
            raise InvalidModelConfig(
                f"model.{name} is {value!r}, not {expected[declared.partition(' ')[0]]}",
                where="model",
                fix="set a value of that type, or leave it to the preset",
            )
        values[name] = float(value) if declared.startswith("float") and isinstance(value, int) else value
    missing = [name for name, item in fields.items() if name not in table and item.default is dataclasses.MISSING]
    if missing:
        raise InvalidModelConfig(f"model lacks {', '.join(missing)}", where="model", fix="name a preset, or set them")
    return cls(**values)


def _unknown_key(name: str, fields: Mapping[str, object]) -> InvalidModelConfig:
    near = suggestion(name, fields)
    return InvalidModelConfig(
        f"unknown setting 'model.{name}'" + (f"; did you mean 'model.{near}'?" if near else ""),
        limit=f"settings: {', '.join(fields)}",
        fix=f"use 'model.{near}'" if near else "remove it",
        where="model",
        key=name,
    )
