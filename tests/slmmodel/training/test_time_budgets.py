"""A budget of time where the process is stopped for a while, or steps take longer than the probe said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import small

from slmmodel.trainer import train
from slmmodel.training.running_clock import RunningClock
from slmmodel.training.step import TrainStep


def learning_rates(run: Path) -> list[float]:
    return [line["lr"] for line in small.lines(run)]


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows stops no process by a signal")
def test_the_clock_stands_still_while_the_process_is_stopped():
    code = "import time; from slmmodel.training import running_clock as r\nr.MIN_STOP_SECONDS = 3.0\n"
    code += "c = r.RunningClock(); a = c.seconds\n"
    code += "print('begun', flush=True); time.sleep(0.5)\ninput(); print(c.seconds - a, c.stopped); c.close()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(4)
        os.kill(process.pid, signal.SIGCONT)
        running, stopped = map(float, process.communicate("\n")[0].split())
    assert running < 3.0 < stopped


def test_a_slow_step_is_no_stop(monkeypatch):
    """The thread ticks in it; the clock of the test goes 3 seconds on between two readings."""
    clock = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr("slmmodel.training.running_clock.time", SimpleNamespace(perf_counter=lambda: clock.seconds))
    running = RunningClock()
    for _ in range(10):
        clock.seconds += 3
        assert running.seconds == clock.seconds
    running.close()
    clock.seconds += 100
    assert (running.seconds, running.stopped) == (130, 0)


def timed(data: Path, monkeypatch: Any, seconds_of_step: Any) -> dict[str, Any]:
    """Settings of a run of 12.5 seconds, planned as 100 steps; by the clock step i takes `seconds_of_step(i)`."""
    clock, take = SimpleNamespace(seconds=0.0), TrainStep.take

    def slow(self: TrainStep, batch: Any, step: int, upcoming: Any) -> Any:
        clock.seconds += seconds_of_step(step)
        return take(self, batch, step, upcoming)

    monkeypatch.setattr(TrainStep, "take", slow)
    monkeypatch.setattr(TrainStep, "seconds_per_step", lambda self, seconds: 0.125)
    monkeypatch.setattr("slmmodel.training.running_clock.time", SimpleNamespace(perf_counter=lambda: clock.seconds))
    schedule = {"optim__schedule__warmup": 5, "optim__schedule__decay": 40}
    cheap = {"model__n_layers": 1, "data__val": "none", "run__eval_every": 0, "run__save_every": 50}
    return small.settings(data, run__budget__time="12.5s", run__log_every=1, **schedule, **cheap)


def test_a_stopped_process_keeps_its_decay(data, tmp_path, monkeypatch):
    settings = timed(data, monkeypatch, lambda step: 0.125 + 12 * (step == 30))
    result = train(settings, output=tmp_path / "run")
    rates = learning_rates(tmp_path / "run")
    assert result.step in (100, 101) and rates[-1] < rates[50] / 20 and result.seconds <= 12.5
    assert "the process was stopped for 12.1 s, which the budget of time does not count" in result.notes


@pytest.mark.parametrize("seconds", [0.25, 0.5])
def test_the_decay_of_slow_steps_begins_at_its_share_of_the_time(data, tmp_path, monkeypatch, seconds):
    """They take two and four times what the probe said."""
    result = train(timed(data, monkeypatch, lambda step: seconds), output=tmp_path / "run")
    rates, steps = learning_rates(tmp_path / "run"), round(12.5 / seconds)
    assert (result.step, result.seconds) == (steps, 12.5)
    # The first step of the decay has the whole rate.
    assert sum(rate < max(rates) for rate in rates[5:]) == round(0.4 * steps) - 1
    assert rates[-1] <= 0.11 * max(rates) and not any("decay" in note for note in result.notes)


def test_a_decay_that_one_slow_step_shortens_is_named(data, tmp_path, monkeypatch):
    """It takes 4.9 seconds, and is the last but one before the decay."""
    result = train(timed(data, monkeypatch, lambda step: 0.125 + 4.75 * (step == 58)), output=tmp_path / "run")
    note = "the decay of the learning rate has 1 step, not 40: 12.1 s of the budget of 12.5 s were spent when it began"
    assert any(each.startswith(note) for each in result.notes), result.notes


def test_a_schedule_without_decay_ends_with_its_time(data, tmp_path, monkeypatch):
    settings = timed(data, monkeypatch, lambda step: 0.25)
    del settings["optim.schedule.decay"]
    result = train(settings | {"optim.schedule.kind": "const"}, output=tmp_path / "run")
    rates = learning_rates(tmp_path / "run")
    assert result.step == 50 and rates[-1] == max(rates) and not any("decay" in note for note in result.notes)
