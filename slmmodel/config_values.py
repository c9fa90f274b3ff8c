"""Values of settings as people write them, and the base of the classes that declare settings."""

from __future__ import annotations

import ast
import math
import os
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo

from slmmodel.errors import (
    WHOLE,
    Argument,
    Fix,
    InvalidConfig,
    OptionError,
    SlmmodelError,
    first_unknown,
    suggestion,
    unknown_name,
    unwritten,
)
from slmmodel.foreign_names import (
    BATCH_TOKENS,
    BETAS,
    DEFAULT_SEQ_LEN,
    FOREIGN_VALUES,
    OUTPUTS,
    SEQUENCES,
    UNITS,
    VOCAB_SIZES,
    both_betas,
    own_setting,
    switched_on,
)
from slmmodel.hardware import DEVICE_NAMES, DEVICE_PATTERN
from slmmodel.models import MODELS, arch_of, config_from_dict
from slmmodel.models.config import LEAVE_IT
from slmmodel.models.presets import DEFAULT_PRESETS, PRESETS
from slmmodel.sizes import parse_count, parse_share, parse_size, parse_time


def _parsed(parse: Callable[[str], Any], expected: str) -> BeforeValidator:
    def read(value: Any) -> Any:
        number = None if isinstance(value, bool) or unwritten(value) else parse(str(value))
        if number is None:
            raise ValueError(expected)
        return number

    return BeforeValidator(read)


_OF_SCHEDULE = "  # optim.schedule.final: the last factor of optim.lr; optim.schedule.warmup: its steps or share"
"""What schedules of other trainers have in their names, and ours in settings of their own."""


def _one_of(option: str, names: Collection[str]) -> AfterValidator:
    def read(name: str) -> str:
        if name not in names:
            nearest = FOREIGN_VALUES.get(option, {}).get(name.lower())
            error = unknown_name(option, name, names, Argument(option), nearest=nearest, option=option)
            if nearest and option == "optim.schedule.kind" and "_" in name:
                error.fix = (*(error.parts["fix"] or ()), _OF_SCHEDULE)
            raise error
        return name

    return AfterValidator(read)


def share_of_percent(value: object, limit: str) -> float | None:
    """The share that a number of per cents stands for, where the limit is that of a share; None for other numbers.

    A number below 2 may be a share with a wrong digit, so it stands for none.
    """
    number = parse_share(str(value))
    if limit not in ("less than 1", "less than or equal to 1") or number is None or not 2 <= number <= 100:
        return None
    share = round(number / 100, 6)
    return share if share < 1 or "equal" in limit else None


def meant_number(value: object) -> float | None:
    """The number that `5%`, `0,003`, `10,000`, `1e-3,` or `1e-3x` stands for, also with a typographic minus; None for
    others.
    """
    given = str(value).strip()
    text = given.translate(_MINUS).rstrip(",; ")
    # Behind a fraction, a letter of no unit is a slip, or the `f` of C.
    text = re.sub(r"^(-?(?:\d*\.\d+|\d+(?:\.\d+)?e-\d+))[^\W\d_bdeghkmst]$", r"\1", text, flags=re.IGNORECASE)
    if text[:1] in "'\"" and len(text) > 2 and text[-1] == text[0]:
        return parse_share(text[1:-1])
    if re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+", text, re.ASCII):
        return float(text.replace(",", ""))
    point = re.sub(r"^(-?\d*),(\d+(e-?\d+)?%?)$", r"\1.\2", text)
    number = parse_share(point)
    return None if number is None or (point == given and "%" not in text) else round(number, 9)


_MINUS = str.maketrans(dict.fromkeys("\N{MINUS SIGN}\N{EN DASH}\N{HYPHEN}\N{NON-BREAKING HYPHEN}", "-"))
"""Characters that text processors write for a minus."""


def meant_bool(value: object) -> str | None:
    """`true` or `false` for the words of other formats, such as `yes` and 0; None for other words."""
    words = {"true": ("yes", "on", "1", "y"), "false": ("no", "off", "0", "n", "none")}
    return next((ours for ours, others in words.items() if str(value).lower() in (ours, *others)), None)


