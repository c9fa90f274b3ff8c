"""Several outputs of one command: killed at any system call that matters, the same command ends in the same bytes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dying_commands import dying_commands

from slmtok import atomic
from slmtok.errors import DiskFull, OutputExists

IMPORTS = """
import numpy
from slmtok.cli import count, encode, main, train
"""
CALLS = ("fsync", "rename", "replace", "unlink", "open")

COMMANDS = {
    "train": ("train", "c.txt", "--vocab", "288", "--save-counts", "out.counts", "-o", "out.json"),
    "count": ("count", "c.txt", "--doc-digests", "-o", "out.counts"),
    "encode": ("encode", "c.txt", "-t", "tok.json", "--output-format", "npy", "-o", "out.npy"),
}


@pytest.fixture(scope="module")
def run():
    """`run(folder, arguments, at)` of `dying_commands`, without notes."""
    with dying_commands(IMPORTS, CALLS, kills_before=True) as run:
        yield lambda folder, arguments, *at: run(folder, (*arguments, "--quiet"), *at)


def outputs(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name.startswith(("out", ".out", "..out"))}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_anywhere_the_same_command_finishes(tmp_path, run, name):
    (tmp_path / "c.txt").write_text("the cat sat on the mat, the rat ran to the cat\n" * 9, encoding="utf-8")
    assert run(tmp_path, ("train", "c.txt", "--vocab", "280", "-o", "tok.json"))[0] == 0
    code, err = run(tmp_path, COMMANDS[name])
    assert code == 0, err
    whole, calls = outputs(tmp_path), int(err.split("calls ")[1])
    assert len(whole) > 1
    for at in range(max(1, calls - (16 if name == "train" else 8)), calls + 1):
        for path in outputs(tmp_path):
            (tmp_path / path).unlink()
        assert run(tmp_path, COMMANDS[name], at)[0] == -signal.SIGKILL
        code, err = run(tmp_path, COMMANDS[name])
        assert code == 0, f"killed at call {at} of {calls}: {err}"
        assert outputs(tmp_path) == whole, f"killed at call {at} of {calls}"
    # A finished set is complete, and other files are never replaced.
    assert run(tmp_path, COMMANDS[name])[0] == 1
    for path in whole:
        (tmp_path / path).unlink()
    (tmp_path / max(whole)).write_bytes(b"mine")
    assert run(tmp_path, COMMANDS[name])[0] == 1 and (tmp_path / max(whole)).read_bytes() == b"mine"


@pytest.mark.skipif(os.name == "nt", reason="modes and links of Unix")
def test_modes_stay_and_links_are_replaced_themselves(tmp_path, run):
    (tmp_path / "c.txt").write_text("the cat sat on the mat, the rat ran\n" * 9, encoding="utf-8")
    arguments = ("train", "c.txt", "--vocab", "280", "-o", "out.json")
    assert run(tmp_path, arguments)[0] == 0
    (tmp_path / "out.json").chmod(0o640)
    assert run(tmp_path, (*arguments, "--force"))[0] == 0
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o640
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    (tmp_path / "out.json").unlink()
    for target in ("precious", "nowhere"):
        (tmp_path / "out.lock").unlink(missing_ok=True)
        (tmp_path / "out.json").symlink_to(target)
        assert run(tmp_path, arguments)[0] == 1
        assert run(tmp_path, (*arguments, "--force"))[0] == 0
        assert not (tmp_path / "out.json").is_symlink() and (tmp_path / "precious").read_text() == "mine"
        (tmp_path / "out.json").unlink()


@pytest.mark.parametrize("output", ["out.json", "-"])
def test_counts_are_kept_where_learning_merges_fails(tmp_path, run, output):
    (tmp_path / "c.txt").write_text("the cat sat on the mat, the rat ran\n" * 9, encoding="utf-8")
    saved = ("--save-counts", "out.counts", "-o", output)
    failing, sound = (("train", "c.txt", "--vocab", size, *saved) for size in ("999", "280"))
    for _ in range(2):
        # The same command again replaces its own counts, and fails as before.
        code, err = run(tmp_path, failing)
        assert code == 1 and "error: corpus supports" in err
        assert "give out.counts instead of the text" in err
        assert "out.counts" in outputs(tmp_path)
    kept = outputs(tmp_path)["out.counts"]
    assert run(tmp_path, ("train", "out.counts", "--vocab", "280", "-o", "made.json"))[0] == 0
    assert run(tmp_path, sound)[0] == 0
    expected = {"out.counts"} if output == "-" else {"out.counts", "out.json", "out.lock"}
    assert set(outputs(tmp_path)) == expected and outputs(tmp_path)["out.counts"] == kept
    # They are finished now, and no longer replaced.
    assert run(tmp_path, failing)[0] == 1 and "exists" in run(tmp_path, failing)[1]
    if output != "-":
        assert (tmp_path / "out.json").read_bytes() == (tmp_path / "made.json").read_bytes()


def test_counts_of_a_text_that_changed_are_not_kept(tmp_path):
    (tmp_path / "c.txt").write_text("the cat sat on the mat, the rat ran\n" * 9, encoding="utf-8")
    program = (
        "import slmtok.training.counting as counting\n"
        "from slmtok.cli import main\n"
        "count = counting.count_corpus\n"
        "def counted(*given):\n"
        "    found = count(*given)\n"
        "    open('c.txt', 'a').write('more')\n"
        "    return found\n"
        "counting.count_corpus = counted\n"
        "main('train c.txt --vocab 280 --save-counts out.counts -o out.json'.split())\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ran = subprocess.run([sys.executable, "-c", program], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert "'c.txt' was changed while it was read" in ran.stderr and not outputs(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="fork, and locks of Unix")
def test_of_processes_that_write_one_output_one_succeeds(tmp_path):
    for turn in range(8):
        ready, go = os.pipe()
        children = []
        for number in range(4):
            child = os.fork()
            if child == 0:
                os.close(go)
                os.read(ready, 1)
                try:
                    files = [(tmp_path / f"{turn}.{kind}", str(number).encode()) for kind in ("json", "lock")]
                    atomic.write_all(files)
                    os._exit(0)
                except OutputExists:
                    os._exit(1)
                finally:
                    os._exit(2)
            children.append(child)
        os.close(ready)
        os.close(go)
        codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
        assert codes == [0, 1, 1, 1]
        assert (tmp_path / f"{turn}.json").read_bytes() == (tmp_path / f"{turn}.lock").read_bytes()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("finishes", ["second", "neither"])
def test_a_set_of_two_processes_is_refused(tmp_path, finishes):
    """The counts of one process never lie beside the tokenizer of another."""

    def publish_counts(number):
        made = atomic.output_set(tmp_path / "tok.json", tmp_path / "tok.counts", force=True)
        outputs = made.__enter__()
        for path in outputs.temporary:
            path.write_bytes(number)
        outputs.publish_last()
        return made

    first, second = publish_counts(b"1"), publish_counts(b"2")
    if finishes == "second":
        second.__exit__(None, None, None)
    with pytest.raises(OutputExists, match=r"another process has replaced or removed '.*tok.counts', which belongs to"):
        first.__exit__(None, None, None)
    if finishes == "neither":
        second.__exit__(None, None, None)
    assert {path.read_bytes() for path in tmp_path.glob("tok.*")} == {b"2"}


@pytest.mark.skipif(os.name == "nt", reason="locks of Unix")
def test_a_folder_that_another_program_locked_is_written(tmp_path):
    import fcntl

    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    atomic.write(tmp_path / "a", b"x")
    assert (tmp_path / "a").read_bytes() == b"x"
    os.close(folder)


def test_a_second_failure_says_that_outputs_of_the_first_are_left(tmp_path, monkeypatch):
    """ "nothing partial was left" was said beside them."""
    # A record of another process, which has ended.
    first = (
        "from slmtok import atomic\n"
        "with atomic.output_set('out.json', 'out.counts') as written:\n"
        "    for path in written.temporary: path.write_bytes(b'counts')\n"
        "    written.publish_last()\n"
        "    raise OSError(28, 'No space left on device')\n"
    )
    done = subprocess.run([sys.executable, "-c", first], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "some outputs are written; the same command finishes them" in done.stderr
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiskFull, match="some outputs are written"), atomic.output_set("out.json", "out.counts"):
        raise full
    with monkeypatch.context() as patched, pytest.raises(DiskFull, match="some outputs are written"):
        patched.setattr(Path, "touch", lambda path, **_: (_ for _ in ()).throw(full))
        atomic.check_outputs("out.json", "out.counts")
    Path("out.counts").unlink()
    with pytest.raises(DiskFull, match="nothing partial was left"), atomic.output_set("out.json", "out.counts"):
        raise full
