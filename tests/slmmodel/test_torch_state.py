"""What a caller has set in torch changes no number: autocast, default types and devices, gradients turned off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from slmmodel_tiny import model

import slmmodel
import slmtok
from slmmodel import app
from slmmodel.generation import Generation

SETTINGS = {
    "model.d_model": 32,
    "model.n_layers": 1,
    "model.n_heads": 4,
    "model.n_kv_heads": 4,
    "model.seq_len": 32,
    "run.batch_tokens": 64,
}


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    torch.set_default_dtype(dtype)
    try:
        yield
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(torch.float32)


STATES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "float64": lambda: default_dtype(torch.float64),
    "bfloat16": lambda: default_dtype(torch.bfloat16),
    "no gradients": torch.no_grad,
    "inference mode": torch.inference_mode,
    "another device": lambda: torch.device("meta"),
}


def trained(output: Path, data: Path) -> bytes:
    app.train(data, preset="cpu-demo", budget="steps=2", output=output, settings=SETTINGS, progress=False)
    return (output / "model.safetensors").read_bytes()


def numbers(run: Path) -> list[Any]:
    """What a run computes, in text and in ids."""
    opened = app.load(run)
    nats = slmmodel.load(run).score([1, 5, 9, 4]).tolist()
    text = opened.generate("the fox", max_new_tokens=4, temperature=0)
    return [opened.evaluate().bpb_total, opened.score("the fox"), nats, text, str(opened.run.model)]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, list[Any]]:
    """A folder with data and a run, the weights of the run and its numbers."""
    folder = tmp_path_factory.mktemp("state")
    text = folder / "text.txt"
    text.write_text("".join(f"the fox saw {n} hens and ran, the hen did not\n" for n in range(60)))
    tok = slmtok.train(text, vocab_size=290)
    slmtok.pack(text, tok, folder / "data", separator="\n")
    weights = trained(folder / "run", folder / "data")
    return folder, weights, numbers(folder / "run")


@pytest.mark.parametrize("name", STATES)
def test_numbers_do_not_depend_on_it(name: str, before: tuple[Path, bytes, list[Any]], tmp_path: Path) -> None:
    folder, weights, found = before
    with STATES[name]():
        assert trained(tmp_path / "run", folder / "data") == weights
        assert numbers(folder / "run") == found


CHANGES: dict[str, Callable[[], Any]] = {
    "autocast": lambda: torch.set_autocast_enabled("cpu", True),
    "another type of autocast": lambda: torch.set_autocast_dtype("cpu", torch.float16),
    "autocast entered": lambda: torch.autocast("cpu", torch.bfloat16).__enter__(),
    "gradients": lambda: torch.set_grad_enabled(False),
    "inference mode": lambda: ENTERED.append(torch.inference_mode()) or ENTERED[-1].__enter__(),
    "float64": lambda: torch.set_default_dtype(torch.float64),
    "device": lambda: torch.set_default_device("meta"),
}
ENTERED: list[Any] = []
"""Contexts that are not left; the end of their life would leave them."""


def state() -> tuple[Any, ...]:
    modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")
    nesting = torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    casts = torch.get_autocast_dtype("cpu"), nesting
    return *modes, *casts, torch.get_default_dtype(), torch.get_default_device()


@pytest.mark.parametrize("name", CHANGES)
def test_what_report_changes_is_changed_back(name: str, before: tuple[Path, bytes, list[Any]], tmp_path: Path) -> None:
    folder, weights, _ = before
    found = state()

    def report(phase: str, *_: Any) -> None:
        if phase == "training":
            CHANGES[name]()

    slmmodel.train(
        folder / "data", preset="cpu-demo", budget="steps=2", output=tmp_path / "run", settings=SETTINGS, report=report
    )
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == weights
    assert state() == found


def test_code_between_the_steps_of_a_generation_has_its_own() -> None:
    made = model("llama").train()
    for _ in Generation(made, [[1, 2]], max_new_tokens=3):
        assert not torch.is_inference_mode_enabled() and made.training
        torch.ones(1, requires_grad=True).sum().backward()
