"""Options of other trainers that people type by habit, each with what stands for it in `slm train` and `slm resume`.

A `Habit` writes the advice in the error for such an option, from its value and all arguments; `EXTRA` is the key of the
one for an argument too many.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.options import (
    BUDGET_HABITS,
    CHECKPOINT_FLAGS,
    budget_in_two,
    flag_of,
    set_in_two,
    with_list_in_one,
    with_output,
)
from slmmodel.cli.run_argument import (
    SETTINGS_OF_PLAN,
    kept_setting,
    resumed,
    resumed_at,
    run_among,
    saved_step,
    trained_anew,
    without,
)
from slmmodel.config import OPTIONS, model_options
from slmmodel.errors import SlmmodelError
from slmmodel.foreign_names import (
    BATCH_TOKENS,
    BETA_NAMES,
    BETAS,
    DEFAULT_SEQ_LEN,
    FOREIGN_SETTINGS,
    FOREIGN_VALUES,
    PASSES,
    SWITCHED_OFF,
    VOCAB_SIZES,
    both_betas,
    own_setting,
)
from slmmodel.models import MODELS
from slmmodel.models.presets import PRESETS, archs_named, nearest_in_size
from slmmodel.sizes import parse_count, parse_share
from slmtok.cli.arguments import OUTPUT_FLAGS, is_text_file, value_after, without_options
from slmtok.cli.errors import EXTRA
from slmtok.cli.options import Habit, instead
from slmtok.cli.unknown_options import WHOLE, options_in
from slmtok.file_kinds import has_manifest, is_run
from slmtok.files import free_name, resolved
from slmtok.foreign_options import DIVIDING_SHARES, VALIDATION_FILES
from slmtok.options import ReadOptions, option_specs

_DEFAULT_BATCH_SIZE = 16

_LENGTHS = (
    *(f"--{name.replace('_', '-')}" for name, ours in FOREIGN_SETTINGS.items() if ours == "model.seq_len"),
    "--seq-len",
)
"""What other trainers call `model.seq_len`."""
_ACCUMULATION = tuple(f"--{name.replace('_', '-')}" for name in PASSES)
_RATES = ("--lr", "--learning-rate")
_BETAS = tuple(tuple(f"--{name.replace('_', '-')}" for name in names) for names in BETA_NAMES)
_BATCH = ("--batch-size", "--batch", "--per-device-train-batch-size")


def _given(flags: Sequence[str], arguments: Sequence[str]) -> str | None:
    """The word that follows one of the flags of another trainer, or the setting of that name; None without one."""
    words = [part for text in arguments for part in text.split("=", 1)]
    return next((text for flag, text in pairwise(words) if flag.replace("_", "-") in flags), None)


def _number(flags: Sequence[str], arguments: Sequence[str]) -> int | None:
    """The whole number that follows one of the flags; None without one."""
    text = _given(flags, arguments) or ""
    return int(text) if text.isdecimal() else None


def _final_factor(value: str | None, arguments: Sequence[str]) -> str:
    """`optim.schedule.final` for a last learning rate: its share of the one that the arguments set."""
    peak, last = parse_share(_given((*_RATES, "optim.lr"), arguments) or ""), parse_share(value or "")
    if peak and last is not None and 0 <= last <= peak:
        return f"--set optim.schedule.final={last / peak:.6g}, the share of the learning rate at the end"
    return "--set optim.schedule.final=SHARE, the learning rate at the end divided by optim.lr"


def _betas(value: str | None, arguments: Sequence[str]) -> str:
    """`optim.betas` for one of both, with the other one of the arguments, else with its default."""
    both = {names[0]: _given(flags, arguments) for names, flags in zip(BETA_NAMES, _BETAS, strict=True)}
    given = {name: value for name, value in both.items() if value is not None}
    return f"--set {shlex.quote(f'{BETAS}={both_betas(given)}')}"


def _flag(name: str) -> bool:
    """Whether a setting is a truth value."""
    section, _, last = name.partition(".")
    fields = [arch.config.model_fields for arch in MODELS.values()] if section == "model" else []
    return any(last in each and each[last].annotation is bool for each in fields)


def _batch_tokens(value: str | None, arguments: Sequence[str]) -> str:
    """`run.batch_tokens` for a number of sequences, of the length that the arguments set or the preset has."""
    batch_size = int(value) if value is not None and value.isdecimal() else _DEFAULT_BATCH_SIZE
    batch_size *= _number(_ACCUMULATION, arguments) or 1
    given = [text.rpartition("=")[2] for text in arguments if "model.seq_len=" in text]
    named = [PRESETS[name].seq_len for name in (text.rpartition("=")[2] for text in arguments) if name in PRESETS]
    foreign = _number(_LENGTHS, arguments)
    lengths = [*(int(text) for text in given if text.isdecimal()), *([foreign] if foreign else []), *named]
    seq_len = lengths[0] if lengths else DEFAULT_SEQ_LEN
    fix = f"--set run.batch_tokens={batch_size * seq_len}: {batch_size} sequences of {seq_len} ids"
    return fix if lengths else f"--set model.seq_len={seq_len} {fix}"


def _batch_of_run(value: str | None, arguments: Sequence[str]) -> str:
    """As `_batch_tokens`, with sequences of the run among the arguments, which keeps its model."""
    run = run_among(arguments)
    length = [] if run is None else [f"model.seq_len={RunFolder(Path(run)).config['model']['seq_len']}"]
    return _batch_tokens(value, [*arguments, *length])


def _accumulation(value: str | None, arguments: Sequence[str]) -> str:
    """`run.batch_tokens`, unless an option for the size of a batch leads to it."""
    if _number(_BATCH, arguments):
        return "leave it out: run.batch_tokens counts the ids of a whole step"
    return "--set run.batch_tokens=N: the ids of a step; --micro-batch divides it"


def _setting(name: str) -> Habit:
    """Names the setting with the value that was given, in our words; switched on, or else with its default."""
    default = OPTIONS[name].default if name in OPTIONS else True if _flag(name) else None
    # An option alone switches on what is off by default.
    default = True if default is False else default
    ours = FOREIGN_VALUES.get(name, {})
    return lambda value, arguments: instead(
        f"--set {name}={{}}", "VALUE" if default in (None, ()) else str(default).lower()
    )(value if value is None else ours.get(value.lower(), value), arguments)


_HEADS = [f"--{name.replace('_', '-')}" for name, ours in FOREIGN_SETTINGS.items() if ours == "model.n_heads"]


def _heads(value: str | None, arguments: Sequence[str]) -> str:
    """`model.n_heads`, and as many heads of keys and values where the arguments name none: GPT-2 has as many."""
    heads = _setting("model.n_heads")(value, arguments)
    of_keys = [name.replace("_", "-") for name, ours in FOREIGN_SETTINGS.items() if ours == "model.n_kv_heads"]
    given = _given([*(f"--{name}" for name in ("n-kv-heads", *of_keys)), "model.n-kv-heads"], arguments)
    return heads if given else f"{heads} {_setting('model.n_kv_heads')(value, arguments)}"


def _hidden_size(value: str | None, arguments: Sequence[str]) -> str:
    """The size of the state for a recurrent model, which has one, and the width for others."""
    words = " ".join(arguments).replace("--preset ", "model.preset=").replace("--preset=", "model.preset=").split()
    preset, arch = (
        next((word.rpartition(name)[2] for word in words if name in word), None)
        for name in ("model.preset=", "model.arch=")
    )
    has_state = all("hidden_size" in each.config.model_fields for each in archs_named(preset, arch))
    return _setting("model.hidden_size" if has_state else "model.d_model")(value, arguments)


_PLAIN = re.compile(r"[\w./-]+", re.ASCII)
"""A name that needs no quotes in YAML."""


def is_configuration(path: str) -> bool:
    """Whether a path is a file of YAML, as the configuration of a run is."""
    return path.endswith((".yaml", ".yml")) and Path(path).is_file()


def folder_of_file(path: str) -> str:
    """The folder of packed data that a file such as `data/train-00000.bin` is a part of; another path as it is."""
    from slmmodel.data.shards import is_file_of_packed

    return str(Path(path).parent) if is_file_of_packed(Path(path)) else path


def several_data(command: str, data: Sequence[str], arguments: Sequence[str]) -> str:
    """The command with all of some data as one mixture, in the place of the arguments that name them."""
    named = ",".join(each if _PLAIN.fullmatch(each) else json.dumps(each, ensure_ascii=False) for each in data)
    words, is_set = [command], False
    for before, word in pairwise(["", *arguments]):
        if before in NAMING or (word not in data and word != ",".join(data)):
            words.append(word)
        elif not is_set:
            words += ["--set", f"data.train=[{named}]"]
            is_set = True
    return shlex.join(["slm", *words])


_OF_VALIDATION = re.compile(r"(?<![a-z])(val(id(ation)?)?|dev|test)|(val|valid|dev|test)(?![a-z])")
"""In the name of data that one does not train on."""


def _with_validation(data: Sequence[str], arguments: Sequence[str]) -> str | None:
    """`slm train` with the second of two data for validation; None for more, for one twice, and beside `--val`.

    Both are packed, or both are text.
    """
    is_given = any(word.partition("=")[0] == "--val" or word.startswith("data.val") for word in arguments)
    kinds = {has_manifest(each) for each in data if Path(each).exists()}
    if len(data) != 2 or is_given or resolved(data[0]) == resolved(data[1]) or len(kinds) > 1:
        return None
    at = len(arguments) - 1 - [*arguments][::-1].index(data[1])
    return shlex.join(["slm", "train", *arguments[:at], "--val", *arguments[at:]])


def _mixed_or_validated(command: str, data: Sequence[str], arguments: Sequence[str]) -> str:
    """The command that trains on several data, and the one that validates on the second; the likelier one first.

    Packed data of another tokenizer than the first are packed again before. No command follows a `;`, behind which a
    shell would run the second as well.
    """
    packed = _packed_again(data)
    if "" in packed.values():
        name = shlex.quote(next(each for each, line in packed.items() if not line))
        return f"leave one out: {name} has another tokenizer than {shlex.quote(data[0])}"
    renamed = {each: free_name(each) for each in packed}
    data, arguments = ([renamed.get(each, each) for each in words] for words in (data, arguments))
    mixed, validated = several_data(command, data, arguments), _with_validation(data, arguments)
    first, *others = [mixed]
    if validated and _OF_VALIDATION.search(Path(data[1]).stem.lower()):
        first, others = validated, [f"or to train on both: {mixed}"]
    elif validated:
        others = [f"or to validate on {shlex.quote(data[1])}: {validated}"]
    packs = [f"{line} -o {shlex.quote(renamed[each])}" for each, line in packed.items()]
    return ", ".join([" && ".join([*packs, first]), *others])


def _packed_again(data: Sequence[str]) -> dict[str, str]:
    """For packed data of another tokenizer than the first: the command that packs their text with that one, without its
    output; "" where text or tokenizer are gone.
    """
    from slmmodel.data import open_source
    from slmmodel.data.source import pack_again

    if not all(map(has_manifest, data)):
        return {}
    tokenizer, packed = Path(data[0]) / "tok.json", dict[str, str]()
    with suppress(SlmmodelError):  # training names damaged data
        first = open_source(data[0]).vocab
        for source, each in ((open_source(each), each) for each in data[1:]):
            if source.vocab and first and source.vocab.fingerprint != first.fingerprint:
                is_possible = (
                    tokenizer.is_file() and source.packed_from and all(map(os.path.exists, source.packed_from))
                )
                line = pack_again(source, str(tokenizer)).removesuffix(" -o NEW")
                packed[each] = line if is_possible else ""
    return packed


NAMING = ("-t", "--tokenizer", "--set", "-o", "--output", "--config", "--val")
"""Options whose value may be the name of the data."""


def _assigned(command: str) -> Habit:
    """For an argument too many: the command with `--set` before each NAME=VALUE, as other tools take settings.

    Of `slm train` with a run, the command that writes it; with several data, the command that mixes them.
    """
    known = [*model_options(), *OPTIONS]

    def name_of(word: str) -> str | None:
        name = word.partition("=")[0].lstrip("+")
        inside = next((each for each in known if each.endswith(f".{name}")), own_setting(name))
        return None if "=" not in word else name if name in known else inside

    def with_set(value: str | None, arguments: Sequence[str]) -> str:
        if in_one := with_list_in_one(arguments):
            return shlex.join(["slm", command, *in_one])
        words = []
        for before, word in pairwise(["", *arguments]):
            name = None if before.startswith("-") else name_of(word)
            words += [word] if name is None else ["--set", f"{name}={word.partition('=')[2]}"]
        in_two = set_in_two(value, arguments) or budget_in_two(value, arguments)
        if in_two or words != [*arguments]:
            return in_two or shlex.join(["slm", command, *words])
        if command != "train":
            if not value or not (has_manifest(value) or is_text_file(value)) or "--data" in arguments:
                return ""
            return shlex.join(["slm", command, *(word for word in arguments if word != value), "--data", value])
        if value in PRESETS and "--preset" not in arguments:
            return f"--preset {value}"
        words = [word for before, word in pairwise(["", *arguments]) if before not in NAMING and is_configuration(word)]
        if len(words) == 1 and "--config" not in arguments:
            return shlex.join(["slm", command, *(word for word in arguments if word not in words), "--config", *words])
        named = with_output(arguments)
        given = named or arguments
        data = [
            word
            for before, word in pairwise(["", *given])
            if before not in NAMING and not word.startswith("-") and os.path.exists(word) and not is_run(word)  # noqa: PTH110
        ]
        if {*map(folder_of_file, data)} != {*data}:
            folders = [*dict.fromkeys(map(folder_of_file, data))]
            # Packed data have their own tokenizer.
            rest = without_options((word for word in given if word not in data), ("-t", "--tokenizer"))
            if len(folders) == 1:
                return shlex.join(["slm", command, *folders, *rest])
            data, given = folders, [*folders, *rest]
        if len(data) > 1:
            return _mixed_or_validated(command, data, given)
        return shlex.join(["slm", command, *named]) if named else ""

    return with_set


def _model(value: str | None, arguments: Sequence[str]) -> str:
    """The preset of a model's name, that of its size for a model of another trainer."""
    name = value if value is None or value in PRESETS else nearest_in_size(value)
    return f"--preset {name or 'NAME'}"


