"""`slm doctor`: is this machine fit to train, and do the files of a run or of data agree with one another?"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from slmmodel.cli import _options, _output
from slmmodel.cli._tables import Row, print_rows
from slmmodel.errors import SlmmodelError
from slmmodel.sizes import format_bytes

_Paths = Annotated[
    list[str] | None, typer.Argument(metavar="[RUN|DATA]…", help="Runs and data to check.", show_default=False)
]
_PACKAGES = ("torch", "safetensors", "numpy", "slmtok", "tensorboard", "matplotlib", "transformers")


def doctor(
    paths: _Paths = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Say what this machine has, and check that files belong together. Status 3 where something does not."""
    machine = _machine()
    checks = [_check(Path(path)) for path in paths or ()]
    sound = all(check["ok"] for check in checks)
    rows: list[Row] = [] if quiet else [(name, str(value)) for name, value in machine.items()]
    rows += [(check["path"], check["what"] if check["ok"] else f"NO: {check['fault']}") for check in checks]
    code = _output.DONE if sound else _output.ANSWER_NO
    return _output.Outcome({"machine": machine, "checks": checks}, lambda: print_rows(rows), code)


def _machine() -> dict[str, Any]:
    import os
    import sys
    from importlib.metadata import PackageNotFoundError, version

    import torch

    from slmmodel.training.microbatch import free_memory

    found: dict[str, Any] = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found["cpu"] = (
        f"{cores} cores, torch uses {torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}"
    )
    found["memory"] = f"{format_bytes(free_memory())} free"
    cuda = [torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())]
    found["cuda"] = ", ".join(f"{each.name} ({format_bytes(each.total_memory)})" for each in cuda) or "none"
    found["mps"] = "yes" if torch.backends.mps.is_available() else "none"
    return found


def _check(path: Path) -> dict[str, Any]:
    """Whether the files of a folder agree: sums, fingerprints, headers."""
    try:
        what = _data(path) if (path / "manifest.json").is_file() else _run(path)
    except SlmmodelError as error:
        return {"path": str(path), "ok": False, "what": "", "fault": error.fact}
    return {"path": str(path), "ok": True, "what": what, "fault": None}


def _data(path: Path) -> str:
    from slmmodel.data.opening import open_source

    source = open_source(path, "train")
    block = source.block(0)
    ids = int(block.lengths().sum())
    return f"token data, {block.n_docs:,} documents, {ids:,} ids, tokenizer {source.vocab.fingerprint[:8]}…"


def _run(path: Path) -> str:
    from slmmodel.checkpoint import RunFolder, verify_sums
    from slmmodel.cli.text import Text
    from slmmodel.errors import MissingPackage

    bundle = RunFolder.open(path)
    verify_sums(bundle.path)
    states = bundle.checkpoints.list()
    for step in states:
        verify_sums(bundle.checkpoints.path(step))
    if bundle.tokenizer is not None:
        with suppress(MissingPackage):
            Text(bundle.tokenizer, bundle.vocab)
    end = "finished" if bundle.finished else "unfinished"
    return f"{end} run, {len(states)} saved states, tokenizer {bundle.vocab.fingerprint[:8]}…, every sum holds"
