"""The frame around all commands of `slm`: help, version, wrong usage, no torch, closed streams."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slmmodel.cli import APP, COMMANDS
from slmmodel.cli.inspection import info
from slmmodel.errors import ERRORS, MissingPackage, SlmmodelError
from slmtok.cli.output import Outcome, encode_envelope
from slmtok.cli.system_errors import system_error
from slmtok.errors import InternalError

ROOT = Path(__file__).parents[3]
FLAGS_FILE = Path(__file__).parent / "flags.txt"


def frozen_flags() -> dict[str, list[str]]:
    """The flags of each command, one section a command."""
    sections = FLAGS_FILE.read_text(encoding="utf-8").split("\n\n")
    return {name.strip("[]"): flags for name, *flags in (section.strip().split("\n") for section in sections)}


def test_help_lists_every_command(slm):
    ran = slm("--help")
    assert (ran.code, ran.out, ran.err) == (0, APP.help_text(), "")
    for name, command in COMMANDS.items():
        assert f"  {name} " in ran.out and command.summary in ran.out


def test_no_command_is_wrong_usage(slm):
    ran = slm()
    assert (ran.code, ran.out, ran.err) == (2, "", APP.help_text())
    assert slm("--version").out == slm("-V").out and slm("-V").out.startswith("slm ")


def run_process(*arguments: object, without: tuple[str, ...] = ("torch",)) -> subprocess.CompletedProcess[str]:
    """`slm` in a process of its own, which fails with status 99 where it imports one of these modules."""
    code = (
        f"import sys\nfrom slmmodel.cli import main\nstatus = main({list(map(str, arguments))!r})\n"
        f"found = [name for name in {without} if name in sys.modules]\nprint(*found, file=sys.stderr)\n"
        "sys.exit(99 if found else status)"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


LINES = """
import io, json, sys
from slmmodel.cli import main
for line in json.loads(sys.argv[1]):
    streams = sys.stdout, sys.stderr = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    status = main(line)
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    assert "torch" not in sys.modules, line
    print(json.dumps([status, out, err]))
