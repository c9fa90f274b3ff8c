"""The protocol that loss, sampler and trainer rely on, for every architecture: `Model`, `Output`, `State`.

Letters: B batch size, T sequence length, V vocabulary size, V' padded vocabulary size, d d_model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from slmmodel.calls import LOSS, explains_calls
from slmmodel.checks import refuse_column
from slmmodel.errors import Argument, InvalidInput, WrongType, unknown_name, with_import
from slmmodel.models.config import ModelConfig
from slmmodel.torch_state import own_torch_state

Logits = Literal["all", "last", "none"]
Forward = TypeVar("Forward", bound=Callable[..., Any])
Fields = TypeVar("Fields", bound=type)


class State(ABC):
    """What decoding keeps of each sequence. Methods change the state in place, without gradients."""

    length: Tensor
    """int64 [B]: ids processed, padding excluded; the position of the next id"""

    @abstractmethod
    def reorder(self, rows: Tensor) -> None:
        """Row i becomes the former row `rows[i]`; int64 [B2], so the batch size may change."""

    def repeat(self, times: int) -> None:
        """Repeats each row `times` times, copies adjacent."""
        rows = torch.arange(len(self.length), device=self.length.device)
        self.reorder(rows.repeat_interleave(times))

    @abstractmethod
    def truncate(self, length: int) -> None:
        """Drops all ids at positions >= `length`. Raises `InvalidInput` where that is not possible exactly."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """All tensors of the state by name."""

    def nbytes(self) -> int:
        """Bytes of all tensors of the state."""
        return sum(tensor.nbytes for tensor in self.tensors().values())


class CarriedState(Protocol):
    """What truncated BPTT carries from step to step; it need not decode.

    A training step begins from the tensors before its rows, and its forward pass leaves those behind them.
    """

    hidden: tuple[Tensor, ...]
    """[L, B, ...]"""
    length: Tensor
    """As in `State`."""


AnyState = State | CarriedState


_FILLED = "state = run.model.init_state(len(ids), ids.device); run.model(ids, state=state) fills it"
_OF_OTHER_OUTPUTS = {
    "loss": f"{LOSS}, the mean in nats",
    **dict.fromkeys(("last_hidden_state", "hidden_states", "last_hidden_states"), "out.hidden, of the output out"),
    **dict.fromkeys(("past_key_values", "past_key_value", "cache"), _FILLED),
    **dict.fromkeys(("keys", "values", "items", "to_tuple"), "out._asdict(), of the output out"),
    **dict.fromkeys(("argmax", "softmax", "log_softmax", "shape", "dtype", "device"), "out.logits, of the output out"),
}
"""What outputs of models of other libraries have, each with what stands for it here."""


def _absent(output: tuple[object, ...], name: str) -> object:
    """Raises `AttributeError` for an attribute that an output has not, with what stands for it."""
    fact = f"{type(output).__name__!r} object has no attribute {name!r}"
    if name in _OF_OTHER_OUTPUTS:
        fact += f"\n  limit: an output has logits, hidden and state\n  fix:   {_OF_OTHER_OUTPUTS[name]}"
    raise AttributeError(fact, name=name, obj=None if name in _OF_OTHER_OUTPUTS else output)


def _item(output: tuple[object, ...], key: Any) -> Any:
    """A field by its number. Raises `WrongType` for a name, as outputs of other libraries take."""
    if not isinstance(key, str):
        return tuple.__getitem__(output, key)
    known = ("logits", "hidden", "state")
    fix = f"out.{key}, of the output out" if key in known else _OF_OTHER_OUTPUTS.get(key, "out.logits, for instance")
    raise WrongType(f"an output has no keys, such as {key!r}", limit=f"attributes: {', '.join(known)}", fix=fix)


def _explains_fields(target: Fields) -> Fields:
    """Decorates a named tuple: a field that it has not, or a name as its key, is answered by what stands for it.

    Type checkers keep their errors, as they would not with the methods in the class.
    """
    for name, method in (("__getattr__", _absent), ("__getitem__", _item)):
        setattr(target, name, method)
    return target


@_explains_fields
class Output(NamedTuple):
    """The result of `Model.forward`."""

    logits: Tensor | None
    """[B, T, V], [B, 1, V] or None, as `logits` asked; never V' columns"""
    hidden: Tensor
    """[B, T, d] after the final norm: the vectors that the head multiplies"""
    state: AnyState | None
    """the state that was passed in, updated"""


