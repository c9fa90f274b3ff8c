"""What a caller has set in torch changes no number: autocast, default types and devices, gradients turned off, the
precision of products, kernels that are switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from slmmodel_tiny import model
from torch.nn.attention import SDPBackend, sdpa_kernel

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


FP32_PRECISIONS = [("generic", "all"), ("mkldnn", "all"), ("mkldnn", "rnn"), ("mkldnn", "matmul"), ("cuda", "matmul")]
if not hasattr(torch._C, "_get_fp32_precision_getter"):
    FP32_PRECISIONS = []


def set_fp32_precisions(values: Iterable[str], names: Iterable[tuple[str, str]] = tuple(FP32_PRECISIONS)) -> None:
    for (backend, operator), value in zip(names, values, strict=True):
        torch._C._set_fp32_precision_setter(backend, operator, value)


@contextmanager
def float32_products(precision: str) -> Iterator[None]:
    """As the head of many training scripts sets it."""
    torch.set_float32_matmul_precision(precision)
    try:
        yield
        assert torch.get_float32_matmul_precision() == precision
    finally:
        torch.set_float32_matmul_precision("highest")


@contextmanager
def backend_precision(backend: str, operator: str) -> Iterator[None]:
    """bf16 by the settings of backends."""
    set_fp32_precisions(["bf16"], [(backend, operator)])
    before = process_state()
    try:
        yield
        assert process_state() == before
    finally:
        set_fp32_precisions(["none"] * len(FP32_PRECISIONS))


@contextmanager
def no_mkldnn() -> Iterator[None]:
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
        assert not torch.backends.mkldnn.enabled
    finally:
        torch._C._set_mkldnn_enabled(True)


def process_state() -> tuple[Any, ...]:
    cuda = torch.backends.cuda
    attention = cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled()
    precisions = [torch._C._get_fp32_precision_getter(*names) for names in FP32_PRECISIONS]
    return *attention, cuda.cudnn_sdp_enabled(), torch.backends.mkldnn.enabled, precisions


STATES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "float64": lambda: default_dtype(torch.float64),
    "bfloat16": lambda: default_dtype(torch.bfloat16),
    "no gradients": torch.no_grad,
    "inference mode": torch.inference_mode,
    "another device": lambda: torch.device("meta"),
    "bf16 products": lambda: float32_products("medium"),
    "a kernel of attention": lambda: sdpa_kernel(SDPBackend.MATH),
    "no kernel of attention for CPUs": lambda: sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION),
    "no mkldnn": no_mkldnn,
    **{f"bf16 of {' '.join(names)}": partial(backend_precision, *names) for names in FP32_PRECISIONS[::3]},
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
    "bf16 products": lambda: torch.set_float32_matmul_precision("medium"),
    "kernel of attention": lambda: torch.backends.cuda.enable_flash_sdp(False),
    "no mkldnn": lambda: torch._C._set_mkldnn_enabled(False),
    **({"bf16": lambda: set_fp32_precisions(["bf16"], [("generic", "all")])} if FP32_PRECISIONS else {}),
}
ENTERED: list[Any] = []
"""Contexts that are not left; the end of their life would leave them."""


def state() -> tuple[Any, ...]:
    modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")
    nesting = torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    casts = torch.get_autocast_dtype("cpu"), nesting
    return *modes, *casts, torch.get_default_dtype(), torch.get_default_device(), process_state()


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
