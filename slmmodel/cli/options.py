"""Options that several commands of `slm` share."""

from __future__ import annotations

from typing import Any

from slmmodel import sizes
from slmtok.cli.options import Decorator, Parsed, argument, option

SETTINGS = "Settings"
"""Heading of the options that a configuration file may also set."""


def parse_count(text: str) -> int:
    """An integer from 0 up; `8_192`, `8,192` and `4k` are fine. Raises `ValueError`."""
    number = sizes.parse_count(text)
    if number is None or (text.strip() != str(number) and "." in text and not text[-1].isalpha()):
        raise ValueError(f"takes an integer >= 0, not {text!r}")
    return number


def parse_seconds(text: str) -> float:
    """A time: `130s`, `5min`, `2h`. Raises `ValueError`."""
    number = sizes.parse_time(text)
    if number is None:
        raise ValueError(f"takes a time such as 130s, 5min or 2h, not {text!r}")
    return number


COUNT = Parsed(parse_count)
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


def device_option(default: str | None = "auto", **attributes: Any) -> Decorator:
    """`--device`."""
    attributes.setdefault("help", "auto, cpu, cuda, cuda:N or mps; auto takes the fastest one.")
    return option("--device", metavar="NAME", default=default, **attributes)


def threads_option(default: int | None = 0, **attributes: Any) -> Decorator:
    """`--threads`, also under the names that other tools give it."""
    attributes.setdefault("help", "CPU threads; 0 means all cores.")
    return option("--threads", "--num-threads", "--n-threads", metavar="N", type=COUNT, default=default, **attributes)


def seed_option(default: int | None = 0, **attributes: Any) -> Decorator:
    """`--seed`."""
    attributes.setdefault("help", "Seed of the random choices.")
    return option("--seed", metavar="N", type=COUNT, default=default, **attributes)
