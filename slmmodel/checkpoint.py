"""Run folders (docs/formats/bundle.md): configuration, vocabulary, metrics, checkpoints and final weights of one run.

Files are written beside their place, synced and renamed; a checkpoint is a folder that is renamed when it is complete.
Readers verify SHA-256 sums before they use a file. Tensors are safetensors, tables JSON or YAML; nothing is pickled.
Rank `i % world_size` gathers and writes tensor `i` of a sharded model; a checkpoint loads under any world size.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel import run_entries
from slmmodel.checks import check_utf8, folder_of, is_address, path_of_address, place_of_missing, vocab_written_again
from slmmodel.errors import (
    Argument,
    CorruptFile,
    Fix,
    Mismatch,
    MissingInput,
    OutputExists,
    SlmmodelError,
    Unreadable,
    UnsupportedFormat,
)
from slmmodel.files import (
    PART,
    clear,
    discard,
    make_folder,
    new_name,
    read_file,
    remove_all,
    remove_file,
    remove_parts,
    removing,
    rename,
    sha256_of,
    sync,
    translated_errors,
    write_file,
)
from slmmodel.folder_lock import LOCK, FolderHandle, check_folder, check_in_place, check_regular
from slmmodel.foreign_attributes import OF_CHECKPOINTS, OF_RUN_FOLDERS, explains_absent_names
from slmmodel.json_files import FaultError, load, read_bounded
from slmmodel.run_entries import (
    BAD,
    BEST,
    CARD,
    CHECKPOINTS,
    CONFIG,
    FINGERPRINT,
    LATEST,
    MODEL,
    OPTIMIZER,
    RESULT,
    TOKENIZER,
    TRAIN_STATE,
    VOCAB,
    run_meant,
)
from slmmodel.run_files import VERSION, Fingerprint, Result, TrainStateFile, first_data
from slmmodel.stored_tensors import fault_in, map_tensors, tensor_files
from slmmodel.sums import MAX_CONFIG_BYTES, largest_size
from slmmodel.sums import SUMS as SUMS
from slmmodel.sums import read_sums as read_sums
from slmmodel.sums import sums_of as sums_of
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from slmmodel.distributed import World
    from slmmodel.models.protocol import Model

_CHECKED = {MODEL: "the weights hold", OPTIMIZER: "the state of the optimizer holds"}
"""Tensors that hold no NaN and no infinity; a recurrent state may."""
_POLL_SECONDS = 0.05
_MAX_SCANNED, _MAX_NAMED, _MAX_SHOWN = 1000, 5, 60
"""Entries of a folder in which runs are looked for, runs that an error names, and characters of a path in it."""
_CHECKPOINT = re.compile(r"step-(0|[1-9][0-9]{0,17})")


def runs_in(folder: Path) -> list[str]:
    """The paths of the runs in a folder, sorted; `./` stands before one that a command would read as an option."""
    try:
        with os.scandir(folder) as entries:
            found = [folder / entry.name for entry in islice(entries, _MAX_SCANNED) if entry.is_dir()]
    except OSError:
        return []
    return sorted(f"./{run}" if str(run).startswith("-") else str(run) for run in found if RunFolder(run).exists())


def known_runs(folder: Path) -> str | None:
    """The first runs in a folder as the limit of an error; None where there is none."""
    found = runs_in(folder)
    more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
    return f"runs in {folder}/: {', '.join(found[:_MAX_NAMED])}{more}" if found else None


@explains_absent_names(OF_RUN_FOLDERS)
class RunFolder:
    """A run on disk. `open` verifies one that exists, `create` writes a new one."""

    def __init__(self, path: str | os.PathLike[str], allow_mismatch: Collection[str] = ()):
        self.path = Path(path)
        self.checkpoints = Checkpoints(self.path / CHECKPOINTS)
        self.handle: FolderHandle | None = None
        """Of a process that writes into the run: the folder, open."""
        self._verifies_files = "files" not in allow_mismatch
        self._newest: int | None = None
        """The checkpoint that is read as the newest one; training may have written others since."""
        self._digests: dict[int | None, str] = {}
        """Of the weights that were read, by the step that was asked for; training may have removed their files."""

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, allow_mismatch: Collection[str] = ()) -> RunFolder:
        """A run that exists. `allow_mismatch` names what may differ: `files` (edited by hand), `tokenizer`.

        Raises `MissingInput`, `UnsupportedFormat`, `CorruptFile`, `Mismatch`.
        """
        check_utf8(path)
        run = cls(Path(path), allow_mismatch)
        name = os.fspath(path)
        if run.is_version_1():
            raise UnsupportedFormat(
                f"{name!r} is a run folder of version 1",
                limit=f"this package reads version {VERSION}",
                fix="train again, or use the release that wrote it",
                path=name,
            )
        if not run.exists():
            raise run.not_a_run(name)
        # A lost tokenizer can be named with -t, and ids need none; `slm doctor` reports it.
        run._verify(run.path, [name for name in run_entries.SMALL if name != TOKENIZER or run.tokenizer is not None])
        vocab, n_vocab = run.vocab, run.config["model"]["n_vocab"]
        if n_vocab != vocab.n_vocab:
            fact = f"{CONFIG} describes a model of {n_vocab:,} ids, {VOCAB} has {vocab.n_vocab:,}"
            raise CorruptFile(fact, where=str(run.path / CONFIG), fix="restore the one that was changed", path=name)
        recorded, own = str(run.fingerprint.get("fingerprint")), vocab.fingerprint
        if recorded != own and "tokenizer" not in allow_mismatch:
            raise Mismatch(
                "the vocabulary of the run is not the one it was trained with",
                where=f"{FINGERPRINT} has {recorded[:8]}…, {VOCAB} has {own[:8]}…",
                fix="restore the file; slm train and slm resume take --allow-mismatch tokenizer",
                path=name,
            )
        return run

    def _lost_file(self) -> str:
        """The first file that this folder lacks to be a run."""
        return SUMS if os.path.isfile(self.path / CONFIG) else CONFIG  # noqa: PTH113

    @property
    def enclosing(self) -> tuple[Path, int | None] | None:
        """The run that this path is in, with the checkpoint it has nearest to that step; None where it is in no run."""
        run = next((each for each in [*self.path.parents][:3] if RunFolder(each).exists()), None)
        steps = [part.removeprefix("step-") for part in self.path.parts[-2:] if part.startswith("step-")]
        named = next((int(step) for step in steps if step.isdecimal()), None)
        return None if run is None else (run, None if named is None else RunFolder(run).checkpoints.nearest(named))

    def not_a_run(
        self, name: str, *, what: str | None = None, fix: Fix | None = None, option: str | None = None
    ) -> MissingInput:
        """The error for a path, given as `name`, that is no run.

        The command line says `what` a file is, has a better `fix`, and the `option` that a wrong usage is about.
        """
        shown = repr(name if len(name) <= _MAX_SHOWN else name[:_MAX_SHOWN] + "…")
        fact, where, limit = f"{shown} is not a run folder", f"it has no {self._lost_file()}", None
        folder, found = folder_of(self.path), self.enclosing
        near, trained = known_runs(folder) or (None if fix else known_runs(Path())), "slm train DATA -o RUN"
        if meant := path_of_address(name):
            fact, where, limit = f"{shown} is an address", "", "a path of this system"
            fix = f"name {meant!r}"
        elif is_address(name):
            fact, where, limit = f"{shown} is an address, and only folders are read", "", near
            fix = "if it is a run, fetch it first, and name the copy"
        elif not os.path.exists(self.path):  # noqa: PTH110
            fact, where, limit = f"no folder {shown}", place_of_missing(self.path), near
            fix = fix or ((meant := run_meant(name, runs_in(folder))) and f"name {meant!r}")
        elif self.path.is_file():
            fact, where, limit = f"{shown} is {what}, not a run folder" if what else fact, "it is a file", near
        elif not name:
            fact, where = "the path of the run is empty", "an empty path stands for no folder"
        elif (self.path / "manifest.json").is_file():
            fact, limit = f"{shown} is packed data, not a run folder", near
            new = new_name(Path("run")) if os.path.lexists("run") else "run"
            trained = f"slm train {shlex.quote(name)} -o {new}"
        elif (self.path / "ablation.json").is_file():
            fact, where = f"{name!r} is an ablation, not a run folder", f"its runs are in {self.path / 'runs'}"
        elif (self.path / "config.json").is_file():
            fact, limit = f"{name!r} is a model of Hugging Face, not a run folder", near or known_runs(Path())
            reader = f"transformers reads this folder: AutoModelForCausalLM.from_pretrained({name!r})"
            own = "name one of them" if limit else "name a run, which slm train and slmmodel.train write"
            fix, limit = fix or f"{own}; {reader}", "; ".join(filter(None, ["slm reads only its own runs", limit]))
        elif (self.path / FINGERPRINT).is_file():
            fix = fix or f"restore {self.path / self._lost_file()}, or train again: slm train DATA -o NEW"
        else:
            folder, limit = self.path, known_runs(self.path)
        if found is not None:
            run, step = found
            at: Fix = "" if step is None else (", with ", Argument("step", step))
            fix, limit = fix or (f"name the run: {run}", *at), None
        named = f"name {runs[0]!r}" if len(runs := runs_in(folder)) == 1 else "name one of them"
        fix = fix or (named if limit else f"{trained} creates one")
        return MissingInput(fact, where=where or None, limit=limit, fix=fix, path=name, option=option)

    def create(
        self, config: bytes, fingerprint: Mapping[str, Any], vocab: bytes | None, tokenizer: bytes | None
    ) -> None:
        """Writes the small files of a new run, the fingerprint first; `SHA256SUMS` is the last and makes it a run."""
        self.path.mkdir(parents=True, exist_ok=True)
        content = {FINGERPRINT: to_json(fingerprint), CONFIG: config, VOCAB: vocab, TOKENIZER: tokenizer}
        for name, data in content.items():
            if data is not None:
                write_file(self.path / name, data, self.handle)
        with suppress(FileExistsError):
            make_folder(self.checkpoints.folder, self.handle)
        self._write_sums()

    def _verify(self, folder: Path, names: Iterable[str] | None = None) -> None:
        if self._verifies_files:
            verify_sums(folder, names)

    def read(self, name: str) -> bytes:
        """The bytes of a small file, as the sums have it. Raises `CorruptFile`, `Unreadable`."""
        path, listed = self.path / name, read_sums(self.path).get(name)
        data = read_file(path)
        if self._verifies_files and listed not in (None, hashlib.sha256(data).hexdigest()):
            raise _differs(path)
        return data

    def _write_sums(self, more: Iterable[str] = ()) -> None:
        names = [name for name in (*run_entries.SMALL, *more) if (self.path / name).is_file()]
        write_file(self.path / SUMS, sums_of(self.path, names), self.handle)

    def update_fingerprint(self, fingerprint: Mapping[str, Any]) -> None:
        """Replaces `fingerprint.json` of a run before its first step. Killed meanwhile, it is no run any more."""
        remove_file(self.path / SUMS, self.handle)
        write_file(self.path / FINGERPRINT, to_json(fingerprint), self.handle)
        self._write_sums()

    def is_version_1(self) -> bool:
        """Whether the folder is a run of version 1, which is not read."""
        return os.path.isfile(self.path / "data.lock")  # noqa: PTH113

    def refuse_other_content(self) -> None:
        """Raises `OutputExists` where the path holds anything but what an unfinished `create` or `remove` leaves.

        Their files come with `fingerprint.json` or the sums, so that a `config.yaml` of the user is not taken for ours.
        """
        names = {item.name for item in self.path.iterdir()} if self.path.is_dir() else {""}
        names = {name for name in names if name != LOCK and not PART.fullmatch(name)}
        is_ours = names <= {*run_entries.UNFINISHED, *run_entries.FOLDERS} and bool(names & {FINGERPRINT, SUMS})
        if self.path.exists() and names and not is_ours:
            raise OutputExists(
                f"output {str(self.path)!r} exists and is not a run folder",
                fix=("another ", Argument("output")),
                path=str(self.path),
            )

    def exists(self) -> bool:
        """Whether the folder is a complete run: its sums were written."""
        # `Path.is_file` raises for names that the system refuses, such as long ones.
        return all(os.path.isfile(self.path / name) for name in (SUMS, CONFIG))  # noqa: PTH113

    @property
    def vocab(self) -> VocabMeta:
        """The vocabulary metadata of the run."""
        return VocabMeta.load(self.path / VOCAB)

    @property
    def tokenizer(self) -> Path | None:
        """The tokenizer file, which this package never opens; None where the data came without one."""
        path = self.path / TOKENIZER
        return path if path.is_file() else None

    @property
    def config(self) -> dict[str, Any]:
        """The resolved configuration: sections `model`, `data`, `optim`, `run`."""
        from slmmodel.config import recorded_config
        from slmmodel.yaml_files import parse

        path = self.path / CONFIG
        try:
            return recorded_config(parse(read_bounded(path, MAX_CONFIG_BYTES)))
        except OSError as error:
            fact, where, limit = f"cannot be read ({error.strerror})", str(path), None
        except FaultError as fault:
            fact, where, limit = str(fault), fault.place_in(path), None
        except SlmmodelError as error:
            fact, where, limit = f"is refused: {error.fact}", str(path), error.limit
        raise CorruptFile(f"{CONFIG} {fact}", where=where, limit=limit, fix="restore the file", path=str(path))

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What the run was trained on and with: digests, versions, threads."""
        return load(self.path / FINGERPRINT, Fingerprint).model_dump(exclude_unset=True)

    @property
    def finished(self) -> bool:
        """Whether the run has ended normally."""
        return (self.path / RESULT).is_file()

    @property
    def result(self) -> dict[str, Any]:
        """`result.json` of a finished run; empty before."""
        return load(self.path / RESULT, Result).model_dump(exclude_unset=True) if self.finished else {}

    def checkpoint(self, step: int | None = None) -> Path:
        """The verified folder of a checkpoint; `step` None is the newest. Raises `MissingInput`, `CorruptFile`."""
        newest = self.newest() if step is None else None
        folder = self.checkpoints.path(self.step_of(step) if newest is None else newest)
        with self._reading(folder, step):
            try:
                self._verify(folder)
            except CorruptFile as error:
                if (whole := self.newest()) is not None:
                    error.fix = (f"{error.fix}, or another checkpoint: ", Argument("step", whole))
                raise
            read_train_state(folder)
        return folder

    def newest(self) -> int | None:
        """The step of the newest intact checkpoint at the first call; later ones give the same, whatever is trained."""
        if self._newest is None:
            self._newest = self.checkpoints.newest()
        return self._newest

    @contextmanager
    def _reading(self, folder: Path, step: int | None) -> Iterator[None]:
        """A block that reads the checkpoint of `step`, None is the newest. Training may remove it meanwhile."""
        try:
            yield
        except (SlmmodelError, OSError):
            if folder.is_dir():
                raise
            if step is not None:
                self.step_of(step)
            raise Unreadable(
                f"{folder.name} was removed while it was read",
                where=str(folder.parent),
                limit=f"training keeps the newest checkpoints: run.keep {self.config['run']['keep']}",
                fix="the same command again reads a newer one",
                path=str(folder),
            ) from None

    def step_of(self, step: int | None) -> int:
        """The step of a checkpoint that is there; None is the newest. Raises `MissingInput`."""
        number, steps = self.checkpoints.newest() if step is None else step, self.checkpoints.list()
        if number is None or number not in steps:
            fix: Fix = f"slm resume {shlex.quote(str(self.path))}, which trains on"
            if self.finished:
                fix = "restore the checkpoints; without a step, the weights of the run are taken, if it has them"
            if number is not None and steps:
                fix = (Argument("step", self.checkpoints.nearest(number)), ", the nearest" * (len(steps) > 1))
            removed = number is not None and steps and number < steps[-1]
            kept = f"; run.keep {self.config['run']['keep']} removes older ones" if removed else ""
            fact = "the run has no checkpoint yet" if number is None else f"the run has no checkpoint of step {number}"
            if number is not None and os.path.lexists(self.checkpoints.path(number)):
                folder = self.checkpoints.path(number)
                is_what = f"no checkpoint: it has no {TRAIN_STATE}" if folder.is_dir() else "not a folder"
                fact = f"{folder.name} is {is_what}"
            raise MissingInput(
                fact,
                where=str(self.checkpoints.folder),
                limit=f"steps: {', '.join(map(str, steps)) or 'none'}{kept}",
                fix=fix,
            )
        return number

    def longer_as_new(self, budget: str | None = None) -> str:
        """The command that trains a finished run as a new run, for twice its steps without another budget."""
        steps = int(self.result.get("steps", 0))
        longer = f"-o {new_name(self.path)} --budget {shlex.quote(budget or f'steps={max(2 * steps, 1)}')}"
        return f"slm resume {shlex.quote(str(self.path))} --step {steps} {longer}"

    def resumed_as_new(self, step: int) -> str:
        """The command that begins a new run at a checkpoint."""
        if self.finished and step >= int(self.result.get("steps", 0)):
            return self.longer_as_new()
        return f"slm resume {shlex.quote(str(self.path))} --step {step} -o {new_name(self.path)}"

    def weights(self, step: int | None = None) -> Path:
        """The verified folder with the weights: the run's own at its end, else the newest (or given) checkpoint's.

        Raises `MissingInput`, `CorruptFile`.
        """
        if step is not None or self._newest is not None or not self.finished:
            return self.checkpoint(step)
        self._verify(self.path, tensor_files(self.path, MODEL))
        return self.path

    def model(
        self, device: str | torch.device = "cpu", dtype: torch.dtype | None = None, *, step: int | None = None
    ) -> Model:
        """The trained model in evaluation mode. Raises what `weights` raises, and `CorruptFile` for other keys."""
        import torch

        from slmmodel.distributed import load_tensors
        from slmmodel.hardware import device_for
        from slmmodel.models import build, config_from_dict, count

        target = device if isinstance(device, torch.device) else device_for(str(device))
        fix = "restore config.yaml or the weights, which belong to different models"
        config, folder = config_from_dict(self.config["model"]), self.weights(step)
        with self._reading(folder, step):
            self._digests[step] = weights_digest(folder)
            stored = sum((folder / name).stat().st_size for name in tensor_files(folder, MODEL))
            tensors = read_tensors(folder, MODEL)
        needed = count(config)
        if needed.parameters > stored:
            fact = f"{CONFIG} describes a model of {needed.parameters:,} parameters, the weights have {stored:,} bytes"
            raise CorruptFile(fact, where=str(self.path / CONFIG), fix=fix)
        model = build(config, seed=None)
        stored_dtype = torch.float64 if self.config.get("run", {}).get("precision") == "fp64" else torch.float32
        load_tensors("the stored model", model.state_dict(), tensors, dtype=stored_dtype, where=str(folder), fix=fix)
        return model.to(device=target, dtype=dtype).eval()

    def weights_digest(self, step: int | None = None) -> str:
        """`weights_digest` of the weights that `model` has read for this step, else of the files of the step."""
        return self._digests.get(step) or weights_digest(self.weights(step))

    def finish(self, tensors: Mapping[str, Tensor], world: World) -> str | None:
        """Writes the final weights; gives their digest (`weights_digest`) on the main rank. Every rank calls it."""
        check_in_place(self.handle)
        names = write_tensors(self.path, MODEL, tensors, world, self.handle)
        if not world.is_main:
            return None
        self._write_sums(names)
        return weights_digest(self.path)

    def write_result(self, result: Mapping[str, Any], card: bytes) -> None:
        """Writes the card and last `result.json` (`result` without its path), whose presence means finished."""
        check_in_place(self.handle)
        content = {name: value for name, value in result.items() if name != "path"}
        write_file(self.path / CARD, card, self.handle)
        write_file(self.path / RESULT, to_json(content), self.handle)

    def check_entries(self) -> None:
        """Raises `Unreadable` for a folder in the place of a file that training writes."""
        for name in run_entries.FILES:
            if (self.path / name).is_dir():
                check_regular(self.path / name)

    def remove(self) -> None:
        """Removes what runs write into the folder; other files stay. Symbolic links are removed, never followed.

        The result goes first, fingerprint and sums last, so a removal that was killed is continued. Where one of them
        cannot be removed, all stay.
        """
        if self.path.is_dir():
            remove_all(self.path, run_entries.own_entries(self.path), self.handle)

    def remove_leftovers(self) -> None:
        """Removes temporary files of killed processes. The caller holds the lock of the folder."""
        for folder in (self.path, self.checkpoints.folder):
            remove_parts(folder, self.handle)


