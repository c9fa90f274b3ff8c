"""A model with a parameter of every kind, small enough to check by hand."""

from __future__ import annotations

import torch
from torch import nn


class Toy(nn.Module):
    """An embedding tied to the head, matrices wide, tall and square, gains, a recurrent layer, a gate."""

    def __init__(self, seed: int = 0, dtype: torch.dtype = torch.float32):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.up = nn.Linear(8, 12, bias=True)
        self.down = nn.Linear(12, 8, bias=False)
        self.square = nn.Linear(8, 8, bias=False)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.beta = nn.Parameter(torch.zeros(3))
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embedding.weight
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(0, 0.1, generator=generator)
        self.to(dtype)

    def loss(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        x = x + self.down(torch.tanh(self.up(x))) + self.square(x)
        x = x + self.lstm(x)[0] + self.beta.sum()
        return nn.functional.cross_entropy(self.head(x).flatten(0, 1), ids.roll(-1, 1).flatten())


def batch(step: int) -> torch.Tensor:
    return torch.randint(0, 20, (3, 7), generator=torch.Generator().manual_seed(step))


def train(model: Toy, optimizer, steps: range, factor=lambda step: 1.0) -> None:
    for step in steps:
        optimizer.set(factor(step))
        model.loss(batch(step)).backward()
        optimizer.step()
        optimizer.zero_grad()
