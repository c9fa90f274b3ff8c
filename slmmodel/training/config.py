"""From what was given to a whole configuration: presets under settings, every default filled in, written as YAML.

What comes out says everything that decides the weights, so the file in the bundle is enough to train them again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from slmmodel.errors import InvalidConfig
from slmmodel.models import ModelConfig, arch_of
from slmmodel.models.presets import Preset, preset
from slmmodel.optim.schedules import ScheduleSettings
from slmmodel.optim.settings import OptimSettings
from slmmodel.training import choose, readers
from slmmodel.training.readers import Flat, Given
from slmmodel.training.settings import BUDGETS, Budget, Config, DataSettings, RunSettings, known, semantic
from slmmodel.vocab import VocabMeta

_ALIASES = {"model.ctx": "model.seq_len"}
_OPTIONS = "data.options."


@dataclass(frozen=True)
class Facts:
    """What has to be known of data and machine before a configuration can be filled in."""

    vocab: VocabMeta
    tokens: int
    """Training ids of one epoch."""
    device: str
    """Type of the device."""


def flatten(table: Mapping[str, Any], where: str = "settings", prefix: str = "") -> Flat:
    """A nested or dotted table of plain values as settings."""
    found: Flat = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            found |= flatten(value, where, name + ".")
        else:
            found[name] = Given(value, where)
    return found


def resolve(given: Flat, facts: Facts) -> tuple[Config, list[str]]:
    """The whole configuration, and remarks on what was chosen.

    Raises `InvalidConfig`, `UnknownName`, `InvalidModelConfig`.
    """
    given = {_ALIASES.get(name, name): value for name, value in given.items()}
    model_given = {name.removeprefix("model."): value for name, value in given.items() if name.startswith("model.")}
    options = {name: value for name, value in given.items() if name.startswith(_OPTIONS)}
    rest = {name: value for name, value in given.items() if not name.startswith("model.") and name not in options}
    readers.refuse_unknown(rest, [*known(), "model.preset", "model.seq_len"])
    values = readers.read(rest, known())
    notes: list[str] = []
    name, base = _base(model_given, facts, notes)
    model = _model(model_given, base, facts)
    run = _section(RunSettings, "run.", values, {"batch_tokens": _batch(base, model)})
    optim, schedule = _optim(values, base, run.batch_tokens, notes)
    data = _section(DataSettings, "data.", values, {"pack": _pack(model)})
    data = replace(
        data, options=tuple(sorted((key[len(_OPTIONS) :], _plain(item.value)) for key, item in options.items()))
    )
    budget = _budget(values, base, facts)
    if run.batch_tokens % model.seq_len:
        run = _rounded(run, model.seq_len, "run.batch_tokens" in values)
    return Config({"preset": name, **model.to_dict()}, data, optim, schedule, run, budget), notes


def _base(given: Mapping[str, Given], facts: Facts, notes: list[str]) -> tuple[str | None, Preset]:
    """The preset that fills in what was not given; its name is None where its shape is not used."""
    if "preset" in given:
        name = str(given["preset"].value)
        return name, preset(name)
    name = choose.preset_for(facts.tokens, facts.device)
    if "arch" in given:
        return None, preset(name)
    notes.append(f"preset {name}, chosen by {facts.tokens:,} training ids on {facts.device}")
    return name, preset(name)


def _model(given: Mapping[str, Given], base: Preset, facts: Facts) -> ModelConfig:
    table = {name: _plain(value.value) for name, value in given.items() if name != "preset"}
    shape = _shape(str(table.get("arch", base.model["arch"])), base)
    sizes = {"n_vocab": facts.vocab.n_vocab, "padded_vocab": facts.vocab.padded_vocab}
    for name, size in sizes.items():
        if table.get(name, size) != size:
            raise InvalidConfig(
                f"model.{name} {table[name]} contradicts the data",
                where=given[name].where,
                limit=f"the data's vocabulary has {size}",
                fix=f"leave model.{name} out",
                option=f"model.{name}",
            )
    return ModelConfig.from_dict({"seq_len": base.seq_len, **shape, **table, **sizes})


def _shape(arch: str, base: Preset) -> dict[str, Any]:
    """The preset's shape; a model of another architecture takes the sizes that it has, too. Raises `UnknownName`."""
    if arch == base.model["arch"]:
        return dict(base.model)
    known = {item.name for item in fields(arch_of(arch).config_class())}
    sizes = {**base.model, "hidden_size": 2 * base.model["d_model"]}
    return {
        name: size for name, size in sizes.items() if name in known & {"n_layers", "d_model", "n_heads", "hidden_size"}
    }


def _plain(value: Any) -> Any:
    """What a word means where no kind is declared: a truth value, a number, or itself."""
    if not isinstance(value, str):
        return value
    if value in ("true", "false"):
        return value == "true"
    for number in (int, float):
        try:
            return number(value.replace("_", ""))
        except ValueError:
            continue
    return value


def _pack(model: ModelConfig) -> str:
    """Recurrent models take one document a row, so that no state has to forget."""
    return "bucket" if model.recurrent else "concat"