_ID_DTYPES = (torch.int64, torch.int32)
_GENERATE = "run.generate(ids) of a run; of a model, slmmodel.generation.generate(model, ids.tolist())"
_CALLS_ELSEWHERE = {
    **dict.fromkeys(("generate", "sample", "predict"), _GENERATE),
    **dict.fromkeys(("encode", "decode", "tokenizer"), "slmmodel.app.load(path).tokenizer"),
    **dict.fromkeys(("save", "save_pretrained", "push_to_hub"), "slm export RUN -o NEW in a shell, for Hugging Face"),
    "from_pretrained": "slmmodel.load(path).model, of a run of slm train",
}
"""Attributes of models in other libraries, each with what stands for it."""


def check_batch(ids: object, n_vocab: int) -> None:
    """Raises `WrongType` unless `ids` are a tensor [B, T] of int64 or int32, `InvalidInput` for unknown ids.

    Ids on other devices are not read, which would wait for them.
    """
    if not isinstance(ids, Tensor) or ids.ndim != 2 or ids.dtype not in _ID_DTYPES:
        raise _no_batch(ids)
    if not ids.numel():
        raise InvalidInput(f"ids of shape {list(ids.shape)} hold no id", fix="a batch of one row and one id, or more")
    if ids.device.type == "cpu":
        low, high = (int(end) for end in ids.aminmax())
        if low < 0 or high >= n_vocab:
            limit, fix = f"ids 0 to {n_vocab - 1}", "encode the text with the tokenizer of the run"
            raise InvalidInput(f"the model has no id {low if low < 0 else high}", limit=limit, fix=fix)


def check_columns(name: str, given: object, ids: Tensor, without: str) -> None:
    """Raises `WrongType` unless `given`, an argument that may be None, has an integer for each of the ids.

    One row for all rows is enough. `without`: what the model does without the argument.
    """
    if given is None or (
        isinstance(given, Tensor)
        and not (given.is_floating_point() or given.is_complex() or given.dtype == torch.bool)
        and 1 <= given.ndim <= 2
        and given.shape[-1] == ids.shape[1]
        and (given.ndim == 1 or given.shape[0] in (1, len(ids)))
    ):
        return
    limit = f"an int64 tensor of the shape of the ids, {list(ids.shape)}"
    raise WrongType(f"{name} {_are(given)}", limit=limit, fix=f"leave {name} out: {without}")


def _check_hidden(given: object, d_model: int) -> None:
    """Raises `WrongType` unless `given` are vectors of the model."""
    if isinstance(given, Tensor) and given.is_floating_point() and given.shape[-1:] == (d_model,):
        return
    limit = f"vectors [..., {d_model}], such as the hidden of an output"
    raise WrongType(
        f"hidden {_are(given)}", limit=limit, fix="run.model(ids).logits, which unembeds run.model(ids).hidden"
    )


def _are(given: object) -> str:
    """What a value is, behind the name of an argument."""
    if isinstance(given, Tensor):
        return f"are {str(given.dtype).removeprefix('torch.')} of shape {list(given.shape)}"
    return f"are {given!r}" if isinstance(given, str | int | float) else f"are of type {type(given).__name__}"


def _no_batch(given: object) -> WrongType:
    """The error for ids in another form, with the expression that makes a batch of them."""
    _refuse_column(given)
    limit = "an int64 tensor [batch, columns]"
    texts = [given] if isinstance(given, str) else given
    if isinstance(texts, list | tuple) and texts and all(isinstance(each, str) for each in texts):
        more = ", a call for each text" * (len(texts) > 1)
        fix = f"torch.tensor([tok.encode_list(text)]), of the tokenizer tok of the run{more}"
        return WrongType("ids are text, which a model does not read", limit=limit, fix=fix)
    form, dims = "torch.tensor(ids).long()", getattr(given, "ndim", None)
    if isinstance(given, Tensor):
        fact = f"ids are {str(given.dtype).removeprefix('torch.')} of shape {list(given.shape)}"
        form = "ids" if given.dtype in _ID_DTYPES else "ids.long()"
    elif isinstance(given, list | tuple) and given:
        fact, dims = f"ids are a {type(given).__name__}", 2 if isinstance(given[0], list | tuple) else 1
    else:
        fact = f"ids are {given!r}" if isinstance(given, int) else f"ids are a {type(given).__name__}"
    try:
        # A copy: torch warns of arrays that are read-only, as those of ids are.
        has_integers = _holds_integers(given if isinstance(given, Tensor) else torch.tensor(given))
    except (TypeError, ValueError, RuntimeError):
        # Rows of several lengths, and values that are no numbers.
        has_integers = False
        if dims == 2:
            fix = "[run.model(torch.tensor([row])) for row in ids], a call for each row"
            return WrongType(f"{fact} of rows of several lengths", limit=limit, fix=fix)
    if not has_integers:
        fact, dims = f"{fact}, and not integers" if dims else fact, None
    fix = {1: f"{form}[None]", 2: form}.get(dims or 0, "torch.tensor([ids]), with the list ids of one text")
    return WrongType(fact, limit=limit, fix=fix)