_OF_TEXT = (
    *("-t", "--tokenizer"),
    *(spec.flag or f"--{name.replace('_', '-')}" for name, _, spec in option_specs(ReadOptions)),
)
"""Options of text, which packing takes."""


def _divided(value: str | None, arguments: Sequence[str]) -> str:
    """For a share of documents that is held out: packing, which divides them, with the text that was given."""
    from slmtok.foreign_options import held_out_share, rule_of_share

    pack: list[str] = []
    rest: list[str] = []
    skipped = ""
    words = iter(arguments)
    for word in words:
        flag, _, inside = word.partition("=")
        name = flag.lstrip("-").replace("-", "_")
        if name in DIVIDING_SHARES:
            skipped = held_out_share(name, inside or next(words, ""))
        elif flag in _OF_TEXT:
            pack += [word] if inside or flag in ("--skip-malformed", "--streaming") else [word, next(words, "")]
        elif Path(word).exists() and not (rest and rest[-1].startswith("-")):
            pack.insert(0, word)
        else:
            rest.append(word)
    if not any(word.startswith(("-t", "--tokenizer")) for word in pack) or pack[0].startswith("-"):
        return "leave it out: DATA has the splits train and val, as slmtok pack --val RULE divided it"
    data, rule = f"{Path(pack[0]).stem}-data", rule_of_share(skipped) or "tail:10%"
    packed = shlex.join(["slmtok", "pack", *pack, "--val", rule, "-o", data])
    return f"{packed} && {shlex.join(['slm', 'train', data, *rest])}"


