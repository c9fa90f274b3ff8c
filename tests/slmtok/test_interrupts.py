"""Ctrl-C and SIGTERM end a call within a second, whatever the engine is doing, in real processes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path

import pytest

MAX_SECONDS = 1.0
"""From the signal to the end of the process."""
SLACK = 2.0
"""What a machine that runs other tests may add."""
WORK_SECONDS = 0.3
"""From the line of `ready` to the signal."""

SETUP = r"""
import itertools, os, signal, sys, threading
import numpy, slmtok
from slmtok import _engine
from slmtok.formats import hf, tiktoken
from slmtok.specials import default_specials
from slmtok.tokenizer_file import Golden, TokenizerFile
from slmtok.vocabulary import PatternSpec, Vocabulary

# Each step of a search reads the rest of the text, and there are many searches (LINEAR) or many steps in one (STEPS).
LINEAR = r"[^!]*!|[^x]|x"
STEPS = r"(?:(?=[^!]*)x)+(?!x)y|\n"
# Many steps, each of which reads the rest of the text: minutes in 4 kB, seconds in 1 kB.
COSTLY = r"(?:(?!.*z)x)+(?<!x)|."
LONG = b"x" * (20 << 20)

def terminate(number, frame):
    raise SystemExit(143)

def vocabulary(regex, merges=((136, 136), (113, 114), (272, 272))):
    name = regex if regex in _engine.pattern_names() else None
    spec = PatternSpec(name, _engine.Pattern(regex).regex, _engine.UNICODE_VERSION)
    return Vocabulary("bpe", spec, default_specials(), merges=merges)

def tokenizer(regex):
    return slmtok.Tokenizer(vocabulary(regex))

def save_with_golden(regex, text):
    # Its golden vector is a long text; no one has computed the ids.
    content = TokenizerFile(vocabulary(regex), (Golden(text, (1,)),), {}, {}).content
    open("tok.json", "wb").write(content)

def long_tokens():
    # 512 KiB of one letter, and that with each of 60 letters behind it.
    doubling = [(113, 113), *((id, id) for id in range(272, 290))]
    return slmtok.Tokenizer(vocabulary("slm", tuple(doubling + [(290, 120 + letter) for letter in range(60)])))

def write_long():
    open("x.txt", "wb").write(LONG)

def noise(size, seed=1):
    return numpy.random.default_rng(seed).bytes(size)

def noisy_counts():
    return _engine.Counts.from_items(_engine.Pattern("whole"), [(noise(20_000_000, seed), 2) for seed in range(3)])

def ready():
    signal.signal(signal.SIGTERM, terminate)
    # A line, and then the call: the test waits for the line, and then for the call to be at work.
    os.write(1, b"%d\n" % os.getpid())
"""

FORKS = r"""
# No call of the engine before a fork: each has its first one in a process of its own, and needs no second of imports.
while line := sys.stdin.readline():
    folder, name = line.rstrip("\n").split("\t")
    child = os.fork()
    if not child:
        break
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(1, b"%d\n" % status)
if line:
    os.chdir(folder)
    exec(CALLS[name])
"""

CALLS = {
    "endless texts in C": "tok = tokenizer(COSTLY); ready(); tok.encode_batch(itertools.repeat('abc'))",
    "endless ids in C": "tok = tokenizer(COSTLY); ready(); tok.decode(itertools.repeat(20))",
    "endless rows in C": "tok = tokenizer(COSTLY); ready(); tok.decode_batch([itertools.repeat(20)])",
    "endless names in C": "tok = tokenizer(COSTLY); ready(); tok.encode('a', allow_special=itertools.repeat('eos'))",
    "endless counts in C": "ready(); slmtok.merge_counts(itertools.repeat('x.counts'), 'o')",
    "endless files in C": "tok = tokenizer(COSTLY); ready(); tok.encode_files(itertools.repeat('x.txt'), 'o')",
    "encode, steps": "tok = tokenizer(STEPS); ready(); tok.encode(LONG)",
    "encode, linear": "tok = tokenizer(LINEAR); ready(); tok.encode(LONG)",
    "encode, a string": "tok = tokenizer(LINEAR); ready(); tok.encode('xé' * 2_000_000)",
    "encode_batch": "tok = tokenizer(STEPS); ready(); tok.encode_batch([b'a', LONG])",
    "encode_batch, threads": "tok = tokenizer(LINEAR); ready(); tok.encode_batch([LONG] * 4, threads=2)",
    "encode_batch, strings": "tok = tokenizer(STEPS); ready(); tok.encode_batch(['xé', LONG.decode() + 'é'])",
    "encode_batch, short": """
tok = tokenizer(r"(?:x+x+)+y|x")
ready()
while True:
    tok.encode_batch([b"x" * 17] * 100)
