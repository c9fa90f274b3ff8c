"""A new option is one field: flag, help, keyword, documentation, bounds and records follow from it."""

# As in `slmtok.options`, annotations are evaluated: the types of the fields are needed.

from dataclasses import dataclass
from typing import Any

import pytest

from slmtok.cli import APP
from slmtok.cli.app import Entry
from slmtok.cli.options import command, options_of
from slmtok.cli.output import Outcome
from slmtok.errors import OptionError, UnknownOption
from slmtok.options import TRAINING, TrainOptions, build_options, documents_options, option


@dataclass(frozen=True, kw_only=True)
class MoreOptions(TrainOptions):
    max_merges: int = option(7, help="Learn at most this many merges.", group=TRAINING, min=1, max=9, metavar="N")


@documents_options(MoreOptions)
def learn(**keywords: Any) -> MoreOptions:
    """Learns nothing."""
    return build_options(MoreOptions, None, keywords)


@command("learn")
@options_of(MoreOptions, into="options")
def learn_command(options: MoreOptions) -> Outcome:
    """Learn nothing."""
    return Outcome({}, lambda: print(options.max_merges))


def run(*arguments: str) -> int:
    return APP._replace(commands={"learn": Entry(f"{__name__}:learn_command", "learn nothing")}).main(arguments)


def test_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("learn", "--help") == 0
    training = capsys.readouterr().out.partition("Training:")[2]
    assert " ".join(training.split()).count("--max-merges N Learn at most this many merges. [default: 7]") == 1
    for arguments, value in ((), "7"), (("--max-merges", "3"), "3"):
        assert run("learn", *arguments) == 0
        assert capsys.readouterr().out == f"{value}\n"


def test_the_keyword() -> None:
    assert learn().max_merges == 7
    assert learn(max_merges=3).max_merges == 3
    assert "    max_merges: Learn at most this many merges. Default: 7.\n" in (learn.__doc__ or "")
    with pytest.raises(UnknownOption, match=r"unknown option 'max_merge'; did you mean 'max_merges'\?"):
        learn(max_merge=3)


def test_the_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    for value, remedy in ((0, "leave it out, or {}7"), (10, "{}9, or less")):
        with pytest.raises(OptionError) as caught:
            learn(max_merges=value)
        assert caught.value.fact == f"max_merges={value} is out of range"
        assert caught.value.fix == remedy.format("max_merges=")
        assert run("learn", "--max-merges", str(value)) == 2
        error = capsys.readouterr().err
        assert f"error: --max-merges {value} is out of range\n" in error
        assert f"fix:   {remedy.format('--max-merges ')}\n" in error


def test_the_record() -> None:
    assert "max_merges" not in learn()._record(MoreOptions)
    assert learn(max_merges=3)._record(MoreOptions) == {"max_merges": 3}