def _weights(value: str | None, arguments: Sequence[str]) -> str:
    """For weights to begin with: none are loaded, unless an interrupted run of ours is meant."""
    if value == "resume":
        return resumed(arguments)
    random = "random weights, with which every run begins: leave it out"
    return random if value == "scratch" else f"{random}; to go on with a run of slm: {resumed(arguments)}"


def _continued(value: str | None, arguments: Sequence[str]) -> str:
    """For an option by which other tools continue a run: `slm resume` with the run or checkpoint that it names."""
    place = RunFolder(Path(value or ""))
    named = (place.path, None) if value and place.exists() else place.enclosing if value else None
    if named is None:
        return f"{resumed(arguments)}, or the same command again: it continues an interrupted run"
    run, step = RunFolder(named[0]), named[1]
    kept = _kept_by_resume(arguments)
    written = value_after(OUTPUT_FLAGS, kept)
    if written is not None and resolved(written) == resolved(run.path):
        # It goes on in its folder, or branches off into another one.
        kept = without(OUTPUT_FLAGS, kept)
    words = [str(run.path), *(["--step", str(step)] if step is not None else []), *kept]
    has_changes = bool({*OUTPUT_FLAGS, "--budget", "--set"} & {word.partition("=")[0] for word in words})
    if run.finished or step is not None or has_changes:
        return resumed_at(run, step, words)
    return shlex.join(["slm", "resume", *words])


