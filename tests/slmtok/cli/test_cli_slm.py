"""`slm`: help without torch, the install line where torch is needed, and what `slm info` reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slmmodel import cli


def test_help_needs_nothing(capsys):
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert out == cli.help_text()
    for name, command in cli.COMMANDS.items():
        assert f"  {name}  {command.summary}" in out
    code = (
        "import sys\nfrom slmmodel.cli import main\nmain(['--help'])\n"
        "found = [name for name in ('numpy', 'torch', 'slmtok', 'typer', 'rich') if name in sys.modules]\n"
        "assert not found, found"
    )
    root = Path(cli.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_command_and_unknown_command(capsys):
    assert cli.main([]) == 2
    assert capsys.readouterr().err == cli.help_text()
    assert cli.main(["fly"]) == 2
    assert capsys.readouterr().err == "error: unknown command 'fly'\n  limit: commands: info\n  fix:   slm --help\n"


def test_without_torch_the_install_line(capsys, monkeypatch):
    monkeypatch.setitem(cli.COMMANDS, "train", cli.Command("slmmodel.cli.train", "train a model", needs="torch"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.main(["train", "data"]) == 1
    assert capsys.readouterr().err == (
        "error: 'slm train' needs torch, which is not installed\n  fix:   pip install 'slmtok[model]'\n"
    )


def test_info(capsys, slmtok, tok):
    assert slmtok("vocab", tok, "--metadata", "-o", "vocab.json").code == 0
    assert cli.main(["info", "vocab.json"]) == 0
    out = capsys.readouterr().out
    assert "1,000, padded 1,024" in out and "2 eos" in out
    assert cli.main(["info", "vocab.json", "--json"]) == 0
    assert '"schema": "slm.info/1"' in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["info"], ["info", "a", "--frob"]])
def test_wrong_usage(capsys, arguments):
    assert cli.main(arguments) == 2


def test_missing_and_damaged_files(capsys, slmtok):
    assert cli.main(["info", "none.json"]) == 1
    assert capsys.readouterr().err == "error: cannot read 'none.json': No such file or directory\n"
    Path("v.json").write_text("{")
    assert cli.main(["info", "v.json"]) == 1
    assert capsys.readouterr().err.startswith("error: v.json is not sound vocabulary metadata: ")


@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-", "2>&-", "2> /dev/full"])
@pytest.mark.parametrize(("arguments", "code"), [("--help", 0), ("info none.json", 1), ("fly", 2)])
def test_streams_that_are_closed_or_full(redirection, arguments, code):
    line = (
        f"{sys.executable} -c 'import sys; from slmmodel.cli import main; sys.exit(main())' {arguments} {redirection}"
    )
    root = Path(cli.__file__).parents[2]
    done = subprocess.run(line, shell=True, cwd=root, capture_output=True, text=True, check=False)
    failed = redirection == ">&-" or (redirection == "> /dev/full" and code == 0)
    assert done.returncode == (1 if failed else code)
    assert done.stderr.startswith("error: cannot write to stdout: ") == failed
    assert "Traceback" not in done.stderr