""",
    "encode, 4 kB": "tok = tokenizer(COSTLY); ready(); tok.encode('x' * 4000)",
    "encode_batch, 4 kB": "tok = tokenizer(COSTLY); ready(); tok.encode_batch([b'x' * 4000])",
    "count_tokens, 4 kB": "tok = tokenizer(COSTLY); ready(); tok.count_tokens(['x' * 4000])",
    "split, 4 kB": "pattern = _engine.Pattern(COSTLY); ready(); pattern.split('x' * 4000)",
    "count of 4 kB": "ready(); slmtok.count(slmtok.Texts(['x' * 4000]), pattern=COSTLY)",
    "count_tokens": "tok = tokenizer(LINEAR); ready(); tok.count_tokens([LONG])",
    "count_tokens, steps": "tok = tokenizer(STEPS); ready(); tok.count_tokens([LONG])",
    "split": "pattern = _engine.Pattern(STEPS); ready(); pattern.split(LONG)",
    "gaps": "pattern = _engine.Pattern(LINEAR); ready(); pattern.gaps(LONG)",
    "count of texts": "ready(); slmtok.count(slmtok.Texts([LONG]), pattern=STEPS)",
    "count of a file": "write_long(); ready(); slmtok.count('x.txt', pattern=LINEAR)",
    "encode_files": "write_long(); tok = tokenizer(STEPS); ready(); tok.encode_files('x.txt', 'x.bin')",
    "load": "save_with_golden(LINEAR, LONG); ready(); slmtok.load('tok.json')",
    "one long piece": "tok = tokenizer('whole'); text = noise(200_000_000); ready(); tok.encode(text)",
    "export to tiktoken": "tok = long_tokens(); ready(); tiktoken.check(tok)",
    "encode with tokenizers": """
from pathlib import Path
Path("hf.json").write_bytes(hf.files(tokenizer("slm"), "hf")["tokenizer.json"])
encode = hf.open_tokenizer_json(Path("hf.json"))
ready()
encode(["xé a" * 20_000_000])
""",
    "train": "counts = noisy_counts(); ready(); _engine.train(counts, 100_000, min_count=1)",
}
"""Calls that take minutes."""

COMMANDS = {
    "slmtok count": "count x.txt --pattern {linear} -o x.counts",
    "slmtok train": "train x.jsonl --pattern {steps} --vocab 300 -o out.json",
    "slmtok verify": "verify golden.json",
    "slmtok encode": "encode -t tok.json x.txt --output-format bin -o x.bin",
    "slmtok pack": "pack x.jsonl -t tok.json -o data",
    "a pipe without a writer": "count pipe -o x.counts",
}
"""Commands that take minutes; the files are made by `MAKE_FILES`."""

MAKE_FILES = r"""
write_long()
open("x.jsonl", "wb").write(b'{"text": "' + LONG + b'"}\n')
tokenizer(LINEAR).save("tok.json")
os.rename("tok.json", "kept.json")
save_with_golden(STEPS, LONG)
os.rename("tok.json", "golden.json")
os.rename("kept.json", "tok.json")
os.mkfifo("pipe")
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")


def alternating(names: Iterable[str]) -> list[tuple[str, signal.Signals]]:
    """Each name with one of both signals: each situation with each would take two minutes."""
    return list(zip(names, cycle([signal.SIGINT, signal.SIGTERM])))


def seconds_to_stop(process: subprocess.Popen[bytes], number: int) -> float:
    assert process.poll() is None, f"the call ended before it was stopped: {process.communicate()}"
    begin = time.monotonic()
    process.send_signal(number)
    try:
        process.communicate(timeout=60)
    finally:
        process.kill()
    return time.monotonic() - begin


@pytest.fixture(scope="module")
def forks() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has all imports, and forks one for each call; it answers as `FORKS` writes."""
    code = f"{textwrap.dedent(SETUP)}\nCALLS = {CALLS!r}\n{FORKS}"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
    )  # fmt: skip
    with process:
        yield process
        process.kill()


def answer(forks: subprocess.Popen[bytes], seconds: float) -> int:
    """The number in the next line."""
    assert forks.stdout is not None
    assert select.select([forks.stdout], [], [], seconds)[0], f"no answer within {seconds} s"
    return int(forks.stdout.readline())


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "number"), alternating(CALLS))
def test_a_call_hears_a_signal(
    forks: subprocess.Popen[bytes], name: str, number: signal.Signals, tmp_path: Path
) -> None:
    assert forks.stdin is not None and forks.stdout is not None
    forks.stdin.write(f"{tmp_path}\t{name}\n".encode())
    call = answer(forks, 60)
    assert not select.select([forks.stdout], [], [], WORK_SECONDS)[0], "the call ended before it was stopped"
    begin = time.monotonic()
    os.kill(call, number)
    try:
        status = answer(forks, 40)
    except BaseException:
        os.kill(call, signal.SIGKILL)
        answer(forks, 20)
        raise
    seconds = time.monotonic() - begin
    assert status == (143 if number == signal.SIGTERM else -signal.SIGINT)
    assert seconds < MAX_SECONDS + SLACK, f"{name} heard {number.name} after {seconds:.1f} s"


@pytest.mark.timeout(60)
def test_other_threads_run_while_a_costly_pattern_splits_a_short_text(tmp_path: Path) -> None:
    code = """
tok = tokenizer(COSTLY)
pauses, stopped = [], threading.Event()