def _at_checkpoint(value: str | None, arguments: Sequence[str]) -> str:
    """`slm resume` at the checkpoint that a word means, of the run among the arguments or of the word."""
    named = run_among([each for each in arguments if each != value])
    if named is None:
        return _continued(value, arguments)
    run = RunFolder(Path(named))
    step = saved_step(named, value or "")
    words = without(CHECKPOINT_FLAGS, arguments)
    return resumed_at(run, step, words if step is None else [*words, "--step", str(step)])


_OF_RESUME = (*OUTPUT_FLAGS, "--budget", "--set", "--device", "--threads", "--allow-mismatch")
_FLAGS_OF_RESUME = ("--eval", "--no-eval", "--no-verify", "--force", "--quiet", "-q", "--json")
_FLAGS_OF_TRAIN = ("--dry-run", "--streaming", "--skip-malformed")
_KEPT_BY_RUN = ("--set model.", "--set data.", "--set run.seed=")
_AS_SETTINGS = ("--micro-batch", "--precision", "--parallel")


def _kept_by_resume(arguments: Sequence[str]) -> list[str]:
    """The options of `slm train` that `slm resume` takes, settings with `--set`.

    A run keeps its data, its model and its seed.
    """
    kept: list[str] = []
    words = iter([part for word in arguments for part in (word.split("=", 1) if word[:2] == "--" else [word])])
    for word in words:
        flag = word.replace("_", "-")
        if word[:1] != "-" or flag in _FLAGS_OF_TRAIN:
            continue
        if flag in _FLAGS_OF_RESUME:
            kept.append(flag)
            continue
        value = next(words, "")
        habit = _HABITS.get(flag)
        if flag in _OF_RESUME:
            kept += [flag, value]
        elif flag in _AS_SETTINGS:
            kept += ["--set", f"run.{flag[2:].replace('-', '_')}={value}"]
        elif habit is not None and habit is not _continued:
            ours = habit(value, arguments)
            is_taken = ours.startswith(_OF_RESUME) and not ours.startswith(_KEPT_BY_RUN)
            kept += shlex.split(options_in(ours)) if is_taken else []
    return kept


