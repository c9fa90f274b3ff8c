"""GPUs by name, with their speed and memory."""

from __future__ import annotations

import re
from typing import NamedTuple

from slmmodel.errors import OptionError, unknown_name
from slmmodel.foreign_names import FOREIGN_VALUES
from slmmodel.hardware import DEVICE_KINDS

USUAL_UTILISATION = 0.4
"""Share of a device's peak that training of a model of 100M parameters or more reaches in bf16, compiled."""


class Accelerator(NamedTuple):
    """A device, from its data sheet."""

    name: str
    """as in the name that CUDA gives"""
    flops: float
    """dense bf16 operations per second"""
    memory: float
    """bytes"""


ACCELERATORS = {
    "h100": Accelerator("H100", 989e12, 80e9),
    "h200": Accelerator("H200", 989e12, 141e9),
    "b200": Accelerator("B200", 2250e12, 180e9),
    "a100": Accelerator("A100", 312e12, 80e9),
    "4090": Accelerator("RTX 4090", 165e12, 24e9),
    "l4": Accelerator("L4", 121e12, 24e9),
}
"""By the names that `slm info --on` takes. Model FLOPs utilisation is reported for these."""


def refuse_type_of_device(name: str) -> None:
    """Raises `OptionError` for a device as `--device` names it, in the place of one from a data sheet."""
    kind = name.lower().partition(":")[0]
    if FOREIGN_VALUES["run.device"].get(kind, kind) not in DEVICE_KINDS:
        return
    raise OptionError(
        f"--on plans training on a device of a known speed, and {name!r} is a type of device",
        limit=f"DEVICE or DEVICE:N, with one of {', '.join(ACCELERATORS)}",
        fix=f"--on {next(iter(ACCELERATORS))} or another of them, with a preset; --device of slm train, eval and "
        "sample chooses where a model runs, and slm doctor lists the devices of this machine",
        option="--on",
    )


class Devices(NamedTuple):
    """A number of devices of one kind."""

    name: str
    number: int
    flops: float
    """operations per second, of all devices at their peak"""
    memory: float
    """bytes of one device"""

    def seconds(self, flops: float, utilisation: float = USUAL_UTILISATION) -> float:
        """Time of `flops` operations at a share of the peak."""
        return flops / (self.flops * utilisation)


def devices(name: str) -> Devices:
    """`h100`, `h100:4`, `a100-40gb` of another memory than the usual one. Raises `UnknownName`, `OptionError`."""
    refuse_type_of_device(name)
    kind, colon, number = name.lower().partition(":")
    memory = _WITH_MEMORY.fullmatch(kind)
    if memory and memory[1] in ACCELERATORS and int(memory[2]):
        kind = memory[1]
    # `4xh100`, `h100x4` and the like.
    first, _, last = kind.replace("*", "x").partition("x")
    pairs = ((first, last), (last, first), *((each, kind.removeprefix(each).lstrip("-_ ")) for each in ACCELERATORS))
    meant = next((pair for pair in pairs if pair[0] in ACCELERATORS and pair[1].isdecimal() and int(pair[1])), None)
    if meant and kind not in ACCELERATORS:
        fact, fix = f"--on {name!r} is not DEVICE:N", f"--on {meant[0]}:{int(meant[1])}"
        raise OptionError(fact, limit="a device, then a colon and their number", fix=fix, option="--on")
    if kind not in ACCELERATORS:
        # `rtx4090`: the name with the maker.
        nearest = next((each for each in ACCELERATORS if re.search(rf"{each}(?![a-z0-9])", kind)), None)
        size = re.search(r"[-_ ](\d{1,4})gi?b?$", kind)
        fix = f"--on {{}}{f'-{size[1]}gb' if size else ''}{colon}{number}" if nearest else "--on {}"
        raise unknown_name("device", name.partition(":")[0], ACCELERATORS, fix, nearest=nearest, option="--on")
    if colon and not (number.isdigit() and int(number)):
        fact = f"--on {name!r} has no number of devices after the colon"
        raise OptionError(fact, limit="an integer >= 1", fix=f"--on {kind}:4", option="--on")
    found, n = ACCELERATORS[kind], int(number or 1)
    # The memory of a device, of which there are several, may be named.
    return Devices(kind, n, n * found.flops, int(memory[2]) * 1e9 if memory and memory[1] == kind else found.memory)


_WITH_MEMORY = re.compile(r"(\w+)[-_](\d{1,4})gi?b?", re.ASCII)
