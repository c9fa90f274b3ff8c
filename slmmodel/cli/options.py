"""Options that several commands of `slm` share."""

from __future__ import annotations

from typing import Any, get_args

from slmmodel import sizes
from slmmodel.config import OPTIONS
from slmtok.cli.options import Decorator, Parsed, argument, option

SETTINGS = "Settings"
"""Heading of the options that a configuration file may also set."""


def parse_count(text: str) -> int:
    """An integer from 0 up; `8_192`, `8,192` and `4k` are fine. Raises `ValueError`."""
    number = sizes.parse_count(text)
    if number is None or (text.strip() != str(number) and "." in text and not text[-1].isalpha()):
        raise ValueError(f"takes an integer >= 0, not {text!r}")
    return number


def parse_positive(text: str) -> int:
    """An integer from 1 up. Raises `ValueError`."""
    number = parse_count(text)
    if not number:
        raise ValueError("takes an integer >= 1, not '0'")
    return number


def parse_seconds(text: str) -> float:
    """A time: `130s`, `5min`, `2h`. Raises `ValueError`."""
    number = sizes.parse_time(text)
    if number is None:
        raise ValueError(f"takes a time such as 130s, 5min or 2h, not {text!r}")
    return number


COUNT, POSITIVE = Parsed(parse_count), Parsed(parse_positive)
SECONDS = Parsed(parse_seconds)

run_argument = argument("run", metavar="RUN", help="The folder of a run, as slm train wrote it.")
tokenizer_option = option("--tokenizer", "-t", metavar="FILE", help="The tokenizer, where the run has none.")
prompt_option = option("--prompt", "-p", metavar="TEXT|-", help="The text to continue; - is stdin.")
ids_option = option("--ids", metavar="IDS", help="The prompt as ids, such as '1 340 27'.")
step_option = option("--step", metavar="N", type=COUNT, help="A saved step instead of the end.")
allow_mismatch_option = option(
    "--allow-mismatch",
    metavar="NAME",
    multiple=True,
    help="Continue although this differs from what the run recorded. Repeat for several.",
)
set_option = option(
    "--set",
    "sets",
    metavar="NAME=VALUE",
    multiple=True,
    panel=SETTINGS,
    help="A setting, as in a configuration file: optim.lr=1e-3. Repeat for several.",
)
budget_option = option(
    "--budget",
    metavar="KIND=AMOUNT",
    panel=SETTINGS,
    help="Length of the run: tokens=328M, targets=, bytes=2GB, flops=1e15, time=130s, epochs=3 or steps=500.",
)
evaluate_option = option(
    "--eval/--no-eval", "evaluate", default=True, help="Score the validation documents at the end."
)


_ALIASES = {"run.threads": ("--num-threads", "--n-threads")}
"""Names of the option in other tools."""


def setting_option(name: str, *, overrides: bool = False, **attributes: Any) -> Decorator:
    """The option of a setting of `RunConfig`: `run.seed` becomes `--seed`, with the default and help of its field.

    `overrides`: without the option, the value is None instead of the default, and a configuration may decide.
    """
    field = OPTIONS[name]
    is_count = field.annotation is int
    metavar = "N" if is_count else "|".join(map(str, get_args(field.annotation))) or "NAME"
    shared: dict[str, Any] = {"metavar": metavar, "help": field.description}
    if overrides:
        shared["show_default"] = str(field.default)
    else:
        shared |= {"default": field.default, "type": COUNT if is_count else None}
    flag = "--" + name.rpartition(".")[2].replace("_", "-")
    return option(flag, *_ALIASES.get(name, ()), **{**shared, **attributes})


device_option = setting_option("run.device")
threads_option = setting_option("run.threads")
seed_option = setting_option("run.seed")
