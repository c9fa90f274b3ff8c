"""Muon (Jordan et al., 2024): for matrices, momentum made orthogonal by Newton-Schulz; AdamW for all else.

Pick it where steps are dear: on small runs it needs far fewer of them. Price: five rounds of three products of each
matrix a step, about a fifth of a step's arithmetic at two thousand tokens; one tensor of state a matrix instead of two.
It needs whole matrices, so gradients have to be averaged over ranks before it steps.

Update of a matrix W [a, b], gradient G, momentum U: U <- mu U + (1 - mu) G; N = (1 - mu) G + mu U (Nesterov);
X = N / |N|, turned so that it is wide; five times A = X X', X <- 3.4445 X + (-4.7750 A + 2.0315 A A) X;
W <- (1 - lr wd) W - lr 0.2 sqrt(max(a, b)) X. The last factor matches the size of AdamW's updates (Liu et al., "Muon is
scalable for LLM training", 2025), so that AdamW's rate can be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slmmodel.errors import InvalidOption
from slmmodel.hardware import has_bf16_matmul
from slmmodel.optim.adamw import AdamWPart, describe
from slmmodel.optim.base import Optimizer, Part
from slmmodel.optim.groups import GROUPS, Named, fused_blocks, split

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from slmmodel.config import OptimConfig

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic iteration: steep at 0, so that small singular values grow fast; they end between about 0.7 and 1.2."""
LEAST_NORM = 1e-7
DTYPES = ("auto", "fp32", "bf16")


def orthogonal(x: Tensor, steps: int = 5) -> Tensor:
    """Newton-Schulz on a stack of wide matrices [n, r, c], r <= c, in the type it has: singular values move close to 1.

    The plain form of what `_Stack` does in place.
    """
    a, b, c = COEFFICIENTS
    x = x / x.flatten(1).norm(dim=1).clamp_min(LEAST_NORM)[:, None, None]
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


class _Slice:
    """One matrix inside a parameter: rows [lo, hi), transposed where that makes it wide."""

    def __init__(self, name: str, parameter: nn.Parameter, lo: int, hi: int):
        self.name, self.parameter, self.lo, self.hi = name, parameter, lo, hi
        self.tall = hi - lo > parameter.shape[1]
        self.shape = (parameter.shape[1], hi - lo) if self.tall else (hi - lo, parameter.shape[1])

    def view(self, tensor: Tensor) -> Tensor:
        """The matrix inside a tensor of the parameter's shape, wide."""
        part = tensor if self.hi - self.lo == tensor.shape[0] else tensor[self.lo : self.hi]
        return part.mT if self.tall else part


class _Stack:
    """Matrices of one shape, stepped together: one batched product instead of many small ones."""

    def __init__(self, slices: list[_Slice], settings: OptimConfig):
        import torch

        self.slices = slices
        first = slices[0].parameter
        shape = (len(slices), *slices[0].shape)
        self._steps, self._mu = settings.ns_steps, settings.momentum
        self.momentum = torch.zeros(shape, dtype=first.dtype, device=first.device)
        self._gradient = torch.empty_like(self.momentum)
        kind = _kind(first, settings.ns_dtype)
        square = (shape[0], shape[1], shape[1])
        self._x = [torch.empty(shape, dtype=kind, device=first.device) for _ in range(2)]
        self._grams = [torch.empty(square, dtype=kind, device=first.device) for _ in range(2)]
        self._scale = 0.2 * max(shape[1:]) ** 0.5

    def step(self, lr: float, decay: float) -> None:
        import torch

        gradients = [_gradient(piece) for piece in self.slices]
        torch._foreach_copy_(list(self._gradient.unbind()), gradients)
        self.momentum.lerp_(self._gradient, 1 - self._mu)
        self._gradient.lerp_(self.momentum, self._mu)
        weights = [piece.view(piece.parameter.data) for piece in self.slices]
        updates = list(self._orthogonal().unbind())
        if decay:
            torch._foreach_mul_(weights, 1 - lr * decay)
        torch._foreach_add_(weights, updates, alpha=-lr * self._scale)

    def _orthogonal(self) -> Tensor:
        import torch

        a, b, c = COEFFICIENTS
        x, spare = self._x
        gram, poly = self._grams
        norm = self._gradient.flatten(1).norm(dim=1).clamp_min(LEAST_NORM)[:, None, None]
        torch.div(self._gradient, norm, out=x) if x.dtype == norm.dtype else x.copy_(self._gradient / norm)
        for _ in range(self._steps):
            torch.bmm(x, x.mT, out=gram)
            torch.baddbmm(gram, gram, gram, beta=b, alpha=c, out=poly)
            torch.baddbmm(x, poly, x, beta=a, out=spare)
            x, spare = spare, x
        return x.to(self.momentum.dtype)