def _track(value: str | None, arguments: Sequence[str]) -> str:
    """`run.track` for a switch or a list of another trainer; without it nothing is logged elsewhere."""
    from slmmodel.training.trackers import TRACKERS

    if value is not None and value.lower() in SWITCHED_OFF:
        return "leave it out: run.track is empty by default"
    named = [each for each in (value or "").lower().split(",") if each in TRACKERS] or ["wandb"]
    return f"--set run.track={','.join(named)}{_not_installed(named)}"


def _not_installed(packages: Sequence[str]) -> str:
    """The end of a remedy: the command that installs the missing ones of these packages; "" where all are installed."""
    absent = [each for each in packages if find_spec(each) is None]
    are = "is" if len(absent) == 1 else "are"
    return f"; {' and '.join(absent)} {are} not installed: pip install {' '.join(absent)}" if absent else ""


RUN_NAMES_IN_WANDB = ("--wandb-run-name", "--wandb-name", "--wandb-run")
"""What other trainers call the name of a run in wandb."""


def _name_in_tracker(value: str | None, arguments: Sequence[str]) -> str:
    """The folder of the run, by whose name a tracker knows it."""
    folder = value_after(OUTPUT_FLAGS, arguments)
    named = f"leave it out: -o {shlex.quote(folder)} also names the run in wandb" if folder else f"-o {value or 'RUN'}"
    return f"{named}{_not_installed(['wandb'])}"


