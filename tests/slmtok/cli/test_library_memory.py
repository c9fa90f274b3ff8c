"""Limits on memory and processes: a library that they leave too little of is refused before it is loaded."""

import importlib
import os
import subprocess
import sys
import threading

import pytest
from shared_data import ROOT

from slmtok import entry_point, system_memory
from slmtok.cli import library_threads
from slmtok.cli.system_errors import system_error

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and its limits are those of Linux")


def run(code):
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def run_limited(limit, size, code):
    """A process of Python whose limit is set before it imports anything."""
    return run(f"import resource, sys\nresource.setrlimit(resource.{limit}, ({size}, {size}))\n{code}")


@pytest.mark.parametrize(("limit", "size", "flag"), [("RLIMIT_AS", 110_000, "v"), ("RLIMIT_DATA", 50_000, "d")])
def test_numpy_that_does_not_fit_is_refused(limit, size, flag):
    """OpenBLAS ended the process, or Python was busy for ever while numpy was loaded."""
    code = (
        "from slmtok.cli import prepare\nfrom slmtok.cli.system_errors import system_error\nprepare('pack')\n"
        "try:\n    import numpy\nexcept MemoryError as error:\n    print(system_error(error, '').render().strip())"
    )
    done = run_limited(limit, size * 1024, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "numpy cannot be loaded: not enough memory",
        f"  where: {'the address space' if flag == 'v' else 'the private memory'} of this process is limited to "
        f"{size * 1024:,} bytes ({limit}, ulimit -{flag} {size})",
        f"  limit: numpy takes more than {96 if flag == 'v' else 64} MB of it",
        "  fix:   a shell or a job with a larger limit; it cannot be raised here",
    ]


@pytest.mark.parametrize("is_for_cuda", [True, False])
def test_torch_for_cuda_that_does_not_fit_is_refused(tmp_path, is_for_cuda):
    """It aborted the process. Other builds take less."""
    (tmp_path / "torch/lib").mkdir(parents=True)
    (tmp_path / "torch/__init__.py").write_text("raise SystemExit(7)\n")
    if is_for_cuda:
        (tmp_path / "torch/lib/libtorch_cuda.so").touch()
    code = f"sys.path.insert(0, {str(tmp_path)!r})\nfrom slmmodel.cli import main\nsys.exit(main(['bench']))"
    done = run_limited("RLIMIT_DATA", 600_000 * 1024, code)
    if is_for_cuda:
        assert done.returncode == 1 and done.stderr.startswith("error: torch cannot be loaded: not enough memory\n")
        assert "(RLIMIT_DATA, ulimit -d 600000)\n  limit: torch takes more than 700 MB of it\n" in done.stderr
    else:
        assert done.returncode == 7, done.stderr


@pytest.mark.parametrize("free", [299, 300, None])
def test_torch_is_refused_where_a_container_leaves_no_memory(tmp_path, free):
    """The system killed the command without a word."""
    (tmp_path / "torch/lib").mkdir(parents=True)
    (tmp_path / "torch/__init__.py").write_text("raise SystemExit(7)\n")
    (tmp_path / "torch/lib/libtorch_cuda.so").touch()
    done = run(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom slmtok import system_memory\n"
        f"system_memory.free_memory = lambda: {free and free << 20}\n"
        "from slmmodel.cli import main\nsys.exit(main(['bench']))"
    )
    if free != 299:
        assert done.returncode == 7, done.stderr
        return
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: torch cannot be loaded: not enough memory",
        "  where: 313,524,224 bytes are free on this machine, or in the container or the job of this process",
        "  limit: torch takes more than 300 MB",
        "  fix:   free memory, or a container or a job with more",
    ]


@pytest.fixture
def threads_left(monkeypatch):
    """A process with a limit on processes, three processors and, in a list, the number of threads that it may start."""
    left, start = [0], threading.Thread.start

    def start_if_left(thread):
        if left[0] == 0:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    monkeypatch.setattr(threading.Thread, "start", start_if_left)
    monkeypatch.setattr(library_threads.resource, "getrlimit", lambda limit: (9, 9))
    monkeypatch.setattr(sys, "meta_path", [])
    library_threads.refuse_without_threads()
    return left


