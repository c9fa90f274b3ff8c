"""Tensors in the safetensors files of a run: their names, what is read of them, and which cannot be used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from slmmodel.errors import CorruptFile, NotFinite, SlmmodelError, Unreadable
from slmmodel.json_files import load
from slmmodel.run_files import WeightIndex

if TYPE_CHECKING:
    from torch import Tensor

_NOT_NEGATIVE = ("/exp_avg_sq", "/step")
"""Ends of names in the state of AdamW: it takes the root of squares, and counts steps."""


def tensor_files(folder: Path, stem: str) -> list[str]:
    """The names of the files that hold the tensors of `stem`."""
    index = folder / f"{stem}.safetensors.index.json"
    if not index.is_file():
        return [f"{stem}.safetensors"]
    return sorted(set(load(index, WeightIndex).weight_map.values()))


def map_tensors(folder: Path, stem: str) -> dict[str, Tensor]:
    """The tensors of `stem` by name, mapped from their files. Raises `CorruptFile`, `Unreadable`."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    tensors: dict[str, Tensor] = {}
    for name in tensor_files(folder, stem):
        try:
            tensors |= load_file(folder / name)
        except SafetensorError as error:
            raise CorruptFile(f"cannot read {name}: {error}", where=str(folder), fix="restore the file") from None
        except (OSError, RuntimeError) as error:
            # torch raises RuntimeError where it cannot map the file.
            fact, fix = f"cannot read {name}: {error}", "check the file, its disk, and the limits on memory"
            raise Unreadable(fact, where=str(folder), fix=fix, path=str(folder / name)) from None
    return tensors


def fault_in(tensors: Mapping[str, Tensor]) -> tuple[type[SlmmodelError], str] | None:
    """The first tensor of a type of weights that holds what makes weights NaN, as an error and its words."""
    import torch

    for name, each in tensors.items():
        if each.dtype in (torch.float32, torch.float64) and each.numel():
            # `aminmax` propagates NaN, and takes no memory.
            smallest, largest = map(float, each.aminmax())
            if not (math.isfinite(smallest) and math.isfinite(largest)):
                return NotFinite, f"NaN or infinity, in the tensor {name!r}"
            if smallest < 0 and name.endswith(_NOT_NEGATIVE):
                return CorruptFile, f"values below 0, in the tensor {name!r}"
    return None