def _compile(value: str | None, arguments: Sequence[str]) -> str:
    """`run.compile` for a flag of another trainer, whose following argument may be another one."""
    word = "on" if value is None else FOREIGN_VALUES["run.compile"].get(value.lower(), value)
    return f"--set run.compile={word if word in ('auto', 'off') else 'on'}"


_PROCESSES = ("--nproc-per-node", "--gpus", "--devices", "--num-processes", "--num-gpus")
"""Options of other trainers for the number of processes."""


def _processes(command: str) -> Habit:
    """The command under torchrun, which starts several processes."""

    def under_torchrun(value: str | None, arguments: Sequence[str]) -> str:
        flags = [word for word in arguments if word.partition("=")[0].replace("_", "-") in _PROCESSES]
        rest = without([word.partition("=")[0] for word in flags], arguments)
        return shlex.join(["torchrun", "--nproc-per-node", value or "N", "-m", "slmmodel", command, *rest])

    return under_torchrun


def _as_new_run(value: str | None, arguments: Sequence[str]) -> str:
    """`slm resume` with these arguments, as a new run where they change what a run keeps."""
    named = run_among(arguments)
    run = None if named is None else RunFolder(Path(named))
    step = parse_count((_given(("--step",), arguments) or "").removeprefix("step-"))
    sets = [word for before, word in pairwise(arguments) if before == "--set"]
    kept = next((found for word in sets if run and (found := kept_setting(run, word))), None)
    if run and kept and (anew := trained_anew(run, arguments)):
        return f"{anew}, which begins with random weights: the {kept.subject} not change"
    if run is None or not {"--set", "--budget", "--step"} & {word.partition("=")[0] for word in arguments}:
        return shlex.join(["slm", "resume", *arguments])
    is_plan = any(word.partition("=")[0].strip() in SETTINGS_OF_PLAN for word in sets)
    is_allowed = not is_plan or "plan" in arguments
    line = resumed_at(run, step, [*arguments, *([] if is_allowed else ["--allow-mismatch", "plan"])])
    return line if is_allowed else f"{line}, with which each step takes other sequences"


