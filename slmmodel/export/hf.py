"""Hugging Face folders: written, read back and compared with the model before they get their name.

A folder holds `config.json`, `generation_config.json`, `model.safetensors`, `receipt.json`, and the tokenizer files
that the caller passes. It is written in the locked folder `FOLDER.part` and renamed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import pad

from slmmodel.errors import (
    CorruptFile,
    Mismatch,
    MissingInput,
    Unreadable,
    UnsupportedFormat,
)
from slmmodel.export.output_folder import RECEIPT_FILE, REPLACED, check_folder, part_of
from slmmodel.export.targets import TARGETS, Target, architecture
from slmmodel.files import remove, removing, translated_errors, write_synced
from slmmodel.folder_lock import LOCK, locked
from slmmodel.json_files import FaultError, Open, read_object, validated
from slmmodel.models import build, config_from_dict
from slmmodel.models.config import DecoderConfig
from slmmodel.models.protocol import Model
from slmmodel.vocab import VocabMeta

RECEIPT = "slm.export-receipt/1"
VOCAB_ROWS = ("embed.weight", "head.weight")
"""Tensors with a row for each id; an export drops the rows of ids that do not exist."""
_ROLES = ("bos", "eos", "pad")
"""In the locked folder, the export that a new one replaces."""


def files(model: Model, vocab: VocabMeta | None = None) -> dict[str, bytes]:
    """Name to content: configuration, generation defaults, weights. `vocab` gives the ids of bos, eos and pad."""
    from safetensors.torch import save

    name, config = architecture(model.config), model.config
    assert isinstance(config, DecoderConfig)
    target = TARGETS[name]
    roles = {} if vocab is None else {f"{role}_token_id": vocab.specials.get(role) for role in _ROLES}
    dtype = str(model.embed.weight.dtype).removeprefix("torch.")
    table = {
        "architectures": [name],
        "model_type": target.model_type,
        **target.to_config(config),
        **roles,
        "dtype": dtype,
        "torch_dtype": dtype,
        "use_cache": True,
    }
    weights = to_tensors(target, config, model.state_dict())
    return {
        "config.json": _json(table),
        "generation_config.json": _json({"_from_model_config": True, **roles}),
        "model.safetensors": save(weights, {"format": "pt"}),
    }


def to_tensors(target: Target, config: DecoderConfig, own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our tensors under the names of the architecture, on the CPU; missing biases are zeros."""
    renamed = {}
    for theirs, ours, transposed in target.renamed(own, config.n_layers):
        joined = torch.cat([own[name] if name in own else _zero_bias(own, name) for name in ours])
        joined = joined[: config.n_vocab] if ours[0] in VOCAB_ROWS else joined
        renamed[theirs] = (joined.T if transposed else joined).detach().cpu().contiguous()
    return renamed


def _zero_bias(own: Mapping[str, Tensor], name: str) -> Tensor:
    module = name.removesuffix("bias")
    weight = own[module + "weight"] if module + "weight" in own else own[module + "gain"]
    return weight.new_zeros(len(weight))


class _Config(Open):
    """A `config.json`, as far as it is not a setting of the architecture."""

    architectures: list[str] = Field(default_factory=list)
    rope_parameters: dict[str, Any] | None = None
    rope_scaling: dict[str, Any] | None = None


def load(folder: str | Path) -> Model:
    """A model from a Hugging Face folder; every tensor must be used once. Raises `UnsupportedFormat`."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = Path(folder)
    try:
        table = validated(read_object(folder / "config.json"), _Config, folder / "config.json").model_dump()
        tensors = load_file(folder / "model.safetensors")
    except (FaultError, SafetensorError) as error:
        raise CorruptFile(
            f"the folder of a model cannot be read: {error}", where=str(folder), fix="fetch it again"
        ) from None
    except FileNotFoundError as error:
        raise MissingInput(
            f"cannot read {error.filename or folder}: no such file",
            where=str(folder),
            fix="name a folder with config.json and model.safetensors",
        ) from error
    except (OSError, RuntimeError) as error:
        # torch raises RuntimeError where it cannot map the file.
        fact = f"cannot read model.safetensors: {error}"
        raise Unreadable(fact, where=str(folder), fix="check the disk, and the limits on memory") from error
    name = next(iter(table["architectures"]), "")
    if name not in TARGETS:
        raise UnsupportedFormat(
            f"the architecture {name!r} is not supported",
            where=str(folder),
            limit=f"architectures: {', '.join(TARGETS)}",
            fix="name the folder of such a model",
        )
    config = config_from_dict(TARGETS[name].from_config(table))
    assert isinstance(config, DecoderConfig)
    model = build(config, seed=None)
    if config.tie_embeddings:
        tensors.pop("lm_head.weight", None)
    try:
        model.load_state_dict(from_tensors(TARGETS[name], config, model.state_dict(), tensors))
    except ValueError as error:
        raise UnsupportedFormat(
            str(error),
            where=str(folder),
            limit=f"the tensors of the {config.arch} that config.json describes",
            fix="use weights and a config.json of the same model",
        ) from None
    return model.eval()


def from_tensors(
    target: Target, config: DecoderConfig, own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Tensors of the architecture under our names, with the shapes of `own`; rows of ids that do not exist are zeros.

    Raises `ValueError` for a tensor that is missing, unknown or of another shape.
    """
    renamed: dict[str, Tensor] = {}
    left = {name for name in tensors if not name.endswith((".attn.bias", ".attn.masked_bias"))}
    for theirs, ours, transposed in target.renamed(own, config.n_layers):
        if theirs not in left:
            raise ValueError(f"the tensor {theirs!r} is missing")
        left.remove(theirs)
        joined = tensors[theirs].T if transposed else tensors[theirs]
        if ours[0] in VOCAB_ROWS:
            joined = pad(joined, (0, 0, 0, config.padded_vocab - len(joined)))
        pieces = dict(zip(ours, joined.chunk(len(ours)), strict=True))
        if any(piece.shape != own[name].shape for name, piece in pieces.items()):
            raise ValueError(f"the tensor {theirs!r} has shape {list(tensors[theirs].shape)}")
        renamed |= pieces
    if left:
        raise ValueError(f"the tensor {min(left)!r} is unknown")
    return renamed


