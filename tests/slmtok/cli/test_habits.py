"""What users of other tools type first: it works, or the error names what stands for it here."""

from __future__ import annotations

import pytest

import slmtok
from slmtok.errors import UnknownOption


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("--num-proc", "use --threads N"),
        ("--num_proc", "use --threads N"),
        ("--dataset", "slmtok train CORPUS"),
        ("--special-tokens", "use --special ROLE=SPELLING"),
    ],
)
def test_options_of_other_tools(option, remedy, request) -> None:
    ran = request.getfixturevalue("slmtok")("train", "corpus.txt", option, "8")
    assert ran.code == 2 and remedy in ran.err and "did you mean" not in ran.err, ran.err


@pytest.mark.parametrize("text", ["3e2", "3E2", "3e+2", "300"])
def test_powers_of_ten_are_integers(slmtok, tmp_path, text) -> None:
    (tmp_path / "a.txt").write_text("the cat")
    assert "--vocab asked for 300" in slmtok("train", "a.txt", "--vocab", text).err


@pytest.mark.parametrize("text", ["8k", "8K"])
def test_8k_is_ambiguous(slmtok, text) -> None:
    ran = slmtok("train", "a.txt", "--vocab", text)
    assert ran.code == 2 and "8000 or 8192?" in ran.err


def test_help_is_a_command(slmtok) -> None:
    for arguments in (["help"], ["help", "train"]):
        ran, want = slmtok(*arguments), slmtok(*arguments[1:], "--help")
        assert (ran.code, ran.stdout) == (want.code, want.stdout) == (0, want.stdout) and ran.stdout
    assert "unknown command 'nothing'" in slmtok("help", "nothing").err


def test_keywords_of_other_tools() -> None:
    with pytest.raises(UnknownOption, match="did you mean 'min_count'"):
        slmtok.train(iter(["text"]), vocab_size=300, min_frequency=2)
