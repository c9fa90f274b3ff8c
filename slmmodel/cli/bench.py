"""`slm bench`: how fast a model trains by batch size and device, where the knee is, and how fast it decodes."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from slmmodel.cli import _options, _output
from slmmodel.cli._progress import Progress
from slmmodel.errors import InvalidOption
from slmmodel.sizes import format_bytes, format_count, format_time

_Run = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="A run whose model is measured, instead of a preset.", show_default=False),
]
_Preset = Annotated[str, typer.Option("--preset", metavar="NAME", help="The shape that is measured.")]
_Sizes = Annotated[
    str, typer.Option("--batch-sizes", metavar="N,N,…", help="Rows of a step, one line of the table each.")
]
_Devices = Annotated[
    str, typer.Option("--device", metavar="NAMES", help="One or several, with commas; auto takes all there are.")
]
_Optimizer = Annotated[
    str | None, typer.Option("--optimizer", metavar="NAME", help="adamw or muon.", show_default="the preset's")
]
_Precision = Annotated[str, typer.Option("--precision", metavar="NAME", help="auto, fp32, bf16 or fp16.")]
_Seconds = Annotated[
    float, typer.Option("--seconds", metavar="TIME", parser=_options.seconds, help="Spent on each line, about.")
]


def bench(
    run: _Run = None,
    preset: _Preset = "cpu-demo",
    batch_sizes: _Sizes = "1,2,4,8,16,32",
    device: _Devices = "auto",
    optimizer: _Optimizer = None,
    precision: _Precision = "auto",
    seconds: _Seconds = 2.0,
    threads: _options.Threads = 0,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Measure training steps by batch size and device, at equal samples and at equal steps, and decoding."""
    sizes = _whole(batch_sizes)
    import torch

    from slmmodel.training import bench as measuring

    if threads:
        torch.set_num_threads(threads)
    config, optim, per_token = _subject(run, preset, optimizer)
    lines: list[measuring.Measurement] = []
    decoding: dict[str, dict[str, float]] = {}
    with Progress(quiet=quiet) as progress:
        for number, place in enumerate(devices := _devices(device)):
            for index, rows in enumerate(sizes):
                progress("measuring", number * len(sizes) + index, len(devices) * len(sizes), f"{rows} rows")
                lines.append(measuring.measure(config, optim, place, rows, precision=precision, seconds=seconds))
            model = measuring.make_step(config, optim, place, precision="fp32", batch_size=1).model
            cached, anew = measuring.decode(model, place)
            decoding[place.type] = {"tokens_per_s": cached, "recomputing_tokens_per_s": anew, "ratio": cached / anew}
    knees = {place.type: measuring.knee([line for line in lines if line.device == place.type]) for place in devices}
    result: dict[str, Any] = {
        "model": config.to_dict(),
        "optimizer": optim.name,
        "threads": torch.get_num_threads(),
        "lines": [line.to_dict() for line in lines],
        "knee": {name: None if line is None else line.batch_size for name, line in knees.items()},
        "decoding": decoding,
        "bytes_per_token": per_token,
    }
    return _output.Outcome(result, lambda: _show(result, run or preset))


def _whole(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise InvalidOption(
            f"--batch-sizes {text!r} is no list of sizes", fix="--batch-sizes 1,2,4,8", option="batch-sizes"
        )
    return sorted({int(part) for part in parts})


def _devices(names: str) -> list[Any]:
    import torch

    from slmmodel.hardware import device_for

    if names == "auto":
        names = "cpu,cuda" if torch.cuda.is_available() else "cpu"
    return [device_for(name.strip()) for name in names.split(",")]


def _subject(run: str | None, preset: str, optimizer: str | None) -> tuple[Any, Any, float | None]:
    """Model and optimizer that are measured, and the bytes that an id of the run stands for."""
    from slmmodel.config import OptimConfig
    from slmmodel.models import ModelConfig
    from slmmodel.models.presets import preset as preset_of

    per_token = None
    if run is not None:
        from slmmodel.checkpoint import RunFolder

        bundle = RunFolder.open(run)
        table = bundle.config
        config = ModelConfig.from_dict(table["model"])
        settings = OptimConfig(**table["optim"])
        result = bundle.result
        per_token = result["bytes"] / max(result["targets"], 1) if result else None
    else:
        chosen = preset_of(preset)
        config = chosen.config()
        settings = OptimConfig(**chosen.optim)
    return config, settings if optimizer is None else settings.replace(name=optimizer), per_token


def _show(result: dict[str, Any], name: str) -> None:
    model = result["model"]
    out = sys.stdout
    out.write(
        f"{name}: {model['arch']}, d_model {model['d_model']}, seq_len {model['seq_len']}, {result['optimizer']}, "
        f"{result['threads']} threads\n"
    )
    out.write(
        f"  {'device':<7}{'rows':>6}{'ids':>9}{'s/step':>10}{'ids/s':>10}{'forward':>10}"
        f"{'1,024 rows':>13}{'100 steps':>12}\n"
    )
    for line in result["lines"]:
        seconds = line["seconds_per_step"]
        head = f"  {line['device']:<7}{line['batch_size']:>6,}{line['tokens']:>9,}"
        if seconds is None:
            out.write(f"{head}  out of memory\n")
            continue
        samples, steps = line["seconds_for_1024_samples"], line["seconds_for_100_steps"]
        out.write(
            f"{head}{seconds:>10.4f}{format_count(line['tokens_per_s']):>10}{format_count(line['forward_tokens_per_s']):>10}"
            f"{format_time(samples):>13}{format_time(steps):>12}\n"
        )
    for device, rows in result["knee"].items():
        if rows is not None:
            out.write(
                f"  knee on {device}: {rows} rows; larger batches take longer a step and hardly save time a row\n"
            )
    for device, speed in result["decoding"].items():
        out.write(
            f"  decoding on {device}: {format_count(speed['tokens_per_s'])} ids/s with the state, "
            f"{format_count(speed['recomputing_tokens_per_s'])} computing all anew ({speed['ratio']:.1f} times)\n"
        )
        if result["bytes_per_token"]:
            out.write(f"  that is {format_bytes(speed['tokens_per_s'] * result['bytes_per_token'])} of text a second\n")
