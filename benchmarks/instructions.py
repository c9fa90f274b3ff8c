"""Instructions of a fixed workload, against stored counts: a lost fast path shows, whatever else the machine does.

`python -m benchmarks.instructions check` compares, `accept` stores. The workload is the bench `instructions` of the
engine's core, run under callgrind, which knows AVX2 but not AVX-512. Counts depend on the compiler, on the C library
and on the tier of the scanners that was chosen: where one of them is another, nothing is compared, a line says so, and
the status is 3, for a guard that did not look has not passed. They say nothing of caches and of memory, so they
replace no benchmark.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
STORED = Path(__file__).with_suffix(".json")
FUNCTION = "instructions::measured"
# Seeds of hashes differ from run to run, and with them a few probes and a rehash: in nine runs counting differed by
# 1.2 %, all other cases by less than 0.3 %.
TOLERANCE = 0.03
NOT_COMPARED = 3
PACKAGE = ["--locked", "--package", "slmtok-core", "--features", "testing"]
BUILD = ["bench", "--no-run", *PACKAGE, "--bench", "instructions", "--message-format", "json"]


def built() -> Path:
    """The compiled workload."""
    command = [os.environ.get("CARGO", "cargo"), *BUILD]
    run = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    executables = [json.loads(line).get("executable") for line in run.stdout.splitlines() if '"executable"' in line]
    return Path(next(name for name in executables if name))


def totals(folder: Path) -> list[int]:
    """What callgrind wrote, one file each time that the function was left; the rest, without a number, is the last."""
    parts = sorted((int(path.suffix[1:]), path) for path in folder.glob("counts.*"))
    found = (re.search(r"^totals: (\d+)$", path.read_text(encoding="utf-8"), re.MULTILINE) for _, path in parts)
    return [int(match[1]) for match in found if match]


def counted(program: Path) -> tuple[str, dict[str, int]]:
    """(tier of the scanners, instructions of each case)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = [f"--toggle-collect={FUNCTION}", f"--dump-after={FUNCTION}", "--collect-atstart=no"]
        command = ["valgrind", "--quiet", "--tool=callgrind", *options, f"--callgrind-out-file={folder / 'counts'}"]
        run = subprocess.run([*command, str(program)], check=True, stdout=subprocess.PIPE, text=True)
        lines = run.stdout.splitlines()
        cases = [line.removeprefix("case ") for line in lines if line.startswith("case ")]
        numbers = totals(folder)
    if len(numbers) != len(cases) or not all(numbers):
        raise SystemExit(f"error: {len(cases)} cases, but {len(numbers)} counts: is {FUNCTION} still a function?")
    return lines[0].removeprefix("tier "), dict(zip(cases, numbers, strict=True))


def offered() -> str:
    """The tier that this machine offers under valgrind; a worse one is a lost fast path, not another machine."""
    if platform.machine() in ("arm64", "aarch64"):
        return "Neon"
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = set(next((line for line in lines if line.startswith("flags")), "").split())
    return "Avx2" if flags >= {"avx2", "bmi1", "bmi2", "abm", "popcnt"} else "Portable"


def conditions(tier: str) -> dict[str, str]:
    """What counts depend on besides the code."""
    version = subprocess.run(["rustc", "-vV"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    facts = dict(line.split(": ", 1) for line in version.splitlines() if ": " in line)
    return {"rustc": facts["release"], "target": facts["host"], "libc": " ".join(platform.libc_ver()), "tier": tier}


def compared(stored: dict[str, int], found: dict[str, int]) -> list[str]:
    """Lines on cases that are beyond the tolerance, or not on both sides."""
    lines = []
    for case in sorted(stored.keys() | found.keys()):
        old, new = stored.get(case), found.get(case)
        if old is None or new is None:
            lines.append(f"{case}: {'new' if old is None else 'gone'}")
        elif abs(new - old) > TOLERANCE * old:
            lines.append(f"{case}: {old:,} before, {new:,} now ({new / old - 1:+.1%})")
    return lines


def check(where: dict[str, str], found: dict[str, int]) -> int:
    """Prints the outcome; 1 if something changed, 3 if nothing could be compared."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    other = [f"{key} {stored['conditions'].get(key)}, here {value}" for key, value in where.items()]
    other = [line for key, line in zip(where, other, strict=True) if stored["conditions"].get(key) != where[key]]
    if other:
        print(f"instructions: not comparable, they were stored under {'; '.join(other)}")
        return NOT_COMPARED
    changed = compared(stored["instructions"], found)
    if changed:
        print(f"instructions: {len(changed)} of {len(found)} cases beyond {TOLERANCE:.0%}", *changed, sep="\n  ")
        print("A slower path is a defect. If it is meant, or is faster: make instructions-accept, and say why.")
        return 1
    print(f"instructions: {len(found)} cases within {TOLERANCE:.0%} of what is stored")
    return 0


def main(arguments: list[str]) -> int:
    """Checks or accepts."""
    if arguments not in (["check"], ["accept"]):
        print("usage: python -m benchmarks.instructions check|accept", file=sys.stderr)
        return 2
    if shutil.which("valgrind") is None:
        print("instructions: not counted, valgrind is missing; on Debian and Ubuntu: apt install valgrind")
        return NOT_COMPARED
    tier, found = counted(built())
    if tier != offered():
        print(f"instructions: the scanners run in the tier {tier}, and this machine offers {offered()}")
        return 1
    where = conditions(tier)
    if arguments == ["check"]:
        return check(where, found)
    content = {"conditions": where, "instructions": found}
    STORED.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"instructions: stored {len(found)} cases in {STORED.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
