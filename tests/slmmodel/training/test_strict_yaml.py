"""YAML of unknown origin: aliases, deep nesting, repeated keys, pipes and devices are refused by file and line."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from slmmodel.config import read_yaml
from slmmodel.errors import InvalidConfig

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
"""9^9 words."""


@pytest.mark.parametrize(
    ("text", "fact", "line"),
    [
        (BOMB, "has the alias *a", 2),
        ("run: {seed: 1}\n---\nrun: {seed: 2}\n", "has a second document", 2),
        ("run:\n  seed: " + "[" * 100_000, "nests more than 32 deep", 2),
        ("run:\n" + "".join("  " * n + "x:\n" for n in range(1, 60)), "nests more than 32 deep", 32),
        ("run: {seed: 1,\n  seed: 2}", "has the key 'seed' twice", 2),
        ("? [a]\n: 1", "has a key that is not a word", 1),
        ("run:\n  seed: 'x", "is not YAML: found unexpected end of stream", 2),
        ("run:\n  \x00", "is not YAML", None),
    ],
)
def test_refused_with_the_line(tmp_path: Path, text: str, fact: str, line: int | None) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    began = time.process_time()
    with pytest.raises(InvalidConfig) as caught:
        read_yaml(str(path))
    assert time.process_time() - began < 5
    assert fact in caught.value.fact and str(path) in str(caught.value)
    assert line is None or f", line {line}, column " in str(caught.value.where)


def test_yaml_that_is_not_supported_is_no_fault_of_syntax(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    for text, fix in (
        (BOMB, "write the value itself: anchors and aliases are not supported"),
        ("a: 1\n---\nb: 2\n", "keep one of them: several documents in a file are not supported"),
        ("run: [\n", "fix the syntax"),
    ):
        path.write_text(text)
        with pytest.raises(InvalidConfig) as caught:
            read_yaml(str(path))
        assert caught.value.fix == fix


def test_all_lines_with_tabs_are_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    for text, fact in (
        ("run:\n\tseed: 1\n", "has a tab where YAML takes spaces"),
        ("data:\n\ttrain: data\nrun:\n\tbudget: {steps: 4}\n", "has tabs where YAML takes spaces, in 2 lines: 2, 4"),
        # YAML takes tabs in quotes and comments.
        ("run:\n\tseed:\t1\ndata:\n  train: 'a\tb'  #\tdata\n", "has a tab where YAML takes spaces"),
        ("run:\n" + "\tseed: 1\n" * 9, "has tabs where YAML takes spaces, in 9 lines: 2, 3, 4, 5 and 5 more"),
    ):
        path.write_text(text)
        with pytest.raises(InvalidConfig) as caught:
            read_yaml(str(path))
        assert caught.value.fact == f"{path} {fact}" and str(caught.value.where).startswith(f"{path}, line 2, ")
        assert caught.value.fix == f"replace every tab with two spaces: sed -i 's/\\t/  /g' {path}"
    path.write_text("data:\n\ttrain:\tdata\nrun:\n\tbudget: {steps:\t4}\n")
    with pytest.raises(InvalidConfig) as caught:
        read_yaml(str(path))
    path.write_text(path.read_text().replace("\t", "  "))
    assert {name: each.value for name, each in read_yaml(str(path)).items()} == {
        "data.train": "data",
        "run.budget.steps": "4",
    }


@pytest.mark.timeout(20)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a named pipe")
def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.yaml")
    for path in (str(tmp_path / "run.yaml"), "/dev/zero"):
        with pytest.raises(InvalidConfig, match=f"{path} is not a regular file"):
            read_yaml(path)
    (tmp_path / "large.yaml").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(InvalidConfig, match="has more than 1,048,576 bytes"):
        read_yaml(str(tmp_path / "large.yaml"))
