"""`RunConfig`: every option of a training run with its default, limits and help, and how a configuration is resolved.

YAML keys, `--set NAME=VALUE`, error messages and documentation follow from the fields below; options of a model are
fields of its class in `models/config.py`. torch is not imported, so wrong options are reported before it is loaded.

Settings (a YAML file, `--set`, keyword tables) are flat tables from dotted names to values with their origin. `resolve`
puts them on top of a preset and fills in every default.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic.fields import FieldInfo

from slmmodel.budget import BUDGETS, Budget, budget_meant, budget_of, meant_amount, meant_budgets
from slmmodel.config_values import (
    AutoCount,
    Beta,
    Count,
    DecayShape,
    Device,
    Factor,
    OptimizerName,
    OptionalNumber,
    PositiveCount,
    ScheduleKind,
    Section,
    StepsOrShare,
    as_given,
    as_list,
    check_vocab_sizes,
    check_warmup,
    first_of_unknown,
    fit_batch,
    joined_settings,
    meant_elsewhere,
    meant_length,
    meant_number,
    meant_word,
    mend_model_error,
    of_other_arch,
    one_of_list,
    option,
    parse_word,
    resumable_option,
)
from slmmodel.data_config import LISTS, DataConfig, check_lists, is_other_value, names_path, step_after
from slmmodel.errors import (
    Argument,
    Fix,
    InvalidConfig,
    MissingInput,
    OptionError,
    SlmmodelError,
    Unreadable,
    first_fault,
    of_another_trainer,
    suggestion,
    unknown_setting,
)
from slmmodel.foreign_names import BETAS, DEFAULT_BETAS, both_betas, own_setting
from slmmodel.hardware import device_limit, meant_device
from slmmodel.json_files import FaultError, read_bounded
from slmmodel.models import MODELS, ModelConfig, arch_of, config_from_dict
from slmmodel.models.presets import DEFAULT_PRESETS, PRESETS, Preset, archs_named, preset
from slmmodel.sizes import ceil_div, parse_count
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    from yaml.nodes import Node

MAX_YAML_BYTES = 1 << 20
MAX_EPOCHS = 10
"""The default budget reads the data at most this often."""
USUAL_LR = 1.0
"""Above it a run says that its learning rate is probably a mistake: presets have at most 0.004."""


# ---------------------------------------------------------------- the options


class ScheduleConfig(Section):
    """Learning-rate schedule."""

    kind: ScheduleKind = option("wsd", "wsd, cosine, linear or const.")
    warmup: StepsOrShare = option(
        None,
        "Below 1 a share of the run, else steps. Default: 1 %, at least 100 steps; 5 % of runs under 2000 steps.",
    )
    decay: StepsOrShare = option(
        None, "Below 1 a share of the run, else steps. Default: 20 %; 40 % of runs under 2000 steps."
    )
    final: Factor = option(0.0, "Factor of the learning rate that the step after the last would have.")
    shape: DecayShape = option("linear", "Decay of wsd: linear, 1-sqrt or cosine.")


class OptimConfig(Section):
    """Optimizer. Learning rates are peaks; the schedule multiplies all of them with one factor in [0, 1].

    A run takes what its preset names from there, at least `name`, `lr`, `weight_decay` and `schedule`. Defaults here
    are for the other options, and for use without a preset.
    """

    name: OptimizerName = option("adamw", "adamw or muon.")
    lr: float = option(1e-3, "Peak learning rate of matrices.", gt=0, le=1e30)
    betas: Annotated[tuple[Beta, Beta], BeforeValidator(as_list)] = option(DEFAULT_BETAS, "Of AdamW.")
    eps: Factor = option(1e-8, "Of AdamW.")
    weight_decay: Factor = option(0.1, "Decoupled, on matrices alone.")
    grad_clip: OptionalNumber = option(1.0, "Largest gradient norm, or none.", gt=0)
    lr_scaling: Literal["none", "sqrt", "linear"] = option("none", "Scale the preset's rate with the batch size.")
    momentum: Factor = option(0.95, "Of Muon.")
    ns_steps: Count = option(5, "Newton-Schulz iterations of Muon.", le=100)
    ns_dtype: Literal["auto", "fp32", "bf16"] = option(
        "auto", "Their type; auto: bf16 where the device multiplies it faster, else fp32."
    )
    embedding_lr: Factor = option(1.0, "Factor on lr for embeddings and heads.")
    vector_lr: Factor = option(1.0, "Factor on lr for norm weights and biases.")
    gate_lr: Factor = option(0.01, "Peak learning rate of the gates of infini.")
    gate_weight_decay: Factor = option(0.0, "Decoupled, on the gates of infini.")
    schedule: ScheduleConfig = ScheduleConfig()


class RunSection(Section):
    """Size of a step, precision, device, and when to evaluate, save and log."""

    batch_tokens: Count = option(0, "Tokens of the global batch, padding included; 0 takes the preset's.", le=1 << 32)
    seed: Count = option(0, "Seed of the initial weights and of the order of the data.")
    precision: Literal["auto", "fp32", "bf16", "fp16", "fp64"] = option(
        "auto", "Type of matrix products; weights are fp32, or fp64 with fp64."
    )
    deterministic: bool = option(False, "Deterministic CUDA kernels.")
    patience: Count = option(0, "Early stopping: evaluations without improvement; 0 disables it.")
    budget: Budget = option(
        Budget(),
        "Length of the run: tokens=328M, targets=, bytes=2GB, flops=1e15, time=130s, epochs=3 or steps=500.",
    )
    device: Device = resumable_option("auto", "auto, cpu, cuda, cuda:N or mps; auto takes the fastest one.")
    threads: Count = resumable_option(0, "CPU threads; 0 takes torch's choice.")
    micro_batch: AutoCount = resumable_option(
        0, "Sequences per forward pass; auto: measured on CUDA, else estimated. Without dropout only rounding differs."
    )
    parallel: Literal["auto", "ddp", "fsdp"] = resumable_option("auto", "With several ranks: DDP or FSDP2.")
    cpu_accel: bool = resumable_option(True, "CPU data parallelism and allocator settings.")
    compile: Literal["auto", "on", "off"] = resumable_option("auto", "torch.compile the model.")
    eval_every: AutoCount = resumable_option(
        0, "Steps between validations; auto: a tenth of the run, more where validation would take over a tenth of it."
    )
    save_every: AutoCount = resumable_option(0, "Steps between checkpoints; auto: a tenth of the run, at least 50.")
    log_every: AutoCount = resumable_option(0, "Steps between lines of metrics.")
    keep: PositiveCount = resumable_option(2, "Newest checkpoints that are kept, besides the best.")
    keep_every: Count = resumable_option(0, "Also keep checkpoints at multiples of this.")
    track: Annotated[tuple[Literal["tensorboard", "trackio", "wandb"], ...], BeforeValidator(as_list)] = (
        resumable_option((), "Also log metrics to these, separated by commas: tensorboard, trackio, wandb.")
    )

    def intervals(self, steps: int, validations: int) -> tuple[int, int, int]:
        """Steps between validations, checkpoints and lines of metrics in a run of this length.

        `validations` is their number where `eval_every` is auto.
        """
        tenth = ceil_div(steps, 10)
        every_line = 1 if steps <= 10_000 else 10
        return (
            self.eval_every or max(1, ceil_div(steps, validations)),
            self.save_every or max(50, tenth),
            self.log_every or every_line,
        )


class RunConfig(Section):
    """A resolved configuration. `model` is the flat table that `architecture` parses."""

    preset: str | None = option(
        None, "Shape and settings to start from; by default chosen by the size of the data.", exclude=True
    )
    """A note for people, not part of the resolved configuration."""
    model: dict[str, Any]
    data: DataConfig = DataConfig()
    optim: OptimConfig = OptimConfig()
    run: RunSection = RunSection()

    @property
    def architecture(self) -> ModelConfig:
        """The configuration of the model."""
        return config_from_dict(self.model)

    @property
    def seq_len(self) -> int:
        """Tokens of a sequence."""
        return int(self.model["seq_len"])

    @property
    def batch_size(self) -> int:
        """Sequences of the global batch."""
        return self.run.batch_tokens // self.seq_len

    def to_dict(self) -> dict[str, Any]:
        """Sections of plain values, as in `config.yaml`."""
        return self.model_dump(mode="json")

    @property
    def digest(self) -> str:
        """SHA-256 over the options that decide the weights."""
        decisive = json.dumps(weight_options(self.to_dict()), sort_keys=True, default=list)
        return hashlib.sha256(decisive.encode()).hexdigest()


# ---------------------------------------------------------------- settings and their origin


@dataclass(frozen=True)
class Setting:
    """A value and where it was given: `run.yaml, line 9`, or `--set`."""

    value: Any
    where: str
    replaces: Setting | None = None
    """The one with less weight that it replaces, such as that of the file."""


Settings = dict[str, Setting]
_BUDGET = "run.budget."


def settings_of(values: Mapping[str, Any], where: str = "settings", prefix: str = "") -> Settings:
    """A nested or dotted mapping of plain values as settings; `Setting` values keep their origin."""
    settings: Settings = {}
    for key, value in values.items():
        inner = settings_of(value, where, f"{prefix}{key}.") if isinstance(value, Mapping) else {}
        if not isinstance(value, Mapping) or not (value or _has_names(f"{prefix}{key}")):
            inner = {_whole_name(f"{prefix}{key}"): value if isinstance(value, Setting) else Setting(value, where)}
        if twice := settings.keys() & inner.keys():
            raise InvalidConfig(f"{min(twice)!r} is set twice", where=where, fix="remove one of them")
        settings |= inner
    return settings


def _has_names(name: str) -> bool:
    """Whether names stand below this one, a section or a table; without any it sets nothing."""
    return any(each.startswith(f"{name}.") for each in ("model.", "data.options.", "data.read.", *OPTIONS))


def _whole_name(name: str) -> str:
    """A name; of a whole one such as `model.n_layers` in the block of a section, this one."""
    section, _, inside = name.partition(".")
    is_whole = section in _SECTIONS and inside.partition(".")[0] in _SECTIONS and name not in OPTIONS
    return inside if is_whole else name


def read_yaml(path: str) -> Settings:
    """The settings of a YAML file. Raises `MissingInput`, `Unreadable`, `InvalidConfig`."""
    from yaml.nodes import MappingNode

    from slmmodel.yaml_files import compose, leaves, remedy

    try:
        node = compose(read_bounded(Path(path), MAX_YAML_BYTES))
    except FileNotFoundError:
        near = suggestion(Path(path).name, [each.name for each in Path(path).absolute().parent.glob("*.y*ml")])
        made = f"; slm config > {shlex.quote(path)} writes one" if Path(path).parent.is_dir() else ""
        fix: Fix = f"--config {Path(path).with_name(near)}" if near else f"check the name{made}"
        if path in PRESETS:
            fix = (Argument("preset", path),)
        raise MissingInput(f"no file {path!r}", where="--config", fix=fix, path=path) from None
    except OSError as error:
        raise Unreadable(
            f"cannot read {path!r}: {error.strerror}", where="--config", fix="name a text file", path=path
        ) from error
    except FaultError as fault:
        mend = remedy(fault, path)
        if Path(path).suffix not in (".yaml", ".yml"):
            mend += "; slm config > run.yaml writes a configuration"
        raise InvalidConfig(f"{path} {fault}", where=fault.place_in(path), fix=mend, path=path) from None
    if not isinstance(node, MappingNode | None):
        raise InvalidConfig(f"{path} has no sections", where=path, fix="slm config > run.yaml writes a configuration")
    settings: Settings = {}
    for name, number, value in [] if node is None else leaves(node):
        if name == "data" and isinstance(value, list):
            # A section `data` that is a list is its key `train`.
            name = "data.train"
        if value in (None, {}) and _has_names(name):
            # A section whose settings are all comments.
            continue
        name = _whole_name(name)
        if name in settings:
            raise InvalidConfig(f"{name!r} is set twice", where=f"{path}, line {number}", fix="remove one of them")
        settings[name] = Setting(value, f"{path}, line {number}")
    if settings and 2 * sum(map(_is_meant, settings)) < len(settings):
        known = [*OPTIONS, *model_options(settings)]
        values = {name: each.value for name, each in settings.items()}
        raise InvalidConfig(
            f"{path} is not a configuration: it has the key {next(iter(settings))!r}",
            where=path,
            limit=f"sections: {', '.join(_SECTIONS)}",
            fix=f"{of_another_trainer(settings, known, values)}slm config > run.yaml writes one",
            path=path,
            option="config",
        )
    return settings


_SECTIONS = ("model", "data", "optim", "run")
_PRESET = "model.preset"
"""A setting that stands for all of its section."""


def _is_meant(name: str) -> bool:
    """Whether a name is that of a setting, or a misspelling of one."""
    is_inside = name.partition(".")[0] in _SECTIONS
    ours = [*OPTIONS, _PRESET]
    return is_inside or any(f".{name}." in f"{option}." for option in ours) or suggestion(name, ours) is not None


def read_assignments(assignments: Iterable[str]) -> Settings:
    """The settings of `--set NAME=VALUE`; later ones win. Raises `InvalidConfig`."""
    settings: Settings = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name.strip():
            raise InvalidConfig(f"--set {assignment!r} is not NAME=VALUE", fix="--set optim.lr=1e-3", option="set")
        value = None if text.strip() == "null" else text.strip()
        if name.strip() in LISTS and text.strip().startswith("["):
            value = _flow_list(text, name.strip())
        settings[name.strip()] = Setting(value, f"--set {name.strip()}")
    return settings


def _flow_list(text: str, name: str) -> Any:
    """A list of tables as YAML writes it in one line. Raises `InvalidConfig`."""
    import yaml

    from slmmodel.yaml_files import as_written

    try:
        return as_written(cast("Node", yaml.compose(text, Loader=yaml.SafeLoader)))
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or error
        fix = "--set 'data.train=[{path: books/, weight: 3}, {path: web/}]'"
        raise InvalidConfig(f"{name} is not a list: {problem}", where=f"--set {name}", fix=fix, option=name) from None


def read_budget(text: object, option: str, beside: Settings | None = None) -> Settings:
    """The setting of a budget such as `tokens=2M`; `option` is `--budget`, or `budget` in Python.

    beside: the other settings, by which a fix computes another budget. Raises `OptionError`.
    """
    others = {name: each.value for name, each in (beside or {}).items()}
    if isinstance(text, Mapping) and len(text) == 1:
        # As one writes it in a configuration file.
        kind, amount = map(str, next(iter(text.items())))
        fix = (Argument("budget", f"{kind}={amount}"),) if kind in BUDGETS else budget_meant(kind, amount, others)
        meant = next((str(part.value).partition("=")[0] for part in fix if isinstance(part, Argument)), kind)
        fact = f"{option} is a mapping, not a str such as 'steps=500'" + f"; did you mean {meant!r}?" * (meant != kind)
        raise OptionError(fact, limit=", ".join(BUDGETS), fix=fix, option="budget")
    kind, equals, amount = map(str.strip, text.partition("=")) if isinstance(text, str) else ("", "", "")
    if kind in BUDGETS and "=" in amount:
        first = (Argument("budget", f"{kind}={amount.partition(',')[0]}"),)
        raise OptionError(f"{option} {text!r} names several budgets", limit="one of them", fix=first, option="budget")
    if not equals or not amount:
        raise OptionError(
            f"{option} {text!r} is not KIND=AMOUNT",
            limit=", ".join(BUDGETS),
            fix=meant_budgets(text, others),
            option="budget",
        )
    if kind not in BUDGETS:
        meant_here = budget_meant(kind, amount, others)
        raise OptionError(f"unknown budget {kind!r}", limit=", ".join(BUDGETS), fix=meant_here, option="budget")
    return {f"{_BUDGET}{kind}": Setting(amount, option)}


def _has_budget(settings: Settings) -> bool:
    return any(name.startswith(_BUDGET) for name in settings)


@contextmanager
def add_origin_to_errors(settings: Settings) -> Iterator[None]:
    """Lets an error about one of these settings, or about the file it names, say where that was given."""
    try:
        yield
    except Exception as raised:
        if not hasattr(raised, "fields"):
            raise
        error = cast("SlmmodelError", raised)  # or one of slmtok, which has the same parts
        path = error.fields.get("path")
        named = next((each for each in settings.values() if path is not None and names_path(each.value, path)), None)
        fit_batch(error, settings)
        given = settings.get(str(error.fields.get("option")))
        if given is not None and error.where in (None, "model", "settings", "run.budget"):
            # Of two settings that do not fit each other, both.
            other = settings.get(str(error.fields.get("beside")))
            error.where = ", ".join(dict.fromkeys(each.where for each in (given, other) if each is not None))
        elif named is not None and ", line " in named.where:
            file = named.where.rpartition(", line ")[0]
            beside = os.path.normpath(Path(file).parent / str(path))
            if not Path(str(path)).exists() and Path(beside).exists():
                error.limit = "paths in a configuration are relative to the working folder, not to the file"
                error.fix = f"write {beside} in that line"
            error.where = f"{error.where}, named in {named.where}" if error.where else named.where
        raise


def merged(base: Settings, changes: Settings) -> Settings:
    """Both, where `changes` win; a budget of any kind replaces that of `base`."""
    if _has_budget(changes):
        base = {name: given for name, given in base.items() if not name.startswith(_BUDGET)}
    over = {name: replace(given, replaces=base[name]) for name, given in changes.items() if name in base}
    return {**base, **changes, **over}


def refuse_contradiction(settings: Settings, named: Settings) -> None:
    """Raises `OptionError` for a setting with one value among the settings and another by its own option.

    All budgets are one setting.
    """
    budgets = [next((name for name in given if name.startswith(_BUDGET)), None) for given in (settings, named)]
    if None not in budgets and budgets[0] != budgets[1]:
        kinds = [str(name).removeprefix(_BUDGET) for name in budgets]
        first = settings[str(budgets[0])].where
        fix = f"leave out {first if first != 'settings' else budgets[0]}, or {named[str(budgets[1])].where}"
        raise OptionError(f"two budgets: {kinds[0]} and {kinds[1]}", fix=fix, option="budget")
    for name in named.keys() & settings.keys():
        own, other = named[name], settings[name]
        if is_other_value(name, own.value, other.value):
            place = f"{other.where}{'' if name in other.where else f' {name}'}={other.value}"
            kind = f"{name.removeprefix(_BUDGET)}=" if name.startswith(_BUDGET) else ""
            mine = f"{own.where}={own.value}" if name in own.where else f"{own.where} {kind}{own.value}"
            fix = f"leave out {place}" + f", or {mine}" * (own.where != "data")  # as Python cannot
            raise OptionError(f"{place} and {mine} are the same setting", fix=fix, option=name.rpartition(".")[2])


# ---------------------------------------------------------------- checking


def option_fields(section: type[BaseModel] = RunConfig, prefix: str = "") -> dict[str, FieldInfo]:
    """Every option outside `model` by dotted name."""
    fields: dict[str, FieldInfo] = {}
    for name, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            fields |= option_fields(field.annotation, f"{prefix}{name}.")
        elif prefix:
            fields[prefix + name] = field
    return fields


OPTIONS = option_fields()


def affects_weights(name: str) -> bool:
    """Whether an option decides the weights of a run; those of `model`, `data.options` and `data.read` do."""
    return name not in OPTIONS or bool(cast(dict[str, Any], OPTIONS[name].json_schema_extra)["affects_weights"])


def check_names(settings: Settings, names: Iterable[str] = OPTIONS) -> None:
    """Raises `InvalidConfig` for the first setting that does not exist, with what to write for all of them."""
    check_lists(settings)
    valid = dict.fromkeys(names)
    known = list(dict.fromkeys([_PRESET, *valid, *model_options(settings)]))
    unknown = [name for name in settings if name not in valid and not name.startswith(("data.options.", "data.read."))]
    errors = [of_other_arch(name, settings, known) or _unknown(name, settings[name], known) for name in unknown]
    for name, error in zip(unknown, errors, strict=True):
        if own_setting(name) == BETAS and BETAS in valid:
            both = both_betas({each: settings[each].value for each in unknown if own_setting(each) == BETAS})
            is_in_file = ", line " in settings[name].where
            error.fix = f"write {BETAS}: {both}" if is_in_file else (Argument(BETAS, both),)
    if errors:
        raise first_of_unknown(dict(zip(unknown, errors, strict=True)), known, settings)


def _unknown(name: str, given: Setting, known: list[str]) -> InvalidConfig:
    """The error for a setting that does not exist, with the nearest one that does."""
    from slmmodel.data.strategies import option_names

    error = unknown_setting(name, [*known, *(f"data.options.{each}" for each in option_names())], given.where)
    is_inside = f"{name}." == _BUDGET
    if f".{_BUDGET}".endswith(f".{name}.") and given.value:
        kind, amount = budget_of(str(given.value)).split("=", 1)
        in_file = f"write {f'budget: {{{kind}: {amount}}}' if is_inside else f'{_BUDGET}{kind}: {amount}'} in that line"
        error.fix = in_file if ", line " in given.where else (Argument(f"{_BUDGET}{kind}", amount),)
    inside = [each for each in known if each.startswith(f"{name}.")]
    if inside and not is_inside and ", line " not in given.where:
        is_valid = inside[0] not in OPTIONS or _is_valid(inside[0], given.value)
        setting: Fix = (Argument(inside[0], given.value),) if is_valid else _fix_of(inside[0], given)
        error.fix = setting if isinstance(setting, str) else ("name a setting of it, such as ", *setting)
    error.fix = meant_elsewhere(name, given.value) or error.parts["fix"]
    return error


def model_options(settings: Settings | None = None) -> dict[str, None]:
    """The options of all architectures, by dotted name; with settings, of the one that these have."""
    given = {name: str(each.value) for name, each in (settings or {}).items() if name in (_PRESET, "model.arch")}
    kinds = MODELS.values() if settings is None else archs_named(given.get(_PRESET), given.get("model.arch"))
    return dict.fromkeys(f"model.{field}" for kind in kinds for field in kind.config.model_fields)


def nested(settings: Settings) -> dict[str, Any]:
    """Settings as nested dictionaries of their values."""
    nested: dict[str, Any] = {}
    for name, setting in settings.items():
        *path, last = name.split(".")
        inner = nested
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = setting.value
    return nested


def validate(settings: Settings) -> dict[str, Any]:
    """The sections `data`, `optim` and `run` as nested dictionaries of validated values, without defaults.

    Raises `InvalidConfig` with the origin of the wrong value.
    """
    check_names(settings)
    try:
        parsed = RunConfig.model_validate({"model": {}, **nested(settings)})
    except ValidationError as error:
        try:
            path, _, limit = first_fault(error)
        except InvalidConfig as fault:
            wrong = f"{fault.fields.get('option')}."
            places = [given.where for name, given in settings.items() if f"{name}.".startswith(wrong)]
            fault.where = fault.where or " and ".join(dict.fromkeys(places)) or None
            if (share := fault.fields.get("share")) and (given := settings.get("run.budget.steps")):
                fault.fix = step_after(cast("float", share), parse_count(str(given.value)) or 0)
            raise
        name = next(name for name in settings if f"{path}.".startswith(f"{name}."))
        raise InvalidConfig(
            f"{name} is {settings[name].value!r}",
            where=settings[name].where,
            limit=device_limit() if name == "run.device" else limit,
            fix=as_given(_fix_of(name, settings[name]), name, settings[name].where),
            option=name,
        ) from None
    return parsed.model_dump(exclude_unset=True, exclude={"model"})


def _fix_of(name: str, given: Setting) -> Fix:
    """A value that the setting takes, or the advice to leave it out where its default is another setting's or none."""
    value, replaced = given.value, given.replaces
    if name.startswith(_BUDGET):
        return meant_amount(f"{name.removeprefix(_BUDGET)}={{}}", value)
    if name not in OPTIONS:
        return "correct it"
    if joined := joined_settings(name, value):
        return tuple(part for each in joined for part in (Argument(*each), " "))[:-1]
    meant = (
        meant_device(str(value).lower().removeprefix("torch."))
        if name == "run.device"
        else meant_word(name, OPTIONS[name].annotation, value)
    )
    if meant is not None:
        return (Argument(name, meant),)
    number = meant_number(value)
    if number is not None and _is_valid(name, number):
        return (Argument(name, number),)
    if one := one_of_list(name, value, lambda each: _is_valid(name, each)):
        return one
    if name in ("optim.schedule.warmup", "optim.schedule.decay") and (lengths := meant_length(name, value)):
        return lengths
    if replaced is not None and _is_valid(name, replaced.value):
        return (Argument(name, replaced.value), f", as in {replaced.where}")
    if OPTIONS[name].annotation is str and not isinstance(value, str):
        return f"{name} is one word: {str(OPTIONS[name].description).rstrip('.')}"
    default = OPTIONS[name].default
    is_of_preset = name in ("optim.name", "optim.lr", "optim.weight_decay")
    if is_of_preset or default in (None, "", (), {}) or name.startswith("optim.schedule."):
        return f"leave out {name}, then the preset decides" if is_of_preset else f"leave out {name}"
    usual = Argument(name, str(default).lower() if isinstance(default, bool) else default)
    return (usual,) if isinstance(default, tuple) else (usual, ", as without it")