def meant_word(name: str, kind: Any, value: object, cutoff: float = 0.75) -> str | None:
    """The word of a setting of this type that one of another tool, in other letters or misspelled, stands for."""
    literal = get_args(kind)[0] if get_origin(kind) is tuple else kind
    # Of a class or a function, such as `torch.optim.AdamW`, its name.
    word = getattr(value, "__name__", value) if callable(value) else value
    text, choices = str(word).lower().removeprefix("torch."), [each for each in get_args(literal) if type(each) is str]
    return FOREIGN_VALUES.get(name, {}).get(text) or suggestion(text, choices, cutoff=cutoff)


def as_list(value: Any) -> Any:
    """`a,b` and `[a, b]` as a list; None and `none` as an empty one."""
    if not isinstance(value, str):
        return [] if value is None else value
    return [] if value == "none" else [item.strip() for item in value.strip("[]()").split(",") if item.strip()]


def _device(name: str) -> str:
    """The name of a device, which this machine need not have. Raises `ValueError`."""
    if not DEVICE_PATTERN.fullmatch(name):
        raise ValueError(DEVICE_NAMES)
    return name


def parse_word(value: Any) -> Any:
    """A word without a declared type: a truth value, a number, or itself."""
    if value in ("true", "false"):
        return value == "true"
    try:
        return ast.literal_eval(value)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return value


_JOINED = re.compile(r"(?:^|,)([\w.]+)=([^,=]*)(?=,|$)")
"""A setting of several that commas join."""


def joined_settings(name: str, value: object) -> list[tuple[str, str]]:
    """(name, value) of each setting in `optim.lr=1,run.seed=2`, whose first name is apart; nothing for one setting."""
    found = _JOINED.findall(f"{name}={value}") if isinstance(value, str) else []
    return found if len(found) > 1 else []


EACH_RUN = ", and a run for each other value"
"""What becomes of a list of values where one is taken."""


def _is_number(value: object) -> bool:
    return type(parse_word(value)) in (int, float)


def one_of_list(name: str, value: object, is_valid: Callable[[Any], bool] = _is_number) -> Fix | None:
    """The setting with the first of several values, as a sequence or with commas in a text; None for other values."""
    text = re.sub(r"^[\[(](.*)[\])]$", r"\1", value.strip()) if isinstance(value, str) else ""
    given = text.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    parts = [parse_word(part.strip()) if isinstance(part, str) else part for part in given]
    return (Argument(name, parts[0]), EACH_RUN) if len(parts) > 1 and all(map(is_valid, parts)) else None


def meant_integer(value: object) -> int | None:
    """The integer that `1K`, `1e3` or `1,024` stands for; K is 1,024, since sizes of a model are powers of 2."""
    text = str(value).strip(" ,;")
    binary = re.fullmatch(r"(\d{1,400}) ?ki?", text.lower(), re.ASCII)
    return int(binary[1]) * 1024 if binary else parse_count(text)


def meant_of_model(option: str, field: FieldInfo, value: object, limit: str | None) -> int | float | str | None:
    """What a wrong value of an option of a model stands for; None where there is no such value."""
    parse = {WHOLE: meant_integer, "a number": meant_number, "true or false": meant_bool}.get(str(limit))
    meant = parse(value) if parse else None
    # `relu` is another function than `relu2`, so only words of almost the same letters are misspelled.
    return meant_word(option, field.annotation, value, cutoff=0.9) if meant is None else meant


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if not isinstance(value, str | os.PathLike):
        raise ValueError("expected text or a path")
    return os.fspath(value)


def _steps_or_share(value: float | None) -> float | None:
    if value is not None and value > 1 and not value.is_integer():
        raise ValueError("a share of the run below 1, or a whole number of steps")
    return value


def meant_length(name: str, value: object) -> Fix | None:
    """The settings that a number above 1 with a fraction may stand for, where others count steps; None for others."""
    number = parse_share(str(value))
    if number is None or not 1 < number <= 100 or number.is_integer():
        return None
    share = Argument(name, round(number / 100, 6))
    return (
        Argument(name, math.ceil(number)),
        ", which counts steps, or ",
        share,
        f", which is {number:g} % of the run",
    )


