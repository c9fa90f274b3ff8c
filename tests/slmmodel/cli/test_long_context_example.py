"""`examples/long-context`: parquet to a trained model, killed and resumed, with status, passkeys and curves."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

for package in ("torch", "pyarrow", "matplotlib"):
    pytest.importorskip(package)
ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="needs bash and SIGKILL")
def test_the_script_at_a_small_size(tmp_path: Path, commands: Mapping[str, str]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    sizes = {"STEPS": "12", "BATCH": "512", "BYTES": "100kB", "VOCAB": "600", "SAMPLES": "1", "LENGTHS": "512"}
    env = {**commands, **sizes, "PYTHONPATH": str(ROOT)}
    script = [shutil.which("bash") or "bash", str(ROOT / "examples" / "long-context" / "run.sh")]
    ran = subprocess.run(script, cwd=work, env=env, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    killed, finished = (part for part in ran.stdout.split("verdict")[1:])
    assert "killed: no sign of process" in killed and "slm status: exit status 3" in killed and "gates" in killed
    assert "finished: step 12 of 12" in finished and re.search(r"layer 3: mean 0\.[45]", finished)
    lines = [json.loads(line) for line in (work / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, 13)), "each step once"
    assert [path.name for path in (work / "parquet").iterdir() if path.suffix != ".parquet"] == []
    written = {path.name for path in work.iterdir()}
    assert written == {"corpus.txt", "parquet", "tok.json", "tok.lock", "run", "passkey.png", "curves.svg"}
    for name, ignored in (("passkey", False), ("passkey-ignore-memory", True)):
        result = json.loads((work / "run" / "eval" / f"{name}.json").read_text())["payload"]
        assert result["settings"]["ignore_memory"] is ignored and len(result["cells"]) == 3
        assert result["trained_on_passkeys"] == 0.05
    assert "<!-- gate: weight of the memory -->" in (work / "curves.svg").read_text()