def _refuse_column(given: object) -> None:
    """Raises the error for a batch of several columns, or the name of one, in the place of its ids."""
    # A batch of several sequences has two dimensions, one sequence has one.
    held = given.get("input_ids") if isinstance(given, Mapping) else None
    one = {Tensor: "{}[None]", list: "torch.tensor([{}])"}.get(type(held), "{}")
    many = "torch.tensor({})" if isinstance(held, list) else "{}"
    is_one = getattr(held, "ndim", None) == 1 or (isinstance(held, list) and held and isinstance(held[0], int))
    refuse_column(given, "{0}, or {0}[None] of one sequence" if held is None else one if is_one else many)


def _holds_integers(numbers: Tensor) -> bool:
    """Whether a conversion to integers keeps the numbers, of a CPU: embeddings and masks are no ids."""
    if numbers.dtype == torch.bool or numbers.is_complex():
        return False
    return not numbers.is_floating_point() or numbers.device.type != "cpu" or bool((numbers == numbers.round()).all())


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """The model without dropout, and then in the mode that it was in; torch as `own_torch_state` has it."""
    was_training = model.training
    model.eval()
    try:
        with own_torch_state():
            yield
    finally:
        model.train(was_training)


class Linear(nn.Linear):
    """A projection with uninitialised weights: `init.py` draws them, and the global random state stays untouched."""

    def reset_parameters(self) -> None:
        """Draws nothing."""


def _explained(forward: Forward) -> Forward:
    """`forward`, of which a wrong call names the arguments; torch.compile traces it without that."""
    checked = explains_calls(forward)

    @wraps(forward)
    def call(*args: Any, **keywords: Any) -> Any:
        return (forward if torch.compiler.is_compiling() else checked)(*args, **keywords)

    return cast("Forward", call)