def write(
    folder: Path, model: Model, vocab: VocabMeta | None, more: Mapping[str, bytes] | None = None, *, force: bool = False
) -> dict[str, Any]:
    """Writes an export and returns its receipt, which is also written.

    `more`: further files, such as those of a tokenizer. Raises `UnsupportedFormat`, `OutputExists`, and
    `Mismatch` where the written folder computes other logits than the model; it then stays in `FOLDER.part/export`.
    """
    check_folder(folder, force=force)
    content = {**files(model, vocab), **(more or {})}
    part = part_of(folder)
    with locked(part):
        # Another process may have made it since.
        check_folder(folder, force=force)
        receipt = _write_and_rename(part / "export", folder, content, model, vocab)
    with suppress(OSError):
        # It was there before, of a killed export.
        part.rmdir()
    return receipt


def _write_and_rename(
    part: Path, folder: Path, content: Mapping[str, bytes], model: Model, vocab: VocabMeta | None
) -> dict[str, Any]:
    """Writes `part`, which replaces what the locked folder around it holds, checks it and renames it to `folder`."""
    _clear(part.parent)
    with translated_errors(folder, part):
        part.mkdir()
        for name, data in content.items():
            write_synced(part / name, data)
    receipt = {
        "schema": RECEIPT,
        "target": architecture(model.config),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(content.items())},
        "fingerprint": None if vocab is None else vocab.fingerprint,
        "checks": checks(part, model),
    }
    with translated_errors(folder, part):
        write_synced(part / RECEIPT_FILE, _json(receipt))
        replaced = part.with_name(REPLACED)
        if folder.exists():
            # Its files would be removed one by one, and a half of them is no export, which may not be replaced.
            folder.rename(replaced)
        try:
            part.rename(folder)
        except OSError:
            if replaced.exists():
                replaced.rename(folder)
            raise
    _clear(part.parent)
    return receipt


def _clear(part: Path) -> None:
    """Removes what the locked folder holds but its lock. Raises `Unreadable`."""
    for old in (each for each in part.iterdir() if each.name != LOCK):
        with removing(old):
            remove(old)


def checks(folder: Path, model: Model) -> dict[str, Any]:
    """Reads a folder back and compares logits with the model's: by `load`, and by transformers where it is installed.

    Raises `Mismatch`.
    """
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, model.config.n_vocab, (2, min(model.config.seq_len, 64)), generator=generator)
    with torch.inference_mode():
        own = model.cpu()(ids).logits
        others = {"own_reader": load(folder)(ids).logits, "transformers": _transformers_logits(folder, ids)}
    assert own is not None
    found: dict[str, Any] = {"ids": list(ids.shape)}
    for reader, logits in others.items():
        found[reader] = None if logits is None else _difference(own, logits, folder, reader)
    return found


def _difference(own: Tensor, other: Tensor, folder: Path, reader: str) -> float:
    """The largest absolute difference of logits. Raises `Mismatch` above what rounding explains."""
    largest = float((own.float() - other.float()).abs().max())
    limit = 1e-4 if own.dtype == torch.float32 else 0.25
    if own.shape != other.shape or not largest <= limit:
        raise Mismatch(
            f"logits as computed by {reader} differ by {largest:.3g}",
            where=str(folder),
            limit=f"at most {limit:g}",
            fix="do not use the folder; report the run's config.yaml",
        )
    return largest


def _transformers_logits(folder: Path, ids: Tensor) -> Tensor | None:
    if find_spec("transformers") is None:
        return None
    transformers: Any = import_module("transformers")
    transformers.utils.logging.disable_progress_bar()
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype="auto").eval()
    except (OSError, RuntimeError) as error:
        if "start new thread" in str(error):
            # Of Python, at a limit on processes.
            raise
        # torch raises RuntimeError where it cannot map or close the file.
        fact = f"transformers cannot read the export: {str(error).splitlines()[0] if str(error) else error}"
        raise Unreadable(fact, where=str(folder), fix="check the disk, then run the same command again") from error
    logits: Tensor = model(ids).logits
    return logits


def _json(table: Mapping[str, Any]) -> bytes:
    return (json.dumps(table, indent=2, sort_keys=True) + "\n").encode()
