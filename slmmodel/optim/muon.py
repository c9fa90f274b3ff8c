"""Muon (Jordan et al. 2024) for matrices: momentum, orthogonalised by Newton-Schulz; AdamW for all other groups.

Small runs need far fewer steps than with AdamW. The cost is five iterations of three products of each matrix per step,
about 20 % of the arithmetic of a step of 2,048 tokens, and one tensor of state per matrix. Matrices must be whole:
gradients are averaged over ranks before the step, and FSDP is not supported.

Update of a matrix W [a, b] with gradient G and momentum U: U <- mu U + (1 - mu) G; N = (1 - mu) G + mu U (Nesterov);
X = N / |N|, transposed if a > b; five times A = X X', X <- 3.4445 X + (-4.7750 A + 2.0315 A A) X;
W <- (1 - lr wd) W - lr 0.2 sqrt(max(a, b)) X. The last factor gives updates the size of AdamW's (Liu et al. 2025, "Muon
is scalable for LLM training"), so both take the same learning rate. `torch.optim.Muon` iterates in bf16, which is slow
on most CPUs; the tests compare with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slmmodel.errors import OptionError
from slmmodel.hardware import has_bf16_matmul
from slmmodel.optim.adamw import AdamW
from slmmodel.optim.optimizer import GROUPS, Named, Optimizer, UpdateRule, split, stacked_matrices

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from slmmodel.config import OptimConfig

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic iteration: steep at 0, so small singular values grow fast; they end between about 0.7 and 1.2."""
MIN_NORM = 1e-7
DTYPES = ("auto", "fp32", "bf16")


def orthogonalise(x: Tensor, steps: int = 5) -> Tensor:
    """Newton-Schulz on wide matrices [n, r, c], r <= c, in their dtype: singular values move close to 1.

    The reference implementation of what `_Stack` computes in preallocated buffers.
    """
    a, b, c = COEFFICIENTS
    x = x / x.flatten(1).norm(dim=1).clamp_min(MIN_NORM)[:, None, None]
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


class _Matrix:
    """One matrix inside a parameter: rows [lo, hi), transposed if it is tall."""

    def __init__(self, name: str, parameter: nn.Parameter, lo: int, hi: int):
        self.name, self.parameter, self.lo, self.hi = name, parameter, lo, hi
        self.tall = hi - lo > parameter.shape[1]
        self.shape = (parameter.shape[1], hi - lo) if self.tall else (hi - lo, parameter.shape[1])

    def view(self, tensor: Tensor) -> Tensor:
        """The matrix inside a tensor of the parameter's shape, wide."""
        part = tensor if self.hi - self.lo == tensor.shape[0] else tensor[self.lo : self.hi]
        return part.mT if self.tall else part

    def gradient(self) -> Tensor:
        """The gradient of the matrix, wide."""
        if self.parameter.grad is None:
            raise RuntimeError(f"{self.name} has no gradient")
        return self.view(self.parameter.grad)


class _Stack:
    """Matrices of one shape [r, c], updated together: one batched product instead of many small ones."""

    def __init__(self, matrices: list[_Matrix], config: OptimConfig):
        import torch

        self.matrices = matrices
        first = matrices[0].parameter
        shape = (len(matrices), *matrices[0].shape)
        self._steps, self._mu = config.ns_steps, config.momentum
        self.momentum = torch.zeros(shape, dtype=first.dtype, device=first.device)
        self._gradient = torch.empty_like(self.momentum)
        dtype = _iteration_dtype(first, config.ns_dtype)
        square = (shape[0], shape[1], shape[1])
        self._x = [torch.empty(shape, dtype=dtype, device=first.device) for _ in range(2)]
        self._grams = [torch.empty(square, dtype=dtype, device=first.device) for _ in range(2)]
        self._scale = 0.2 * max(shape[1:]) ** 0.5

    def step(self, lr: float, decay: float) -> None:
        import torch

        torch._foreach_copy_(list(self._gradient.unbind()), [matrix.gradient() for matrix in self.matrices])
        self.momentum.lerp_(self._gradient, 1 - self._mu)
        self._gradient.lerp_(self.momentum, self._mu)
        weights = [matrix.view(matrix.parameter.data) for matrix in self.matrices]
        updates = list(self._orthogonalised().unbind())
        if decay:
            torch._foreach_mul_(weights, 1 - lr * decay)
        torch._foreach_add_(weights, updates, alpha=-lr * self._scale)

    def _orthogonalised(self) -> Tensor:
        import torch

        a, b, c = COEFFICIENTS
        x, spare = self._x
        gram, polynomial = self._grams
        norm = self._gradient.flatten(1).norm(dim=1).clamp_min(MIN_NORM)[:, None, None]
        torch.div(self._gradient, norm, out=x) if x.dtype == norm.dtype else x.copy_(self._gradient / norm)
        for _ in range(self._steps):
            torch.bmm(x, x.mT, out=gram)
            torch.baddbmm(gram, gram, gram, beta=b, alpha=c, out=polynomial)
            torch.baddbmm(x, polynomial, x, beta=a, out=spare)
            x, spare = spare, x
        return x.to(self.momentum.dtype)


