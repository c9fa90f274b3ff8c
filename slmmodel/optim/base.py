"""What all optimizers share: parts that each own some groups, one factor for all rates, state by parameter name.

A part is an update rule over named parameters. State leaves and enters as tensors under `group/parameter/field`,
matched by name and strictly: an index says nothing when a model changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from slmmodel.errors import CorruptState

if TYPE_CHECKING:
    from torch import Tensor, nn


class Part(Protocol):
    """One update rule over the parameters of some groups."""

    def set(self, factor: float) -> None:
        """Multiplies the peak rates with the schedule's factor, for the next step."""

    def step(self) -> None:
        """Updates the parameters from their gradients."""

    def fields(self) -> dict[str, Tensor]:
        """State by `group/parameter/field`, each in the shape of its parameter or a scalar; may share memory."""

    def load(self, fields: Mapping[str, Tensor]) -> None:
        """Takes over what `fields` gave."""


class Optimizer:
    """The parts of one optimizer, stepped together."""

    def __init__(
        self, parts: Sequence[Part], parameters: Sequence[nn.Parameter], description: Mapping[str, object], peak: float
    ):
        self.parts = list(parts)
        self.parameters = list(parameters)
        self.description = dict(description)
        """Groups with their number of tensors and parameters, for people."""

        self.peak = peak
        """The rate that a factor of 1 gives to matrices, for people."""

    @property
    def param_groups(self) -> list[dict[str, list[nn.Parameter]]]:
        """The parameters as `torch.amp.GradScaler` reads them."""
        return [{"params": self.parameters}]

    def set(self, factor: float) -> None:
        """Sets all rates for the next step: peak times `factor`."""
        for part in self.parts:
            part.set(factor)

    def step(self) -> None:
        """One update of every parameter."""
        for part in self.parts:
            part.step()

    def zero_grad(self) -> None:
        """Drops all gradients; the next backward pass makes new ones without adding."""
        for parameter in self.parameters:
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        """All state, by `group/parameter/field`."""
        return {key: tensor for part in self.parts for key, tensor in part.fields().items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Takes over a state. Raises `CorruptState` where a key is missing, unknown, or of another shape."""
        own = self.state()
        for key in sorted(set(own) ^ set(state)):
            raise CorruptState(
                f"the optimizer state {'lacks' if key in own else 'has an unknown entry'} {key!r}",
                fix="resume from another step, or start the run again",
            )
        for key, tensor in own.items():
            if tensor.shape != state[key].shape:
                raise CorruptState(
                    f"the optimizer state {key!r} has shape {list(state[key].shape)}, not {list(tensor.shape)}",
                    fix="resume from another step, or start the run again",
                )
        for part in self.parts:
            part.load({key: state[key] for key in part.fields()})

    def memory(self) -> int:
        """Bytes of state."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.state().values())


def clip(parameters: Sequence[nn.Parameter], limit: float | None) -> Tensor:
    """Scales gradients so that their joint norm is at most `limit`, in place; gives the norm before, a scalar tensor.

    Without a limit only the norm is taken. A norm that is not finite leaves the gradients unusable; callers look first.
    """
    import torch

    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    if limit is not None:
        # Multiplying always costs less than asking the device whether it must be done.
        torch._foreach_mul_(gradients, torch.clamp(limit / (norm + 1e-6), max=1.0))
    return norm