def _is_valid(name: str, value: Any) -> bool:
    """Whether an option outside `model` takes a value."""
    try:
        RunConfig.model_validate({"model": {}, **nested({name: Setting(value, "")})})
    except (ValidationError, InvalidConfig):
        return False
    return True


# ---------------------------------------------------------------- resolving


def resolve(settings: Settings, vocab: VocabMeta, n_train_ids: int, device: str) -> tuple[RunConfig, list[str]]:
    """The whole configuration for data with `n_train_ids` ids an epoch, and notes on what was chosen automatically.

    Raises `InvalidConfig`, `UnknownName`.
    """
    model_settings, given = _sections_of(settings)
    notes: list[str] = []
    defaults = DEFAULT_PRESETS["cuda" if device == "cuda" else "cpu"]
    default_name = next(name for max_tokens, name in defaults.items() if n_train_ids <= max_tokens)
    name = str(model_settings["preset"].value) if "preset" in model_settings else default_name
    base = preset(name)
    if not model_settings.keys() & {"preset", "arch"}:
        notes.append(f"preset {name}, chosen by {n_train_ids:,} training ids on {device}")
    model = _resolve_model(model_settings, base, vocab)
    data = {"pack": "bucket" if model.recurrent else "concat", **given.get("data", {})}
    run = _resolve_run(given.get("run", {}), base, model.seq_len, n_train_ids)
    optim = _resolve_optim(given.get("optim", {}), base, run["batch_tokens"], notes)
    label = name if "preset" in model_settings or "arch" not in model_settings else None
    sections = {"preset": label, "model": model.model_dump(), "data": data, "optim": optim, "run": run}
    return RunConfig.model_validate(sections), notes


