"""`slm plot`, and the result of a run in `slm info`."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")
ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "slmmodel" / "training"))

import small  # noqa: E402

from slmmodel.checkpoint import RunFolder  # noqa: E402
from slmmodel.cli import main  # noqa: E402
from slmmodel.cli.curves import _tick  # noqa: E402
from slmmodel.trainer import train  # noqa: E402
from slmmodel.training import status  # noqa: E402


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    data = small.data(folder / "data")
    for name, seed in (("a", 0), ("b", 1)):
        train(small.settings(data, run__seed=seed), output=folder / name)
    train(small.settings(data), output=folder / "running", report=small.stop_at(5))
    with (folder / "running" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 6, "los')
    return folder


def test_runs_are_overlaid_with_title_and_units(slm, runs):
    slm("plot", runs / "a", runs / "b", "-o", "x.svg", code=0)
    svg = Path("x.svg").read_text()
    # matplotlib draws text as paths, and keeps it in comments.
    texts = re.findall(r"<!-- (.*?) -->", svg)
    assert any(text.startswith("Training of ") for text in texts)
    labels = {"step", "ids seen", "bytes of text seen", "seconds of training", "loss (nats per id)", "bits per byte"}
    assert labels <= set(texts)
    assert {f"{runs / name}{more}" for name in "ab" for more in ("", ", validation")} <= set(texts)
    slm("plot", runs / "a", runs / "b", "-o", "again.svg", code=0)
    assert Path("again.svg").read_text() == svg, "equal runs give equal bytes"


def test_names_are_no_formulas_and_are_all_in_the_legend(slm, runs):
    names = ["a$5_$", "_b", r"c$\d$"]
    for name in names:
        shutil.copytree(runs / "a", name)
    slm("plot", *names, "--against", "step", "-o", "x.svg", code=0)
    texts = re.findall(r"<!-- (.*?) -->", Path("x.svg").read_text())
    assert f"Training of {', '.join(names)}" in texts
    assert [text.strip() for text in texts if text.strip() in names] == names


def test_numbers_on_an_axis_are_short():
    assert [_tick(value) for value in (0, 2.5, 30, 1000, 160_000, 1.5e6, 2e9)] == [
        *("0", "2.5", "30", "1k", "160k", "1.5M", "2G")
    ]


@pytest.mark.filterwarnings("error")
def test_names_leave_room_for_the_curves(slm, runs):
    for name in ("x" * 255, "a\tb", "\u65e5\u672c"):
        shutil.copytree(runs / "a", name)
        slm("plot", name, "--against", "step", "-o", "x.svg", "--force", code=0)
        slm("report", name, "-o", "x.html", "--force", code=0)
    slm("report", "x" * 255, "a\tb", "-o", "x.html", "--force", code=0)
    slm("plot", "x" * 255, "--against", "step", "-o", "x.svg", "--force", code=0)
    assert f"<!-- {'x' * 30}…{'x' * 29} -->" in Path("x.svg").read_text()


@pytest.mark.parametrize("name", ["x.png", "x.html"])
def test_pictures(slm, runs, name):
    ran = slm("plot", runs / "a", "--against", "step", "-o", name, "--json", code=0)
    assert ran.json["result"]["runs"] == [{"path": str(runs / "a"), "step": 12, "lines": 12}]
    content = Path(name).read_bytes()
    assert content.startswith(b"\x89PNG" if name == "x.png" else b"<!doctype html>")
    assert name == "x.png" or (content.count(b"<svg") == 1 and b"<?xml" not in content)
    assert "exists" in slm("plot", runs / "a", "-o", name, code=1).err


def test_of_a_long_log_a_picture_has_what_can_be_seen(slm, runs, monkeypatch):
    shutil.copytree(runs / "a", "long")
    first = json.loads(Path("long/metrics.jsonl").read_text().splitlines()[0])
    lines = [{**first, "step": step, "tokens": step, "bytes": step, "seconds": step} for step in range(1, 2001)]
    for step, changes in {700: {"loss": 9.5}, 1203: {"loss": 0.1}, 1500: {"val_loss": 2.0, "val_bpb": 1.0}}.items():
        lines[step - 1] |= changes
    Path("long/metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"step": 2001')
    whole = status.read_metrics(Path("long"))
    assert status.read_drawn(Path("long")) == (whole, 2000, 0, 0)
    monkeypatch.setattr(status, "_MIN_THINNED_BYTES", 1)
    monkeypatch.setattr(status, "_PARTS", 50)
    drawn, n_lines, *_ = status.read_drawn(Path("long"))
    assert n_lines == 2000 and len(drawn) < 120 and all(line in whole for line in drawn)
    assert {1, 700, 1203, 1500, 2000} <= {line["step"] for line in drawn}
    ran = slm("plot", "long", "--against", "step", "-o", "x.png", "--json", code=0)
    assert ran.json["result"]["runs"] == [{"path": "long", "step": 2000, "lines": 2000}]
    assert ran.json["warnings"] == []
    for number, damaged in ((800, '{"step": 800, "lo'), (900, "\0" * 40), (905, '{"loss": 2.0, "st\ufffdp": 905}')):
        lines[number - 1] = damaged
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    Path("long/metrics.jsonl").write_text("".join(f"{line}\n" for line in texts), encoding="utf-8")
    ran = slm("plot", "long", "--against", "step", "-o", "y.png", code=0)
    assert "long/metrics.jsonl: 3 damaged lines left out, first line 800\n" in ran.err


def test_the_variable_of_windows_is_of_no_use_to_a_file(runs, tmp_path):
    variables = {**os.environ, "MPLBACKEND": "nonsense", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "slmmodel", "plot", str(runs / "a"), "-o", "x.svg"]
    subprocess.run(command, cwd=tmp_path, env=variables, check=True)


def test_a_running_run(slm, runs):
    """Also while its last line is being written."""
    result = slm("plot", runs / "running", "--json", code=0).json["result"]
    assert result["runs"][0]["step"] == 5 and Path("curves.png").is_file()


def test_what_plot_refuses(slm, runs):
    assert "is not a picture" in slm("plot", runs / "a", "-o", "x.pdf", code=2).err
    assert "no folder 'none'" in slm("plot", "none", code=1).err
    metrics = runs / "a" / "metrics.jsonl"
    for output in (["-o", "x.pdf"], ["--output=x.pdf"]):
        written = " ".join(output).replace("pdf", "svg")
        assert f"fix:   slm plot {runs / 'a'} {written}\n" in slm("plot", metrics, *output, code=1).err
    assert not list(Path().iterdir())


def test_info_shows_the_result(slm, runs):
    ran = slm("info", runs / "a", code=0)
    bits = RunFolder.open(runs / "a").result["val_bpb"]
    assert "ended       finished, step 12 of 12" in ran.out and f"{bits:.4f} bits per byte" in ran.out
    assert "reached     step 5, " in slm("info", runs / "running", code=0).out


def test_a_name_with_control_characters_gives_sound_svg(slm, runs, tmp_path):
    name = "e\x1b[31m.d"
    shutil.copytree(runs / "a", tmp_path / name)
    slm("plot", name, "-o", "y.svg", code=0)
    assert "e\\x1b[31m.d" in "".join(ElementTree.parse("y.svg").getroot().itertext()) + Path("y.svg").read_text()


def test_a_picture_for_stdout_is_an_output(slm, runs, monkeypatch):
    words = ["plot", str(runs / "a"), "--against", "step"]
    line = f"slm {shlex.join(words)} -o x.svg --force"
    for name, fix in {"x.svg": f"{line} writes it to x.svg", "x.log": "-o NAME gives it another name"}.items():
        Path("curves.png").unlink(missing_ok=True)
        with Path(name).open("w") as file, monkeypatch.context() as patch:
            patch.setattr("sys.stdout", file)
            patch.setattr("sys.stderr", error := io.StringIO())
            assert main(words) == 0
        assert error.getvalue() == f"note: the output is in curves.png, and stdout has its summary; {fix}\n"
    slm(*shlex.split(line)[1:], code=0)
    assert "<svg" in Path("x.svg").read_text()