"""


def run_without_torch(lines: list[list[str]]) -> list[tuple[int, str, str]]:
    """Exit status, stdout and stderr of commands, one after another in a process that fails where one imports torch."""
    done = subprocess.run(
        [sys.executable, "-c", LINES, json.dumps(lines)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_help_needs_nothing_and_no_time():
    began = time.perf_counter()
    done = run_process("--help", without=("numpy", "torch", "slmtok._native", "pydantic", "rich"))
    assert done.returncode == 0, done.stderr
    assert time.perf_counter() - began < 5.0, "half a second is meant; machines that run tests are busy"


def test_every_command_exists_and_has_help_without_torch():
    ran = run_without_torch([[name, "--help"] for name in COMMANDS])
    for name, (code, out, err) in zip(COMMANDS, ran, strict=True):
        assert code == 0 and f"slm {name}" in out, err
        command = APP.command(name)
        assert command.help and command.name == name


@pytest.mark.parametrize("name", COMMANDS)
def test_flags_are_frozen(name):
    """A flag is a promise: a new flag is a new line in `flags.txt`; a missing one breaks the promise."""
    params = APP.command(name).params
    flags = [" ".join([*param.opts, *param.secondary_opts]) for param in params if param.param_type_name == "option"]
    arguments = [param.name for param in params if param.param_type_name == "argument"]
    frozen = frozen_flags()
    assert sorted([*frozen["every command"], *frozen[name]]) == sorted([*flags, *arguments])


def test_wrong_settings_are_reported_before_torch_is_loaded():
    wrong = [
        ["--budget", "weeks=2"],
        ["--set", "optim.lr_rate=1"],
        ["--set", "optim.lr=fast"],
        ["--set", "run.precision=fp8"],
        ["--precision", "fp8"],
        ["--preset", "cpu-demi"],
        ["--device", "0"],
    ]
    for code, _, err in run_without_torch([["train", str(ROOT), "-t", "tok.json", *options] for options in wrong]):
        assert code == 2 and err.startswith("error: "), err


def test_wrong_names_are_reported_before_torch_is_loaded():
    lines = [
        ["bench", "--preset", "cpu-demi"],
        ["info", "cpu-dmo"],
        ["info", "cpu-demo", "--on", "m3-max"],
        ["sample", "none", "--prompt", "x"],
        ["eval", "none"],
        ["resume", "none"],
        ["train", "none"],
        ["plot", "none"],
        ["chat", "none"],
        ["export", "none", "-o", "x"],
        ["batches", "none"],
        ["doctor", "none"],
    ]
    for code, _, err in run_without_torch(lines):
        assert code in (1, 2) and err.startswith("error: "), err


def test_a_misspelt_preset_of_info(slm):
    assert "fix:   slm info cpu-demo" in slm("info", "cpu-dmo", code=2).err


def test_no_flags_without_a_command():
    assert list(frozen_flags()) == ["every command", *COMMANDS]


def test_unknown_command(slm):
    names = ", ".join(COMMANDS)
    ran = slm("inof", "a.json")
    assert ran.code == 2
    assert ran.err == (
        f"error: unknown command 'inof'; did you mean 'info'?\n  limit: commands: {names}\n  fix:   slm info a.json\n"
    )
    assert slm("fly").err == f"error: unknown command 'fly'\n  limit: commands: {names}\n  fix:   slm --help\n"
    assert slm("fly", "--json").json["error"]["class"] == "UnknownName"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_without_torch_the_install_line(slm, monkeypatch, name):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    # A configuration is written to stdout, and another FILE is wrong usage with or without torch.
    ran = slm(name, *(["data"] if name != "config" else []), *(["more"] if name in ("compare", "pairs") else []))
    assert (ran.code, ran.err) == (
        1,
        f"error: 'slm {name}' needs the packages torch, safetensors, pydantic, PyYAML, which are not installed\n"
        "  fix:   pip install torch safetensors pydantic PyYAML\n",
    )


def test_missing_package_is_an_error_of_its_own(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="needs the packages torch, "):
        APP.prepare("info")


@pytest.mark.parametrize(
    "broken", ["raise ImportError('libtorch_cpu.so: no such file')", "raise OSError('no libcudart')"]
)
def test_a_torch_that_cannot_be_imported_is_not_our_fault(tmp_path, broken):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(broken)
    code = (
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom slmmodel.cli import main\nsys.exit(main(['bench']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: torch is installed and cannot be imported: ")
    assert broken[broken.index("'") + 1 : -2] in done.stderr and "--force-reinstall" in done.stderr


@pytest.mark.parametrize(
    ("content", "variables", "refused", "fact"),
    [
        (None, {"TORCH_LOGS": "foo"}, "TORCH_LOGS=foo", "Invalid log settings: foo, must be a comma separated list"),
        (None, {"TORCH_LOGS_OUT": "none/x"}, "TORCH_LOGS_OUT=none/x", "[Errno 2] No such file or directory: '/"),
        ("int(os.environ['TORCH_N'])", {"TORCH_N": "a", "TORCH_M": "a"}, "TORCH_N=a", "invalid literal for int()"),
        ("raise ValueError('no TORCH_N')", {"TORCH_M": "no"}, None, "no TORCH_N"),
    ],
)
def test_a_variable_that_torch_refuses_is_named(tmp_path, content, variables, refused, fact):
    """It was a fault of slmmodel, or of an incomplete torch."""
    if content:
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch/__init__.py").write_text(f"import os\n{content}\n")
    code = (
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom slmmodel.cli import main\nsys.exit(main(['bench']))"
    )
    env = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, env=env)
    if refused is None:
        assert done.stderr.startswith(f"error: unexpected ValueError: {fact}\n")
        return
    name = refused.partition("=")[0]
    assert done.returncode == 2 and done.stderr.startswith(f"error: torch refuses {refused}: {fact}"), done.stderr
    assert done.stderr.endswith(f"  fix:   unset {name}, then run the same command again\n")


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
@pytest.mark.parametrize(
    "broken",
    [
        "raise ImportError('libtorch_cpu.so: failed to map segment from shared object')",
        "raise OSError('libcudart.so.12: cannot allocate memory')",
        "raise MemoryError",
    ],
)
@pytest.mark.parametrize(
    ("name", "hard", "fix"),
    [
        ("RLIMIT_AS", 1 << 40, "ulimit -S -v 1073741824\n"),
        ("RLIMIT_AS", 1 << 34, "a shell or a job with"),
        ("RLIMIT_DATA", 1 << 40, "ulimit -S -d 1073741824\n"),
    ],
)
def test_a_limit_on_memory_is_named_with_its_value(tmp_path, broken, name, hard, fix):
    """Not a fault of the installation."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(broken)
    code = (
        f"import resource, sys\nresource.setrlimit(resource.{name}, ({1 << 34}, {hard}))\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\nfrom slmmodel.cli import main\nsys.exit(main(['bench']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "be loaded: " in done.stderr and "--force-reinstall" not in done.stderr
    flag = {"RLIMIT_AS": "v", "RLIMIT_DATA": "d"}[name]
    assert f"limited to 17,179,869,184 bytes ({name}, ulimit -{flag} 16777216)\n" in done.stderr
    assert f"  fix:   {fix}" in done.stderr


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("raise FileNotFoundError(2, 'No usable temporary directory found')", "TMPDIR"),
        ("raise OSError(24, 'Too many open files')", "ulimit -n"),
        ("raise OSError(28, 'No space left on device', 'x')", "free some space"),
    ],
)
def test_limits_while_torch_is_imported_are_named(tmp_path, broken, said):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(broken)
    code = (
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom slmmodel.cli import main\nsys.exit(main(['bench']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and said in done.stderr and "--force-reinstall" not in done.stderr


def test_wrong_usage(slm):
    ran = slm("info")
    assert (ran.code, ran.err) == (
        2,
        "error: RUN|PRESET|FILE is missing\n  where: slm info\n  fix:   slm info RUN\n",
    )
    ran = slm("info", "a", "--jsno")
    assert ran.code == 2 and "unknown option '--jsno'; did you mean '--json'?" in ran.err


def test_missing_and_damaged_files(slm):
    ran = slm("info", "none.json", "--json")
    assert (ran.code, ran.json["ok"], ran.json["error"]["class"]) == (1, False, "MissingInput")
    assert ran.err.startswith("error: no file or folder 'none.json'\n")
    Path("v.json").write_text("{")
    damaged = slm("info", "v.json").err
    assert damaged.startswith("error: v.json is not valid vocabulary metadata: it is not JSON: ")
    assert "Traceback" in slm("info", "none.json", "--traceback").err


def test_a_fault_of_ours_is_told_as_one(slm, monkeypatch):
    def broken(subject: str, on: str | None, diagram: bool) -> object:
        raise ZeroDivisionError("by accident")

    monkeypatch.setattr(info, "callback", broken)
    ran = slm("info", "presets")
    assert ran.code == 1 and ran.err.startswith("error: unexpected ZeroDivisionError: by accident\n  limit: ")


@pytest.mark.parametrize("said", ["DefaultCPUAllocator: can't allocate memory", "could not create a primitive"])
def test_memory_that_torch_does_not_get_is_no_fault_of_ours(slm, monkeypatch, said):
    """`slm demo` with 64 MB of memory left ended with an internal error."""
    import torch  # noqa: F401

    def broken(subject: str, on: str | None, diagram: bool) -> object:
        raise RuntimeError(said)

    monkeypatch.setattr(info, "callback", broken)
    ran = slm("info", "presets")
    assert ran.code == 1 and ran.err.startswith(f"error: not enough memory: {said}\n  limit: free memory")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_that_somebody_swallows_is_no_fault_of_ours(slm, monkeypatch, number, code):
    def stumbles(subject: str, on: str | None, diagram: bool) -> object:
        try:
            signal.raise_signal(number)
        except BaseException:
            raise AttributeError("half imported") from None

    monkeypatch.setattr(info, "callback", stumbles)
    before = signal.getsignal(number)
    ran = slm("info", "presets")
    assert (ran.code, ran.out, ran.err) == (code, "", "interrupted\n" if code == 130 else "terminated\n")
    assert signal.getsignal(number) is before


def test_an_end_by_the_library_after_sigterm_is_told_as_any_other(slm, monkeypatch):
    def saves(subject: str, on: str | None, diagram: bool) -> object:
        raise SystemExit(143)

    monkeypatch.setattr(info, "callback", saves)
    ran = slm("info", "presets")
    assert (ran.code, ran.out, ran.err) == (143, "", "terminated\n")


def test_an_interrupt_that_is_ignored_stays_so(slm, monkeypatch):
    monkeypatch.setattr(
        info, "callback", lambda subject, on, diagram: signal.raise_signal(signal.SIGINT) or Outcome({})
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert slm("info", "presets").code == 0
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("said", [{}, {"OMP_WAIT_POLICY": "active"}, {"GOMP_SPINCOUNT": "5"}])
def test_threads_that_wait_sleep_unless_told_otherwise(slm, monkeypatch, said):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    found = {}
    monkeypatch.setattr(info, "callback", lambda subject, on, diagram: found.update(os.environ) or Outcome({}))
    slm("info", "presets")
    assert {name: found[name] for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT") if name in found} == (
        said or {"GOMP_SPINCOUNT": "10000"}
    )


def test_errors_of_the_frame():
    with pytest.raises(InternalError, match="unexpected"):
        raise system_error(ValueError("x"), "slmmodel")
    for error in ERRORS:
        assert issubclass(error, SlmmodelError) and error.__doc__


def test_json_has_no_infinities():
    assert '"a": null' in encode_envelope("x", {}, result={"a": float("inf")})


@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-", "2>&-", "2> /dev/full"])
@pytest.mark.parametrize(("arguments", "code"), [("--help", 0), ("info none.json", 1), ("fly", 2)])
def test_streams_that_are_closed_or_full(redirection, arguments, code):
    line = f"{sys.executable} -m slmmodel {arguments} {redirection}"
    done = subprocess.run(line, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    failed = redirection in ("> /dev/full", ">&-") and code == 0
    assert done.returncode == (1 if failed else code)
    assert done.stderr.startswith("error: cannot write to stdout: ") == failed or redirection == "> /dev/full"
    assert "Traceback" not in done.stderr
