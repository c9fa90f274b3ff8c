"""fork() while another thread encodes: the tokenizer of the child works, whatever locks that thread held."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import slmtok
from slmtok.shards import open_shards

FORKS = 10
# Seconds that a child may take for a few bytes.
PATIENCE = 10.0
TEXT = "the cat sat on the mat and the dog sat on the log, 12345 times; " * 20

forks_beside_threads = pytest.mark.skipif(
    sys.platform == "darwin", reason="macOS does not vouch for a child that forked with threads"
)
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def run_child(work: Callable[[], bool]) -> int:
    """The exit code of a forked child: 0 where `work` gives True."""
    pid = os.fork()
    if not pid:
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            # Nothing of pytest may run on in the child.
            os._exit(code)
    return exit_code(pid)


def exit_code(pid: int) -> int:
    """That of a child; one that hangs is killed and gives -SIGKILL."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@forks_beside_threads
@pytest.mark.timeout(60)
def test_fork_while_another_thread_encodes() -> None:
    tok = slmtok.train(slmtok.Texts([TEXT]), vocab_size=300, min_count=1, allow_smaller=True)
    expected = tok.encode_list(TEXT)
    stop, rounds = threading.Event(), list[None]()

    def encode() -> None:
        while not stop.is_set():
            # New pieces each time, so that the cache is being written to.
            tok.encode(TEXT + " ".join(f"w{len(rounds)}x{i}" for i in range(200)))
            tok.encode_batch([TEXT] * 4, threads=2)
            rounds.append(None)

    thread = threading.Thread(target=encode)
    thread.start()
    try:
        codes = []
        for fork in range(FORKS):
            until = time.monotonic() + PATIENCE
            while len(rounds) <= fork and time.monotonic() < until:
                time.sleep(0.0005)
            codes.append(run_child(lambda: tok.encode_list(TEXT) == expected))
            if codes[-1]:
                break
    finally:
        stop.set()
        thread.join()
    assert codes == [0] * FORKS
    assert len(rounds) >= FORKS, "nothing was encoded meanwhile"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_writes_its_results_to_memory_of_its_own() -> None:
    tok = slmtok.train(slmtok.Texts([TEXT]), vocab_size=300, min_count=1, allow_smaller=True)
    # Large enough that its memory waits for the next result, in the parent and in the child.
    texts = [TEXT.encode() * 15_000]
    want = tok.encode_batch(texts, threads=1).ids.tolist()

    def encode() -> bool:
        return all(tok.encode_batch(texts, threads=1).ids.tolist() == want for _ in range(2))

    assert run_child(encode) == 0
    assert encode()


FIRST_CALLS = ("encode", "encode_batch", "decode", "count_tokens", "encode_with_offsets")

FORK_BESIDE = """
import json, os, sys, threading, time
import slmtok

def fork_beside(name):
    tok = slmtok.load(sys.argv[1])
    call = getattr(tok, name)
    given = {"encode": "the cat", "encode_with_offsets": "the cat", "decode": [100, 101]}
    argument = given.get(name, ["the cat"] * 3)
    threads = [threading.Thread(target=lambda: [call(argument) for _ in range(200)], daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    child = os.fork()
    if not child:
        call(argument)
        os._exit(0)
    until = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            os._exit(os.waitstatus_to_exitcode(status))
        time.sleep(0.002)
    os.kill(child, 9)
    os._exit(9)

# No call of the engine in this process: each fork makes the first one of its own.
ended = {}
for name in sys.argv[3:] * 3:
    fork = os.fork()
    if not fork:
        fork_beside(name)
    ended.setdefault(name, []).append(os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]))
print(json.dumps(ended))
"""


@forks_beside_threads
def test_fork_while_other_threads_make_their_first_call(tmp_path: Path) -> None:
    path = tmp_path / "tok.json"
    slmtok.train(slmtok.Texts([TEXT]), vocab_size=300, min_count=1, allow_smaller=True).save(path)
    command = [sys.executable, "-W", "ignore", "-c", FORK_BESIDE, str(path), str(PATIENCE), *FIRST_CALLS]
    ran = subprocess.run(command, check=True, capture_output=True)
    assert json.loads(ran.stdout) == dict.fromkeys(FIRST_CALLS, [0] * 3)


