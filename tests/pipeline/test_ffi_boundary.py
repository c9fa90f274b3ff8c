"""The FFI boundary: a panic is an exception, calls release the GIL, no thread waits for a lock with the GIL held."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import pytest

from slmtok._engine import Counter, Pattern
from slmtok.errors import InternalError, SlmtokError


@pytest.mark.filterwarnings("ignore")
def test_a_panic_is_an_ordinary_exception(capfd: pytest.CaptureFixture[str]) -> None:
    native = import_module("slmtok._native")
    with pytest.raises(InternalError, match="the engine failed: on purpose") as caught:
        native.provoke_panic("on purpose")
    assert isinstance(caught.value, SlmtokError)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.fix is not None
    assert "report" in caught.value.fix
    # Rust prints the panic to stderr; nothing may reach stdout.
    assert capfd.readouterr().out == ""
    # The engine still works.
    assert len(Pattern("slm").split("two words")) == 3


def test_another_thread_runs_during_a_call_of_the_engine() -> None:
    text = b"the cat sat on the mat and the dog sat on the log, " * 600_000
    working, ticks = threading.Event(), []

    def tick() -> None:
        working.wait()
        while working.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticking = threading.Thread(target=tick)
    ticking.start()
    counter = Counter(Pattern("slm"), threads=1)
    working.set()
    begun = time.perf_counter()
    counter.feed([text])
    ended = time.perf_counter()
    working.clear()
    ticking.join()
    during = [moment for moment in ticks if begun + 0.002 < moment < ended - 0.002]
    assert ended - begun > 0.01, "too short to measure"
    assert len(during) >= 3


# Constructing an exception runs Python code, in which another thread may take the GIL and then wait for the decoder.
TWO_THREADS = """
import sys, threading
import numpy as np
from slmtok import _engine
from slmtok.errors import UnknownId

sys.setswitchinterval(1e-6)
bytes_only = np.zeros((0, 2), np.uint32), np.arange(256, dtype=np.uint32)
decoder = _engine.StreamDecoder(_engine.Encoder.from_merges(_engine.Pattern("whole"), *bytes_only))
refused = []

def push():
    for _ in range(20_000):
        try:
            decoder.push(9999)
        except UnknownId:
            refused.append(None)

threads = [threading.Thread(target=push) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(refused), decoder.push(65))
"""


def test_two_threads_share_a_stream_decoder() -> None:
    """In a subprocess: a deadlock holds the GIL, so a timeout within this process could not end it."""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", TWO_THREADS], cwd=root, capture_output=True, text=True, timeout=20)
    assert (done.stdout, done.stderr) == ("40000 A\n", "")


# Python ends a daemon thread that asks for the GIL while the interpreter finalizes: this must not abort the process.
ENDED_THREAD = """
import sys, threading, slmtok
from slmtok._engine import DocumentPipeline, DocumentReader, Encoder, Pattern

is_running = threading.Event()

def spin(*_, **__):
    is_running.set()
    while True:
        pass

def spinning():
    spin()
    yield

class Finder:
    def find_spec(self, name, *_):
        name == "numpy" and spin()

def work():
    {work}

encoder = Encoder.from_merges(Pattern("whole"), [], list(range(256)))
threading.Thread(target=work, daemon=True).start()
assert is_running.wait(20)
"""


@pytest.mark.parametrize(
    "work",
    [
        "encoder.encode_batch([b'a'], progress=spin)",
        "sys.meta_path.insert(0, Finder()); encoder.encode_batch([b'a'])",
        "slmtok.errors.UnknownId.__init__ = spin; encoder.decode_bytes([256])",
        "encoder.encode_lines([b'a'], spin)",
        "next(DocumentPipeline(spinning(), threads=2))",
        "next(DocumentReader(spin, 'text'))",
        "next(DocumentReader(lambda n: b'{\\n', 'jsonl', fallback=spin))",
        "slmtok.id_arrays.StreamDecoder(encoder).push(type('Id', (), {'__index__': spin})())",
    ],
)
def test_a_thread_in_code_of_python_does_not_abort_the_process_at_its_end(work: str) -> None:
    root = Path(__file__).resolve().parents[2]
    code = ENDED_THREAD.replace("{work}", work)
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# The thread that finalizes the interpreter runs `__del__` and `finally`: a call in them may fail, and must not hang.
FINALIZING = """
import gzip, io, os, sys, slmtok
from slmtok._engine import DocumentPipeline, DocumentReader, Encoder, Pattern

folder = sys.argv[1]
path = folder + "/corpus.txt"
with open(path, "w") as file:
    file.write("one two three " * 99)
tok = slmtok.train(path, vocab_size=300, allow_smaller=True)
tok.save(folder + "/tok.json")
encoder = Encoder.from_merges(Pattern("whole"), [], list(range(256)))
pipeline = DocumentPipeline(iter([iter([])]), threads=2)
stream = DocumentReader(io.BytesIO(gzip.compress(b"a")).read, "text", compression="gz")
calls = {
    "encode": lambda: tok.encode("one two"),
    "encode of a long text": lambda: tok.encode("one two " * 9999),
    "batch": lambda: tok.encode_batch(["one", "two \u20ac"]),
    "batch of the engine": lambda: encoder.encode_batch(["one", "two \u20ac"], progress=lambda *_: None),
    "lines": lambda: encoder.encode_lines(["one"], lambda block: None),
    "decode": lambda: tok.decode([100, 101]),
    "train": lambda: slmtok.train(path, vocab_size=300, allow_smaller=True),
    "load": lambda: slmtok.load(folder + "/tok.json"),
    "files": lambda: tok.encode_files(path, folder + "/ids.bin"),
    "documents": lambda: next(pipeline),
    "stream": lambda: next(stream),
}

def run_all(calls=calls, write=os.write):
    for name, call in calls.items():
        try:
            call()
            outcome = "result"
        except Exception as error:
            outcome = type(error).__name__
        write(1, f"{name}: {outcome}\\n".encode())

class Buffer:
    def __del__(self, run_all=run_all):
        run_all()

def rows(run_all=run_all):
    try:
        yield
    finally:
        run_all()

class Output(io.StringIO):
    is_last = False
    def flush(self):
        if self.is_last:
            run_all()

encoder.encode_batch(["warm"])
"""


@pytest.mark.parametrize(
    ("last", "results"),
    [
        ("buffer = Buffer()", {"encode", "batch of the engine", "lines"}),
        ("it = rows(); next(it)", {"encode", "batch of the engine", "lines"}),
        (
            "import atexit; sys.stdout = Output(); atexit.register(lambda: setattr(Output, 'is_last', True))",
            {"encode", "batch", "batch of the engine", "lines", "decode", "load", "files"},
        ),
    ],
)
def test_a_call_of_the_thread_that_ends_the_interpreter_does_not_hang(
    tmp_path: Path, last: str, results: set[str]
) -> None:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", FINALIZING + last, str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    outcomes = dict(line.split(": ") for line in done.stdout.splitlines())
    assert results <= {name for name, outcome in outcomes.items() if outcome == "result"}
    assert len(outcomes) == 11, outcomes
