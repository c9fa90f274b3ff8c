"""`Bundle`: the one folder that is needed to use, judge or continue a model. Layout: docs/formats/bundle.md.

It is read strictly: what was edited, is missing, or belongs to another tokenizer is refused in one line, before
anything is computed with it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel.bundle import files
from slmmodel.bundle.steps import Steps
from slmmodel.errors import CorruptBundle, FingerprintMismatch, MissingBundle, MissingStep, OutputExists
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    import torch

    from slmmodel.models.protocol import Model

CONFIG, WEIGHTS, VOCAB, TOKENIZER = "config.yaml", "model.safetensors", "vocab.json", "tok.json"
METRICS, LOCK, RESULT, CARD = "metrics.jsonl", "data.lock", "result.json", "README.md"


class Bundle:
    """A run on disk. `open` for one that exists, `create` for a new one."""

    def __init__(self, path: Path, allow_mismatch: Collection[str] = ()):
        self.path = path
        self.steps = Steps(path / "steps")
        self._allowed = frozenset(allow_mismatch)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, allow_mismatch: Collection[str] = ()) -> Bundle:
        """A run that exists. Raises `MissingBundle`, `CorruptBundle`, `FingerprintMismatch`.

        `allow_mismatch` names what may differ: `files` (edited by hand), `tokenizer`.
        """
        bundle = cls(Path(path), allow_mismatch)
        if not bundle.exists():
            raise MissingBundle(
                f"{os.fspath(path)!r} is no run",
                where=f"it has no {CONFIG}",
                fix="slm train DATA -o RUN makes one",
                path=os.fspath(path),
            )
        if "files" not in bundle._allowed:
            files.check(bundle.path, [CONFIG, VOCAB, TOKENIZER, LOCK])
        bundle._check_fingerprint()
        return bundle

    @classmethod
    def create(cls, path: str | os.PathLike[str], content: Mapping[str, bytes], *, begun: bool = False) -> Bundle:
        """A new run with these small files; with its sums, which are written last, the folder is a run.

        `begun` says that states lie there already. Raises `OutputExists` where the folder holds something else.
        """
        bundle = cls(Path(path))
        if not begun:
            bundle.refuse_foreign()
        bundle.steps.folder.mkdir(parents=True, exist_ok=True)
        for name, data in content.items():
            files.write(bundle.path / name, data)
        names = [name for name in (VOCAB, TOKENIZER, LOCK, CONFIG) if name in content]
        files.write(bundle.path / files.SUMS, files.sums_of(bundle.path, names))
        return bundle

    def relock(self, lock: Mapping[str, Any]) -> None:
        """Replaces the lock of a run that has not finished."""
        files.write(self.path / LOCK, files.to_json(lock))
        names = [name for name in (VOCAB, TOKENIZER, LOCK, CONFIG) if (self.path / name).is_file()]
        files.write(self.path / files.SUMS, files.sums_of(self.path, names))

    def refuse_foreign(self) -> None:
        """Raises `OutputExists` where the path holds something that is not the beginning of a run."""
        if self.path.exists() and not (self.path.is_dir() and self.begun()):
            raise OutputExists(
                f"output {str(self.path)!r} exists and is no run",
                fix="name another folder with -o",
                path=str(self.path),
            )

    def exists(self) -> bool:
        """Whether the folder is a run: its sums were written, which happens last."""
        return (self.path / files.SUMS).is_file() and (self.path / CONFIG).is_file()

    def begun(self) -> bool:
        """Whether the folder holds nothing but what `create` writes before a run exists."""
        ours = {CONFIG, VOCAB, TOKENIZER, LOCK, CARD, "steps"}
        return all(item.name in ours or item.name.endswith(".part") for item in self.path.iterdir())

    def _check_fingerprint(self) -> None:
        recorded = self.lock.get("fingerprint")
        if recorded != self.vocab.fingerprint and "tokenizer" not in self._allowed:
            raise FingerprintMismatch(
                "the run's vocabulary is not the one that it was trained with",
                where=f"{LOCK} has {str(recorded)[:8]}…, {VOCAB} has {self.vocab.fingerprint[:8]}…",
                fix="restore the file; slm train and slm resume take --allow-mismatch tokenizer",
                path=str(self.path),
            )

    @property
    def vocab(self) -> VocabMeta:
        """All that the model knows of its tokenizer."""
        return VocabMeta.load(self.path / VOCAB)

    @property
    def tokenizer(self) -> Path | None:
        """The tokenizer file, which nothing here opens; None where the data came without one."""
        path = self.path / TOKENIZER
        return path if path.is_file() else None

    @property
    def config(self) -> dict[str, Any]:
        """The resolved configuration: `model`, `data`, `optim`, `run`."""
        import yaml

        try:
            found = yaml.safe_load((self.path / CONFIG).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise CorruptBundle(f"cannot read {CONFIG}: {error}", where=str(self.path), fix="restore it") from None
        if not isinstance(found, dict) or not {"model", "data", "optim", "run"} <= set(found):
            raise CorruptBundle(f"{CONFIG} lacks a section", where=str(self.path), fix="restore it")
        return found

    @property
    def lock(self) -> dict[str, Any]:
        """What the run was trained on and with: digests, versions, threads."""
        return files.read_json(self.path / LOCK)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / RESULT).is_file()

    @property
    def result(self) -> dict[str, Any]:
        """What a finished run ended with; empty before."""
        return files.read_json(self.path / RESULT) if self.finished else {}

    def weights(self, step: int | None = None) -> Path:
        """The file of weights: of the end of the run, else of the newest state, or of a state by number.

        Raises `MissingStep`, `CorruptBundle`.
        """
        if step is None and self.finished and (self.path / WEIGHTS).is_file():
            if "files" not in self._allowed:
                files.check(self.path, [WEIGHTS])
            return self.path / WEIGHTS
        number = self.steps.newest() if step is None else step
        if number is None or number not in self.steps.list():
            raise MissingStep(
                "the run has no state yet" if number is None else f"the run has no step {number}",
                where=str(self.steps.folder),
                limit=f"steps: {', '.join(map(str, self.steps.list())) or 'none'}",
                fix="train on, or name a step that is there",
            )
        folder = self.steps.path(number)
        if "files" not in self._allowed:
            files.check(folder)
        return folder / WEIGHTS

    def model(
        self, device: str | torch.device = "cpu", dtype: torch.dtype | None = None, *, step: int | None = None
    ) -> Model:
        """The trained model, in evaluation mode. Keys are matched strictly. Raises what `weights` raises."""
        from slmmodel.models import ModelConfig, build

        model = build(ModelConfig.from_dict(self.config["model"]), seed=None)
        load_weights(model, self.weights(step))
        return model.to(device=device, dtype=dtype).eval()

    def finish(self, weights: bytes, result: Mapping[str, Any], card: bytes) -> None:
        """Writes the end of a run: weights, card, sums, and last the result, whose presence means finished."""
        files.write(self.path / WEIGHTS, weights)
        files.write(self.path / CARD, card)
        names = [name for name in (VOCAB, TOKENIZER, LOCK, CONFIG, WEIGHTS) if (self.path / name).is_file()]
        files.write(self.path / files.SUMS, files.sums_of(self.path, names))
        files.write(self.path / RESULT, files.to_json(result))

    def remove(self) -> None:
        """Removes the run and its folder."""
        shutil.rmtree(self.path)


def load_weights(model: torch.nn.Module, path: Path) -> None:
    """Fills a model from a file. Raises `CorruptBundle` for a key that is missing, unknown, or of another shape."""
    tensors = files.read_tensors(path)
    own = model.state_dict()
    for name in sorted(set(own) ^ set(tensors)):
        raise CorruptBundle(
            f"the weights {'lack' if name in own else 'have the unknown tensor'} {name!r}",
            where=str(path),
            fix="the configuration and the weights belong to different models",
        )
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape:
            raise CorruptBundle(
                f"the tensor {name!r} has shape {list(tensors[name].shape)}, the model wants {list(tensor.shape)}",
                where=str(path),
                fix="the configuration and the weights belong to different models",
            )
    model.load_state_dict(tensors, strict=True)
