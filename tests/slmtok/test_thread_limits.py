"""Little address space, in which threads, copies and ids do not fit: calls end with their result or a `MemoryError`."""

from __future__ import annotations

import subprocess
import sys

import pytest

SETUP = """
import resource, sys
import numpy, slmtok
from slmtok import _engine

LINE = b"the cat sat on the mat and so on "
tok = slmtok.train(slmtok.Texts([LINE] * 9), vocab_size=290, allow_smaller=True)
text = LINE * 60_000
open("text", "wb").write(LINE * 300_000)
ids = tok.encode(text)
texts = slmtok.Texts([text] * 4)

def tried(call):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(float(sys.argv[1]) * (1 << 20)), resource.RLIM_INFINITY))
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
OUTCOMES = ("result", "NotEnoughMemory", "MemoryError", "_ArrayMemoryError", "Unreadable", "no thread")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("spare", [4, 8, 20, 40])
def test_a_call_ends_with_its_result_or_a_memory_error(name: str, spare: float, tmp_path: object) -> None:
    code = SETUP + f"print(tried(lambda: {CALLS[name]}))"
    command = [sys.executable, "-c", code, str(spare)]
    ran = subprocess.run(command, cwd=str(tmp_path), capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() in (
        "result",
        "NotEnoughMemory",
        "MemoryError",
        "no thread",
        "_ArrayMemoryError",
        "Unreadable",
    )