@explains_absent_names(OF_CHECKPOINTS)
class Checkpoints:
    """The folder `checkpoints` of a run. `step-N` appears complete or not at all; `.tmp` folders are leftovers."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.handle: FolderHandle | None = None
        """As that of the run."""

    def path(self, step: int) -> Path:
        """The folder of a checkpoint."""
        return self.folder / f"step-{step}"

    def list(self) -> list[int]:
        """The steps of all checkpoints, ascending; a folder without `train_state.json` is none."""
        names = [path.name for path in self.folder.glob("step-*") if (path / TRAIN_STATE).is_file()]
        return sorted(int(name.removeprefix("step-")) for name in names if _CHECKPOINT.fullmatch(name))

    def nearest(self, step: int) -> int | None:
        """The checkpoint nearest to a step; None where there is none."""
        return min(self.list(), key=lambda each: abs(each - step), default=None)

    def check_entries(self) -> None:
        """Raises `Unreadable` for links and files in the place of folders, and for what is no file in that of marks."""
        check_folder(self.folder)
        for path in sorted(self.folder.glob("step-*")):
            if run_entries.STEP.fullmatch(path.name):
                check_folder(path)
        for name in (LATEST, BEST):
            check_regular(self.folder / name)

    def newest(self) -> int | None:
        """The newest checkpoint whose files match their sums."""
        found = self.list()
        for step in reversed(found):
            with suppress(CorruptFile, FileNotFoundError):
                if verify_sums(self.path(step)):
                    return step
        # Training has removed the listed checkpoints and written newer ones.
        return None if self.list() == found else self.newest()

    def snapshot(
        self,
        step: int,
        tensors: Mapping[str, Mapping[str, Tensor]],
        state: Mapping[str, Any],
        world: World,
        *,
        suffix: str = "",
    ) -> Snapshot:
        """Copies a checkpoint: named tensors by the stem of their file, and the train state. Every rank calls it.

        The previous snapshot must have been written. Raises `DiskFull`, `Unreadable`.
        """
        target = self.folder / f"step-{step}{suffix}"
        part = self.folder / f"{target.name}.tmp"
        train_state = to_json(state) if world.is_main else None
        if world.is_main:
            check_in_place(self.handle)
            self.check_entries()
            with translated_errors(target, part, self.handle):
                discard(part, run_entries.is_checkpoint_file, self.handle)
                make_folder(part, self.handle)
        names = [name for stem in tensors for name in tensor_names(stem, world)]
        own = {name: data for stem, of in tensors.items() for name, data in serialize(stem, of, world).items()}
        world.barrier()
        return Snapshot(target, part, names, own, train_state, self.handle)

    def mark(self, step: int, *, is_best: bool) -> None:
        """Names the newest checkpoint, and the best one, which is kept regardless of its age."""
        check_in_place(self.handle)
        for name in (LATEST, BEST) if is_best else (LATEST,):
            write_file(self.folder / name, f"{self.path(step).name}\n".encode(), self.handle)

    def best(self) -> int | None:
        """The step of the best checkpoint, where one is marked and exists."""
        path = self.folder / BEST
        name = read_file(path, 80).decode("utf-8", "replace").strip() if path.is_file() else ""
        return next((step for step in self.list() if self.path(step).name == name), None)

    def prune(self, keep: int, every: int = 0) -> None:
        """Keeps the newest `keep` checkpoints, the best one, and those at multiples of `every`."""
        steps = self.list()
        kept = {*steps[-max(keep, 1) :], self.best(), *(step for step in steps if every and step % every == 0)}
        # What was listed is then of this run.
        check_in_place(self.handle)
        for step in steps:
            if step not in kept:
                with removing(self.path(step), self.handle):
                    discard(self.path(step), run_entries.is_checkpoint_file, self.handle)

    def remove_after(self, step: int | None) -> None:
        """Removes checkpoints newer than `step` (all, with None) and leftovers of crashes."""
        newer = (self.path(number) for number in self.list() if step is None or number > step)
        for folder in newer:
            with suppress(OSError):
                discard(folder, run_entries.is_checkpoint_file, self.handle)
        for folder in self.folder.glob("*.tmp"):
            if run_entries.LEFTOVER.fullmatch(folder.name):
                with suppress(OSError):
                    clear(folder, run_entries.is_checkpoint_file, self.handle)


@dataclass
class Snapshot:
    """A copy in main memory of a checkpoint, or of this rank's part, which a thread may write."""

    target: Path
    part: Path
    """The folder beside it, in which all ranks write."""
    names: Sequence[str]
    """Files with tensors, of all ranks."""
    own: dict[str, bytes]
    """Content of those that this rank writes."""
    train_state: bytes | None
    """Content of `train_state.json`; None on all ranks but the main one, which completes the checkpoint."""
    handle: FolderHandle | None
    """Of the run."""

    def write(self, cancelled: threading.Event) -> bool:
        """Writes the files of this rank; the main rank waits for all others, and renames the folder.

        Whether it is complete: the main rank stops waiting when `cancelled` is set. Raises `DiskFull`, `Unreadable`;
        nothing partial is left.
        """
        check_in_place(self.handle)
        with translated_errors(self.target, self.part, self.handle):
            while self.own:
                name, data = self.own.popitem()
                write_file(self.part / name, data, self.handle)
            if self.train_state is None:
                return True
            while not all((self.part / name).is_file() for name in self.names):
                check_in_place(self.handle)
                if cancelled.wait(_POLL_SECONDS):
                    return False
            write_file(self.part / TRAIN_STATE, self.train_state, self.handle)
            write_file(self.part / SUMS, sums_of(self.part, [*self.names, TRAIN_STATE]), self.handle)
            check_in_place(self.handle)
            check_folder(self.target)
            discard(self.target, run_entries.is_checkpoint_file, self.handle)
            rename(self.part, self.target, self.handle)
            sync(self.target.parent)
        return True


