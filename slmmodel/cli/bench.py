"""`slm bench`: training speed by batch size and device, the batch size at the knee, and decoding speed."""

from __future__ import annotations

import shlex
from typing import Any

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.open_by_path import load_torch
from slmmodel.cli.options import DURATION, numbers, setting_option, threads_option
from slmmodel.cli.run_argument import run_argument_of
from slmmodel.errors import OptionError
from slmmodel.models.presets import PRESETS
from slmmodel.sizes import format_bytes, format_count, format_time
from slmtok.cli.arguments import without_options
from slmtok.cli.options import AmbiguousError, arguments_of_command, command, option
from slmtok.cli.output import Outcome, table, write_text
from slmtok.cli.progress import Progress
from slmtok.file_kinds import is_run

PRESET = "cpu-demo"
MAX_BATCH_SIZE = 1_000_000
_HEAD = ("device", "rows", "ids", "s/step", "ids/s", "forward", "1,024 rows", "100 steps")


def parse_sizes(text: str) -> list[int]:
    """Integers from 1 to `MAX_BATCH_SIZE`, ascending. Raises `ValueError`."""
    sizes = sorted(set(map(int, text.split(","))))
    if sizes[0] < 1:
        raise ValueError
    if sizes[-1] > MAX_BATCH_SIZE:
        within = [size for size in sizes if size <= MAX_BATCH_SIZE] or [32]
        fact = f"takes sizes up to {MAX_BATCH_SIZE:,}, not {sizes[-1]:,}"
        raise AmbiguousError(fact, [",".join(map(str, within))])
    return sizes


@command("bench", example="slm bench --preset cpu-demo --batch-sizes 1,4,16")
@run_argument_of(metavar="[RUN]", required=False, help="Measure the model of this run instead of a preset.")
@option("--preset", metavar="NAME", show_default=PRESET, help="The model to measure.")
@option("--batch-sizes", metavar="N,N,...", type=numbers(parse_sizes, "sizes such as 1,2,4,8"),
        default="1,2,4,8,16,32", help="Sequences of a step.")  # fmt: skip
@setting_option("run.device", help="One or several, separated by commas; auto takes all that are available.")
@option("--optimizer", choices=("adamw", "muon"), show_default="that of the preset", help="The optimizer.")
@setting_option("run.precision")
@option("--seconds", metavar="TIME", type=DURATION, default=2.0, help="Time for each measurement, about.")
@threads_option
def bench(
    run: str | None,
    preset: str | None,
    batch_sizes: list[int],
    device: str,
    optimizer: str | None,
    threads: int,
    **given: Any,
) -> Outcome:
    """Measure training steps by batch size and device, at equal samples and at equal steps, and decoding."""
    if run is not None and preset is not None:
        raise OptionError(f"the run {run!r} and --preset {preset} name two models", fix="give one", option="preset")
    if preset is not None and preset not in PRESETS and is_run(preset):
        words = without_options(arguments_of_command(), ("--preset",))
        raise OptionError(
            f"{preset!r} is a run, not a preset", fix=shlex.join(["slm", "bench", preset, *words]), option="preset"
        )
    config, optim, bytes_per_token = _model(run, preset or PRESET, optimizer)
    load_torch()
    import torch

    from slmmodel.hardware import use_threads
    from slmmodel.training import bench as measuring

    use_threads(threads)
    devices = _devices(device)
    for target in devices:
        measuring.check_memory(config, target)
    lines: list[dict[str, Any]] = []
    decoding: dict[str, dict[str, float]] = {}
    with Progress() as progress:
        for number, target in enumerate(devices):
            for index, rows in enumerate(batch_sizes, number * len(batch_sizes)):
                progress("measuring", index, len(devices) * len(batch_sizes), f"{rows} rows")
                lines.append(measuring.measure(config, optim, target, rows, **given))
            progress("measuring decoding", number, len(devices))
            model = measuring.make_step(config, optim, target, precision="fp32", batch_size=1).model
            cached, recomputed = measuring.decode(model, target, seconds=given["seconds"])
            speeds = {"tokens_per_s": cached, "recomputing_tokens_per_s": recomputed, "ratio": cached / recomputed}
            decoding[target.type] = speeds
    knees = {each.type: measuring.knee([line for line in lines if line["device"] == each.type]) for each in devices}
    result: dict[str, Any] = {
        "model": config.model_dump(),
        "optimizer": optim.name,
        "threads": torch.get_num_threads(),
        "lines": lines,
        "knee": {name: None if line is None else line["batch_size"] for name, line in knees.items()},
        "decoding": decoding,
        "bytes_per_token": bytes_per_token,
    }
    return Outcome(result, lambda: write_text(_text(result, run or preset or PRESET)))


def _devices(names: str) -> list[Any]:
    import torch

    from slmmodel.hardware import device_for

    if names == "auto":
        names = "cpu,cuda" if torch.cuda.is_available() else "cpu"
    return [device_for(name.strip()) for name in names.split(",")]


def _model(run: str | None, preset: str, optimizer: str | None) -> tuple[Any, Any, float | None]:
    """Model and optimizer to measure, and the bytes per id of a run."""
    from slmmodel.config import OptimConfig
    from slmmodel.models import config_from_dict
    from slmmodel.models.presets import preset as find_preset

    bytes_per_token, given = None, {} if optimizer is None else {"name": optimizer}
    if run is not None:
        folder = RunFolder.open(run)
        config, numbers = config_from_dict(folder.config["model"]), folder.config["optim"]
        result = folder.result
        bytes_per_token = result["bytes"] / max(result["targets"], 1) if result else None
    else:
        chosen = find_preset(preset)
        config, numbers = chosen.config(), chosen.optim
    return config, OptimConfig(**{**numbers, **given}), bytes_per_token


def _text(result: dict[str, Any], name: str) -> str:
    model = result["model"]
    title = (
        f"{name}: {model['arch']}, d_model {model['d_model']}, seq_len {model['seq_len']}, {result['optimizer']}, "
        f"{result['threads']} threads\n"
    )
    rows = []
    for line in result["lines"]:
        head = [line["device"], f"{line['batch_size']:,}", f"{line['tokens']:,}"]
        if line["seconds_per_step"] is None:
            rows.append([*head, "out of memory", "", "", "", ""])
            continue
        speeds = [format_count(line["tokens_per_s"]), format_count(line["forward_tokens_per_s"])]
        times = [format_time(line["seconds_for_1024_samples"]), format_time(line["seconds_for_100_steps"])]
        rows.append([*head, f"{line['seconds_per_step']:.4f}", *speeds, *times])
    lines = [
        f"  knee on {device}: {knee} rows; larger batches take longer per step and hardly less per row"
        for device, knee in result["knee"].items()
        if knee is not None
    ]
    for device, speed in result["decoding"].items():
        cached, recomputed = speed["tokens_per_s"], speed["recomputing_tokens_per_s"]
        lines.append(
            f"  decoding on {device}: {format_count(cached)} ids/s with the cache, "
            f"{format_count(recomputed)} recomputing the prefix ({speed['ratio']:.1f}x)"
        )
        if result["bytes_per_token"]:
            lines.append(f"  that is {format_bytes(cached * result['bytes_per_token'])} of text per second")
    return title + table(_HEAD, rows) + "\n".join(lines) + "\n"