Count = Annotated[int, _parsed(parse_count, "an integer >= 0"), Field(ge=0, lt=1 << 63)]
PositiveCount = Annotated[int, _parsed(parse_count, "an integer >= 1"), Field(ge=1, lt=1 << 63)]
AutoCount = Annotated[Count, BeforeValidator(lambda value: 0 if value in ("auto", None) else value)]
Size = Annotated[int, _parsed(parse_size, "a size such as 2GB or 1MiB")]
Seconds = Annotated[float, _parsed(parse_time, "a time such as 130s or 2h")]
Share = Annotated[float, _parsed(parse_share, "a share such as 5% or 0.05"), Field(ge=0, le=0.9)]
Number = Annotated[float, Field(ge=0)]
Factor = Annotated[float, Field(ge=0, le=1e8)]
"""Its product with the largest learning rate still fits into 32 bits of a tensor."""
Beta = Annotated[float, Field(ge=0, lt=1)]
"""Decay of a running mean of AdamW."""
OptionalNumber = Annotated[Number | None, BeforeValidator(lambda value: None if value in ("none", "null") else value)]
StepsOrShare = Annotated[OptionalNumber, AfterValidator(_steps_or_share)]
"""A share of a run, or from 1 on steps."""
Device = Annotated[str, BeforeValidator(lambda value: _device(str(value)))]
Text = Annotated[str, BeforeValidator(_text)]
OPTIMIZER_NAMES = ("adamw", "muon")
SCHEDULE_KINDS = ("wsd", "cosine", "linear", "const")
"""wsd: warm-up, constant, decay; cosine and linear: the decay begins where the warm-up ends; const: no decay."""
DECAY_SHAPES = ("linear", "1-sqrt", "cosine")
OptimizerName = Annotated[str, _one_of("optim.name", OPTIMIZER_NAMES)]
ScheduleKind = Annotated[str, _one_of("optim.schedule.kind", SCHEDULE_KINDS)]
DecayShape = Annotated[str, _one_of("optim.schedule.shape", DECAY_SHAPES)]


def option(default: Any, help: str, *, affects_weights: bool = True, **attributes: Any) -> Any:
    """A field of a section: its default, help, limits (`gt`, `le`, …), and whether it decides the weights of a run."""
    return Field(default, description=help, json_schema_extra={"affects_weights": affects_weights}, **attributes)


resumable_option = partial(option, affects_weights=False)
"""An option that does not decide the weights, so a resumed run may change it."""