_OF_PRESETS = ("optim.", "run.batch_tokens", "run.budget.", "data.pack", "data.options")
"""Settings that the preset, the data or the architecture decide, by their first letters."""


def preset_sections(name: str | None, settings: Settings | None = None) -> dict[str, Any]:
    """The settings of a preset by section, as they are before the data are known; without one, the plain defaults.

    `settings` are put into them. What is still open is left out, or None: vocabulary and budget, and without a preset
    all that it decides. Raises `InvalidConfig`, `UnknownName`.
    """
    own, given = _sections_of(settings or {})
    base = preset(name or next(iter(DEFAULT_PRESETS["cpu"].values())))
    # The sizes of the vocabulary are those of the preset here, and left out of the file.
    model = _resolve_model(own, base, base.config())
    if name is None:
        fixed = {option: field.default for option, field in OPTIONS.items() if not option.startswith(_OF_PRESETS)}
        chosen = {option: getattr(model, option) for option in own}
        return {"optim": {}, **nested({**settings_of(fixed), **settings_of(given)}), "model": chosen}
    run = dict(given.get("run", {}))
    run["batch_tokens"] = run.get("batch_tokens") or base.batch_tokens // model.seq_len * model.seq_len
    data = {"pack": "bucket" if model.recurrent else "concat", **given.get("data", {})}
    optim = _resolve_optim(given.get("optim", {}), base, run["batch_tokens"], [])
    sections = {"model": model.model_dump(), "data": data, "optim": optim, "run": run}
    return RunConfig.model_validate(sections).model_dump()


