"""Configuration: units, presets, strict checks with origin and nearest name, and the file read back."""

from __future__ import annotations

from pathlib import Path

import made_shards as made
import numpy as np
import pytest
import small

from slmmodel import config as configs
from slmmodel.config import affects_weights, read_yaml, settings_of, validate
from slmmodel.data import RunData
from slmmodel.errors import InvalidConfig, MissingInput, SlmmodelError, UnknownName
from slmmodel.training.setup import make_loader
from slmmodel.yaml_files import to_yaml

DATA = made.vocab(), 1_000_000, "cpu"


def resolve(**changes: object):
    return configs.resolve(
        configs.settings_of({key.replace("__", "."): value for key, value in changes.items()}), *DATA
    )


def test_nothing_given_is_a_preset_chosen_by_the_data():
    config, notes = resolve()
    assert config.preset == "cpu-demo" and "chosen by 1,000,000 training ids" in notes[0]
    assert config.optim.name == "muon" and config.optim.lr == 4e-3
    assert config.run.batch_tokens == 2048 and config.run.budget.kind == "tokens" and config.run.budget.amount == 2e6
    assert config.model["n_vocab"] == 300 and config.model["padded_vocab"] == 320
    big, _ = configs.resolve({}, made.vocab(), 500_000_000, "cuda")
    assert big.preset == "stories-15m"
    tiny, _ = configs.resolve({}, made.vocab(), 1000, "cpu")
    assert tiny.run.budget.amount == 10_000, "not more than ten epochs"


def test_a_batch_of_0_tokens_is_that_of_the_preset():
    assert resolve(run__batch_tokens=0)[0] == resolve()[0]
    given = {"run.batch_tokens": 0, "optim.lr_scaling": "sqrt"}
    sections = configs.preset_sections("cpu-demo", configs.settings_of(given))
    assert sections["run"]["batch_tokens"] == 2048 and sections["optim"]["lr"] == 4e-3


def test_crop_offsets_are_random_in_training_unless_fixed():
    data = RunData(made.source([40]), None, made.vocab())
    for given, crop_offset in (({}, "random"), ({"data__crop_offset": "fixed"}, "fixed")):
        config, _ = resolve(**given, model__seq_len=8, run__batch_tokens=16)
        assert make_loader(data, config).crop_offset == config.data.crop_offset == crop_offset
        assert config.to_dict()["data"]["crop_offset"] == crop_offset


def test_an_array_of_two_numbers_is_a_pair():
    validated = validate(settings_of({"optim": {"betas": np.array([0.9, 0.95])}}, "settings"))
    assert validated["optim"]["betas"] == (0.9, 0.95)


def test_a_file_with_units(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(
        "model: {preset: tiny-3m, seq_len: 64}\n"
        "data:  {pack: concat, doc_mask: false}\n"
        "optim: {name: adamw, lr: 1.5e-3, betas: [0.9, 0.95], grad_clip: null, schedule: {kind: cosine, warmup: 10}}\n"
        "run:\n  budget: {tokens: 3.2M}\n  batch_tokens: 4k\n  eval_every: auto\n  compile: off\n"
        "  track: [tensorboard]\n  micro_batch: auto\n  patience: 3\n"
    )
    with pytest.raises(InvalidConfig, match="not a whole number of sequences"):
        configs.resolve(configs.read_yaml(str(path)), *DATA)
    path.write_text(path.read_text().replace("4k", "4096"))
    config, _ = configs.resolve(configs.read_yaml(str(path)), *DATA)
    assert config.model["seq_len"] == 64 and config.model["d_model"] == 256
    assert config.optim.lr == 1.5e-3 and config.optim.grad_clip is None and config.optim.betas == (0.9, 0.95)
    assert (config.optim.schedule.kind, config.optim.schedule.warmup, config.optim.schedule.decay) == (
        "cosine",
        10,
        None,
    )
    assert config.run.budget.amount == 3_200_000 and config.run.compile == "off" and not config.data.doc_mask
    assert config.run.track == ("tensorboard",) and config.run.patience == 3


@pytest.mark.parametrize(
    ("kind", "text", "amount"),
    [
        ("tokens", "1.6B", 1.6e9),
        ("targets", "2k", 2000),
        ("bytes", "2GB", 2e9),
        ("bytes", "1MiB", 1 << 20),
        ("flops", "1e15", 1e15),
        ("time", "130s", 130),
        ("time", "2min", 120),
        ("epochs", "1.5", 1.5),
        ("steps", "7", 7),
    ],
)
def test_budgets_with_units(kind, text, amount):
    config, _ = resolve(**{f"run__budget__{kind}": text})
    assert (config.run.budget.kind, config.run.budget.amount) == (kind, amount)


@pytest.mark.parametrize(
    ("line", "fact", "where"),
    [
        ("optim: {lr_rate: 1}", "unknown setting 'optim.lr_rate'; did you mean 'optim.lr'", "line 2"),
        ("optim: {lr: fast}", "optim.lr is 'fast'", "line 2"),
        ("optim: {lr: inf}", "optim.lr is 'inf'", "line 2"),
        ("optim: {betas: 0.9}", "optim.betas is '0.9'", "line 2"),
        ("run: {seed: -1}", "run.seed is '-1'", "line 2"),
        ("run: {precision: fp8}", "run.precision is 'fp8'", "line 2"),
        ("data: {doc_mask: perhaps}", "data.doc_mask is 'perhaps'", "line 2"),
        ("run: {budget: {time: long}}", "run.budget.time is 'long'", "line 2"),
        ("run: {budget: {tokens: 1, steps: 2}}", "run.budget: two budgets: tokens and steps", None),
        ("run: {budget: {tokens: 0}}", "run.budget.tokens is '0'", "line 2"),
        ("run: 3", "'run' is a section", "line 2"),
        ("run: {seed: 1, seed: 2}", "has the key 'seed' twice", "line 2"),
        ("model: {n_vocab: 77}", "model.n_vocab is 77, the vocabulary of the data has 300", "line 2"),
        ("run: {", "is not YAML", "line"),
    ],
)
def test_wrong_settings_are_reported_with_their_origin(tmp_path, line, fact, where):
    path = tmp_path / "run.yaml"
    path.write_text(f"# a comment\n{line}\n")
    with pytest.raises(InvalidConfig) as caught:
        configs.resolve(configs.read_yaml(str(path)), *DATA)
    assert fact in caught.value.fact
    assert caught.value.fix
    if where is not None:
        assert where in str(caught.value.where)


def test_wrong_names_of_models_and_presets():
    for changes in ({"model__arch": "lama"}, {"model__preset": "cpu-dmeo"}):
        with pytest.raises(UnknownName):
            resolve(**changes)
    with pytest.raises(SlmmodelError, match=r"model\.widht"):
        resolve(model__widht=3)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(MissingInput):
        configs.read_yaml(str(tmp_path / "none.yaml"))
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidConfig, match="is not UTF-8"):
        configs.read_yaml(str(tmp_path / "x.yaml"))
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(InvalidConfig, match="has no sections"):
        configs.read_yaml(str(tmp_path / "list.yaml"))