class Section(BaseModel):
    """Base of the sections of a configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def check_vocab_sizes(given: Mapping[str, Any], of_data: Mapping[str, int]) -> None:
    """Raises `InvalidConfig` for a setting of the vocabulary, by its name in `model`, that is not the size in data."""
    for name, setting in given.items():
        value, size = parse_word(setting.value), of_data[name]
        if value == size:
            continue
        differing = [Argument(f"model.{each}", of_data[each]) for each in given]
        # A file may belong to a run, whose files must not be edited.
        is_in_file = ", line " in setting.where
        fix: Fix = tuple(part for each in differing for part in (each, " "))[:-1]
        raise InvalidConfig(
            f"model.{name} is {value}, the vocabulary of the data has {size}",
            where=setting.where,
            fix=fix if is_in_file else f"remove model.{name}",
            option=f"model.{name}",
        )


def check_warmup(warmup: int, steps: int) -> None:
    """Raises `OptionError` for a warm-up that takes the whole run."""
    if warmup >= steps and warmup:
        raise OptionError(
            f"optim.schedule.warmup of {warmup} steps takes the whole run of {steps}",
            limit="fewer steps than the run has",
            fix=(Argument("optim.schedule.warmup", 0.05), ", or a larger budget"),
            option="optim.schedule.warmup",
        )


_SEQ_LEN = "model.seq_len"
_LONGEST = max(preset.seq_len for preset in PRESETS.values())
"""Ids of a sequence; a fix has no longer one, which may not fit into memory."""


def first_of_unknown(
    errors: Mapping[str, InvalidConfig], known: Collection[str], settings: Mapping[str, Any]
) -> InvalidConfig:
    """`first_unknown`, with the settings for all of them where one command or call has them all, each with a value."""
    places = {settings[name].where.partition(" ")[0] for name in errors}
    # A call repeats its settings beside ours, without those of other trainers, which are known by their names.
    is_of_call = places == {"settings"} and all(own_setting(name) in known for name in errors)
    is_plain = (is_of_call or places == {"--set"}) and all(
        own_setting(name) == BETAS or str(error.fix).startswith("write ") for name, error in errors.items()
    )
    values = {name: each.value for name, each in settings.items()}
    meant = settings_meant({name: values[name] for name in errors}, known, values) if is_plain else None
    error = first_unknown(errors, settings)
    if meant is not None:
        pairs, remark = meant
        of_sets = " ".join(f"--set {shlex.quote(f'{name}={value}')}" for name, value in pairs)
        in_call = tuple(part for each in pairs for part in (" ", Argument(*each)))[1:]
        error.fix = (*in_call, remark) if is_of_call else of_sets + remark
    return error


def settings_meant(
    unknown: Mapping[str, Any], known: Collection[str], given: Mapping[str, Any]
) -> tuple[list[tuple[str, Any]], str] | None:
    """Names and values that mean what settings of other trainers do, and a remark; None where one has no such value.

    given: all settings, whose ids of a sequence, or those of their preset, make ids of the sequences of a step.
    """
    ours = {name: _own_name(name, known) for name in unknown}
    named = PRESETS.get(str(given.get("model.preset")))
    lengths = [*(value for name, value in given.items() if _SEQ_LEN in (name, ours.get(name))), named and named.seq_len]
    length = next((int(str(each)) for each in lengths if str(each).isdecimal()), None)
    found, remark = dict[str, Any](), ""
    if length is None and _SEQ_LEN in known and BATCH_TOKENS in ours.values():
        # The preset depends on the data, and each has a length of its own.
        length = DEFAULT_SEQ_LEN
        found[_SEQ_LEN] = length
    if length is not None and length > _LONGEST and BATCH_TOKENS in ours.values():
        return None
    for name, meant in ours.items():
        value = str(unknown[name])
        if meant == BATCH_TOKENS and name.rpartition(".")[2] in SEQUENCES and length and value.isdecimal():
            found[meant] = int(value) * length
        elif meant == _SEQ_LEN and value.isdecimal() and int(value) > _LONGEST:
            # The model and the data, which are read later, say how many fit.
            found[meant] = "N"
            remark = f", with as many ids as fit into memory; presets have up to {_LONGEST:,}"
        elif meant == BETAS and meant in known:
            found[meant] = both_betas(unknown)
        elif meant not in known or meant in (*UNITS, *VOCAB_SIZES) or not isinstance(unknown[name], str | int | float):
            return None
        elif (word := FOREIGN_VALUES.get(meant, {}).get(value.lower())) or parse_share(value) is not None:
            found[meant] = word or unknown[name]
        else:
            # A word of another trainer may be none of ours.
            return None
    return ([*found.items()], remark) if found else None


def _own_name(name: str, known: Collection[str]) -> str:
    """The one setting with this last name, else the one that means what that of another trainer does; "" for others."""
    last = name.rpartition(".")[2]
    alike = [each for each in known if each.rpartition(".")[2] == last]
    return alike[0] if len(alike) == 1 else "" if alike else own_setting(name) or ""


def mend_model_error(
    error: InvalidConfig, settings: Mapping[str, Any], usual: Mapping[str, Any], table: Mapping[str, Any]
) -> None:
    """Adds to an error about the options of a model where they were given, and a value that the wrong one takes.

    `settings` are those of the model, by name in that section; `usual` the sizes of the preset; `table` has all of
    them, as `config_from_dict` read it.
    """
    named = settings.get(str(error.fields.get("option")).removeprefix("model."))
    # Sizes that do not fit each other: one of the given ones.
    words = re.findall(r"\w+", f"{error.fact} {error.limit}")
    alike = [each for name, each in settings.items() if name in words]
    given = [named] if named else alike or [each for name, each in settings.items() if name != "preset"]
    error.where = ", ".join(dict.fromkeys(each.where for each in given)) or error.where
    option = str(error.fields.setdefault("option", f"model.{next(iter(settings))}"))
    if named is None:
        of_preset = {name: size for name, size in usual.items() if name in words and name not in settings}
        _keep_given(error, of_preset)
    elif joined := joined_settings(option, named.value):
        error.fix = tuple(part for each in joined for part in (Argument(*each), " "))[:-1]
    elif error.limit == WHOLE and (one := one_of_list(option, named.value)):
        error.fix = one
    elif error.fix == LEAVE_IT:
        error.fix = _value_taken(option, named, error.limit or "", usual, table) or LEAVE_IT


def _keep_given(error: InvalidConfig, of_preset: Mapping[str, Any]) -> None:
    """Names the sizes of the preset among those that do not fit, and of two fixes takes the one that changes them."""
    if not of_preset:
        return
    sizes = " and ".join(f"{name} {size}" for name, size in of_preset.items())
    error.limit = "; ".join(filter(None, [error.limit, f"{sizes}: of the preset"]))
    fix = error.parts["fix"] if isinstance(error.parts["fix"], tuple) else ()
    first, later = fix[:1], fix[2:]
    names = [part.name.removeprefix("model.") for part in (*first, *later) if isinstance(part, Argument)]
    if names and names[0] not in of_preset and {*names[1:]} & {*of_preset}:
        error.fix = (*later, ", or ", *first)


def _value_taken(option: str, given: Any, limit: str, usual: Mapping[str, Any], table: Mapping[str, Any]) -> Fix | None:
    """What a wrong value of an option of a model stands for, else the value that it has without this setting."""
    name = option.removeprefix("model.")
    field = arch_of(str(table["arch"])).config.model_fields.get(name)
    meant = meant_of_model(option, field, given.value, limit) if field else None
    share = share_of_percent(given.value, limit)
    if share is not None or meant is not None:
        return (Argument(option, meant if share is None else share),)
    rest = {each: value for each, value in table.items() if each != name}
    others: list[tuple[dict[str, Any], str]] = []
    if given.replaces is not None:
        others.append(({name: parse_word(given.replaces.value)}, f", as in {given.replaces.where}"))
    if name in usual:
        others.append(({name: usual[name]}, ", as in the preset, or another one within the limit"))
    for value, whence in (*others, ({}, ", as without it, or another one within the limit")):
        with suppress(InvalidConfig):
            found = getattr(config_from_dict({**rest, **value}), name)
            return (Argument(option, _as_text(found)), whence)
    return None


def _as_text(value: Any) -> Any:
    """A value as one writes it in a setting."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else value