def _sections_of(settings: Settings) -> tuple[Settings, dict[str, Any]]:
    """The settings of `model` without that word, and the other sections, checked and nested."""
    model = {name.removeprefix("model."): given for name, given in settings.items() if name.startswith("model.")}
    return model, validate({name: given for name, given in settings.items() if not name.startswith("model.")})


def _resolve_model(settings: Settings, base: Preset, vocab: VocabMeta | ModelConfig) -> ModelConfig:
    options = {name: parse_word(setting.value) for name, setting in settings.items() if name != "preset"}
    arch = str(options.get("arch", base.model["arch"]))
    shape, known = dict(base.model), arch_of(arch).config.model_fields
    for name, field in known.items():
        if options.get(name) == "none" and NoneType in get_args(field.annotation):
            options[name] = None
    if arch != base.model["arch"]:
        # Another architecture takes the preset's sizes where it has the same options.
        sizes = {**base.model, "hidden_size": 2 * base.model["d_model"]}
        common = {"n_layers", "d_model", "n_heads", "hidden_size"} & known.keys()
        shape = {name: size for name, size in sizes.items() if name in common}
    vocab_sizes = {"n_vocab": vocab.n_vocab, "padded_vocab": vocab.padded_vocab}
    check_vocab_sizes({name: settings[name] for name in vocab_sizes if name in settings}, vocab_sizes)
    table = {"seq_len": base.seq_len, "arch": arch, **shape, **options, **vocab_sizes}
    try:
        return config_from_dict(table)
    except InvalidConfig as error:
        if settings:
            mend_model_error(error, settings, {"seq_len": base.seq_len, **shape}, table)
        raise