def _batch(base: Preset, model: ModelConfig) -> int:
    rows: int = max(base.batch_tokens // model.seq_len, 1)
    return rows * model.seq_len


def _rounded(run: RunSettings, seq_len: int, asked: bool) -> RunSettings:
    rows = max(run.batch_tokens // seq_len, 1)
    if asked:
        raise InvalidConfig(
            f"run.batch_tokens {run.batch_tokens} is no whole number of rows",
            limit=f"a multiple of model.seq_len, {seq_len}",
            fix=f"--set run.batch_tokens={rows * seq_len}",
            option="run.batch_tokens",
        )
    return replace(run, batch_tokens=rows * seq_len)


def _section(kind: Any, prefix: str, values: Mapping[str, Any], defaults: Mapping[str, Any]) -> Any:
    own = {item.name for item in fields(kind)}
    found = {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
    return kind(**{**defaults, **{name: value for name, value in found.items() if name in own}})


def _optim(
    values: Mapping[str, Any], base: Preset, batch_tokens: int, notes: list[str]
) -> tuple[OptimSettings, ScheduleSettings]:
    defaults = dict(base.optim)
    planned = dict(defaults.pop("schedule", {}))
    if planned.get("warmup", 0) >= 1:
        # As a share of the run that the preset is for, so that it suits shorter and longer ones.
        planned["warmup"] = round(planned["warmup"] * base.batch_tokens / base.tokens, 4)
    own = {name: value for name, value in values.items() if name.startswith("optim.")}
    schedule = {
        name.removeprefix("optim.schedule."): v for name, v in own.items() if name.startswith("optim.schedule.")
    }
    if schedule.get("kind", planned.get("kind")) != planned.get("kind"):
        planned = {}
    numbers = {name.removeprefix("optim."): v for name, v in own.items() if not name.startswith("optim.schedule.")}
    settings = OptimSettings(**{**defaults, **numbers})
    if "lr" not in numbers and settings.lr_scaling != "none" and batch_tokens != base.batch_tokens:
        factor = (batch_tokens / base.batch_tokens) ** (0.5 if settings.lr_scaling == "sqrt" else 1.0)
        settings = replace(settings, lr=settings.lr * factor)
        notes.append(f"learning rate scaled by {factor:.3g} for {batch_tokens:,} tokens a step")
    return settings, ScheduleSettings(**{**planned, **schedule})


def _budget(values: Mapping[str, Any], base: Preset, facts: Facts) -> Budget:
    named = [kind for kind in BUDGETS if values.get(f"run.budget.{kind}") is not None]
    if len(named) > 1:
        raise InvalidConfig(
            f"budgets in {' and in '.join(named)}",
            limit="exactly one",
            fix=f"leave {named[1]} out",
            option="run.budget",
        )
    if not named:
        return Budget("tokens", float(choose.default_tokens(base.tokens, facts.tokens)))
    amount = float(values[f"run.budget.{named[0]}"])
    if amount <= 0:
        raise InvalidConfig(
            f"a budget of no {named[0]}", limit="above 0", fix=f"--budget {named[0]}=1M", option="run.budget"
        )
    return Budget(named[0], amount)


def to_dict(config: Config) -> dict[str, Any]:
    """The configuration as sections of plain values; `model` is exactly what the models read back."""
    data = {item.name: getattr(config.data, item.name) for item in fields(config.data)}
    run = {item.name: getattr(config.run, item.name) for item in fields(config.run)}
    amount = config.budget.amount
    return {
        "model": {key: value for key, value in config.model.items() if key != "preset"},
        "data": {**data, "options": dict(config.data.options)},
        "optim": {
            **dataclasses.asdict(config.optim),
            "betas": list(config.optim.betas),
            "schedule": dataclasses.asdict(config.schedule),
        },
        "run": {
            **run,
            "track": list(config.run.track),
            "budget": {config.budget.kind: int(amount) if amount.is_integer() else amount},
        },
    }


def to_yaml(config: Config) -> bytes:
    """The configuration as a file of a bundle, which `--config` reads, too."""
    return f"# preset: {config.model.get('preset') or 'none'}\n".encode() + table_to_yaml(to_dict(config))


def table_to_yaml(table: Mapping[str, Any]) -> bytes:
    """Sections of plain values as YAML, the same bytes for the same values."""
    import yaml

    text: str = yaml.safe_dump(dict(table), sort_keys=True, allow_unicode=True, default_flow_style=None, width=120)
    return text.encode()


def semantics(table: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the weights, by dotted name, of a configuration's sections."""
    flat = {name: given.value for name, given in flatten(table).items()}
    return {name: value for name, value in flat.items() if semantic(name) and name not in ("data.train", "data.val")}


def digest(table: Mapping[str, Any]) -> str:
    """Of what decides the weights."""
    return hashlib.sha256(json.dumps(semantics(table), sort_keys=True, default=list).encode()).hexdigest()


def from_dict(table: Mapping[str, Any], facts: Facts) -> Config:
    """A recorded configuration again."""
    flat = flatten(table, "config.yaml")
    if not table["data"].get("options"):
        flat.pop("data.options", None)
    return resolve(flat, facts)[0]


def contradictions(given: Flat, config: Config, recorded: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Settings that were given and differ from the recorded ones: name, given, recorded."""
    now, before = semantics(to_dict(config)), semantics(recorded)
    names = {_ALIASES.get(name, name) for name in given}
    if "model.preset" in names:
        names |= {name for name in now if name.startswith("model.")}
    named = [name for name in now if name in names or name.startswith("run.budget.")]
    asked = any(name.startswith("run.budget.") for name in names)
    return [
        (name, now[name], before.get(name))
        for name in named
        if before.get(name) != now[name] and (asked or not name.startswith("run.budget."))
    ]
