"""`slm info`: describe a run, a preset or a vocab.json. `slm doctor`: describe this machine, check runs and data."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slmmodel.checkpoint import RunFolder, known_runs, read_train_state, runs_in, verify_sums
from slmmodel.checks import missing_path, similar_name
from slmmodel.cli.curves import read_curve, result_rows
from slmmodel.cli.open_by_path import load_torch
from slmmodel.cli.result_files import load_certificate
from slmmodel.cli.text import Text
from slmmodel.errors import MAX_LISTED, MissingInput, OptionError, SlmmodelError, UnknownName, suggestion
from slmmodel.gpus import USUAL_UTILISATION, devices, refuse_type_of_device
from slmmodel.run_files import origins
from slmmodel.sizes import format_bytes, format_time
from slmmodel.versions import package_version
from slmtok.cli.arguments import with_commands
from slmtok.cli.files import names_tokenizer
from slmtok.cli.options import argument, arguments_of_command, command, option
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, Row, counted, print_rows, settings, write_text
from slmtok.errors import SlmtokError
from slmtok.file_kinds import (
    METADATA,
    NAMES,
    READERS,
    TOKENIZER,
    UNKNOWN,
    data_in,
    has_manifest,
    kind_of_file,
    lacks_of_run,
)

if TYPE_CHECKING:
    from slmmodel.models import ModelConfig
    from slmmodel.models.presets import Preset
    from slmmodel.vocab import VocabMeta

_PACKAGES = ("torch", "safetensors", "numpy", "slmtok", "tensorboard", "matplotlib", "transformers")
_CONFIG_FIELDS_PER_LINE = 4
_COUNTS = ("parameters", "embedding_share", "flops_per_token")


def _refuse_type(context: click.Context, option: click.Parameter, device: str | None) -> str | None:
    """Raises `OptionError` for a type of device, whatever is to be described."""
    if device is not None:
        refuse_type_of_device(device)
    return device


@command("info", example="slm info run")
@argument("subject", metavar="RUN|PRESET|FILE", help="A run, a preset (presets lists them), or a vocab.json.")
@option(
    "--on",
    metavar="DEVICE[:N]",
    callback=_refuse_type,
    help="With a preset: memory and time on N such devices, such as h100:4.",
)
@option("--diagram", is_flag=True, help="Print the model as a Mermaid flowchart with dimensions and recurrence.")
def info(subject: str, on: str | None, diagram: bool) -> Outcome:
    """Describe a run, a preset or a vocab.json."""
    from slmmodel.models.presets import PRESETS, nearest_in_size, preset

    if on is not None and (subject == "presets" or Path(subject).exists()):
        raise _not_planned(subject, on)
    path = Path(subject)
    if diagram and (subject == "presets" or path.is_file()):
        raise OptionError(
            f"--diagram draws a model, and {subject!r} is none",
            limit="a run or a preset",
            fix=f"slm info {shlex.quote(subject)}",
            option="diagram",
        )
    if subject == "presets":
        return _describe_presets()
    if path.is_dir() and (found := RunFolder(path).enclosing) and not RunFolder(path).exists():
        fix = f"slm info {shlex.quote(str(found[0]))}"
        raise OptionError(f"{subject!r} is a part of a run, not a run", fix=fix, option="subject")
    # `gpt2` is also the name of an encoding.
    near_preset = None if path.exists() else nearest_in_size(subject) or suggestion(subject, PRESETS)
    if near_preset is None and (names_tokenizer(subject) or has_manifest(path)):
        what = "packed data" if path.is_dir() else "a tokenizer"
        raise OptionError(
            f"{subject!r} is {what}, not a run", fix=f"slmtok info {shlex.quote(subject)}", option="subject"
        )
    if path.is_dir():
        return _describe_run(subject, diagram)
    if path.exists():
        _refuse_other_file(subject, "info", "a run, a preset or a vocab.json")
        return _describe_vocab(subject)
    if path.suffix and subject not in PRESETS:
        raise missing_path(subject, similar_name(subject) or "name a run, a vocab.json, or a preset (slm info presets)")
    near = get_close_matches(subject, runs_in(path.parent), n=1)
    if near and subject not in PRESETS and suggestion(subject, PRESETS) is None:
        words = [near[0] if word == subject else word for word in arguments_of_command()]
        raise missing_path(subject, shlex.join(["slm", "info", *words]))
    more_words = "" if on is None else f" --on {shlex.quote(on)}"
    is_encoding = names_tokenizer(subject)
    if subject not in PRESETS and near_preset is None and not is_encoding and on is None:
        _refuse_no_run(subject, path.parent)
    other = f"slmtok info {subject} for the tokenizer" if is_encoding else "a run folder or vocab.json that exists"
    chosen = preset(subject, f"slm info {{}}{more_words}, or {other}")
    more = {"batch_tokens": chosen.batch_tokens, "tokens": chosen.tokens, "optim": dict(chosen.optim)}
    rows: list[Row] = [
        ("step", f"{chosen.batch_tokens:,} tokens"),
        ("run", f"{chosen.tokens:,} tokens"),
        ("optimizer", f"{chosen.optim['name']}, learning rate {chosen.optim['lr']:g}"),
    ]
    training, training_rows = _training_cost(chosen, on)
    return _describe_model(subject, chosen.config(), diagram, {**more, **training}, [*rows, *training_rows])


def _refuse_no_run(subject: str, folder: Path) -> None:
    """Raises `UnknownName` for a name that is no preset, if the folder has runs: one of these is meant."""
    from slmmodel.models.presets import PRESETS

    if runs := runs_in(folder):
        raise UnknownName(
            f"{subject!r} is neither a run nor a preset",
            limit=f"{known_runs(folder)}; presets: {', '.join(PRESETS)}",
            fix=", or ".join(f"slm info {shlex.quote(run)}" for run in runs[:MAX_LISTED]),
            option="subject",
        )


def _not_planned(subject: str, on: str) -> OptionError:
    """The error for devices of what is no preset: the preset nearest to a run, or the data that `--on` names."""
    from slmmodel.models import config_from_dict, count
    from slmmodel.models.presets import PRESETS

    is_run = RunFolder(Path(subject)).exists()
    nearest, remark = next(iter(PRESETS)), "for instance"
    if is_run and Path(on).exists():
        fix = f"slm eval {shlex.quote(subject)} --on {shlex.quote(on)} scores the run on {on}"
    else:
        if is_run:
            own, remark = config_from_dict(RunFolder.open(subject).config["model"]), "the preset nearest to the run"
            sizes = {name: (each.config().arch, count(each.config()).parameters) for name, each in PRESETS.items()}
            size = count(own).parameters
            nearest = min(sizes, key=lambda name: (sizes[name][0] != own.arch, abs(math.log(sizes[name][1] / size))))
        fix = f"slm info {nearest} --on {shlex.quote(on)}, {remark}"
    fact = f"--on plans a preset, {subject!r} is {'a run' if is_run else 'none'}"
    return OptionError(fact, limit=f"one of {', '.join(PRESETS)}", fix=fix, option="--on")


_OWN = {"info": (METADATA, "vocab.json"), "doctor": (TOKENIZER, "tok.json")}
"""The kind of file that a command reads, and its name."""


def _folder_of(path: str) -> Path | None:
    """The run or packed data that a file or folder is a part of; None for others."""
    return next((each for each in [*Path(path).parents][:3] if RunFolder(each).exists() or has_manifest(each)), None)


def _folders_to_check(paths: Sequence[str]) -> list[str]:
    """What `slm doctor` checks of several paths: files of runs and of packed data by their folder, others as they are.

    Nothing of one path alone, and of paths that it does not check.
    """
    found: list[str] = []
    for path in paths if len(paths) > 1 else ():
        try:
            _refuse_unchecked(path)
            found.append(path)
        except (OptionError, MissingInput):
            found += [str(folder)] if (folder := _folder_of(path)) else []
    return list(dict.fromkeys(found))


def _refuse_other_file(path: str, command: str, takes: str) -> None:
    """Raises `OptionError` for a file that `command` does not read; JSON without a kind may be a damaged one."""
    from slmtok.cli.inspection import guess

    (own, name), kind = _OWN[command], kind_of_file(path)
    folder = _folder_of(path)
    if kind == own or (kind == UNKNOWN and (Path(path).name == name or (folder is None and path.endswith(".json")))):
        return
    if kind in READERS or (kind in NAMES and folder is None):
        what, fix = f"{NAMES[kind]}, ", READERS.get(kind, "slmtok info {}").format(shlex.quote(path))
    elif folder is None:
        what, fix = guess(path)
        fix = with_commands(fix, path)
    else:
        program = "slmtok" if command == "info" and has_manifest(folder) else "slm"
        what, fix = f"a file of {folder}, ", shlex.join([program, command, str(folder)])
    raise OptionError(f"{path!r} is {what}not {takes}", fix=fix, option="subject")


def _training_cost(preset: Preset, on: str | None) -> tuple[dict[str, Any], list[Row]]:
    """Parameters by part, memory of training by precision, and time on devices."""
    from slmmodel.models import count

    planned = None if on is None else devices(on)
    load_torch()
    from slmmodel.distributed import MAX_DDP_SHARE
    from slmmodel.training import estimate

    config = preset.config()
    parts, state = estimate.parameters_by_part(config), estimate.state_bytes(config)
    flops = float(preset.tokens) * count(config).flops_per_token
    memory = {
        precision: [
            estimate.sequence_bytes(config, precision, activation_checkpointing=recompute)
            for recompute in (False, True)
        ]
        for precision in estimate.PRECISIONS
    }
    rows: list[Row] = [
        ("by part", "  ".join(f"{name} {number:,}" for name, number in parts.items())),
        ("all steps", f"{flops:.3g} operations"),
        (
            "memory",
            f"{format_bytes(state)} for weights, gradients and AdamW, and for each sequence of {config.seq_len:,}",
        ),
        *(
            ("", f"{name}: {format_bytes(full)}, with activation checkpointing {format_bytes(less)}")
            for name, (full, less) in memory.items()
        ),
    ]
    result: dict[str, Any] = {
        "parts": parts,
        "flops": flops,
        "memory": {"state": state, "sequence": {name: full for name, (full, _) in memory.items()}},
    }
    result["memory"]["sequence_with_checkpointing"] = {name: less for name, (_, less) in memory.items()}
    if planned is None:
        return result, rows
    seconds, sharded = planned.seconds(flops), state > MAX_DDP_SHARE * planned.memory
    fits = int((planned.memory - (state / planned.number if sharded else state)) // memory["bf16"][0])
    how = "FSDP2 shards the state; " if sharded and planned.number > 1 else ""
    found = f"{how}{fits:,} sequences in bf16 fit beside it" if fits > 0 else "the state does not fit: more devices"
    share = f"{100 * USUAL_UTILISATION:.0f} % of the peak"
    rows.append((f"on {on}", f"{format_time(seconds)} at {share}; of {format_bytes(planned.memory)} each, {found}"))
    return {**result, "on": {**planned._asdict(), "seconds": seconds, "sequences": max(fits, 0)}}, rows


def _describe_run(path: str, diagram: bool) -> Outcome:
    from slmmodel.models import config_from_dict

    run = RunFolder.open(path)
    vocab = run.vocab
    state = "" if run.finished else f"unfinished, checkpoints {run.checkpoints.list() or 'none'}"
    rows: list[Row] = [
        ("state", state),
        ("branch", "\n".join(origins(run.fingerprint))),
        *_progress_rows(run),
        ("tokenizer", f"{vocab.fingerprint}{'' if run.tokenizer else ' (no tokenizer file)'}"),
        ("data", str(run.fingerprint.get("data", ""))),
    ]
    more = {"finished": run.finished, "fingerprint": run.fingerprint, "outcome": run.result}
    more["vocab"] = _vocab_dict(path, vocab)
    return _describe_model(path, config_from_dict(run.config["model"]), diagram, more, rows)


def _progress_rows(run: RunFolder) -> list[Row]:
    """The result of a finished run; of another one, its last line of metrics."""
    if run.finished:
        path = run.path / "eval" / "val.json"
        certificate = load_certificate(str(path)) if path.is_file() else None
        # The model and the branch have rows of their own here.
        return [row for row in result_rows(run.result, certificate) if row[0] not in ("model", "branch")]
    try:
        last = read_curve(run, newest=1).lines[-1]
    except MissingInput:
        return []
    loss = "not finite" if last.get("loss") is None else f"{last['loss']:.4f} nats per id"
    return [("reached", f"step {last['step']:,}, {last['tokens']:,} ids, loss {loss}")]


def _describe_model(path: str, config: ModelConfig, diagram: bool, more: dict[str, Any], rows: list[Row]) -> Outcome:
    from slmmodel.export import exports as exports_of
    from slmmodel.models import count
    from slmmodel.models.diagram import diagram as diagram_of

    counts, exports = count(config), exports_of(config)
    result: dict[str, Any] = {
        "path": path,
        "model": config.model_dump(),
        **{name: getattr(counts, name) for name in (*_COUNTS, "embedding")},
        "exports": exports,
        **more,
    }
    if diagram:
        text = diagram_of(config)
        return Outcome({**result, "diagram": text}, lambda: write_text(text))
    fields = [f"{key} {value}" for key, value in config.model_dump().items() if value is not None]
    starts = range(0, len(fields), _CONFIG_FIELDS_PER_LINE)
    listed: list[Row] = [
        ("model", "\n".join("  ".join(fields[at : at + _CONFIG_FIELDS_PER_LINE]) for at in starts)),
        ("parameters", f"{counts.parameters:,}"),
        ("embeddings", f"{100 * counts.embedding_share:.1f} % of them; 8-15 % is usual near the optimum"),
        ("operations", f"{counts.flops_per_token:,} per token, forward and backward"),
        ("exports", "  ".join(f"{name}: {value}" for name, value in exports.items())),
        *rows,
    ]
    return Outcome(result, lambda: print_rows(listed, title=path))


def _describe_presets() -> Outcome:
    from slmmodel.models import count
    from slmmodel.models.presets import PRESETS

    rows, result = [], {}
    for name, preset in PRESETS.items():
        counts = count(preset.config())
        result[name] = {**{key: getattr(counts, key) for key in _COUNTS}, "n_vocab": preset.n_vocab}
        share = f"{100 * counts.embedding_share:4.1f} % embeddings"
        text = f"{counts.parameters:>12,} parameters, {share}, {counts.flops_per_token:.2g} operations per token"
        rows.append((name, f"{text}, {preset.n_vocab:,} ids, seq_len {preset.seq_len}"))
    return Outcome({"presets": result}, lambda: print_rows(rows))


def _describe_vocab(file: str) -> Outcome:
    from slmmodel.vocab import VocabMeta

    vocab = VocabMeta.load(file)
    result = _vocab_dict(file, vocab)
    rows: list[Row] = [
        ("ids", f"{vocab.n_vocab:,}, padded {vocab.padded_vocab:,}"),
        ("specials", "  ".join(f"{id} {role}" for role, id in vocab.specials.items())),
        ("tokens", f"{result['mean_token']} bytes on average, {result['longest_token']} at most"),
        ("fingerprint", vocab.fingerprint),
    ]
    return Outcome(result, lambda: print_rows(rows, title=file))


def _vocab_dict(path: str, vocab: VocabMeta) -> dict[str, object]:
    lengths = vocab.token_nbytes
    return {
        "path": path,
        "n_vocab": vocab.n_vocab,
        "padded_vocab": vocab.padded_vocab,
        "specials": dict(vocab.specials),
        "longest_token": int(lengths.max()),
        "mean_token": round(float(lengths[lengths > 0].mean()), 3),
        "fingerprint": vocab.fingerprint,
    }


@command("doctor", example="slm doctor run")
@argument("paths", metavar="[PATH]...", nargs=-1, help="Runs, packed data and files of tokenizers to check.")
def doctor(paths: tuple[str, ...]) -> Outcome:
    """Describe this machine, and check that files belong together. Exit with status 3 where they do not."""
    for path in paths:
        if not Path(path).exists():
            fix = "name a run, packed data or a tokenizer; without a name, slm doctor describes the machine"
            raise missing_path(path, similar_name(path) or fix)
        try:
            _refuse_unchecked(path)
        except (OptionError, MissingInput) as error:
            if folders := _folders_to_check(paths):
                error.fix = shlex.join(["slm", "doctor", *folders])
            raise
    load_torch()
    machine = _machine()
    checks = _checks(paths)
    rows: list[Row] = [] if settings().quiet else [(name, str(value)) for name, value in machine.items()]
    rows += [(check["path"], check["what"] if check["ok"] else f"NO: {check['fault']}") for check in checks]
    code = DONE if all(check["ok"] for check in checks) else ANSWER_NO
    return Outcome({"machine": machine, "checks": checks}, lambda: print_rows(rows), code=code)


def _refuse_unchecked(path: str) -> None:
    """Raises `OptionError` for what is no run, packed data or tokenizer; a damaged one is an answer of the check.

    A folder with a model of Hugging Face is the `MissingInput` of all commands that take a run.
    """
    takes = "a run, packed data or a tokenizer"
    if Path(path).is_file():
        _refuse_other_file(path, "doctor", takes)
        return
    if not Path(path).is_dir():
        raise OptionError(f"{path!r} is a pipe or a device, not {takes}", fix=f"name {takes}", option="paths")
    is_checked = has_manifest(path) or RunFolder(Path(path)).exists()
    if not is_checked and (whole := _folder_of(path)):
        fix = shlex.join(["slm", "doctor", str(whole)])
        raise OptionError(f"{path!r} is a part of {whole}, which is checked as a whole", fix=fix, option="paths")
    if not is_checked and not lacks_of_run(path):
        found = [*runs_in(Path(path)), *data_in(path)]
        if not found and Path(path, "config.json").is_file():
            raise RunFolder(Path(path)).not_a_run(path, option="paths")
        fix = shlex.join(["slm", "doctor", *found]) if found else f"name {takes}"
        raise OptionError(f"{path!r} is not {takes}", fix=fix, option="paths")


def _machine() -> dict[str, Any]:
    import torch

    from slmmodel.training.microbatch import UNKNOWN_MEMORY, free_memory

    found: dict[str, Any] = {"python": ".".join(map(str, sys.version_info[:3]))}
    found |= {name: package_version(name, "not installed") for name in _PACKAGES}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    capability = torch.backends.cpu.get_cpu_capability()
    found["cpu"] = f"{cores} cores, torch uses {torch.get_num_threads()} threads, {capability}"
    free = free_memory()
    found["memory"] = f"{format_bytes(free)} free" if free < UNKNOWN_MEMORY else "unknown on this system"
    cuda = [torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())]
    found["cuda"] = ", ".join(f"{each.name} ({format_bytes(each.total_memory)})" for each in cuda) or "none"
    found["mps"] = "yes" if torch.backends.mps.is_available() else "none"
    return found


def _checks(paths: Sequence[str]) -> list[dict[str, Any]]:
    """Whether the files of each folder agree: digests, fingerprints, headers; and all folders in their tokenizer."""
    first, checks = None, []
    for path in paths:
        check, fingerprint = _check(Path(path))
        first = first or (fingerprint and (path, fingerprint))
        if first and fingerprint not in (None, first[1]):
            fault = f"its tokenizer, {fingerprint[:8]}…, is another than that of {first[0]}, {first[1][:8]}…"
            check |= {"ok": False, "what": "", "fault": fault}
        checks.append(check)
    return checks


def _check(path: Path) -> tuple[dict[str, Any], str | None]:
    """(whether the files of a folder agree, the fingerprint of its tokenizer)."""
    try:
        is_tokenizer = path.is_file()
        check = _check_tokenizer if is_tokenizer else _check_data if has_manifest(path) else _check_run
        what, fingerprint = check(path)
    except (SlmmodelError, SlmtokError) as error:
        inside = error.where if error.where not in (None, str(path)) else ""
        fault = f"{error.fact} ({inside})" if inside else error.fact
        return {"path": str(path), "ok": False, "what": "", "fault": fault}, None
    described = f"{what}, tokenizer {fingerprint[:8]}…" + ", all digests agree" * (not is_tokenizer)
    return {"path": str(path), "ok": True, "what": described, "fault": None}, fingerprint


def _check_tokenizer(path: Path) -> tuple[str, str]:
    from slmtok.opening import load

    tokenizer = load(path)
    return f"tokenizer, {tokenizer.n_vocab:,} ids", tokenizer.fingerprint


def _check_data(path: Path) -> tuple[str, str]:
    from slmmodel.data.opening import open_data
    from slmmodel.distributed import World
    from slmmodel.training.verify import verify_data

    data = open_data(str(path))
    verify_data(data, World())
    documents = data.train.block(0).n_docs
    return f"token data, {counted(documents, 'document')}, {data.n_train_ids:,} ids", data.vocab.fingerprint


def _check_run(path: Path) -> tuple[str, str]:
    from slmmodel.cli.recorded import missing_data

    run = RunFolder.open(path)
    verify_sums(run.path)
    steps = run.checkpoints.list()
    for step in steps:
        verify_sums(run.checkpoints.path(step))
        read_train_state(run.checkpoints.path(step))
    if run.tokenizer is not None:
        Text(run.tokenizer, run.vocab)
    state = "finished" if run.finished else "unfinished"
    missing = missing_data(run)
    data = f", data not found at {', '.join(missing)}" if missing else ""
    return f"{state} run, {len(steps)} checkpoints{data}", run.vocab.fingerprint
