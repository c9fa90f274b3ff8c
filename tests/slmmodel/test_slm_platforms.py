"""Systems without POSIX: the commands of `slm` under the rules of Windows."""

from __future__ import annotations

from pathlib import Path

import windows_rules

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


@windows_rules.needs_linux
def test_commands_under_the_rules_of_windows(tmp_path: Path) -> None:
    assert "unknown on this system" in windows_rules.run(COMMANDS, tmp_path)