FORK_BESIDE_IMPORTS = """
import os, signal, sys, threading, time
import slmmodel, slmtok

def work():
    try:
        eval(sys.argv[1])
    except slmtok.SlmtokError:
        pass

thread = threading.Thread(target=work)
thread.start()
time.sleep(float(sys.argv[2]))
child = os.fork()
if not child:
    signal.alarm(int(sys.argv[3]))
    work()
    os._exit(0)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@forks_beside_threads
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("call", "delay"), [("slmtok.count([], threads=1)", 0.02), ("slmtok.pack", 0.05), ("slmmodel.Run", 0.5)]
)
def test_fork_while_another_thread_imports_a_lazy_name(call: str, delay: float) -> None:
    """Also with `logging`, which torch needs and whose lock a fork takes."""
    command = [sys.executable, "-W", "ignore", "-c", FORK_BESIDE_IMPORTS, call, str(delay), str(int(PATIENCE))]
    ran = subprocess.run(command, check=False, capture_output=True, timeout=100)
    assert (ran.returncode, ran.stderr) == (0, b"")


LOOKED_UP = """
import operator, sys
import slmtok

looked_up = []
operator.length_hint = lambda *given: looked_up.append(given) or 0
tok = slmtok.load(sys.argv[1])
assert tok.decode(tok.encode_list("the cat")) == "the cat"
assert tok.decode_batch(tok.encode_batch(["the cat"]).to_lists()) == ["the cat"]
assert not looked_up, looked_up
"""


def test_lists_look_nothing_up_at_first_use(tmp_path: Path) -> None:
    """A child that was forked while another thread looked up `operator.length_hint` waited for it: 4 of 80 forks."""
    path = tmp_path / "tok.json"
    slmtok.train(slmtok.Texts([TEXT]), vocab_size=300, min_count=1, allow_smaller=True).save(path)
    subprocess.run([sys.executable, "-c", LOOKED_UP, str(path)], check=True)


def train_with(progress: Callable[..., None], folder: Path) -> None:
    slmtok.train(folder / "corpus.txt", vocab_size=300, allow_smaller=True, progress=progress)


def encode_with(progress: Callable[..., None], folder: Path) -> None:
    slmtok.load(folder / "tok.json").encode_batch([TEXT] * 9, progress=progress)


def pack_with(progress: Callable[..., None], folder: Path) -> None:
    tok = slmtok.load(folder / "tok.json")
    slmtok.pack(folder / "corpus.txt", tok, folder / "data", separator="\n", on_progress=progress)
    open_shards(folder / "data")


def count_texts_with(callback: Callable[..., None], folder: Path) -> None:
    slmtok.count(text for text in [TEXT] * 9 if callback() is None)


def train_on_texts_with(callback: Callable[..., None], folder: Path) -> None:
    texts = slmtok.Texts(text for number, text in enumerate([TEXT] * 9) if number < 5 or callback() is None)
    slmtok.train(texts, vocab_size=300, allow_smaller=True)


def train_after_texts_with(callback: Callable[..., None], folder: Path) -> None:
    def texts() -> Iterator[str]:
        yield from [TEXT] * 9
        callback()

    slmtok.train(texts(), vocab_size=300, allow_smaller=True)


OF_GENERATORS = [count_texts_with, train_on_texts_with, train_after_texts_with]


def exit_with(code: int | str) -> Callable[[], None]:
    return lambda: sys.exit(code)


def fail() -> None:
    raise KeyError("a child fails")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@forks_beside_threads
@pytest.mark.parametrize("call", [train_with, encode_with, pack_with, *OF_GENERATORS])
@pytest.mark.parametrize(
    ("leave", "code"), [(exit_with(7), 7), (exit_with("a reason"), 1), (fail, 1), (lambda: None, 0)]
)
def test_a_child_that_a_callback_forks_ends_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[..., None],
    leave: Callable[[], None],
    code: int,
) -> None:
    monkeypatch.setattr(sys, "excepthook", lambda *_: os._exit(98))
    (tmp_path / "corpus.txt").write_text(f"{TEXT}\n" * 9)
    tok = slmtok.train(tmp_path / "corpus.txt", vocab_size=300, min_count=1, allow_smaller=True)
    tok.save(tmp_path / "tok.json")
    parent, codes = os.getpid(), list[int]()

    def fork_once(*_: object) -> None:
        if codes:
            return
        child = os.fork()
        if child:
            codes.append(exit_code(child))
        else:
            leave()

    try:
        call(fork_once, tmp_path)
    finally:
        if os.getpid() != parent:
            os._exit(99)
    assert codes == [code]


@pytest.mark.parametrize("module", ["callbacks", "imports_before_fork"])
def test_both_packages_have_the_same_file(module: str) -> None:
    paths = [importlib.import_module(f"{name}.{module}").__file__ for name in ("slmtok", "slmmodel")]
    first, second = (Path(str(path)).read_text(encoding="utf-8") for path in paths)
    assert first == second