def _iteration_dtype(parameter: nn.Parameter, name: str) -> torch.dtype:
    """The dtype of the iteration. Singular values end between 0.7 and 1.2 in any case, so bf16 is exact enough."""
    import torch

    if name not in DTYPES:
        raise OptionError(
            f"optim.ns_dtype {name!r} does not exist",
            limit=f"one of {', '.join(DTYPES)}",
            fix="--set optim.ns_dtype=auto",
            option="optim.ns_dtype",
        )
    if parameter.dtype != torch.float32 or name == "fp32":
        return parameter.dtype
    return torch.bfloat16 if name == "bf16" or has_bf16_matmul(parameter.device.type) else torch.float32


class Muon:
    """An `UpdateRule` over matrices, stacked by shape. The state is the momentum, in the shape of each parameter."""

    def __init__(self, matrices: Named, stacked: Mapping[str, int], config: OptimConfig):
        self._lr, self._decay, self._factor = config.lr, config.weight_decay, 1.0
        self._parameters = matrices
        shapes: dict[tuple[object, ...], list[_Matrix]] = {}
        for name, parameter in matrices.items():
            height = parameter.shape[0] // stacked.get(name, 1)
            for lo in range(0, parameter.shape[0], height):
                matrix = _Matrix(name, parameter, lo, lo + height)
                shapes.setdefault((*matrix.shape, parameter.dtype, parameter.device), []).append(matrix)
        self._stacks = [_Stack(stack, config) for stack in shapes.values()]

    def set(self, factor: float) -> None:
        """See `UpdateRule`."""
        self._factor = factor

    def step(self) -> None:
        """See `UpdateRule`."""
        for stack in self._stacks:
            stack.step(self._lr * self._factor, self._decay)

    def state(self) -> dict[str, Tensor]:
        """See `UpdateRule`; the tensors are copies."""
        import torch

        found = {f"matrices/{name}/momentum": torch.empty_like(p.data) for name, p in self._parameters.items()}
        for stack in self._stacks:
            for matrix, momentum in zip(stack.matrices, stack.momentum, strict=True):
                matrix.view(found[f"matrices/{matrix.name}/momentum"]).copy_(momentum)
        return found

    def load(self, state: Mapping[str, Tensor]) -> None:
        """See `UpdateRule`."""
        for stack in self._stacks:
            for matrix, momentum in zip(stack.matrices, stack.momentum, strict=True):
                momentum.copy_(matrix.view(state[f"matrices/{matrix.name}/momentum"]))


def build(model: nn.Module, config: OptimConfig) -> Optimizer:
    """Muon for matrices, AdamW for embeddings, vectors and gates."""
    groups = split(model)
    rules: dict[str, UpdateRule] = {"muon": Muon(groups["matrices"], stacked_matrices(model), config)}
    rest = {group: groups[group] for group in GROUPS if group != "matrices"}
    if any(rest.values()):
        rules["adamw"] = AdamW(rest, config)
    rule_of = {group: "muon" if group == "matrices" else "adamw" for group in GROUPS}
    return Optimizer(rules, groups, rule_of, config.lr)
