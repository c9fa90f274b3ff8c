"""Little address space, in which threads, copies and ids do not fit: calls end with their result or a `MemoryError`.

Stacks of threads do not depend on the environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SETUP = """
import json, os, resource, sys
import numpy, slmtok
from slmtok import _engine

LINE = b"the cat sat on the mat and so on "
tok = slmtok.train(slmtok.Texts([LINE] * 9), vocab_size=290, allow_smaller=True)
text = LINE * 60_000
open("text", "wb").write(LINE * 300_000)
ids = tok.encode(text)
texts = slmtok.Texts([text] * 4)

def tried(call, spare):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (spare << 20), resource.RLIM_INFINITY))
    try:
        call()
        return "result"
    except MemoryError as error:
        return type(error).__name__
    except slmtok.errors.Unreadable as error:
        assert "Cannot allocate memory" in str(error), error
        return type(error).__name__
    except RuntimeError as error:
        # Python's own threads.
        assert "can't start new thread" in str(error), error
        return "no thread"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

for name, code in json.loads(sys.argv[1]).items():
    for spare in json.loads(sys.argv[2]):
        # Each call has a process of its own, whose allocator no other call has filled.
        if not os.fork():
            print(json.dumps([name, spare, tried(lambda: eval(code), spare)]), flush=True)
            os._exit(0)
        status = os.wait()[1]
        if status:
            print(json.dumps([name, spare, f"status {os.waitstatus_to_exitcode(status)}"]), flush=True)
"""
CALLS = {
    "encode_batch": "tok.encode_batch([text] * 4, threads=4)",
    "encode_files": "tok.encode_files('text', 'ids.bin', force=True)",
    "decode": "tok.decode_bytes(ids)",
    "decode_batch": "tok.decode_batch([ids] * 4, threads=4)",
    "count of texts": "slmtok.count(texts, threads=3)",
    "count of a file": "slmtok.count('text', threads=3)",
    "split": r"_engine.Pattern(r'(?:(?=[^!]*)x)+(?!x)y|\n').split(LINE * 300)",
}
SPARE_MB = (4, 8, 20, 40)
OUTCOMES = ("result", "NotEnoughMemory", "MemoryError", "_ArrayMemoryError", "Unreadable", "no thread")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str]:
    """How each call ends with each number of MB to spare."""
    command = [sys.executable, "-c", SETUP, json.dumps(CALLS), json.dumps(SPARE_MB)]
    folder = tmp_path_factory.mktemp("limits")
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    found = (json.loads(line) for line in ran.stdout.splitlines())
    return {(name, spare): f"{outcome}{ran.stderr}" for name, spare, outcome in found}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("spare", SPARE_MB)
def test_a_call_ends_with_its_result_or_a_memory_error(
    outcomes: dict[tuple[str, int], str], name: str, spare: int
) -> None:
    assert outcomes[name, spare] in OUTCOMES


def test_stacks_do_not_depend_on_the_environment():
    """The standard library of Rust gives a thread the stack that this variable has: too small a one is signal 11."""
    code = (
        "import slmtok\ntexts = slmtok.Texts(['the cat sat on the mat'] * 99)\n"
        r"tok = slmtok.train(texts, vocab_size=280, allow_smaller=True, threads=2, pattern=r'\p{L}+|\s+|[^\s]+')"
        "\nprint(len(tok.encode_batch(['the cat'] * 99, threads=2)), slmtok.count(texts, threads=2).documents)"
    )
    env = {**os.environ, "RUST_MIN_STACK": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "99 99\n"), done.stderr