def as_given(fix: Fix, name: str, where: str) -> Fix:
    """A fix of a setting that was given by an option of its own, which it then names: `seed=0`, not `run.seed`."""
    last = name.rpartition(".")[2]
    if isinstance(fix, str) or where.removeprefix("--").replace("-", "_") != last:
        return fix
    return tuple(
        Argument(last, part.value) if isinstance(part, Argument) and part.name == name else part for part in fix
    )


def meant_elsewhere(name: str, value: object) -> Fix | None:
    """What stands for a switch of another trainer, or for its folder of a run, which is no setting; else None."""
    if precision := switched_on(name, value):
        return (Argument("run.precision", precision),)
    is_output = name.rpartition(".")[2] in OUTPUTS and isinstance(value, str)
    return (Argument("output", value), f" in place of {name}") if is_output else None


def fit_batch(error: SlmmodelError, settings: Mapping[str, Any]) -> None:
    """Adds ids of a step that fit to a fix with another `model.seq_len`, where those given do not."""
    given, fix = settings.get("run.batch_tokens"), error.parts["fix"]
    tokens = None if given is None else parse_count(str(given.value))
    parts = list(fix) if isinstance(fix, tuple) else []
    found = next((part for part in parts if isinstance(part, Argument) and part.name == "model.seq_len"), None)
    names = [part.name for part in parts if isinstance(part, Argument)]
    if not tokens or found is None or not isinstance(found.value, int) or "run.batch_tokens" in names:
        return
    if tokens % found.value:
        at = parts.index(found) + 1
        fitting = Argument("run.batch_tokens", max(tokens // found.value, 1) * found.value)
        error.fix = (*parts[:at], " ", fitting, *parts[at:])


def of_other_arch(name: str, settings: Mapping[str, Any], known: Collection[str]) -> InvalidConfig | None:
    """The error for an option of other architectures than that of the settings; None for other names."""
    archs = [arch for arch, entry in MODELS.items() if name.removeprefix("model.") in entry.config.model_fields]
    if not name.startswith("model.") or not archs or own_setting(name) in known:
        return None
    given = settings.get("model.arch") or settings.get("model.preset")
    named = PRESETS.get(str(given.value)) if given else PRESETS[next(iter(DEFAULT_PRESETS["cpu"].values()))]
    arch = named.model["arch"] if named else given and given.value
    return InvalidConfig(
        f"{name} is no setting of model.arch {arch}",
        where=" and ".join(dict.fromkeys([settings[name].where, *([given.where] if given else [])])),
        limit=f"a setting of {', '.join(archs)}",
        fix="remove it" if given else (Argument("model.arch", archs[0]), ", which has it, or remove it"),
        option=name,
    )
