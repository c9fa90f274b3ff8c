"""`slm config`: a configuration file with every setting, its default and its meaning; and a check of such a file."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slmmodel.budget import BUDGET_EXAMPLES
from slmmodel.cli import reading
from slmmodel.cli.open_by_path import is_text_for_tokenizer
from slmmodel.cli.options import SETTINGS, budget_option, set_option, setting_option, to_stdout
from slmmodel.cli.run_argument import data_here, without
from slmmodel.cli.settings_files import settings_in
from slmmodel.cli.text import is_text
from slmmodel.cli.train import dry_run_rows, named_data, open_unless_packed, read_settings
from slmmodel.cli.train_habits import NAMING, RUN_NAMES_IN_WANDB, SETTING_HABITS, is_configuration
from slmmodel.config import OPTIONS, Settings, add_origin_to_errors, model_options, preset_sections, read_yaml
from slmmodel.errors import OptionError, SlmmodelError
from slmmodel.models.presets import PRESETS
from slmmodel.run_entries import CONFIG
from slmtok.cli.arguments import tokenizer_beside, value_after
from slmtok.cli.errors import EXTRA
from slmtok.cli.files import names_tokenizer
from slmtok.cli.options import argument, command, instead, option, tokenizer_option
from slmtok.cli.output import Outcome, print_rows, write_text
from slmtok.cli.streams import is_stdout
from slmtok.file_kinds import is_run
from slmtok.files import free_name
from slmtok.options import ReadOptions

if TYPE_CHECKING:
    from slmmodel.data import RunData
    from slmmodel.models import ModelConfig

HEAD = """\
# Settings of slm train; the command line overrides them: slm train DATA --config {name} --set optim.lr=1e-3
# A line without a value shows a setting that {source} decides.
"""
WIDTH = 44
"""Columns before the comments."""
MAX_SHOWN_IDS = 120
_SECTIONS = {
    "model": "Shape of the model.",
    "data": "What is read, and how it is cut into sequences.",
    "optim": "Optimizer; learning rates are peaks.",
    "run": "Size of a step, length, precision, device; when to evaluate, save and log.",
}
_PARTS = {"schedule": "Learning-rate schedule.", "budget": "How long the run is: one of these at most."}
_TEXTS = ("train", "tokenizer", "cache")
"""Settings whose default is no text."""
_PLAIN = re.compile(r"[A-Za-z/][\w./-]*", re.ASCII)
"""Text that is the same in YAML without quotes."""
_OF_VOCABULARY = ("n_vocab", "padded_vocab")


def _refuse_without_check(ctx: click.Context, param: click.Parameter, file: str | None) -> str | None:
    """The file. Raises `OptionError` without --check, before stdout is compared with it: no other stdout helps."""
    words = ctx.meta.get("arguments", [])
    if file is None or ctx.resilient_parsing or "--check" in words or (Path(file) / CONFIG).is_file():
        return file
    others = [word for word in _with_data_option(words) or words if word != file]
    limit = where = None
    has_preset = any(word.startswith("--preset") for word in words)
    if file in PRESETS and not has_preset and not Path(file).exists():
        fix = f"{shlex.join(['slm', 'config', '--preset', file, *others])} > run.yaml"
        raise OptionError(f"{file!r} is a preset, not a file", limit=limit, fix=fix, option="preset")
    if file in OPTIONS or file in model_options():
        line = shlex.join(["slm", "config", *others])
        raise OptionError(
            f"{file!r} is a setting, not a file",
            limit=f"--set {file}=VALUE sets it",
            fix=f"{line} | grep -w {file.rpartition('.')[2]}",
            option="file",
        )
    # A file that exists is probably to be checked or completed, another one to be written.
    fix = f"{shlex.join(['slm', 'config', *others])} > {shlex.quote(file)}"
    if Path(file).exists():
        limit = "slm config writes a new configuration, and changes none"
        fix = _checked_or_completed(file, others)
        where = "the shell has emptied it for > before the command ran: restore it first" if is_stdout(file) else None
    raise OptionError(f"FILE {file!r} without --check", where=where, limit=limit, fix=fix, option="check")


def _checked_or_completed(file: str, others: Sequence[str]) -> str:
    """The commands that check a file of settings, with other arguments, and that write one of all settings with its."""
    name = shlex.quote(file)
    given: Settings = {}
    try:
        given, is_sound = read_settings(file, (), None, {}), True
    except SlmmodelError:
        is_sound = False
        with suppress(SlmmodelError):
            given = read_yaml(file)
    train = given.get("data.train")
    data = [] if "--data" in others or (train is not None and train.value) else ["--data", data_here(others)]
    has_preset = any(word.startswith("--preset") for word in others)
    preset = ["--preset", str(given["model.preset"].value)] if "model.preset" in given and not has_preset else []
    sets = {key: each.value for key, each in given.items() if key != "model.preset" and each.value not in (None, "")}
    # A check takes no preset; without values, --full may stand before anything.
    checked = [word for word in without(("--preset",), others) if word != "--full"]
    check = shlex.join(["slm", "config", "--check", file, *checked, *data])
    checks = f"{check} checks {name}{' with them' * bool(checked)}"
    if not is_sound:
        return check
    if is_stdout(file) or len(sets) > _MAX_SETS or any(isinstance(value, list | dict) for value in sets.values()):
        new = f"{shlex.join(['slm', 'config', *others])} > {shlex.quote(free_name(file))} writes a new one"
        kept = f"{checks}; to keep them, write them into {name}" if checked else check
        return f"{kept if checked else checks}; {new}" if has_preset else kept
    words = [*preset, *(word for key, value in sets.items() for word in ("--set", f"{key}={value}")), *others]
    return f"{checks}; {shlex.join(['slm', 'config', *words])} > NEW.yaml writes every setting, with those of {name}"


_MAX_SETS = 12
"""Settings of a file that a fix repeats."""


def _data_named(extra: str | None, arguments: Sequence[str]) -> str:
    """The check of FILE with the data among the arguments behind `--data`; "" without data."""
    if named := _with_data_option(arguments):
        return shlex.join(["slm", "config", *named])
    if not _data_in(arguments):
        return ""
    if given := value_after(("--data",), arguments):
        return f"leave {shlex.quote(str(extra))} out: --data {shlex.quote(given)} is given"
    return "leave one out: slm config takes one FILE of settings, and one DATA behind --data"


def _data_in(arguments: Sequence[str]) -> list[str]:
    """The positional arguments that exist and are no file of settings, run or tokenizer."""
    words = pairwise(["", *arguments])
    named = [word for before, word in words if before not in (*NAMING, "--data") and Path(word).exists()]
    return [word for word in named if not (is_configuration(word) or is_run(word) or names_tokenizer(word))]


def _with_data_option(arguments: Sequence[str]) -> list[str] | None:
    """The arguments with the one among them that is data behind `--data`; None for others.

    Text has a tokenizer beside it, unless the arguments or the file name one.
    """
    data, files = _data_in(arguments), [word for word in arguments if is_configuration(word)]
    flags = {word.partition("=")[0] for word in arguments}
    if len(data) != 1 or len(files) != 1 or "--data" in flags:
        return None
    named = (settings_in(files[0]) or {}).get("data.tokenizer")
    has_tokenizer = bool(flags & {"-t", "--tokenizer"}) or (named is not None and bool(named.value))
    of_text = ["-t", tokenizer_beside(data[0]) or "TOK"] if is_text(data[0]) and not has_tokenizer else []
    return [*(word for word in arguments if word != data[0]), *of_text, "--data", data[0]]


_HABITS = {
    **SETTING_HABITS,
    EXTRA: _data_named,
    **dict.fromkeys(RUN_NAMES_IN_WANDB, instead("leave it out: -o of slm train also names the run in wandb")),
    **dict.fromkeys(("-o", "--output"), to_stdout("slm config ", "run.yaml")),
    **dict.fromkeys(("--list", "--list-presets", "--presets"), instead("slm info presets")),
}


@command("config", example="slm config --preset cpu-demo > run.yaml", habits=_HABITS)
@argument(
    "file",
    metavar="[FILE]",
    required=False,
    callback=_refuse_without_check,
    help="With --check: the configuration to check.",
)
@option("--preset", metavar="NAME", help="Write the settings of this preset; without it, the preset stays open.")
@option("--full", is_flag=True, help="Also sizes that the vocabulary decides, and options of packing strategies.")
@option("--check", is_flag=True, help="Load what FILE names, and print what would be trained.")
@option("--data", metavar="DATA", help="The data; with --check, where FILE names none.", panel=SETTINGS)
@tokenizer_option(required=False, help="The tokenizer; with --check, where FILE names none.", panel=SETTINGS)
@set_option
@budget_option
@setting_option("run.device", overrides=True, panel=SETTINGS)
def config(
    file: str | None,
    preset: str | None,
    full: bool,
    check: bool,
    data: str | None,
    tokenizer: str | None,
    sets: tuple[str, ...],
    budget: str | None,
    device: str | None,
) -> Outcome:
    """Write a configuration with every setting, its value and a comment; or check one without training.

    Settings that are given are put into it. Nothing is written but stdout.
    """
    if file is not None and (Path(file) / CONFIG).is_file():
        fix = f"slm config --check {shlex.quote(str(Path(file) / CONFIG))}"
        raise OptionError(f"{file!r} is a run, and a check reads a file", fix=fix, option="check")
    if check and file is None:
        named = f"; {tokenizer} is a tokenizer" if tokenizer and not is_text_for_tokenizer(tokenizer) else ""
        written = shlex.join(["slm", "config", *(["--preset", preset] if preset else [])])
        fix = f"slm config --check run.yaml, or {written} > run.yaml"
        raise OptionError(f"--check needs a FILE of settings{named}", fix=fix, option="check")
    if check and (preset or full):
        flag = "--full" if full else "--preset"
        fact, fix = f"--check and {flag} together", f"leave {flag} out, or --check FILE"
        raise OptionError(fact, limit=f"{flag} is about a new configuration", fix=fix, option="check")
    if file is not None:
        given = read_settings(file, sets, budget, {"run.device": device})
        with add_origin_to_errors(given):
            return _check(file, given, *named_data(given, data, tokenizer))
    values = {"run.device": device, "data.train": data, "data.tokenizer": tokenizer, "model.preset": preset}
    given, _ = reading.merge(read_settings(None, sets, budget, values), ReadOptions())
    text = template(given, full=full)
    return Outcome({"preset": preset, "yaml": text}, lambda: write_text(text))


def _check(file: str, given: Settings, data: str | None, tokenizer: str | None) -> Outcome:
    """What `slm train` would do with these settings, and the first sequence that it would train on."""
    from slmmodel.data import Cursor
    from slmmodel.hardware import device_for
    from slmmodel.training import setup

    given, read = reading.merge(given, ReadOptions())
    opened = open_unless_packed(given, data, tokenizer, read) or setup.open_packed_data(given, None)
    numbers, rows = dry_run_rows(given, opened)
    device = device_for(setup.value_of(given, "run.device", "auto"))
    chosen, _ = setup.configure(given, None, opened, device)
    loader = setup.make_loader(opened, chosen)
    batch = loader.batch(loader.global_batch(Cursor()).sequence_keys[:1])
    loader.close()
    ids = batch.ids[0][batch.document_ids[0] >= 0].tolist()
    shown = _words(opened, ids[:MAX_SHOWN_IDS]) + (f" … {len(ids):,} ids" if len(ids) > MAX_SHOWN_IDS else "")
    rows += [
        ("tokenizer", f"{opened.vocab.fingerprint[:16]}…, {opened.vocab.n_vocab:,} ids"),
        ("first sequence", shown),
    ]
    warnings = tuple(numbers.pop("notes"))
    result = {"file": file, **numbers, "first_sequence": ids}
    title = f"{file}: slm train {'--config ' + file if data is None else shlex.quote(data)} would train"
    return Outcome(result, lambda: print_rows(rows, title=title), warnings=warnings)


def _words(data: RunData, ids: list[int]) -> str:
    """The text of ids, or the ids without a tokenizer."""
    if data.tokenizer is None:
        return " ".join(map(str, ids))
    from slmmodel.cli.text import Text

    return "".join(Text(data.tokenizer, data.vocab).words(ids))


# ---------------------------------------------------------------- the file


def template(settings: Settings, *, full: bool) -> str:
    """The YAML: the settings of their preset, or the defaults that hold for all presets, and those that are given."""
    given = {name: setting for name, setting in settings.items() if name != "model.preset"}
    name = str(settings["model.preset"].value) if "model.preset" in settings else None
    table = preset_sections(name, given)
    source = "the preset, the data or the device" if name is None else "the data or the device"
    lines = [HEAD.format(name="run.yaml", source=source)]
    for section, title in _SECTIONS.items():
        lines.append(f"\n# {title}\n{section}:\n")
        if section == "model":
            lines.append(
                _line(1, "preset", name, "Shape and settings to start from; by default by the size of the data.")
            )
            lines += _model_lines(table["model"], full)
        else:
            lines += _option_lines(section, table[section], full)
    return "".join(lines)


def _model_lines(values: Mapping[str, Any], full: bool) -> Iterator[str]:
    """The options of an architecture; of llama, all open, without a preset."""
    from slmmodel.models import arch_of

    kind = arch_of(str(values.get("arch", "llama"))).config
    docs = field_docs(kind)
    for field in kind.model_fields:
        if field not in _OF_VOCABULARY:
            yield _line(1, field, values.get(field), docs.get(field, ""))
        elif full:
            yield _line(1, field, None, docs.get(field, ""))


def _option_lines(section: str, values: Mapping[str, Any], full: bool) -> Iterator[str]:
    """The options of a section; those of its parts (`optim.schedule`, `run.budget`) below a line of their own."""
    part = ""
    for option_name, field in OPTIONS.items():
        first, *inner, name = option_name.split(".")
        if first != section or option_name == "data.options" or (option_name == "data.read" and values.get("read")):
            continue
        table = values.get(inner[0], {}) if inner else values
        if inner and inner[0] != part:
            part = inner[0]
            yield _line(1, part, "" if table else None, _PARTS[part])
        text = field.description or ""
        if part == "budget" and inner:
            text += f" Such as {BUDGET_EXAMPLES[name]}."
        yield _line(1 + len(inner), name, table.get(name), text)
    # Options of the packing strategy and of reading text, where some are given.
    for part in ("options", "read") if section == "data" else ():
        if given := values.get(part):
            yield f"  {part}:\n"
            yield from (f"    {name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in given.items())
    if section == "data" and full:
        yield from _strategy_lines()


def _strategy_lines() -> Iterator[str]:
    from slmmodel.data.strategies import STRATEGIES

    users: dict[str, tuple[Any, list[str]]] = {}
    for name, strategy in STRATEGIES.items():
        for option_name, default in strategy.OPTIONS.items():
            if option_name not in ("loss_on", "batch_size"):
                users.setdefault(option_name, (default, []))[1].append(name)
    yield "  # options:\n"
    for option_name, (default, names) in sorted(users.items()):
        yield _line(2, option_name, None, f"Of {', '.join(names)}; {_shown(default)} by default.")


def _line(depth: int, name: str, value: Any, text: str) -> str:
    """`name: value  # text`; as a comment where the value is open."""
    entry = f"{'  ' * depth}{'# ' if value is None else ''}{name}:"
    entry += f" {_shown(value)}" if value not in (None, "") or name in _TEXTS else ""
    return f"{entry:<{WIDTH}}  # {text}\n"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def field_docs(config: type[ModelConfig]) -> dict[str, str]:
    """The string below each field of a model's configuration as a sentence, inherited ones included."""
    found: dict[str, str] = {}
    for kind in reversed(config.__mro__):
        if not hasattr(kind, "model_fields") or kind.__module__.startswith("pydantic"):
            continue
        (body,) = ast.parse(inspect.getsource(kind)).body
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                text = inspect.cleandoc(str(below.value.value)).replace("\n", " ")
                found[getattr(field.target, "id", "")] = text[0].upper() + text[1:].rstrip(".") + "."
    return found
