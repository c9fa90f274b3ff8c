"""Running `slmtok` inside the test's own process, and a small tokenizer to run it with."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from printed_fixes import without_comments

from slmtok.cli import main, progress


@dataclass(frozen=True)
class Ran:
    """What a command left: exit status, and the bytes that it printed."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def err(self) -> str:
        """Without the comments on placeholders, which `stderr` has."""
        return without_comments(self.stderr.decode())

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        content = json.loads(self.stdout)
        assert isinstance(content, dict)
        return content


Run = Callable[..., Ran]


@pytest.fixture
def environment() -> dict[str, str]:
    """For processes: imports as in the tests."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.fixture
def slmtok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """`slmtok("train", "a.txt", …, stdin=b"…")` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        out, err = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
            patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", write_through=True))
            code = main([str(argument) for argument in arguments])
            sys.stdout.flush()
            return Ran(code, out.getvalue(), err.getvalue())

    yield run


@pytest.fixture(scope="session")
def story_text() -> str:
    """Some 60 kB of stories."""
    from slmtok.stories import story

    return "\n".join(story(index) for index in range(60))


@pytest.fixture
def corpus(tmp_path: Path, story_text: str) -> Path:
    """The stories as a file in the folder where commands run."""
    path = tmp_path / "corpus.txt"
    path.write_text(story_text, encoding="utf-8", newline="")
    return path


@pytest.fixture(scope="session")
def tok(tmp_path_factory: pytest.TempPathFactory, story_text: str) -> Path:
    """A tokenizer of 1000 ids, trained on the stories."""
    import slmtok

    path = tmp_path_factory.mktemp("tok") / "tok.json"
    slmtok.train(slmtok.Texts([story_text]), vocab_size=1000).save(path)
    return path


@pytest.fixture(scope="session")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two texts, counts, a tokenizer with its lock, and packed data."""
    import slmtok

    folder = tmp_path_factory.mktemp("made")
    (folder / "a.txt").write_text("the cat sat on the mat, and the dog sat by the door. " * 20)
    (folder / "b.txt").write_text("a dog sat\n" * 9)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["train", "a.txt", "--vocab", "290", "-o", "tok.json", "--quiet"]) == 0
        slmtok.count("a.txt").save("a.counts")
        slmtok.pack("a.txt", slmtok.load("tok.json"), "data", val="none")
    return folder


@pytest.fixture
def leftovers(tmp_path: Path) -> Callable[[], list[str]]:
    """The files in the folder, hidden ones included, by name."""
    return lambda: sorted(path.name for path in tmp_path.iterdir())


@pytest.fixture
def command(tmp_path: Path, environment: dict[str, str]) -> Callable[..., subprocess.Popen[bytes]]:
    """Starts a real process: for signals, pipes, limits and imports."""

    def start(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            # No bytecode (-B): under a limit on files, Python would write half of a module's and keep it.
            [sys.executable, "-B", "-m", "slmtok", *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    return start


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that progress reads, in seconds: a list of one number."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def small_files() -> Callable[[], None]:
    """Limits files to 100 kB, when called in a process that begins."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    return limit