# ---------------------------------------------------------------- tensors


def tensor_names(stem: str, world: World) -> list[str]:
    """The files with the tensors of `stem`: `STEM.safetensors`, or one per rank and an index where they are sharded."""
    if not world.fsdp:
        return [f"{stem}.safetensors"]
    files = [f"{stem}-{rank + 1:05}-of-{world.size:05}.safetensors" for rank in range(world.size)]
    return [*files, f"{stem}.safetensors.index.json"]


def serialize(stem: str, tensors: Mapping[str, Tensor], world: World) -> dict[str, bytes]:
    """The content of those files that this rank writes, by name.

    Every rank calls it. Tensors are gathered one after another, on every rank, which keeps the ones that it writes.
    """
    from safetensors.torch import save

    from slmmodel.distributed import gather

    files, owned = tensor_names(stem, world)[: world.size if world.fsdp else 1], {}
    file_of = {name: files[index % len(files)] for index, name in enumerate(tensors)}
    own_file = files[world.rank] if world.rank < len(files) else None
    for name, tensor in tensors.items():
        full = gather(tensor)
        if file_of[name] == own_file:
            owned[name] = full.detach().cpu().contiguous()
        del full
    # One metadata key keeps equal tensors equal files.
    content = {} if own_file is None else {own_file: save(owned, {"format": "pt"})}
    if world.fsdp and world.is_main:
        content[f"{stem}.safetensors.index.json"] = to_json({"metadata": {}, "weight_map": file_of})
    return content


