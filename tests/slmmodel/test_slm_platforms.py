"""Systems without POSIX: the commands of `slm` under the rules of Windows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ["slm", "train", "data", "-o", "run", "--preset", "cpu-demo", "--budget", "steps=4"]
SMALL = {
    "model.d_model": 32,
    "model.n_layers": 1,
    "model.n_heads": 2,
    "model.n_kv_heads": 1,
    "model.d_ff": 64,
    "model.seq_len": 32,
    "run.batch_tokens": 128,
    "run.save_every": 1,
    "run.eval_every": 2,
    "run.keep": 1,
    "run.threads": 1,
}
SETTINGS = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
COMMANDS: list[list[str | int]] = [
    ["slmtok", "sample-corpus", "--bytes", "100kB", "-o", "c.txt", 0],
    ["slmtok", "train", "c.txt", "--vocab", "400", "-o", "tok.json", 0],
    ["slmtok", "pack", "c.txt", "--separator", "\n\n", "-t", "tok.json", "--val", "hash:10%", "-o", "data", 0],
    [*TRAIN, *SETTINGS, 0],
    [*TRAIN, *SETTINGS, "--force", 0],
    ["slm", "resume", "run", "--step", "4", "-o", "branch", "--set", "run.budget.steps=5", 0],
    ["slm", "eval", "run", 0],
    ["slm", "sample", "run", "--prompt", "Once", "--max-new", "4", 0],
    ["slm", "doctor", 0],
    ["slm", "export", "run", "-o", "hf", 0],
    ["slm", "export", "run", "-o", "hf", "--force", 0],
]


@pytest.mark.skipif(sys.platform != "linux" or sys.version_info < (3, 11), reason="reads /proc; patches os")
def test_commands_under_the_rules_of_windows(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    command = [sys.executable, "-m", "windows_rules", json.dumps(COMMANDS)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "unknown on this system" in done.stdout