_TRACKING = [f"--{name.replace('_', '-')}" for name, ours in FOREIGN_SETTINGS.items() if ours == "run.track"]
"""What other trainers call `run.track`."""
SETTING_HABITS: dict[str, Habit] = {
    **{flag_of(name): _setting(name) for name in [*model_options(), *OPTIONS] if flag_of(name) != "--name"},
    **{"--" + other.replace("_", "-"): _setting(name) for other, name in FOREIGN_SETTINGS.items()},
    **dict.fromkeys(_HEADS, _heads),
    "--hidden-size": _hidden_size,
    **dict.fromkeys(("--compile", "--torch-compile", "--compile-model"), _compile),
    "--no-compile": instead("--set run.compile=off"),
    **dict.fromkeys(_RATES, instead("--set optim.lr={}", "0.003")),
    **dict.fromkeys(("--track", *_TRACKING), _track),
    **dict.fromkeys(RUN_NAMES_IN_WANDB, _name_in_tracker),
    "--wandb-project": instead("leave it out: export WANDB_PROJECT={} in the shell names the project", "NAME"),
    "--min-lr": _final_factor,
    **dict.fromkeys((*_BETAS[0], *_BETAS[1]), _betas),
    **dict.fromkeys(_BATCH, _batch_tokens),
    **dict.fromkeys(_LENGTHS, instead("--set model.seq_len={}", "256")),
    **dict.fromkeys(_ACCUMULATION, _accumulation),
}
"""Options for which a setting stands."""
_RUN_NAMES = ("--name", "--run-name", "--exp-name", "--experiment-name")
_HABITS = {
    **SETTING_HABITS,
    **dict.fromkeys(
        (
            "--padded-vocab",
            *(f"--{name.replace('_', '-')}" for name, ours in FOREIGN_SETTINGS.items() if ours in VOCAB_SIZES),
        ),
        instead("the vocabulary of the data, which decides it: leave it out"),
    ),
    **dict.fromkeys(
        ("--workers", "--num-workers", "--dataloader-num-workers"),
        instead("leave it out: the data are read without worker processes"),
    ),
    **BUDGET_HABITS,
    **{f"--{name.replace('_', '-')}": _divided for name in DIVIDING_SHARES},
    **{f"--{name.replace('_', '-')}": instead("--val {}", "DATA") for name in VALIDATION_FILES},
    **dict.fromkeys(
        ("--dataset", "--data", "--data-dir", "--train-file"),
        instead("an argument for the data: slm train {} -o RUN", "DATA"),
    ),
    **dict.fromkeys(("--out-dir", "--output-dir", *_RUN_NAMES), instead("-o {}", "RUN")),
    **{f"--{name}": instead(f"--precision {name}") for name in ("bf16", "fp16")},
    **{f"--{name}": instead(f"--device {name}") for name in ("cpu", "cuda", "mps")},
    "--gpu": instead("--device cuda"),
    **dict.fromkeys(("--resume", "--resume-from-checkpoint", "--resume-from", "--continue", "--ckpt-path"), _continued),
    **dict.fromkeys(
        (
            *("--init-from", "--init-weights", "--pretrained", "--from-pretrained", "--model-name-or-path"),
            *("--finetune", "--weights", "--checkpoint", "--load"),
        ),
        _weights,
    ),
    **dict.fromkeys(("--model", "--model-name"), _model),
    **dict.fromkeys(
        _PROCESSES,
        _processes("train"),
    ),
}


def remedy_of_setting(name: str, ours: str | None, value: str, arguments: Sequence[str]) -> str:
    """What stands for a setting that a file of another trainer has; "" where its unit or meaning may be another.

    name: as the file has it; ours: our setting for it; arguments: those of the command, and all settings of the file as
    options.
    """
    flag = f"--{name.replace('_', '-')}"
    if (
        (ours is None and flag not in _ACCUMULATION)
        or ours in _OF_DATA
        or (ours == "model.arch" and value not in MODELS)
    ):
        return ""
    if ours == BATCH_TOKENS and name != ours and not (flag in _BATCH and value.isdecimal() and _has_length(arguments)):
        return ""
    habit = _setting(name) if name == ours else SETTING_HABITS.get(flag)
    return habit(value, arguments) if habit else ""


_OF_DATA = ("data.train", *VOCAB_SIZES)
"""Settings that the argument DATA decides."""


def _has_length(arguments: Sequence[str]) -> bool:
    """Whether arguments say how many ids a sequence has."""
    named = (word.rpartition("=")[2] for word in arguments)
    return bool(_number((*_LENGTHS, "model.seq_len"), arguments)) or any(word in PRESETS for word in named)


TRAIN_HABITS = {**_HABITS, EXTRA: _assigned("train")}
RESUME_HABITS = {
    **_HABITS,
    **dict.fromkeys(_PROCESSES, _processes("resume")),
    **{f"--{name}": instead(f"--set run.precision={name}") for name in ("bf16", "fp16")},
    **dict.fromkeys(("--model", "--model-name", "--preset"), instead("leave it out: a run keeps its model")),
    **dict.fromkeys(("-t", "--tokenizer"), instead("leave it out: a run keeps its tokenizer")),
    **dict.fromkeys(CHECKPOINT_FLAGS, _at_checkpoint),
    **dict.fromkeys(
        (f"--{name.replace('_', '-')}" for name in DIVIDING_SHARES),
        instead("leave it out: a run keeps its validation data"),
    ),
    **dict.fromkeys(
        ("--val", *(f"--{name.replace('_', '-')}" for name in VALIDATION_FILES)),
        instead("leave it out: a run keeps its validation data; slm eval RUN --on {} scores other text", "TEXT"),
    ),
    **dict.fromkeys(_BATCH, _batch_of_run),
    EXTRA: _assigned("resume"),
    WHOLE: _as_new_run,
}
