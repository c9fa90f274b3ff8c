"""Models equal transformers' Llama, Qwen3 and GPT-2 on the same random weights, both ways."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from slmmodel_tiny import N_VOCAB, SEQ_LEN, decoding, ids, model

from slmmodel.errors import Mismatch, MissingInput, OutputExists, Unreadable, UnsupportedFormat
from slmmodel.export import exports, hf
from slmmodel.folder_lock import locked
from slmmodel.generation import generate
from slmmodel.sampling import SamplingOptions
from slmmodel.sampling.beam import beam_search

OURS: list[tuple[str, dict[str, Any], str]] = [
    ("llama", {}, "Qwen3ForCausalLM"),
    ("llama", {"n_kv_heads": 4, "tie_embeddings": False, "rope_base": 500.0}, "Qwen3ForCausalLM"),
    ("llama-plain", {}, "LlamaForCausalLM"),
    ("llama-plain", {"tie_embeddings": True, "n_kv_heads": 1, "head_dim": 12}, "LlamaForCausalLM"),
    ("gpt2", {}, "GPT2LMHeadModel"),
    ("gpt2-bias", {"d_ff": 40}, "GPT2LMHeadModel"),
    ("gpt2-bias", {"tie_embeddings": False}, "GPT2LMHeadModel"),
]
EVERY = pytest.mark.parametrize(("name", "changes", "architecture"), OURS)


def theirs(folder: Path) -> Any:
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    return transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()


@EVERY
@torch.inference_mode()
def test_ours_in_transformers(tmp_path: Path, name: str, changes: dict[str, Any], architecture: str) -> None:
    made, given = model(name, **changes), ids(3, SEQ_LEN)
    receipt = hf.write(tmp_path / "out", made, None)
    assert receipt["target"] == architecture
    assert receipt["checks"]["own_reader"] == 0.0
    assert json.loads((tmp_path / "out/receipt.json").read_text())["files"].keys() >= {"model.safetensors"}
    other = theirs(tmp_path / "out")
    assert type(other).__name__ == architecture
    assert receipt["checks"]["transformers"] <= 1e-4
    torch.testing.assert_close(other(given).logits, made(given).logits, atol=1e-5, rtol=1e-5)
    back = hf.load(tmp_path / "out").state_dict()
    for key, tensor in made.state_dict().items():
        rows = N_VOCAB if key in ("embed.weight", "head.weight") else len(tensor)
        assert torch.equal(back[key][:rows], tensor[:rows]), key


@EVERY
@torch.inference_mode()
def test_the_same_ids_are_generated(tmp_path: Path, name: str, changes: dict[str, Any], architecture: str) -> None:
    made, prompt = model(name, **changes), [1, 2, 3]
    hf.write(tmp_path / "out", made, None)
    other = theirs(tmp_path / "out")
    given, more = torch.tensor([prompt]), 16
    fixed = {"attention_mask": torch.ones_like(given), "max_new_tokens": more, "do_sample": False, "pad_token_id": 0}

    def ran(**options: Any) -> list[int]:
        row: list[int] = other.generate(given, **fixed, **options)[0, 3:].tolist()
        return row

    assert generate(made, [prompt], SamplingOptions(temperature=0), max_new_tokens=more)[0].ids == ran()
    punished = SamplingOptions(temperature=0, repetition_penalty=1.3)
    assert generate(made, [prompt], punished, max_new_tokens=more)[0].ids == ran(repetition_penalty=1.3)
    assert beam_search(made, prompt, decoding(beam=4, max_new_tokens=more))[0].ids == ran(num_beams=4)


THEIRS = [
    ("LlamaConfig", {"num_key_value_heads": 2, "rms_norm_eps": 1e-5}),
    ("LlamaConfig", {"num_key_value_heads": 4, "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "head_dim": 6}),
    ("Qwen3Config", {"num_key_value_heads": 2, "rms_norm_eps": 1e-5, "head_dim": 8}),
    ("GPT2Config", {"activation_function": "gelu_new"}),
    ("GPT2Config", {"activation_function": "gelu", "n_inner": 40}),
]


def random_theirs(kind: str, changes: dict[str, Any]) -> Any:
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    sizes = {"vocab_size": N_VOCAB, "bos_token_id": 1, "eos_token_id": 2}
    if kind == "GPT2Config":
        sizes |= {"n_positions": SEQ_LEN, "n_embd": 32, "n_layer": 2, "n_head": 4}
    else:
        sizes |= {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
        sizes |= {"max_position_embeddings": SEQ_LEN}
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(getattr(transformers, kind)(**sizes, **changes)).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return made


@pytest.mark.parametrize(("kind", "changes"), THEIRS)
@torch.inference_mode()
def test_transformers_in_ours(tmp_path: Path, kind: str, changes: dict[str, Any]) -> None:
    other, given = random_theirs(kind, changes), ids(3, SEQ_LEN)
    other.save_pretrained(tmp_path / "in")
    made = hf.load(tmp_path / "in")
    torch.testing.assert_close(made(given).logits, other(given).logits, atol=1e-5, rtol=1e-5)
    hf.write(tmp_path / "again", made, None)
    torch.testing.assert_close(theirs(tmp_path / "again")(given).logits, other(given).logits, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["lstm", "llama-relu2"])
def test_configurations_without_an_architecture(tmp_path: Path, name: str) -> None:
    made = model(name)
    with pytest.raises(UnsupportedFormat, match="no Hugging Face architecture"):
        hf.write(tmp_path / "out", made, None)
    assert not list(tmp_path.iterdir())
    assert "not possible" in exports(made.config)["hf"]
    assert exports(model("gpt2").config) == {"hf": "GPT2LMHeadModel"}


@pytest.mark.parametrize(
    "changes",
    [
        {"architectures": ["MambaForCausalLM"]},
        {"rms_norm_eps": 1e-6},
        {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}},
        {"attention_bias": True},
        {"hidden_act": "gelu"},
        {"num_hidden_layers": 1},
        {"num_hidden_layers": 3},
        {"tie_word_embeddings": False},
    ],
)
def test_folders_that_cannot_be_read(tmp_path: Path, changes: dict[str, Any]) -> None:
    hf.write(tmp_path / "out", model("llama"), None)
    table = json.loads((tmp_path / "out/config.json").read_text()) | changes
    (tmp_path / "out/config.json").write_text(json.dumps(table))
    with pytest.raises(UnsupportedFormat):
        hf.load(tmp_path / "out")


def test_missing_and_existing_folders(tmp_path: Path) -> None:
    with pytest.raises(MissingInput):
        hf.load(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.txt").write_text("mine")
    with pytest.raises(OutputExists, match="other-2"):
        hf.write(tmp_path / "other", model("llama"), None)
    shutil.rmtree(tmp_path / "other")
    # An empty folder holds nothing that could be lost.
    (tmp_path / "out").mkdir()
    hf.write(tmp_path / "out", model("llama"), None)
    hf.write(tmp_path / "out", model("gpt2"), None, {"tokenizer.json": b"{}"}, force=True)
    assert (tmp_path / "out/tokenizer.json").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_an_earlier_export_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    """As one with a file after `chattr +i`, which can be renamed with its folder."""
    hf.write(tmp_path / "out", model("llama"), None)
    real = os.unlink

    def unlink(name, *more, **options):
        if Path(name).name == "config.json":
            raise PermissionError(errno.EPERM, "Operation not permitted", str(name))
        real(name, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", unlink)
        with pytest.raises(Unreadable, match=r"cannot remove '.*/out\.part/replaced': .* permitted") as caught:
            hf.write(tmp_path / "out", model("gpt2"), None, force=True)
    assert "chattr -i" in str(caught.value.fix)
    hf.write(tmp_path / "out", model("gpt2"), None, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_one_process_at_a_time_writes_an_export(tmp_path: Path) -> None:
    with locked(tmp_path / "out.part"), pytest.raises(OutputExists, match="another process writes the folder"):
        hf.write(tmp_path / "out", model("llama"), None)
    assert not list(tmp_path.iterdir())
    (tmp_path / "out.part" / "old").mkdir(parents=True)
    (tmp_path / "out.part" / "model.safetensors").write_bytes(b"of a killed export")
    hf.write(tmp_path / "out", model("llama"), None)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert not {"old", ".lock"} & {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize("tensor", ["model.layers.1.self_attn.v_proj.weight", "model.norm.weight"])
def test_a_wrong_tensor_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensor: str) -> None:
    real = hf.to_tensors

    def corrupt(*given: Any) -> dict[str, torch.Tensor]:
        return {key: value * (1 + (key == tensor)) for key, value in real(*given).items()}

    monkeypatch.setattr(hf, "to_tensors", corrupt)
    with pytest.raises(Mismatch, match="differ by"):
        hf.write(tmp_path / "out", model("llama"), None)
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "out.part/export/model.safetensors").is_file()


def test_force_replaces_exports_only(tmp_path):
    """Replacing removes the folder; one of the user stays, or with files of the user, or behind a symbolic link."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to("mine")
    for name in ("mine", "link"):
        with pytest.raises(OutputExists, match="is not an export"):
            hf.write(tmp_path / name, model("gpt2"), None, force=True)
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"
    (tmp_path / "link").unlink()
    hf.write(tmp_path / "out", model("gpt2"), None)
    for name in (".git", "notes.txt"):
        (tmp_path / "out" / name).write_text("mine")
        with pytest.raises(OutputExists, match=f"holds other files, such as '{name}'"):
            hf.write(tmp_path / "out", model("gpt2"), None, force=True)
        assert (tmp_path / "out" / name).read_text() == "mine"
        (tmp_path / "out" / name).unlink()
    hf.write(tmp_path / "out", model("gpt2"), None, force=True)


def test_a_limit_on_threads_is_no_fault_of_the_disk(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("can't start new thread")

    read = SimpleNamespace(from_pretrained=refuse)
    logging = SimpleNamespace(disable_progress_bar=lambda: None)
    library = SimpleNamespace(AutoModelForCausalLM=read, utils=SimpleNamespace(logging=logging))
    monkeypatch.setattr(hf, "find_spec", lambda name: True)
    monkeypatch.setattr(hf, "import_module", lambda name: library)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        hf._transformers_logits(tmp_path, torch.zeros(1, 1, dtype=torch.long))