def check_without_data(settings: Settings, reading: Iterable[str] = ()) -> dict[str, Any]:
    """The sections `data`, `optim` and `run` as `validate` gives them, before there are data.

    Raises what `validate` raises, and `InvalidConfig` for settings that fit no preset of a run. The sizes of
    the vocabulary are those of the data, and are compared with them later. `reading`: the settings `data.read.*` that
    the caller takes, for the errors.
    """
    check_names(settings, [_PRESET, *model_options(settings), *OPTIONS, *reading])
    sections, others = _sections_of(settings)
    warmup = others.get("optim", {}).get("schedule", {}).get("warmup")
    steps = others.get("run", {}).get("budget", {}).get("steps")
    if warmup is not None and warmup >= 1 and steps is not None:
        check_warmup(int(warmup), steps)
    own = {name: setting for name, setting in sections.items() if name not in ("n_vocab", "padded_vocab")}
    defaults = [name for names in DEFAULT_PRESETS.values() for name in names.values()]
    # Without data, a run may continue, whose sequences are not those of a preset.
    is_new = "data.train" in settings or not {"preset", "seq_len"}.isdisjoint(own)
    run, fault = others.get("run", {}) if is_new else {}, None
    for name in [str(own["preset"].value)] if "preset" in own else dict.fromkeys(defaults):
        base = preset(name)
        try:
            _resolve_run(run, base, _resolve_model(own, base, base.config()).seq_len, 1)
        except InvalidConfig as error:
            fault = fault or error
        else:
            return others
    raise cast("InvalidConfig", fault)