@pytest.mark.parametrize(
    ("name", "variable", "needed", "least"),
    [
        ("numpy", "OPENBLAS_NUM_THREADS", 2, 0),
        ("torch", "OMP_NUM_THREADS", 2, 0),
        ("tokenizers", "RAYON_NUM_THREADS", 5, 3),
    ],
)
def test_a_library_without_threads_is_refused(threads_left, monkeypatch, name, variable, needed, least):
    """OpenBLAS sent SIGINT, so that the command said "interrupted"; libgomp ended it; tokenizers printed a panic."""
    monkeypatch.delitem(sys.modules, name, raising=False)
    before = threading.active_count()
    threads_left[0] = needed - 1
    with pytest.raises(RuntimeError) as caught:
        importlib.import_module(name)
    error = system_error(caught.value, "slmtok")
    assert error.fact == "the system starts no more threads" and "ulimit -u" in error.fix
    for value, enough in [("", needed), ("1", least)]:
        monkeypatch.setenv(variable, value)
        threads_left[0] = enough
        # The finder is alone, and finds no module.
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
        assert threads_left[0] == 0
    assert threading.active_count() == before


def test_no_thread_is_tried_without_a_limit_on_processes(monkeypatch):
    monkeypatch.setattr(
        library_threads.resource, "getrlimit", lambda limit: (library_threads.resource.RLIM_INFINITY,) * 2
    )
    monkeypatch.setattr(system_memory, "_CONTROL_GROUPS", "/no/such")
    monkeypatch.setattr(sys, "meta_path", [])
    library_threads.refuse_without_threads()
    assert sys.meta_path == []


@pytest.mark.parametrize("mount", [".", "pids"])
@pytest.mark.parametrize(
    ("most", "used", "is_checked"),
    [("max", 9, False), (90000, 9, False), (20, 9, True), (9, 9, True), (20, None, False)],
)
def test_threads_are_tried_where_a_control_group_leaves_few(monkeypatch, tmp_path, mount, most, used, is_checked):
    """OpenBLAS sent SIGINT at the limit of a container, and the command said "interrupted"."""
    unlimited = (library_threads.resource.RLIM_INFINITY,) * 2
    monkeypatch.setattr(library_threads.resource, "getrlimit", lambda limit: unlimited)
    group = tmp_path / mount / "job" / "step"
    group.mkdir(parents=True)
    line = "0::/job/step\n" if mount == "." else "8:pids:/job/step\n"
    (tmp_path / "membership").write_text(f"4:memory:/other\n{line}")
    # The limit is that of the group above.
    (group.parent / "pids.max").write_text(f"{most}\n")
    if used is not None:
        (group.parent / "pids.current").write_text(f"{used}\n")
    monkeypatch.setattr(system_memory, "_CONTROL_GROUPS", str(tmp_path))
    monkeypatch.setattr(system_memory, "_MEMBERSHIP", str(tmp_path / "membership"))
    monkeypatch.setattr(sys, "meta_path", [])
    library_threads.refuse_without_threads()
    assert bool(sys.meta_path) == is_checked


@pytest.mark.parametrize(
    ("variable", "arguments", "end"),
    [
        ("", ["train", "--threads", "1"], ", or use fewer threads: OMP_NUM_THREADS=1"),
        ("1", ["train", "--threads", "2"], ", or use fewer threads"),
        ("1", ["train", "--threads", "1"], "container)"),
        ("1", ["train", "--threads=1"], "container)"),
    ],
)
def test_fewer_threads_than_one_are_not_proposed(monkeypatch, variable, arguments, end):
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    error = system_error(RuntimeError("can't start new thread"), "slmtok", (), arguments)
    assert error.fix.endswith(end)


def test_an_abort_is_reported():
    """As Rust and C++ end a process where memory runs out."""
    code = "import os\nfrom slmtok._engine import report_fatal_signals\nreport_fatal_signals()\nos.abort()"
    done = run(code)
    assert done.returncode == 1
    assert done.stderr.startswith("error: not enough memory, or a fault of a library: it ended the command (SIGABRT)\n")


UNMAPPED = "unicodedata.so: failed to map segment from shared object"


@pytest.mark.parametrize("raised", [MemoryError(), ImportError(UNMAPPED)])
def test_too_little_memory_to_start_is_told(monkeypatch, capsys, raised):
    def load():
        raise raised

    monkeypatch.setattr(entry_point, "exit_on_interrupt", lambda: None)
    assert entry_point.run_program(load) == 1
    assert capsys.readouterr().err.startswith("error: not enough memory to start\n")
    raised = ImportError("no module")
    with pytest.raises(ImportError, match="no module"):
        entry_point.run_program(load)
