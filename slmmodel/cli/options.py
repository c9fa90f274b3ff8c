"""Options that several commands of `slm` share."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Sequence
from glob import has_magic
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from slmmodel import sizes
from slmmodel.budget import BUDGET_EXAMPLES, BUDGETS, budget_meant, budget_of, likely_budget, meant_amount
from slmmodel.checkpoint import RunFolder
from slmmodel.checks import MIN_RESAMPLES
from slmmodel.cli.run_argument import parse_step, run_among, run_argument_of, step_meant, without
from slmmodel.config import OPTIONS, RunSection
from slmmodel.files import new_name
from slmmodel.foreign_names import FOREIGN_BUDGETS, TOKENS_PER_PARAMETER
from slmmodel.run_files import FINGERPRINT_FIELDS
from slmtok.cli.arguments import OUTPUT_FLAGS
from slmtok.cli.options import (
    FLOAT,
    AmbiguousError,
    Decorator,
    Habit,
    Parsed,
    choice,
    instead,
    option,
    tokenizer_option,
)
from slmtok.file_kinds import is_run

if TYPE_CHECKING:
    import click
    from pydantic.fields import FieldInfo

SETTINGS = "Settings"
"""Heading of the options that a configuration file may also set."""


def _number(
    parse: Callable[[str], float | None], expects: str, minimum: float = 0, maximum: float = math.inf
) -> Parsed:
    """A type that takes the numbers that `parse` reads, from `minimum` to `maximum`."""

    def read(text: str) -> float:
        number = parse(text)
        if number is None or not minimum <= number <= maximum:
            raise ValueError
        return number

    return Parsed(read, expects=expects)


def numbers(parse: Callable[[str], Any], expects: str, *, k: int = 1000) -> Parsed:
    """A type that takes the list of numbers that `parse` reads; another notation is refused with the list it means."""

    def read(text: str) -> Any:
        try:
            return parse(text)
        except AmbiguousError:
            raise
        except ValueError:
            meant = sizes.listed(text, k=k)
            parse(meant)
            raise AmbiguousError(f"takes {expects}, not {text!r}", [meant]) from None

    return Parsed(read, expects=expects)


SAMPLING_HABITS = {
    "--temp": instead("--temperature {}", "0.8"),
    **dict.fromkeys(("--max-tokens", "--max-length", "--length", "--n-predict"), instead("--max-new {}", "256")),
    "-n": instead("--max-new {}", "256"),
    "-s": instead("--seed {}", "0"),
}
"""Options of other samplers that `slm chat` takes too, each with what stands for it here."""
MAX_SEED = (1 << 63) - 1
"""As of `run.seed`; torch takes no larger one."""
MAX_LENGTH = 1 << 24
"""Ids of a sequence that an option asks for, or sequences of a batch, which are in memory."""
_MAX_SECONDS = 366 * 24 * 3600
COUNT = _number(sizes.parse_count, "an integer >= 0")
POSITIVE = _number(sizes.parse_count, "an integer >= 1", minimum=1)
SEED = _number(sizes.parse_count, f"an integer from 0 to {MAX_SEED:,}", maximum=MAX_SEED)
LENGTH = _number(sizes.parse_count, f"an integer from 1 to {MAX_LENGTH:,}", minimum=1, maximum=MAX_LENGTH)
BOUNDED = _number(sizes.parse_count, "an integer from 1 to 1,000,000", minimum=1, maximum=1_000_000)
RESAMPLES = _number(
    sizes.parse_count, f"an integer from {MIN_RESAMPLES} to 10,000,000", minimum=MIN_RESAMPLES, maximum=10_000_000
)
SEEDS = _number(sizes.parse_count, "an integer from 1 to 1,000", minimum=1, maximum=1000)


def _seconds(text: str) -> float | None:
    """The seconds of a time. Raises `AmbiguousError` with a long one for one above the bound, and for `never`."""
    from slmtok.cli.wrong_values import NO_LIMIT

    number = sizes.parse_time(text)
    if number is not None and number <= _MAX_SECONDS:
        return number
    if number is not None or NO_LIMIT.fullmatch(text):
        raise AmbiguousError(f"takes {_TIME}, not {text!r}", ["365d"])
    return None


_TIME = "a time up to a year such as 130s, 5min or 2h"
SECONDS = _number(_seconds, _TIME)
DURATION = _number(
    sizes.parse_time, "a time above 0, up to a year, such as 0.5s or 2min", minimum=0.001, maximum=_MAX_SECONDS
)
STEP = Parsed(parse_step)

run_argument = run_argument_of()
run_tokenizer_option = tokenizer_option(required=False, help="The tokenizer, where the run has none.")
prompt_option = option("--prompt", "-p", metavar="TEXT|-", help="The text to continue; - is stdin.")
ids_option = option("--ids", metavar="IDS", help="The prompt as ids, such as '1 340 27'.")
step_option = option("--step", metavar="N", type=STEP, help="A saved step instead of the end.")
MISMATCHES = ("files", *dict.fromkeys(name for name, _ in FINGERPRINT_FIELDS.values()))
"""What may differ from what a run recorded: its files, and fields of its fingerprint."""
allow_mismatch_option = option(
    "--allow-mismatch",
    metavar="NAME",
    type=choice(*MISMATCHES),
    multiple=True,
    help="Continue although this differs from what the run recorded. Repeat for several.",
)
no_verify_option = option(
    "--no-verify", is_flag=True, help="Do not compare packed data with the digests of its manifest before training."
)
set_option = option(
    "--set",
    "sets",
    metavar="NAME=VALUE",
    multiple=True,
    panel=SETTINGS,
    help="A setting, as in a configuration file: optim.lr=1e-3. Repeat for several.",
)


def budget_in_two(value: str | None, arguments: Sequence[str]) -> str:
    """For an argument too many that is the kind in `--budget 5 epochs`: the option in one word; else nothing."""
    words = zip(arguments, arguments[1:], arguments[2:], strict=False)
    amount = next((first for flag, first, last in words if flag == "--budget" and last == value), None)
    return "" if amount is None else f"--budget {shlex.quote(budget_of(f'{amount} {value}'))}"


def set_in_two(value: str | None, arguments: Sequence[str]) -> str:
    """For an argument too many that is the value of `--set NAME VALUE`: the option in one word; else nothing."""
    pairs = zip(arguments, arguments[1:], arguments[2:], [*arguments[3:], ""], strict=False)
    found = ((name, last, more) for flag, name, last, more in pairs if flag == "--set" and "=" not in name[:-1])
    name, last, more = next((each for each in found if each[1] == value), ("", "", ""))
    return f"--set {name.rstrip('=:')}={last.lstrip('=') or more}" if name else ""


def with_list_in_one(arguments: Sequence[str]) -> list[str]:
    """The arguments with a list as one word where the shell divided it: `NAME=[0.9, 0.95]`; nothing without one."""
    for at, word in enumerate(arguments):
        end = next((end for end, last in enumerate(arguments) if end > at and "]" in last), None)
        if "=[" in word and "]" not in word and end is not None:
            return [*arguments[:at], " ".join(arguments[at : end + 1]), *arguments[end + 1 :]]
    return []


def input_words(arguments: Sequence[str]) -> list[str]:
    """The arguments that are neither options nor follow one."""
    return [word for before, word in pairwise(["", *arguments]) if not before.startswith("-") and word[:1] != "-"]


def with_output(arguments: Sequence[str], *, takes_run: bool = False) -> list[str]:
    """The arguments with the one that stands for an output behind `-o`; nothing where none does.

    A run does, unless the command takes one (`takes_run`), and a last one that names nothing, where all others name
    inputs. A finished run is not replaced: a new name beside it is written.
    """
    words = input_words(arguments)
    absent = [word for word in words if _is_absent(word) and (takes_run or not os.path.splitext(word)[1])]  # noqa: PTH122
    outputs = [word for word in words if (is_run(word) and not takes_run) or word in absent]
    has_output = any(word.partition("=")[0] in OUTPUT_FLAGS for word in arguments)
    if has_output or len(outputs) != 1 or len(words) < 2 or absent not in ([], words[-1:]):
        return []
    output = outputs[0]
    name = new_name(Path(output)) if RunFolder(Path(output)).finished else output
    return [*(word for word in arguments if word != output), "-o", name]


def _is_absent(word: str) -> bool:
    """Whether a word names no input: no file, glob or data set."""
    return not (os.path.exists(word) or has_magic(word) or ":" in word)  # noqa: PTH110


def one_text(command: str) -> Habit:
    """For an argument too many that is a word of the text: the command with all words as one.

    Without several words in a row it gives nothing.
    """

    def joined(value: str | None, arguments: Sequence[str]) -> str:
        starts = [at for at, word in enumerate(arguments) if word.startswith("-")]
        first = max((at for at in starts if at < [*arguments].index(str(value))), default=-1)
        end = next((at for at in starts if at > first), len(arguments))
        is_text = first >= 0 and arguments[first] in ("-p", "--prompt")
        # The first of the words is RUN, which stands before the text.
        begin = first + (1 if is_text else 2)
        if end - begin < 2 or (first >= 0 and not is_text):
            return ""
        return shlex.join(["slm", command, *arguments[:begin], " ".join(arguments[begin:end]), *arguments[end:]])

    return lambda value, arguments: joined(value, arguments) if value in arguments else ""


def to_stdout(command: str, example: str) -> Habit:
    """Names the redirection of stdout for an option that names the output; a file that exists is not replaced."""

    def instead_of(value: str | None, arguments: Sequence[str]) -> str:
        given = without(("-o", "--output"), arguments) if command else []
        line = f"{command}{shlex.join(given)} " if given else command
        if value is not None and os.path.exists(value):  # noqa: PTH110
            return f"stdout: {line}> NEW; {value!r} exists and would be replaced"
        return f"stdout: {line}> {example if value is None else shlex.quote(value)}"

    return instead_of


CHECKPOINT_FLAGS = ("--checkpoint", "--ckpt", "--ckpt-path", "--checkpoint-path", "--step")
"""What names a checkpoint elsewhere; and ours, where its value is missing."""


def run_as_argument(command: str) -> dict[str, Habit]:
    """The options by which other tools name a model, which is an argument here."""

    def named(value: str | None, arguments: Sequence[str]) -> str:
        if re.fullmatch(r"(?:step-)?\d+", value or ""):
            return step_meant(value, arguments)
        return f"an argument for the run: slm {command} {shlex.quote(value or 'RUN')}"

    def checkpoint(value: str | None, arguments: Sequence[str]) -> str:
        has_run = run_among([each for each in arguments if each != value]) is not None
        return step_meant(value, arguments) if has_run else named(value, arguments)

    return {**dict.fromkeys(("--model", "-m", "--run"), named), **dict.fromkeys(CHECKPOINT_FLAGS, checkpoint)}


QUANTIZATION_HABITS = dict.fromkeys(
    ("--quantize", "--quantization", "--quant", "--load-in-8bit", "--load-in-4bit", "--outtype"),
    instead("leave it out: slm keeps the weights in fp32 and quantizes none; other programs do so with an export"),
)
"""Options of other programs for weights of fewer bits."""
COUNT_HABITS = dict.fromkeys(("--n", "-n", "--num", "--n-samples", "--limit"), instead("--samples {}", "10"))
"""What other tools call the number of questions of an evaluation."""


def _budget(budget: str) -> Habit:
    """Names a budget such as `time={}min` with the value that was given, or with the one that it means."""
    example = BUDGET_EXAMPLES.get(budget.removesuffix("={}"), "")

    def instead_of(value: str | None, arguments: Sequence[str]) -> str:
        likely = likely_budget(budget, value or example)
        if value is None or likely == budget.format(value):
            return f"--budget {likely}"
        parts = meant_amount(budget, value)
        return "".join(each if isinstance(each, str) else f"--budget {shlex.quote(each.value)}" for each in parts)

    return instead_of


def _per_parameter(value: str | None, arguments: Sequence[str]) -> str:
    """Names the budget of tokens for a number of them for each parameter of the preset among the arguments."""
    words = (word for text in arguments for word in text.split("=", 1))
    preset = next((word for before, word in pairwise(["", *words]) if before in ("--preset", "model.preset")), None)
    parts = budget_meant(TOKENS_PER_PARAMETER[0], value or "", {} if preset is None else {"model.preset": preset})
    return "".join(each if isinstance(each, str) else f"--budget {each.value}" for each in parts)


_QUALIFIERS = ("max", "num", "total", "train", "target")
_STEPS = ("max-steps", "max-iters", "num-steps", "num-iterations")
_EPOCHS = ("num-epochs", "num-train-epochs", "max-epochs")
BUDGET_HABITS = {
    **{f"--{kind}": _budget(f"{kind}={{}}") for kind in BUDGETS},
    **{f"--{word}-{kind}": _budget(f"{kind}={{}}") for word in _QUALIFIERS for kind in BUDGETS},
    **{f"--{name}": _per_parameter for name in TOKENS_PER_PARAMETER},
    **{f"--{name}": _budget(budget) for name, budget in FOREIGN_BUDGETS.items()},
    **{f"--{name}": _budget("steps={}") for name in _STEPS},
    **{f"--{name}": _budget("epochs={}") for name in _EPOCHS},
}
"""Options of other trainers for the length of a run."""
budget_option = option(
    "--budget",
    metavar="KIND=AMOUNT",
    panel=SETTINGS,
    help=RunSection.model_fields["budget"].description,
)
evaluate_option = option(
    "--eval/--no-eval", "evaluate", default=True, help="Score the validation documents at the end."
)

SPELLINGS = {
    "threads": ("--threads", "--num-threads", "--n-threads"),
    "max_new_tokens": ("--max-new", "--max-new-tokens"),
    "min_new_tokens": ("--min-new", "--min-new-tokens"),
}
"""Options with several spellings, some of them those of other tools."""


def flag_of(name: str) -> str:
    """The flag of a setting: `run.micro_batch` is `--micro-batch`."""
    return "--" + name.rpartition(".")[2].replace("_", "-")


def field_option(name: str, field: FieldInfo, *, overrides: bool = False, **attributes: Any) -> Decorator:
    """The option of a field of a configuration: `top_k` becomes `--top-k`, with its type, default and help.

    `overrides`: the value is None without the option, and is parsed with the configuration that it is put into.
    """
    kind = field.annotation
    found: dict[str, Any] = {"default": field.default, "help": field.description}
    if get_origin(kind) is Literal:
        found |= {"type": choice(*get_args(kind)), "metavar": "|".join(get_args(kind))}
    elif kind is bool:
        found["is_flag"] = True
    elif kind is int:
        found |= {"type": COUNT, "metavar": "N"}
    elif kind is str:
        found["metavar"] = "NAME"
    elif isinstance(field.default, tuple):
        found |= {"multiple": True, "metavar": "TEXT"}
    else:
        found |= {"type": FLOAT, "metavar": "X"}
    if overrides:
        found |= {"type": None, "show_default": str(found.pop("default"))}
    return option(*SPELLINGS.get(name, (flag_of(name),)), name, **{**found, **attributes})


def setting_option(name: str, **attributes: Any) -> Decorator:
    """The option of a setting of `RunConfig`: `run.seed` becomes `--seed`."""
    return field_option(name.rpartition(".")[2], OPTIONS[name], **attributes)


def _check_device(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The value of `--device`, refused before torch is loaded where no device has this name."""
    from slmmodel.hardware import check_device_name

    if not ctx.resilient_parsing:
        check_device_name(value)
    return value


device_option = setting_option("run.device", callback=_check_device)
threads_option = setting_option("run.threads")
seed_option = setting_option("run.seed")


OPENING = ("step", "tokenizer", "device", "threads")
"""Keywords of `open_run`."""


def opening_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that become `OPENING`."""
    for each in (threads_option, device_option, run_tokenizer_option, step_option):
        function = each(function)
    return function
