"""The settings of data: sources with weights, stages, packing, reading (`data.*`)."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeVar

from pydantic import BeforeValidator, ConfigDict, ValidationError, model_serializer, model_validator

from slmmodel.config_values import (
    Count,
    PositiveCount,
    Section,
    Share,
    Size,
    Text,
    option,
    parse_word,
    resumable_option,
)
from slmmodel.errors import Argument, Fix, InvalidConfig, first_fault
from slmmodel.foreign_names import FOREIGN_MIXTURES
from slmmodel.json_files import FaultError
from slmmodel.sizes import parse_share
from slmmodel.yaml_files import FlowList, parse


def _weight(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        share = str(value).strip().removesuffix("%")
        is_share = str(value).strip().endswith("%") and share.replace(".", "", 1).isdecimal() and float(share) > 0
        raise InvalidConfig(
            f"a weight is {value!r}",
            limit="a number above 0; weights are divided by their sum",
            fix=f"weight: {share}" if is_share else "leave out a source that is not to be read",
        )
    return number


Weight = Annotated[float, BeforeValidator(_weight)]


class DataSource(Section):
    """A source of `data.train`: a path, or generated tasks. Other keys are options of reading, as in `data.read`."""

    model_config = ConfigDict(frozen=True, extra="allow")
    path: Text = option("", "Packed data; or text: a folder, a file, a glob, or hf:NAME.")
    passkey: Share | None = option(None, "Instead of a path: passkey tasks, as a share of the training ids.")
    digits: Count = option(5, "With passkey: digits of a number.", ge=2, le=9)
    template: Text = option("", "With passkey: a file of own sentences, as slm passkey --template takes.")
    loss_on: Literal["all", "answer"] = option("all", "With passkey: score all of a task, or its answer alone.")
    weight: Weight = option(1.0, "Share of the text, before all are divided by their sum.")
    domain: str = option("", "Name in reports and in the weights of stages; by default that of the folder or file.")

    @model_serializer
    def given(self) -> dict[str, Any]:
        """The keys that were given."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}
        return {**given, **(self.model_extra or {})}

    def check_keys(self) -> None:
        """Raises `InvalidConfig` for keys of a path in a share of passkeys, or the other way round."""
        own = {"digits", "template", "loss_on"}
        known = {"passkey", "domain", *own}
        wrong = set(self.given()) - known if self.passkey is not None else own & self.model_fields_set
        if wrong:
            raise InvalidConfig(
                f"data.train: {min(wrong)} has no effect on {repr(self.path) if self.path else 'passkeys'}",
                limit=f"keys of passkeys: {', '.join(sorted(known))}",
                fix="leave it out",
                option="data.train",
            )

    @property
    def name(self) -> str:
        """The domain: as given, or the name of the folder, file or data set."""
        if self.domain or self.passkey is not None:
            return self.domain or "passkey"
        path = Path(self.path.removeprefix("hf:").partition("@")[0].partition(":")[0])
        path = path.parent if "*" in path.name else path
        return path.name.partition(".")[0] or str(path)


def _sources(value: Any) -> Any:
    """`data.train`: a path, or a list of paths and tables. Raises `InvalidConfig`."""
    if not isinstance(value, (list, tuple)):
        if not isinstance(value, str | os.PathLike | None):
            raise ValueError("a path, or a list of sources")
        return "" if value is None else os.fspath(value)
    tables = [each if isinstance(each, Mapping) else {"path": each} for each in value]
    sources = _parts(DataSource, tables, "data.train")
    names = [source.name for source in sources]
    fault = None
    n_passkeys = sum(source.passkey is not None for source in sources)
    if any(bool(source.path) == (source.passkey is not None) for source in sources):
        fault = "a source has a path or a share of passkeys"
    elif not any(source.path for source in sources) or n_passkeys > 1:
        fault = "a path or several, and at most one share of passkeys"
    if fault is not None:
        example = "data.train: [{path: books/, weight: 3}, {path: web.jsonl.zst}, {passkey: 5%}]"
        raise InvalidConfig(f"data.train is {value!r:.60}", limit=fault, fix=example, option="data.train")
    for source in sources:
        source.check_keys()
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidConfig(
            f"two sources of data.train are named {twice!r}",
            limit="each source has a name of its own",
            fix="give one of them another: domain: NAME",
            option="data.train",
        )
    return tuple(sources)


_MAX_PERCENTAGE = 90
_Part = TypeVar("_Part", bound=Section)