def write_tensors(
    folder: Path, stem: str, tensors: Mapping[str, Tensor], world: World, handle: FolderHandle | None = None
) -> list[str]:
    """Writes all tensors of `stem`, and gives the names of their files. Every rank calls it, and waits for all."""
    for name, data in serialize(stem, tensors, world).items():
        write_file(folder / name, data, handle)
    world.barrier()
    return tensor_names(stem, world)


def read_tensors(folder: Path, stem: str) -> dict[str, Tensor]:
    """The tensors of `stem` by name, mapped from their files.

    Raises `CorruptFile`, and `NotFinite` for weights and the state of the optimizer.
    """
    tensors = map_tensors(folder, stem)
    if stem in _CHECKED and (fault := fault_in(tensors)):
        error, content = fault
        raise error(f"{_CHECKED[stem]} {content}", where=str(folder), fix=_other_weights(folder, stem))
    return tensors


def _other_weights(folder: Path, stem: str) -> Fix:
    """The fix for tensors that cannot be used: the newest checkpoint of their run without such ones."""
    run = RunFolder(folder.parent.parent if folder.parent.name == CHECKPOINTS else folder)
    for step in reversed(run.checkpoints.list()):
        saved = run.checkpoints.path(step)
        with suppress(CorruptFile, Unreadable):
            if verify_sums(saved) and not any(fault_in(map_tensors(saved, each)) for each in _CHECKED):
                resumed = run.resumed_as_new(step)
                if stem != MODEL:
                    # Only training reads it.
                    return f"train on from an earlier checkpoint: {resumed}"
                # Equal settings would lead to the same weights again.
                lower = f"--set optim.lr={run.config['optim']['lr'] / 10:g}"
                return ("read an earlier checkpoint: ", Argument("step", step), f"; or train on: {resumed} {lower}")
    if stem != MODEL:
        return "train again: no checkpoint of the run has a sound state of the optimizer"
    return "train again, with a lower optim.lr: no checkpoint of the run has finite weights"


