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

import torch
from torch import Tensor, nn

from slmmodel.config import OptimConfig
from slmmodel.hardware import has_bf16_matmul
from slmmodel.optim.optimizer import NamedParameters, Optimizer, adamw, group_parameters, matrices_per_parameter

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic iteration: steep at 0, so small singular values grow fast; they end between about 0.7 and 1.2."""
MIN_NORM = 1e-7


def orthogonalise(x: Tensor, steps: int = 5, dtype: torch.dtype | None = None) -> Tensor:
    """Newton-Schulz on matrices [n, r, c], r <= c: singular values move close to 1. `dtype`: of the iteration."""
    a, b, c = COEFFICIENTS
    x = (x / x.flatten(1).norm(dim=1).clamp_min(MIN_NORM)[:, None, None]).to(dtype)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


class Muon(torch.optim.Optimizer):
    """Muon over matrices. Those of one shape are stacked: one batched product instead of many small ones.

    `n_matrices` names parameters that hold several matrices, one below the other: `matrices_per_parameter`.
    """

    def __init__(self, matrices: NamedParameters, n_matrices: Mapping[str, int], config: OptimConfig):
        parameters = list(matrices.values())
        super().__init__(parameters, {"lr": config.lr, "weight_decay": config.weight_decay})
        self._steps, self._mu = config.ns_steps, config.momentum
        self._dtype = _iteration_dtype(parameters[0], config.ns_dtype) if parameters else None
        self._stacks: dict[tuple[int, int], list[tuple[nn.Parameter, int]]] = {}
        """by shape (rows <= columns): parameters, and how many matrices each one holds"""
        for name, parameter in matrices.items():
            self.state[parameter]["momentum"] = torch.zeros_like(parameter)
            count = n_matrices.get(name, 1)
            rows, columns = sorted((parameter.shape[0] // count, parameter.shape[1]))
            self._stacks.setdefault((rows, columns), []).append((parameter, count))

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Updates the parameters from their gradients."""
        lr, decay = self.param_groups[0]["lr"], self.param_groups[0]["weight_decay"]
        for (_, columns), stack in self._stacks.items():
            weights = [matrix for parameter, count in stack for matrix in _matrices(parameter, count)]
            gradients = [matrix for parameter, count in stack for matrix in _matrices(parameter.grad, count)]
            momentum = [matrix for p, count in stack for matrix in _matrices(self.state[p]["momentum"], count)]
            torch._foreach_lerp_(momentum, gradients, 1 - self._mu)
            nesterov = torch.stack(torch._foreach_lerp(gradients, momentum, self._mu))
            updates = orthogonalise(nesterov, self._steps, self._dtype).to(nesterov.dtype)
            if decay:
                torch._foreach_mul_(weights, 1 - lr * decay)
            torch._foreach_add_(weights, list(updates), alpha=-lr * 0.2 * columns**0.5)


def _matrices(tensor: Tensor | None, count: int) -> list[Tensor]:
    """Views of the `count` matrices in a parameter or in its gradient, transposed where they have more rows."""
    assert tensor is not None, "a matrix without a gradient"
    return [matrix.mT if matrix.shape[0] > matrix.shape[1] else matrix for matrix in tensor.chunk(count)]


def _iteration_dtype(parameter: nn.Parameter, name: str) -> torch.dtype:
    """The dtype of the iteration. Singular values end between 0.7 and 1.2 in any case, so bf16 is exact enough."""
    if parameter.dtype != torch.float32 or name == "fp32":
        return parameter.dtype
    return torch.bfloat16 if name == "bf16" or has_bf16_matmul(parameter.device.type) else torch.float32


def build(model: nn.Module, config: OptimConfig) -> Optimizer:
    """Muon for matrices, AdamW for embeddings and vectors."""
    groups = group_parameters(model)
    muon = Muon(groups["matrices"], matrices_per_parameter(model), config)
    rest = {group: named for group, named in groups.items() if group != "matrices" and named}
    return Optimizer([muon, adamw(rest, config)] if rest else [muon], groups)