class Model(nn.Module):
    """A language model over ids: embedding, blocks, final norm, head. A subclass adds blocks and norm.

    The head has V' rows and is sliced to V before the product, so padded ids have no logit and no gradient.

    Names and dimensions of parameters decide their initial values (`initial_value`) and their optimizer group
    (`optim.optimizer.group_parameters`). Of vectors, those named `gain` start at 1, all others at 0: use `gpt.RMSNorm`,
    since the `weight` of an `nn.RMSNorm` would start at 0. `nn.Embedding` and names such as `head` and `positions` are
    embeddings, `beta` is a gate; other 2-D parameters are matrices. What has neither two dimensions nor such a name,
    such as stacked experts, counts as a vector: it is not decayed. FSDP2 shards each block of the attribute `blocks`.
    """

    __call__: Callable[..., Output]
    norm: nn.Module

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        shape = (config.padded_vocab, config.d_model)
        self.embed = nn.Embedding(*shape, _weight=torch.empty(shape))
        self.head = None if config.tie_embeddings else Linear(config.d_model, config.padded_vocab, bias=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Parameters, buffers and modules; for what other libraries have it names our call."""
            if name in _CALLS_ELSEWHERE:
                fact = f"{type(self).__name__!r} object has no attribute {name!r}"
                limit = "a model takes ids and gives logits: model(ids)"
                fact += f"\n  limit: {limit}\n  fix:   {with_import(_CALLS_ELSEWHERE[name])}"
                raise AttributeError(fact, name=name, obj=None)
            return super().__getattr__(name)

    @_explained
    def forward(
        self,
        ids: Tensor,
        *,
        position_ids: Tensor | None = None,
        document_ids: Tensor | None = None,
        state: AnyState | None = None,
        logits: Logits = "all",
    ) -> Output:
        """One pass over a batch.

        ids: int64 [B, T]. position_ids: int64 [B, T]; None counts from 0, or from `state.length`. document_ids: int
        [B, T], the number of each id's document within its row, -1 for padding; None where every row is one document,
        with padding only at its end.
        state: read and updated. logits: "all", "last" (the last position), or "none" (the loss calls `unembed` chunk by
        chunk). Raises `InvalidInput` for ids outside the vocabulary (on a CPU) and a state of other rows, in decoders
        for rows longer than seq_len, and in recurrent models for rows of several documents; `WrongType` for other ids.
        """
        if not torch.compiler.is_compiling():
            check_batch(ids, self.config.n_vocab)
            check_columns("position_ids", position_ids, ids, "positions then count from 0")
            check_columns("document_ids", document_ids, ids, "each row is then one document")
            if state is not None and not isinstance(getattr(state, "length", None), Tensor):
                fact, fix = (
                    f"state is of type {type(state).__name__}",
                    "state=run.model.init_state(len(ids), ids.device)",
                )
                raise WrongType(fact, limit="a state of the model", fix=fix)
        if logits not in get_args(Logits):
            raise unknown_name("value of logits", str(logits), get_args(Logits), Argument("logits"))
        if state is not None and len(ids) != len(state.length):
            fact = f"a batch of {len(ids)} rows does not match a state of {len(state.length)}"
            raise InvalidInput(fact, fix="reorder or repeat the state")
        hidden = self.norm(self.embed_and_run(ids, position_ids, document_ids, state))
        if logits == "none":
            return Output(None, hidden, state)
        return Output(self.unembed(hidden if logits == "all" else hidden[:, -1:]), hidden, state)

    def embed_and_run(
        self, ids: Tensor, position_ids: Tensor | None, document_ids: Tensor | None, state: AnyState | None
    ) -> Tensor:
        """Embedding and blocks: the vectors [B, T, d] before the final norm; arguments as in `forward`."""
        raise NotImplementedError

    def init_state(self, batch_size: int, device: torch.device | str, capacity: int | None = None) -> State:
        """An empty state for `batch_size` sequences of at most `capacity` ids (default: seq_len)."""
        raise NotImplementedError

    def init_hidden(self, batch_size: int, device: torch.device | str) -> tuple[Tensor, ...]:
        """What truncated BPTT carries from step to step, before the first one: tensors [L, B, ...]; here nothing."""
        return ()

    def bptt_state(self, hidden: tuple[Tensor, ...], continues: Tensor) -> CarriedState:
        """A state for training that starts from `hidden`.

        continues: bool [B], whether a row begins inside the document with which the row before it ended.
        """
        raise NotImplementedError

    def initial_value(self, name: str, parameter: Tensor, normal: Callable[[float], Tensor]) -> Tensor:
        """The initial value of a parameter; `normal(std)` draws its shape from N(0, std^2), keyed by seed and name.

        Matrices and embeddings are N(0, 0.02^2), norm weights (named `gain`) 1, biases 0. A head of its own is 0, so
        the first loss is exactly ln V.
        """
        if name == "head.weight":
            return torch.zeros_like(parameter)
        if parameter.ndim >= 2:
            return normal(0.02)
        return torch.ones_like(parameter) if name.endswith("gain") else torch.zeros_like(parameter)

    def metrics(self, ids: Tensor, document_ids: Tensor) -> dict[str, Tensor]:
        """What lines of `metrics.jsonl` record of the model, also on a row of the step, ids and document_ids [1, T].

        Numbers, or tensors [n_layers] or [n_layers, n], by name. `gates` [n_layers, n_heads] in [0, 1], `memory_norm`
        [n_layers] and `memory_ids` are what `slm status` and `slm plot` show.
        """
        return {}

    def unembed(self, hidden: Tensor) -> Tensor:
        """Hidden vectors [..., d] to logits [..., V]. Raises `WrongType` for other values."""
        if not torch.compiler.is_compiling():
            _check_hidden(hidden, self.config.d_model)
        weight = self.embed.weight if self.head is None else self.head.weight
        if self.config.n_vocab < self.config.padded_vocab:
            weight = weight[: self.config.n_vocab]
        logits = linear(hidden, weight)
        if self.config.softcap is not None:
            logits = self.config.softcap * torch.tanh(logits / self.config.softcap)
        return logits