def _meant_batch(tokens: int, batch_size: int, seq_len: int) -> Fix:
    """Whole sequences of about these ids; a small number may also count the sequences."""
    rounded = (Argument("run.batch_tokens", batch_size * seq_len),)
    if tokens >= seq_len:
        return rounded
    return (*rounded, f", one sequence, or for {tokens} sequences ", Argument("run.batch_tokens", tokens * seq_len))


def _resolve_run(given: dict[str, Any], base: Preset, seq_len: int, n_train_ids: int) -> dict[str, Any]:
    batch_size = max((given.get("batch_tokens") or base.batch_tokens) // seq_len, 1)
    if given.get("batch_tokens", 0) % seq_len:
        raise InvalidConfig(
            f"run.batch_tokens {given['batch_tokens']} is not a whole number of sequences",
            limit=f"a multiple of seq_len, {seq_len}",
            fix=_meant_batch(given["batch_tokens"], batch_size, seq_len),
            option="run.batch_tokens",
            beside="model.seq_len",
        )
    budget = given.get("budget") or {"tokens": min(base.tokens, max(n_train_ids, 1) * MAX_EPOCHS)}
    return {**given, "batch_tokens": batch_size * seq_len, "budget": budget}


def _resolve_optim(given: dict[str, Any], base: Preset, batch_tokens: int, notes: list[str]) -> dict[str, Any]:
    own, schedule = given.get("schedule", {}), dict(base.optim["schedule"])
    if schedule["warmup"] >= 1:
        # As a share of the run that the preset was tuned for, so that it suits shorter and longer ones.
        schedule["warmup"] = round(schedule["warmup"] * base.batch_tokens / base.tokens, 4)
    if own.get("kind", schedule["kind"]) != schedule["kind"]:
        schedule = {}
    optim = {**base.optim, **given, "schedule": {**schedule, **own}}
    scaling = optim.get("lr_scaling", "none")
    if "lr" not in given and scaling != "none" and batch_tokens != base.batch_tokens:
        factor = (batch_tokens / base.batch_tokens) ** (0.5 if scaling == "sqrt" else 1.0)
        optim["lr"] *= factor
        notes.append(f"learning rate scaled by {factor:.3g} for {batch_tokens:,} tokens a step")
    if optim["lr"] > USUAL_LR:
        notes.append(
            f"optim.lr {optim['lr']:g} is above {USUAL_LR:g}: the loss will grow; the preset has {base.optim['lr']:g}"
        )
    return optim


# ---------------------------------------------------------------- recorded configurations


def recorded_config(sections: Any) -> dict[str, Any]:
    """The sections of a `config.yaml`, with their defaults. Raises `InvalidConfig`."""
    missing = {"model", "data", "optim", "run"} - set(sections if isinstance(sections, dict) else ())
    if missing:
        raise InvalidConfig(f"lacks the section {min(missing)}", fix="restore it")
    try:
        config = RunConfig.model_validate(sections)
    except ValidationError as error:
        name, value, limit = first_fault(error)
        raise InvalidConfig(f"{name} is {value!r:.40}", limit=limit, fix="restore it") from None
    config_from_dict(config.model)
    return config.to_dict()


def weight_options(sections: Mapping[str, Any]) -> dict[str, Any]:
    """The options that decide the weights, by dotted name."""
    return {name: given.value for name, given in settings_of(sections).items() if affects_weights(name)}


def contradictions(settings: Settings, config: RunConfig, recorded: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(name, given, recorded) of the given settings that differ from a recorded configuration."""
    now, before = weight_options(config.to_dict()), weight_options(recorded)
    # A preset stands for all options of the model, and one kind of budget for all of them.
    is_given = {"model.": "model.preset" in settings, _BUDGET: _has_budget(settings)}
    sections = tuple(section for section, given in is_given.items() if given)
    names = [name for name in now if name in settings or name.startswith(sections)]
    return [(name, now[name], before.get(name)) for name in names if before.get(name) != now[name]]


def with_changes(config: Mapping[str, Any], settings: Settings) -> RunConfig:
    """A recorded configuration with some options of `optim` and `run` changed. Raises `InvalidConfig`."""
    for name, given in settings.items():
        if name.startswith(("model.", "data.")):
            raise InvalidConfig(
                f"{name} cannot change in a run that continues",
                where=given.where,
                limit="settings of optim and run",
                fix="leave it out, or train a new run: slm train "
                + (f"{given.value}" if name == "data.train" else f"DATA --set {name}={given.value}"),
                option=name,
            )
    check_names(settings, [name for name in OPTIONS if name.startswith(("optim.", "run."))])
    recorded = settings_of({name: config[name] for name in ("data", "optim", "run")}, "config.yaml")
    return RunConfig.model_validate({"model": config["model"], **validate(merged(recorded, settings))})