def weights_digest(folder: Path) -> str:
    """SHA-256 of `model.safetensors`; of sharded weights, over the sums of their files."""
    sums = [sha256_of(folder / name) for name in tensor_files(folder, MODEL)]
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


# ---------------------------------------------------------------- files and sums


def to_json(values: Mapping[str, Any]) -> bytes:
    """Indented JSON with sorted keys; equal values give equal bytes."""
    return (json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_train_state(folder: Path) -> dict[str, Any]:
    """The `train_state.json` of a checkpoint. Raises `CorruptFile`, `UnsupportedFormat`."""
    run, fix = folder.parent.parent, resume_elsewhere(folder)
    state = load(folder / TRAIN_STATE, TrainStateFile, fix=fix).model_dump(by_alias=True)
    if state["run"] not in ("", run_digest(RunFolder(run).fingerprint)):
        fault = "it belongs to another run"
    elif folder.name not in (f"step-{state['counters']['step']}", f"step-{state['counters']['step']}{BAD}"):
        fault = f"its state is that of step {state['counters']['step']}"
    else:
        return state
    if _others(folder):
        fix = f"rm -r {shlex.quote(str(folder))}, and the same command goes on from the one before"
    raise CorruptFile(
        f"{folder.name} is not a checkpoint of this run: {fault}", where=str(folder), fix=fix, path=str(folder)
    )


def _others(folder: Path) -> list[int]:
    """The steps of the other checkpoints of its run."""
    return [step for step in Checkpoints(folder.parent).list() if folder.name != f"step-{step}"]


def resume_elsewhere(folder: Path) -> str:
    """The fix for a checkpoint that training cannot continue: the newest other one of its run."""
    run, others = folder.parent.parent, _others(folder)
    if not others:
        return "train again: it is the only checkpoint"
    return f"resume from another checkpoint: {RunFolder(run).resumed_as_new(others[-1])}"


def run_digest(fingerprint: Mapping[str, Any]) -> str:
    """What ties a checkpoint to its run: the settings that decide weights, the data of step 0 and the tokenizer."""
    identity = [fingerprint.get("config"), first_data(fingerprint), fingerprint.get("fingerprint")]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def verify_sums(folder: Path, names: Iterable[str] | None = None) -> bool:
    """Whether the folder has sums. Raises `CorruptFile` for the first listed file that is missing or differs."""
    sums = read_sums(folder)
    for name in sums if names is None else [name for name in names if name in sums]:
        path = folder / name
        if path.is_file() and (size := path.stat().st_size) > (largest := largest_size(path)):
            excess = "more than its header or its kind allows" if largest else "and no sound header"
            raise _differs(path, f"{name} has {size:,} bytes, {excess}")
        if not path.is_file() or sha256_of(path) != sums[name]:
            raise _differs(path)
    return bool(sums)


def _differs(path: Path, fact: str | None = None) -> CorruptFile:
    """The error for a file that is not as its folder's sums have it. A run with lost weights still has checkpoints."""
    restored, steps = vocab_written_again(path) or "restore the file", Checkpoints(path.parent / CHECKPOINTS).list()
    is_weights = run_entries.MODEL_FILE.fullmatch(path.name) is not None
    is_lost = path.name == VOCAB and not path.exists()
    # A checkpoint is read whole, or another one is.
    is_needed = is_weights or is_lost or path.parent.parent.name == CHECKPOINTS
    allowed = "" if is_needed else "; slm train and slm resume continue with --allow-mismatch files"
    other = (", or read a checkpoint: ", Argument("step", steps[-1])) if is_weights and steps else ()
    return CorruptFile(
        fact or f"{path.name} {'differs from' if path.exists() else 'is missing, but listed in'} {SUMS}",
        where=str(path.parent),
        limit="files of a run must not be edited",
        fix=(f"{restored}{allowed}", *other),
        path=str(path),
    )