def test_pairs():
    flat = configs.read_assignments(
        ["optim.lr=1e-3", "optim.betas=[0.8, 0.9]", "optim.grad_clip=null", "optim.schedule.decay=none"]
    )
    optim = configs.validate(flat)["optim"]
    assert optim == {"lr": 1e-3, "betas": (0.8, 0.9), "grad_clip": None, "schedule": {"decay": None}}
    with pytest.raises(InvalidConfig, match="greater than 0") as caught:
        configs.validate(configs.read_assignments(["optim.grad_clip=0"]))
    assert caught.value.fix == "settings={'optim.grad_clip': 'none'}"
    with pytest.raises(InvalidConfig, match="is not NAME=VALUE"):
        configs.read_assignments(["optim.lr"])


def test_what_is_written_is_read_back_the_same(tmp_path):
    config, _ = resolve(run__budget__time="20s", data__options__stride=3, optim__lr_scaling="sqrt")
    path = tmp_path / "config.yaml"
    path.write_bytes(to_yaml(config.to_dict()))
    again, _ = configs.resolve(configs.read_yaml(str(path)), *DATA)
    assert again.to_dict() == config.to_dict() and again.digest == config.digest
    assert again.data.options == {"stride": 3}


def test_the_digest_covers_what_decides_the_weights():
    base = resolve()[0].digest
    assert resolve(run__save_every=3, run__device="cpu", run__keep=9)[0].digest == base
    for name, value in {"optim.lr": 1.0, "run.seed": 5, "data.positions": "row", "run.budget.steps": 9}.items():
        assert affects_weights(name)
        assert resolve(**{name.replace(".", "__"): value})[0].digest != base


def test_every_option_has_a_help_text():
    assert all(field.description for field in configs.OPTIONS.values())


def test_rates_follow_the_batch_where_asked():
    config, notes = resolve(optim__lr_scaling="sqrt", run__batch_tokens=8192)
    assert config.optim.lr == pytest.approx(8e-3) and "scaled by 2" in notes[-1]
    assert resolve(optim__lr_scaling="linear", run__batch_tokens=1024)[0].optim.lr == pytest.approx(2e-3)
    assert resolve(run__batch_tokens=8192)[0].optim.lr == 4e-3
    assert resolve(optim__lr_scaling="sqrt", optim__lr=1, run__batch_tokens=8192)[0].optim.lr == 1


def test_small_settings_resolve(data):
    config, _ = configs.resolve(configs.settings_of(small.settings(data)), *DATA)
    assert config.preset is None and config.model["n_layers"] == 2
    config, _ = resolve(model__arch="lstm")
    assert config.data.pack == "bucket", "recurrent models take one document a row"
    assert (config.model["n_layers"], config.model["hidden_size"]) == (4, 256)
    assert resolve(model__arch="gpt2")[0].model["n_heads"] == 4


def test_an_empty_mapping_is_a_wrong_value_of_a_setting(tmp_path: Path) -> None:
    sections = {"model": {}, "run": {"budget": {}}, "optim": {"schedule": {}}, "data": {"options": {}, "read": {}}}
    assert settings_of(sections) == settings_of({}) == {}
    path = tmp_path / "run.yaml"
    path.write_text("model: {}\nrun: {budget: {}}\noptim: {schedule: {}}\ndata: {options: {}, read: {}}\n")
    assert read_yaml(str(path)) == {}
    path.write_text("run:\n  seed: {}\n")
    for given in (settings_of({"run.seed": {}}), settings_of({"run": {"seed": {}}}), read_yaml(str(path))):
        with pytest.raises(InvalidConfig) as caught:
            validate(given)
        assert (caught.value.fact, caught.value.limit) == ("run.seed is {}", "an integer >= 0")
    assert caught.value.where == f"{path}, line 2"
    with pytest.raises(InvalidConfig, match="unknown setting 'optm'"):
        validate(settings_of({"optm": {}}))
