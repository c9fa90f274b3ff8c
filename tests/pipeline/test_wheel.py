"""The built wheel in an empty environment, used from another folder: an editable install hides missing files.

Cargo recompiles the engine only after a change of its sources. pip installs the dependencies.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Without variables that could make Python import the package from the source tree.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") and name != "VIRTUAL_ENV"}


def run(*command: object, cwd: Path, stdin: bytes = b"") -> bytes:
    """The stdout of a command. Fails unless its status is 0."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=CLEAN, input=stdin, capture_output=True)
    assert done.returncode == 0, f"{command}\n{done.stdout.decode()}\n{done.stderr.decode()}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from this source tree."""
    folder = tmp_path_factory.mktemp("wheel")
    maturin = Path(sys.executable).with_name("maturin")
    run(maturin, "build", "--release", "--quiet", "--interpreter", sys.executable, "--out", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bin(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment with the wheel and its dependencies alone."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=False)
    commands = folder / ("Scripts" if sys.platform == "win32" else "bin")
    # The pip of the tests, for that environment: unpacking another one takes longer than the installation.
    pip = (sys.executable, "-m", "pip", "--python", commands / "python")
    run(*pip, "install", "--quiet", "--disable-pip-version-check", wheel, cwd=folder)
    return commands


@pytest.mark.slow
def test_the_wheel_holds_both_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "abi3" in wheel.name
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"slmtok", "slmmodel"}
    for needed in ("slmtok/py.typed", "slmmodel/py.typed", "slmtok/_native.pyi", "slmtok/stories/lexicon.txt"):
        assert needed in names
    assert any(name.endswith("LICENSE-MIT") for name in names)


@pytest.mark.slow
def test_commands_work_from_another_folder(bin: Path, tmp_path: Path) -> None:
    assert b"Usage: slmtok" in run(bin / "slmtok", "--help", cwd=tmp_path)
    assert b"slm" in run(bin / "slm", "--help", cwd=tmp_path)
    run(bin / "slmtok", "sample-corpus", "--bytes", "300kB", "-o", "corpus.txt", cwd=tmp_path)
    run(bin / "slmtok", "train", "corpus.txt", "--vocab", "1000", "-o", "tok.json", cwd=tmp_path)
    run(bin / "slmtok", "verify", "tok.json", cwd=tmp_path)
    text = "Naïve cats\n\n\tsay 今天 and 12345.".encode()
    ids = run(bin / "slmtok", "encode", "-", "-t", "tok.json", cwd=tmp_path, stdin=text)
    assert run(bin / "slmtok", "decode", "-", "-t", "tok.json", cwd=tmp_path, stdin=ids) == text


@pytest.mark.slow
def test_models_ask_for_their_packages(bin: Path, tmp_path: Path) -> None:
    """The environment has no torch and no pydantic."""
    for command in (["train", "data"], ["train", "--help"], ["doctor"]):
        done = subprocess.run([bin / "slm", *command], cwd=tmp_path, env=CLEAN, capture_output=True, text=True)
        assert done.returncode == 1
        assert "not installed" in done.stderr and "pip install torch" in done.stderr, done.stderr
        assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_source_distribution_has_what_a_build_needs(tmp_path: Path) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    run(maturin, "sdist", "--out", tmp_path, cwd=ROOT)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "Cargo.toml", "Cargo.lock", "rust/slmtok-core/src/lib.rs", "rust/slmtok-py/src/lib.rs"}
    needed |= {"README.md", "LICENSE-MIT", "LICENSE-APACHE", "slmtok/__init__.py", "slmmodel/__init__.py"}
    assert needed <= names
    assert {name.split("/")[0] for name in names if "/" in name} == {"rust", "slmtok", "slmmodel"}


@pytest.mark.slow
def test_the_package_is_the_installed_one(bin: Path, tmp_path: Path) -> None:
    code = """
import pathlib, sys
import slmtok, slmmodel
assert pathlib.Path(slmtok.__file__).is_relative_to(sys.prefix), slmtok.__file__
tok = slmtok.train(slmtok.Texts(["the cat sat on the mat"] * 100), vocab_size=280)
assert tok.n_vocab == 280
data = bytes(range(256))
assert tok.decode_bytes(tok.encode(data)) == data
print(slmtok.__version__)
"""
    import slmtok

    assert run(bin / "python", "-c", code, cwd=tmp_path).decode().strip() == slmtok.__version__