def _parts(kind: type[_Part], values: Sequence[Any], option_name: str) -> list[_Part]:
    """The elements of a list of tables. Raises `InvalidConfig`, with the whole list where weights are per cents."""
    try:
        return [_part(kind, each, option_name) for each in values]
    except InvalidConfig as fault:
        meant = FlowList(map(_with_plain_weights, values))
        with suppress(InvalidConfig):
            for each in meant:
                _part(kind, each, option_name)
            fault.fix = (Argument(option_name, meant),)
        raise


def _with_plain_weights(value: Any, key: str = "") -> Any:
    """A table as one writes it in a list, its weights without a sign of per cent."""
    if isinstance(value, Mapping):
        return {name: _with_plain_weights(each, "weight" if key == "weights" else name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_plain_weights(each) for each in value]
    return _plain(key, value) if key and isinstance(value, str) else value


def _part(kind: type[_Part], value: Any, option_name: str) -> _Part:
    """An element of a list of tables. Raises `InvalidConfig` that names its wrong key."""
    if not isinstance(value, Mapping | kind):
        limit = f"a list of tables with the keys {', '.join(kind.model_fields)}"
        fact, fix = f"{option_name} has {value!r} in the place of a table", f"leave out {option_name}"
        raise InvalidConfig(fact, limit=limit, fix=fix, option=option_name)
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        try:
            key, found, limit = first_fault(error)
        except InvalidConfig as fault:
            table = value if isinstance(value, Mapping) else {}
            of = table.get("path") or f"the stage from step {table.get('from_step', 1)}"
            fact = f"{option_name}: {fault.fact} for {of}"
            raise InvalidConfig(fact, limit=fault.limit, fix=fault.fix, option=option_name) from None
        known = ", ".join(kind.model_fields)
        share = parse_share(str(found)) if key == "from_step" else None
        share = share if share is not None and 0 <= share < 1 else None
        fix = "correct it, or leave it out"
        if key == "passkey" and str(found).isdecimal() and 1 <= int(found) <= _MAX_PERCENTAGE:
            fix = f"passkey: {found}%"
        elif key == "weights":
            limit = "a table of names of sources, each with its weight"
            weights = found if isinstance(found, list) else [found]
            fix = f"weights: {{{', '.join(f'NAME: {each}' for each in weights)}}}, with the names of the sources"
        elif share is not None:
            fix = step_after(share, 1000) if share else "from_step: 1, the first step"
        fields: dict[str, Any] = {"share": share} if share else {}
        raise InvalidConfig(
            f"{option_name}: {key} is {found!r}",
            limit=f"keys: {known}" if "extra" in limit.lower() else limit,
            fix=fix,
            option=option_name,
            **fields,
        ) from None


def step_after(share: float, steps: int) -> str:
    """The first step of a stage, from 1, that begins after a share of a run."""
    return f"from_step: {round(share * steps) + 1}, the step after {100 * share:.4g} % of {steps:,} steps"


LISTS = ("data.train", "data.stages")
"""Settings whose value may be a list of tables."""


class Given(Protocol):
    """A value of a setting and where it was given, as `Setting` of `config` holds them."""

    value: Any
    where: str


def check_lists(settings: Mapping[str, Any]) -> None:
    """Raises `InvalidConfig` for a table in the place of a list, and for several sources in one text.

    `settings` are values with their origin, by dotted name.
    """
    of_other_tools = {".".join(each.split(".")[:2]) for each in settings if _stands_for_sources(each)}
    for place in (*LISTS, *sorted(of_other_tools)):
        inside = {each.removeprefix(f"{place}."): settings[each] for each in settings if each.startswith(f"{place}.")}
        inside = inside or _table_of(settings.get(place))
        if inside:
            first: Given = next(iter(inside.values()))
            name = place if place in LISTS else "data.train"
            meant = _as_list(name, {leaf: each.value for leaf, each in inside.items()})
            in_file = f"write {name.rpartition('.')[2]}: {meant}"
            fix: Fix = in_file if ", line " in first.where else (Argument(name, meant),)
            data: Given | None = settings.get("data.train")
            if name == "data.train" and data is not None and data.where == "DATA":
                fix = (f"leave out {data.value}, and write ", Argument(name, meant))
            limit = f"{name} is a list of tables"
            raise InvalidConfig(f"{place} is a table", where=first.where, limit=limit, fix=fix, option=name)
    train: Given | None = settings.get("data.train")
    if train is None or train.where == "DATA" or not isinstance(train.value, str):
        return
    if sources := _joined(train.value):
        fact, fix = f"no file or folder {train.value!r}", (Argument("data.train", sources),)
        raise InvalidConfig(fact, where=train.where, limit="a path, or a list of sources", fix=fix, option="data.train")


def _stands_for_sources(name: str) -> bool:
    """Whether a setting is a mixture of sources by the name that other trainers give it."""
    section, _, last = ".".join(name.split(".")[:2]).partition(".")
    return section == "data" and last in FOREIGN_MIXTURES


@dataclass
class _Leaf:
    """A value of such a table and where that was given."""

    value: Any
    where: str


def _table_of(given: Given | None) -> dict[str, Given]:
    """The entries of a table that a text has as YAML writes it in one line; nothing for other values."""
    text = given.value if given is not None else None
    if given is None or not isinstance(text, str) or not text.startswith("{"):
        return {}
    try:
        table = parse(text.encode())
    except FaultError:
        return {}
    return {str(key): _Leaf(value, given.where) for key, value in table.items() if not isinstance(value, list | dict)}


def _as_list(name: str, inside: Mapping[str, Any]) -> FlowList:
    """The list that is meant by a table: its one element, weights or tables by path, or paths by domain.

    `name` is `data.train` or `data.stages`, `inside` its leaves by dotted name.
    """
    keys = (Stage if name == "data.stages" else DataSource).model_fields
    one: dict[str, Any] = {}
    by_path: dict[str, dict[str, Any]] = {}
    for leaf, value in inside.items():
        path, _, key = leaf.rpartition(".")
        if leaf in keys:
            one[leaf] = _plain(leaf, value)
        elif path and key in keys:
            by_path.setdefault(path, {})[key] = _plain(key, value)
        elif parse_share(str(value)) is not None:
            by_path[leaf] = {"weight": _plain("weight", value)}
        else:
            by_path[leaf] = {"path": value, "domain": leaf}
    return FlowList([one] * bool(one) + [{"path": path, **table} for path, table in by_path.items()])


def _plain(key: str, value: Any) -> Any:
    """A value as one writes it in a list: names as they are, others as numbers; a weight is no share."""
    if key in ("path", "domain", "template"):
        return value
    return parse_word(str(value).removesuffix("%") if key == "weight" else value)


_WEIGHTED = re.compile(r"(.+?)[:=@] ?([\d.]+)%?", re.ASCII)


def _joined(text: str) -> FlowList | None:
    """The sources of `data,data3` or `data:0.7,data3:0.3`, whose paths exist while the whole does not; else None."""
    sources: list[Any] = []
    for part in map(str.strip, text.split(",")):
        found = None if os.path.exists(part) else _WEIGHTED.fullmatch(part)  # noqa: PTH110  (of any text)
        sources.append({"path": found[1], "weight": _plain("weight", found[2])} if found else part)
    paths = [text, *(each if isinstance(each, str) else each["path"] for each in sources)]
    whole, *parts = map(os.path.exists, paths)
    return FlowList(sources) if sources != [text] and not whole and all(parts) else None


Sources = Annotated[str | tuple[DataSource, ...], BeforeValidator(_sources)]


class Stage(Section):
    """What changes in a run at a step. What is left out stays as it was."""

    from_step: PositiveCount = option(1, "The first step of the stage, from 1.")
    train: Sources = option("", "Other sources.")
    weights: dict[str, Weight] = option({}, "Other weights, by the names of sources.")
    seq_len: PositiveCount | None = option(None, "Another length of sequences, up to model.seq_len.")


def _stages(value: Any) -> Any:
    if not isinstance(value, list | tuple | None):
        raise ValueError("a list of stages")
    return tuple(_parts(Stage, value or (), "data.stages"))


class ResolvedStage(NamedTuple):
    """A stage with everything that holds in it; `seq_len` None is that of the model."""

    from_step: int
    sources: tuple[DataSource, ...]
    seq_len: int | None


class DataConfig(Section):
    """What is read, and how it is cut into sequences."""

    train: Sources = resumable_option(
        "",
        "Packed data, or text with a tokenizer; or a list of them, such as [{path: books/, weight: 3}, {path: web/}].",
    )
    tokenizer: Text = resumable_option("", "Tokenizer file; the training data are then text.")
    val: Text = resumable_option("auto", "Validation data: auto (the split val of the training data), none, or a path.")
    pack: str = option(
        "concat",
        "How documents fill sequences: concat, first_fit, best_fit, best_fit_crop, bucket, stateful; or windows: "
        "stream, right_pad_once, full_only, left_pad, slide_through. Not what slmtok pack does.",
    )
    positions: Literal["auto", "reset", "true", "row"] = option(
        "auto",
        "Numbering of positions in each span (reset), sequence (row) or document (true); auto: reset, row for windows.",
    )
    doc_mask: bool = option(True, "Attention stays inside each document of a sequence.")
    loss_on: Literal["all", "last"] = option("all", "Score all targets of a window, or the last one.")
    shuffle: Literal["documents", "none"] = option(
        "documents", "Order of documents before packing; with none, sequences are still permuted (not by stateful)."
    )
    crop_offset: Literal["random", "fixed"] = option("random", "Cut documents at other places in each epoch, or not.")
    options: dict[str, Annotated[Any, BeforeValidator(parse_word)]] = option(
        {}, "Options of the strategy, e.g. data.options.stride."
    )
    read: dict[str, Any] = option({}, "How text is read: the corpus options of slmtok pack, e.g. data.read.text_key.")
    stages: Annotated[tuple[Stage, ...], BeforeValidator(_stages)] = resumable_option(
        (), "Changes of train, weights or seq_len at a step, such as [{from_step: 1, seq_len: 256}, {from_step: 501}]."
    )
    cache: Text = resumable_option("", "Folder that keeps the ids of text for later epochs and runs.")
    cache_limit: Size = resumable_option(50 * 10**9, "Largest size of that folder; what does not fit is encoded again.")

    @model_validator(mode="after")
    def _in_order(self) -> DataConfig:
        steps = [stage.from_step for stage in self.stages]
        if steps and (steps[0] != 1 or sorted(set(steps)) != steps):
            raise InvalidConfig(
                f"data.stages begin at the steps {', '.join(map(str, steps))}",
                limit="the first at step 1, each later than the one before",
                fix=self._ordered(),
                option="data.stages",
            )
        self.by_stage()
        return self

    def _ordered(self) -> Fix:
        """The stages by their first steps, and one before them from step 1, in which all is as without stages."""
        stages = {each.from_step: each.model_dump(mode="json", exclude_unset=True) for each in self.stages}
        if len(stages) < len(self.stages):
            return "give each stage another from_step"
        return (
            Argument("data.stages", FlowList({"from_step": at, **stages.get(at, {})} for at in sorted({1, *stages}))),
        )

    def by_stage(self) -> list[ResolvedStage]:
        """The stages with everything that holds in each; one for a run without stages. Raises `InvalidConfig`."""
        sources, seq_len, resolved = _as_sources(self.train), None, []
        for stage in self.stages or (Stage(),):
            sources, seq_len = _as_sources(stage.train) or sources, stage.seq_len or seq_len
            for name in stage.weights:
                if name not in [source.name for source in sources if source.path]:
                    raise InvalidConfig(
                        f"data.stages: the stage from step {stage.from_step} has a weight for {name!r}",
                        limit=f"its sources: {', '.join(source.name for source in sources if source.path)}",
                        fix="name one of them",
                        option="data.stages",
                    )
            weights = stage.weights
            sources = tuple(
                each.model_copy(update={"weight": weights[each.name]}) if each.name in weights else each
                for each in sources
            )
            resolved.append(ResolvedStage(stage.from_step, sources, seq_len))
        return resolved

    @property
    def is_mixture(self) -> bool:
        """Whether the training data are more than one path: several sources, stages, or a cache."""
        return not isinstance(self.train, str) or bool(self.stages or self.cache)

    def scored(self, split: str | None = None) -> tuple[str | None, str | None]:
        """Path and split of the documents that a run is scored on unless a call names others.

        They are `data.val` where it is a path, whole data if they have no split `val` (split None); else the split
        `val` of `data.train`, whose path is None where it is a mixture. `split` replaces `val`.
        """
        if self.val not in ("auto", "none"):
            return self.val, split
        return None if self.is_mixture else str(self.train), split or "val"

    @property
    def passkey(self) -> float:
        """The largest share of passkey tasks in a stage."""
        return max(source.passkey or 0.0 for stage in self.by_stage() for source in (*stage.sources, DataSource()))


def _as_sources(train: str | tuple[DataSource, ...]) -> tuple[DataSource, ...]:
    if isinstance(train, str):
        return (DataSource(path=train),) if train else ()
    return train


def is_other_value(name: str, value: object, other: object) -> bool:
    """Whether a setting has another value elsewhere; `slm config` writes data without a name, a run absolute paths."""
    if str(value) == str(other) or (name, other) == ("data.train", ""):
        return False
    is_path = name in ("data.train", "data.val") and all(map(os.path.exists, map(str, (value, other))))
    return not (is_path and os.path.samefile(str(value), str(other)))  # noqa: PTH121


def names_path(value: object, path: object) -> bool:
    """Whether the value of a setting is this path, or a list of sources or stages with it."""
    if isinstance(value, Mapping):
        return any(names_path(each, path) for each in value.values())
    return any(names_path(each, path) for each in value) if isinstance(value, list | tuple) else value == path