def _kind(parameter: nn.Parameter, asked: str) -> torch.dtype:
    """The type of the iteration: singular values end between 0.7 and 1.2 anyway, so bf16 loses nothing that counts."""
    import torch

    if asked not in DTYPES:
        raise InvalidOption(
            f"optim.ns_dtype {asked!r} does not exist",
            limit=f"one of {', '.join(DTYPES)}",
            fix="--set optim.ns_dtype=auto",
            option="optim.ns_dtype",
        )
    if parameter.dtype != torch.float32 or asked == "fp32":
        return parameter.dtype
    return torch.bfloat16 if asked == "bf16" or has_bf16_matmul(parameter.device.type) else torch.float32


def _gradient(piece: _Slice) -> Tensor:
    if piece.parameter.grad is None:
        raise RuntimeError(f"{piece.name} has no gradient")
    return piece.view(piece.parameter.grad)


class MuonPart:
    """Muon over matrices, stacked by shape; state is the momentum of each parameter, in its own shape."""

    def __init__(self, matrices: Named, blocks: Mapping[str, int], settings: OptimConfig):
        self._lr, self._decay, self._factor = settings.lr, settings.weight_decay, 1.0
        self._matrices = matrices
        shapes: dict[tuple[object, ...], list[_Slice]] = {}
        for name, parameter in matrices.items():
            height = parameter.shape[0] // blocks.get(name, 1)
            for lo in range(0, parameter.shape[0], height):
                piece = _Slice(name, parameter, lo, lo + height)
                shapes.setdefault((*piece.shape, parameter.dtype, parameter.device), []).append(piece)
        self._stacks = [_Stack(slices, settings) for slices in shapes.values()]

    def set(self, factor: float) -> None:
        """See `Part`."""
        self._factor = factor

    def step(self) -> None:
        """See `Part`."""
        for stack in self._stacks:
            stack.step(self._lr * self._factor, self._decay)

    def fields(self) -> dict[str, Tensor]:
        """See `Part`."""
        import torch

        found = {
            f"matrices/{name}/momentum": torch.empty_like(parameter.data) for name, parameter in self._matrices.items()
        }
        for stack in self._stacks:
            for piece, momentum in zip(stack.slices, stack.momentum, strict=True):
                piece.view(found[f"matrices/{piece.name}/momentum"]).copy_(momentum)
        return found

    def load(self, fields: Mapping[str, Tensor]) -> None:
        """See `Part`."""
        for stack in self._stacks:
            for piece, momentum in zip(stack.slices, stack.momentum, strict=True):
                momentum.copy_(piece.view(fields[f"matrices/{piece.name}/momentum"]))


def build(model: nn.Module, settings: OptimConfig) -> Optimizer:
    """Muon for matrices, AdamW for embeddings, vectors and gates."""
    groups = split(model)
    parts: list[Part] = [MuonPart(groups["matrices"], fused_blocks(model), settings)]
    rest = {group: groups[group] for group in GROUPS if group != "matrices"}
    if any(rest.values()):
        parts.append(AdamWPart(rest, settings))
    parameters = [parameter for group in GROUPS for parameter in groups[group].values()]
    rules = {group: "muon" if group == "matrices" else "adamw" for group in GROUPS}
    return Optimizer(parts, parameters, describe(groups, rules), settings.lr)
