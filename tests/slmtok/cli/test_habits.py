"""What users of other tools type first: it works, or the error names what stands for it here."""

from __future__ import annotations

import pytest
from shared_data import tiktoken_cache

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


def test_help_is_a_command(slmtok) -> None:
    for arguments in (["help"], ["help", "train"]):
        ran, want = slmtok(*arguments), slmtok(*arguments[1:], "--help")
        assert (ran.code, ran.stdout) == (want.code, want.stdout) == (0, want.stdout) and ran.stdout
    assert "unknown command 'nothing'" in slmtok("help", "nothing").err


@pytest.fixture
def ids_of(slmtok, tmp_path):
    """The ids that `slmtok encode -t NAME` prints for one text."""
    (tmp_path / "text.txt").write_text("The cat sat on the mat.")

    def encode(name: str) -> str:
        ran = slmtok("encode", "text.txt", "-t", name)
        assert ran.code == 0, ran.err
        return ran.out

    return encode


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("gpt2", "gpt2"),
        ("gpt-2", "gpt2"),
        ("cl100k_base", "cl100k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4o", "o200k_base"),
    ],
)
def test_names_of_encodings_and_models(ids_of, monkeypatch, name, encoding) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    assert ids_of(name) == ids_of(f"tiktoken:{encoding}")


def test_a_file_wins_over_a_name(ids_of, slmtok, tmp_path) -> None:
    slmtok("train", "text.txt", "--vocab", "272", "-o", "gpt2")
    assert ids_of("gpt2") == ids_of("./gpt2")


def test_files_of_hugging_face_and_folders(ids_of, slmtok) -> None:
    slmtok("train", "text.txt", "--vocab", "275", "--allow-smaller", "--min-count", "1", "-o", "own.json")
    assert slmtok("export", "own.json", "--output-format", "hf", "-o", "hf", "--no-verify").code == 0
    assert slmtok("pack", "text.txt", "-t", "own.json", "-o", "data").code == 0
    for name in ("hf/tokenizer.json", "hf", "data"):
        assert ids_of(name) == ids_of("own.json"), name


def test_keywords_of_other_tools() -> None:
    with pytest.raises(UnknownOption, match="did you mean 'min_count'"):
        slmtok.train(iter(["text"]), vocab_size=300, min_frequency=2)
