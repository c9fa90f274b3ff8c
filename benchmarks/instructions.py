"""Instruction counts of a fixed workload, against stored counts: shows a lost fast path on any machine, loaded or not.

`python -m benchmarks.instructions check` compares, `accept` stores. The workload is the bench `instructions` of the
core, run under callgrind, which knows AVX2 but not AVX-512. Counts depend on the compiler, the C library and the SIMD
level of the scanners; if one of them differs from the stored conditions, nothing is compared and the status is 3, not
0. Caches and memory have no effect on the counts, so they replace no benchmark.
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
# Hash seeds differ between runs, and so do probes and rehashes: over nine runs counting varied by 1.2 %, all other
# cases by less than 0.3 %.
TOLERANCE = 0.03
NOT_COMPARED = 3
PACKAGE = ["--locked", "--package", "slmtok-core", "--features", "testing"]
BUILD = ["bench", "--no-run", *PACKAGE, "--bench", "instructions", "--message-format", "json"]


def build_workload() -> Path:
    """Compiles the workload; returns its path."""
    command = [os.environ.get("CARGO", "cargo"), *BUILD]
    run = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    executables = [json.loads(line).get("executable") for line in run.stdout.splitlines() if '"executable"' in line]
    return Path(next(name for name in executables if name))


def totals(folder: Path) -> list[int]:
    """The totals in the files of callgrind, which writes one at each return from the function."""
    parts = sorted((int(path.suffix[1:]), path) for path in folder.glob("counts.*"))
    found = (re.search(r"^totals: (\d+)$", path.read_text(encoding="utf-8"), re.MULTILINE) for _, path in parts)
    return [int(match[1]) for match in found if match]


def count_instructions(program: Path) -> tuple[str, dict[str, int]]:
    """(SIMD level of the scanners, instructions of each case)."""
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


def best_level() -> str:
    """The best SIMD level of this machine under valgrind; a lower one is a lost fast path, not another machine."""
    if platform.machine() in ("arm64", "aarch64"):
        return "Neon"
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = set(next((line for line in lines if line.startswith("flags")), "").split())
    return "Avx2" if flags >= {"avx2", "bmi1", "bmi2", "abm", "popcnt"} else "Portable"


def conditions(level: str) -> dict[str, str]:
    """What counts depend on besides the code."""
    version = subprocess.run(["rustc", "-vV"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    facts = dict(line.split(": ", 1) for line in version.splitlines() if ": " in line)
    return {"rustc": facts["release"], "target": facts["host"], "libc": " ".join(platform.libc_ver()), "tier": level}


def differences(stored: dict[str, int], found: dict[str, int]) -> list[str]:
    """One line for each case beyond the tolerance, and for each that only one side has."""
    lines = []
    for case in sorted(stored.keys() | found.keys()):
        old, new = stored.get(case), found.get(case)
        if old is None or new is None:
            lines.append(f"{case}: {'new' if old is None else 'gone'}")
        elif abs(new - old) > TOLERANCE * old:
            lines.append(f"{case}: {old:,} before, {new:,} now ({new / old - 1:+.1%})")
    return lines


def check(where: dict[str, str], found: dict[str, int]) -> int:
    """Prints the result; 1 if a case changed, 3 if nothing could be compared."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    known = stored["conditions"]
    other = [f"{key} {known.get(key)}, here {value}" for key, value in where.items() if known.get(key) != value]
    if other:
        print(f"instructions: not comparable, stored under {'; '.join(other)}")
        return NOT_COMPARED
    changed = differences(stored["instructions"], found)
    if changed:
        print(f"instructions: {len(changed)} of {len(found)} cases beyond {TOLERANCE:.0%}", *changed, sep="\n  ")
        print("A slower path is a defect. If it is intended, or faster: make instructions-accept, with the reason.")
        return 1
    print(f"instructions: {len(found)} cases within {TOLERANCE:.0%} of the stored counts")
    return 0


def main(arguments: list[str]) -> int:
    """Compares with the stored counts, or stores new ones."""
    if arguments not in (["check"], ["accept"]):
        print("usage: python -m benchmarks.instructions check|accept", file=sys.stderr)
        return 2
    if shutil.which("valgrind") is None:
        print("instructions: not counted, valgrind is missing. On Debian and Ubuntu: apt install valgrind")
        return NOT_COMPARED
    level, found = count_instructions(build_workload())
    if level != best_level():
        print(f"instructions: the scanners run at the SIMD level {level}, this machine has {best_level()}")
        return 1
    where = conditions(level)
    if arguments == ["check"]:
        return check(where, found)
    content = {"conditions": where, "instructions": found}
    STORED.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"instructions: stored {len(found)} cases in {STORED.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
