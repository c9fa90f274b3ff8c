"""SIGKILL of real processes until one finishes: the folder equals that of an uninterrupted run.

Each process dies at one of the moments at which something has just been made durable, those between the last shard and
the manifest among them, or at any time at all. `SLMTOK_KILLS=50` makes it fifty.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from slmtok_shards import content

KILLS = int(os.environ.get("SLMTOK_KILLS", "4"))

PROGRAM = """
import os, signal, sys
import slmtok.corpus.reading
slmtok.corpus.reading.CHUNK_BYTES = 2000
import slmtok.shards.writer as writer
writer.CHECKPOINT_SECONDS = 0.0
left, real = [int(sys.argv[1])], os.fsync
def fsync(descriptor):
    real(descriptor)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = fsync
from slmtok.cli import main
code = main(sys.argv[2:])
sys.stderr.write(f"syncs {int(sys.argv[1]) - left[0]}\\n")
sys.exit(code)
"""


def run(tmp_path, records, tokenizer, out, syncs, after=None):
    """(exit status, stderr) of `slmtok pack` that dies at its `syncs`-th sync, or `after` some seconds."""
    command = [sys.executable, "-c", PROGRAM, str(syncs), "pack", str(records), "-t", str(tmp_path / "tok.json")]
    command += ["-o", str(tmp_path / out), "--shard-tokens", "4000", "--threads", "2", "--quiet"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if after is not None:
        time.sleep(after)
        process.kill()
    _, err = process.communicate(timeout=120)
    return process.returncode, err.decode()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.timeout(600 + 20 * KILLS)
def test_killed_at_random_moments(records, tokenizer, tmp_path):
    seed = int(os.environ.get("SLMTOK_SEED", "20261121"))
    chance = random.Random(seed)
    tokenizer.save(tmp_path / "tok.json")
    begun = time.monotonic()
    code, err = run(tmp_path, records, tokenizer, "whole", 1 << 40)
    seconds = time.monotonic() - begun
    assert code == 0
    whole, syncs = content(tmp_path / "whole"), int(err.split("syncs ")[1])
    # The last ones are around the manifest.
    moments = [syncs - 1, syncs - 4, *(chance.randrange(1, syncs) for _ in range(KILLS))][:KILLS]
    for number, moment in enumerate(moments):
        out = f"d{number}"
        after = chance.uniform(0.3, 1.0) * seconds if number % 4 == 3 else None
        code, err = run(tmp_path, records, tokenizer, out, 1 << 40 if after else moment, after)
        if code == 0:
            assert content(tmp_path / out) == whole
            continue
        assert code == -signal.SIGKILL, err
        known = certain(tmp_path / out)
        if not (tmp_path / out / "manifest.json").exists() or (tmp_path / out / "journal.jsonl").exists():
            code, err = run(tmp_path, records, tokenizer, out, 1 << 40)
            assert code == 0, f"seed {seed}, kill {number}: {err}"
        assert content(tmp_path / out) == whole, f"seed {seed}, kill {number}"
        for name, inode in known.items():
            assert (tmp_path / out / name).stat().st_ino == inode


def certain(folder):
    """The inodes of the shards that the journal knows."""
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    names = [f"{shard['name']}.bin" for line in lines for shard in json.loads(line).get("shards", [])]
    return {name: (folder / name).stat().st_ino for name in names}