def tick():
    last = time.monotonic()
    while not stopped.wait(0.01):
        pauses.append(time.monotonic() - last)
        last += pauses[-1]

ticker = threading.Thread(target=tick)
ticker.start()
begin = time.monotonic()
try:
    tok.encode("x" * 1000)
except slmtok.errors.PatternGaveUp:
    pass
seconds = time.monotonic() - begin
stopped.set()
ticker.join()
assert seconds > 0.2, f"the pattern is not costly: {seconds}"
assert max(pauses) < seconds / 2, (max(pauses), seconds)
"""
    code = "import time\n" + textwrap.dedent(SETUP) + code
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=50)
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    subprocess.run([sys.executable, "-c", textwrap.dedent(SETUP) + MAKE_FILES], cwd=folder, check=True, timeout=120)
    return folder


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "number"), alternating(COMMANDS))
def test_a_command_hears_a_signal(name: str, number: signal.Signals, files: Path) -> None:
    patterns = {"{linear}": r"[^!]*!|[^x]|x", "{steps}": r"(?:(?=[^!]*)x)+(?!x)y|\n"}
    command = [patterns.get(word, word) for word in COMMANDS[name].split()]
    before = sorted(path.name for path in files.iterdir())
    process = subprocess.Popen(
        [sys.executable, "-m", "slmtok", *command], cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(1.0)
    seconds = seconds_to_stop(process, number)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    assert seconds < MAX_SECONDS + SLACK, f"{name} heard {number.name} after {seconds:.1f} s"
    left = {path.name for path in files.iterdir()} - set(before) - {"data"}
    assert left == set(), "an interrupted command leaves only the journal of pack"


SWALLOWS = """
import os, time
os.write(1, b".")
try:
    time.sleep(30)
except BaseException:
    pass
"""
IMPORTS = """
from slmtok.interrupts import exit_on_interrupt
exit_on_interrupt()
from slmtok.cli import inspection, main
inspection.info.callback = lambda **given: __import__("swallows")
main(["info", "x"])
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_import_that_swallows_exceptions_ends(number: signal.Signals, tmp_path: Path) -> None:
    """As that of torch does, for a second or more."""
    (tmp_path / "swallows.py").write_text(SWALLOWS, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", IMPORTS], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.read(1) == b"."
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    word, code = (b"interrupted\n", 130) if number == signal.SIGINT else (b"terminated\n", 143)
    assert (process.returncode, out, err) == (code, b"", word)


STOPPED_EXPORT = """
import os, shutil, sys
from slmtok.__main__ import main
from slmtok.formats import export

number, where = int(sys.argv[1]), sys.argv[2]

def stop(*given, **options):
    os.kill(os.getpid(), number)

def stop_and_remove(*given, **options):
    stop()
    remove(*given, **options)

remove = shutil.rmtree
if where == "removal":
    shutil.rmtree = stop_and_remove
export._open = stop if where == "removal" else lambda *given: __import__("stops")
sys.argv[1:] = ["export", "tok.json", "--output-format", "hf", "-o", "hf"]
sys.exit(main())
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["removal", "import"])
def test_signals_leave_no_temporary_folder(number: signal.Signals, where: str, tmp_path: Path) -> None:
    """A second signal while the folder is removed, and one inside an import while the folder is there."""
    (tmp_path / "stops.py").write_text(f"import os; os.kill(os.getpid(), {int(number)})", encoding="utf-8")
    code = textwrap.dedent(SETUP) + "tokenizer('slm').save('tok.json')\n" + STOPPED_EXPORT
    ran = subprocess.run([sys.executable, "-c", code, str(int(number)), where], cwd=tmp_path, capture_output=True)
    word, status = (b"interrupted\n", 130) if number == signal.SIGINT else (b"terminated\n", 143)
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, b"", word)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["stops.py", "tok.json"]
    assert not list(tmp_path.glob(".*"))


def test_a_later_signal_stops_what_the_first_did_not() -> None:
    """An exception that is lost, as in a finalizer, or that is handled, as that of an answer of `slm chat`."""
    code = (
        "import os, signal, sys\nfrom slmtok.cli import inspection, main\n"
        "class Lost:\n    def __del__(self):\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "def stop(**given):\n    Lost()\n"
        "    try:\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "    except KeyboardInterrupt:\n        print('first')\n"
        "    try:\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "    finally:\n        print('second')\n"
        "inspection.info.callback = stop\nsys.exit(main(['info', 'x']))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert (ran.returncode, ran.stdout) == (130, "first\nsecond\n"), ran.stderr


@pytest.mark.timeout(60)
@pytest.mark.parametrize("status", [0, 3, 130, 143])
def test_a_program_that_was_stopped_does_not_wait_for_threads(status: int) -> None:
    code = (
        "import atexit, threading, sys; from slmtok.interrupts import leave\n"
        "threading.Thread(target=threading.Event().wait, daemon=sys.argv[1] in '03').start()\n"
        "atexit.register(print, 'closed'); print('done'); sys.exit(leave(int(sys.argv[1])))"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(status)], capture_output=True, text=True, timeout=20)
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, "done\nclosed\n", "")
