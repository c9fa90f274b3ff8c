"""Packed data for other training loops: `ShardDataset` for `torch.utils.data`, and `ShardLoader`, batches in our order.

Both give dictionaries of `input_ids` and `labels`, int64. The sequences are those of `slm train` with the same options.
Objects are pickled by path and digest of their data: spawned workers map the files again, and refuse other data.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data._utils.fetch import _IterableDatasetFetcher

from slmmodel.calls import explains_calls, unknown_option
from slmmodel.checks import check_bool, check_int, check_path, warn_caller
from slmmodel.data.batch import IGNORE_INDEX
from slmmodel.data.loader import Cursor, Loader
from slmmodel.data.opening import open_source
from slmmodel.data.packing import CHOICES, fix_of_option
from slmmodel.data.strategies import STRATEGIES
from slmmodel.errors import (
    Argument,
    InvalidConfig,
    Mismatch,
    OptionError,
    SlmmodelError,
    UnknownName,
    WrongType,
    suggestion,
    unknown_name,
)
from slmmodel.foreign_attributes import OF_DATASETS, OF_SHARD_LOADERS
from slmmodel.foreign_names import FOREIGN_VALUES
from slmmodel.sizes import MAX_SEQ_LEN, ceil_div
from slmmodel.vocab import OF_SIZES, SIZES

if TYPE_CHECKING:
    from slmmodel.data.batch import Batch
    from slmmodel.vocab import VocabMeta

_MAX_STEPS_SOUGHT = 10_000
"""Batches up to which a fix has the state after them."""
_MAX_COUNTED = (1 << 31) - 1
"""Epochs, and sequences of one, that a state may name."""
_DATA = "data"
"""The key of the digest of the data in a state."""
_OF_DATA_LOADER = frozenset(signature(DataLoader.__init__).parameters) - {"self", "dataset", "batch_size", "shuffle"}
"""Options of torch's DataLoader that users may expect here."""
_NEEDLESS = {
    "drop_last": "the last batch of an epoch is completed from the next one",
    **dict.fromkeys(("sampler", "batch_sampler", "generator"), "seed and shuffle decide the order"),
}
"""Options of torch's DataLoader, each with the reason why a `ShardLoader` needs none."""
_OF_EPOCHS = (
    "leave it out: the epochs follow one another; "
    "loader.load_state_dict({{'epoch': {}, 'block': 0, 'taken': 0}}) begins with that epoch"
)
_SINGLE = [name for name, strategy in STRATEGIES.items() if "batch_size" not in strategy.OPTIONS]
"""The packings of a `ShardDataset`; the others form batches."""
_OF_SAMPLER = (
    "make the sampler and its DataLoader after each set_epoch, or take a ShardLoader, which has rank and world_size"
)


def _check_counted(name: str, value: object) -> int:
    """`value` as an int from 0 up that an int32 holds. Raises `WrongType`, `OptionError`."""
    number = check_int(name, value)
    if number > _MAX_COUNTED:
        raise OptionError(f"{name} is {number}", limit=f"0 to {_MAX_COUNTED:,}", fix=f"{name}=0", option=name)
    return number


def _loader_call(path: object, options: Mapping[str, Any]) -> str:
    """The call of a `ShardLoader` with these options, without options of a DataLoader and without defaults."""
    defaults = {name: each.default for name, each in signature(ShardLoader.__init__).parameters.items()}
    given = {name: value for name, value in options.items() if value != defaults.get(name, ...)}
    shown = [f"{name}={value!r}" for name, value in given.items() if name not in _OF_DATA_LOADER]
    return f"slmmodel.data.ShardLoader({', '.join([repr(str(path)), *shown])})"


@contextmanager
def _naming_missing(path: object) -> Iterator[None]:
    """Adds data that do not exist to the error about an option: both are wrong."""
    try:
        yield
    except SlmmodelError as error:
        if isinstance(path, str | os.PathLike) and not os.path.exists(path):  # noqa: PTH110
            error.fact = f"{error.fact}; no file or folder {os.fspath(path)!r}"
            error.fix = f"{error.fix}; path=PATH, packed data that exist"
        raise


class _Sequences:
    """What both classes share: their arguments, and a `Loader` that each process opens for itself."""

    def __init__(self, path: str | os.PathLike[str], split: str, batch_size: int, options: Mapping[str, Any]) -> None:
        with _naming_missing(path):
            self._refuse_options(path, split, options)
        self.path = str(Path(check_path("path", path)).absolute())
        self.split, self.options = split, dict(options)
        self.batch_size = check_int("batch_size", batch_size, 1, example=8)
        self.shift_labels = self.options.pop("shift_labels")
        check_bool("shift_labels", self.shift_labels)
        check_int("seq_len", self.options["seq_len"], 1, example=256)
        check_int("seed", self.options["seed"])
        self._loader: Loader | None = None
        self._digest: str | None = None
        """Of the data, in a copy that was unpickled."""
        self.loader  # noqa: B018  (errors of the data come here, not from a worker)

    def _refuse_options(self, path: str | os.PathLike[str], split: str, options: Mapping[str, Any]) -> None:
        """Raises the error of an option that the class lacks, or whose value is none of its own."""
        if "batch_size" in options:
            given = options["batch_size"]
            size = given if type(given) is int and given > 0 else 8
            fix = _loader_call(path, {"split": split, **options, "batch_size": size})
            raise WrongType("a ShardDataset has single sequences, and no batch_size", fix=fix)
        for name in _OF_DATA_LOADER & options.keys():
            what = type(self).__name__
            fix = f"leave it out: {_NEEDLESS.get(name, 'a ShardLoader reads ahead by itself')}"
            if isinstance(self, ShardDataset):
                fix = f"give {name} to the torch.utils.data.DataLoader that takes the {what}"
            raise WrongType(f"{what} has no option {name!r}, which belongs to DataLoader", fix=fix, option=name)
        for name in ("shuffle", "shift_labels"):
            check_bool(name, options[name])
        self._refuse_pack(path, {"split": split, **options})
        self._refuse_unknown(options)
        for name in options.keys() & CHOICES.keys():
            if not isinstance(options[name], str) or options[name] not in CHOICES[name]:
                raise unknown_name(name, str(options[name]), CHOICES[name], Argument(name))

    def _refuse_pack(self, path: object, options: Mapping[str, Any]) -> None:
        """Raises `UnknownName`, and `InvalidConfig` for a packing that forms batches in a data set."""
        pack, given = options["pack"], str(options["pack"])
        choices = _SINGLE if isinstance(self, ShardDataset) else [*STRATEGIES]
        if isinstance(pack, str) and pack in choices:
            return
        known = None if pack is None else FOREIGN_VALUES["data.pack"].get(given.lower())
        meant = given if given in STRATEGIES else known or suggestion(given, STRATEGIES)
        if meant is None or meant in choices:
            raise unknown_name("strategy", given, choices, Argument("pack"), nearest=known)
        unknown = "" if given == meant else f"unknown strategy {given!r}; "
        raise (UnknownName if unknown else InvalidConfig)(
            f"{unknown}pack {meant!r} forms batches, and a data set has single sequences",
            limit=f"one of {', '.join(choices)}",
            fix=_loader_call(path, {**options, "pack": meant, "batch_size": 8}),
        )

    def _refuse_unknown(self, options: Mapping[str, Any]) -> None:
        """Raises `InvalidConfig` for an option that neither the class nor the packing has."""
        # A class that derives from these has a signature of its own.
        kind = ShardDataset if isinstance(self, ShardDataset) else ShardLoader
        own = [each for each in signature(kind.__init__).parameters if each != "self"]
        known = [*own[:-1], "positions", *STRATEGIES[options["pack"]].OPTIONS]
        for name in options:
            if name not in known:
                fallback = f"help(slmmodel.data.{kind.__name__})"
                error = unknown_option(type(self).__name__, name, options[name], known, fallback=fallback)
                of_pack = fix_of_option(name, "pack", batches=not isinstance(self, ShardDataset))
                fix = error.fix if isinstance(of_pack, str) else of_pack
                raise InvalidConfig(error.fact, limit=error.limit, fix=fix, option=name)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Raises `AttributeError`; for a size of the vocabulary, and for an epoch, it says what stands for it."""
            fact = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in ("set_epoch", "epoch"):
                fact += f"\n  fix:   {_OF_EPOCHS.format('N')}"
            own = "dataset" if isinstance(self, ShardDataset) else "loader"
            if name in ("map", "filter"):
                fact += f"\n  fix:   {name}(function, {own}), of Python"
            if name in SIZES:
                fact += f"\n  fix:   {OF_SIZES.format(own=own)}"
            if fix := (OF_DATASETS if own == "dataset" else OF_SHARD_LOADERS).get(name):
                fact += f"\n  fix:   {fix}"
            raise AttributeError(fact, name=name, obj=None if "\n" in fact else self)

        def __setattr__(self, name: str, value: object) -> None:
            """Raises `AttributeError` for an option, which counts where the object is made, and for a loader's epoch.

            Classes that derive from these have attributes of their own.
            """
            what = type(self).__name__
            if "_digest" in self.__dict__ and type(self).__module__ == __name__:
                if name == "epoch" and isinstance(self, ShardLoader):
                    raise AttributeError(f"a {what} has no epoch to set\n  fix:   {_OF_EPOCHS.format(value)}")
                if name in {*signature(type(self).__init__).parameters, *self.options}:
                    fix = f"make another one: {self._call(**{name: value})}"
                    raise AttributeError(f"{name} of a {what} is fixed when it is made\n  fix:   {fix}")
            super().__setattr__(name, value)

    @property
    def vocab(self) -> VocabMeta:
        """What the ids stand for; `vocab.padded_vocab` is the number of rows of an embedding."""
        return self.loader.vocab

    @property
    def loader(self) -> Loader:
        """The loader of this process. Raises `Mismatch` in a copy that was unpickled, where the data are others now."""
        if self._loader is None:
            source = open_source(self.path, self.split)
            if self._digest not in (None, source.digest):
                raise Mismatch(
                    f"the data at {self.path!r} are not those of the {type(self).__name__} that was pickled",
                    where=f"split {self.split!r}",
                    limit=f"digests: {source.digest[:16]}… now, {str(self._digest)[:16]}… when it was made",
                    fix=f"{self._call()} takes the data that are there now; pack other data into another folder",
                )
            self._loader = Loader(source, source.vocab, batch_size=self.batch_size, **self.options)
        return self._loader

    def __getstate__(self) -> dict[str, Any]:
        digest = self._digest if self._loader is None else self._loader.source.digest
        return {**self.__dict__, "_loader": None, "_digest": digest}

    def _call(self, **changed: object) -> str:
        """The call that makes such an object, with `changed` options, without the options that have their default."""
        parameters, values = signature(type(self).__init__).parameters, {**self.options, **vars(self), **changed}
        defaults = {name: each.default for name, each in parameters.items() if each.kind is not each.VAR_KEYWORD}
        names = [name for name in dict.fromkeys([*defaults, *self.options]) if name in values]
        given = [f"{name}={values[name]!r}" for name in names if name not in defaults or values[name] != defaults[name]]
        return f"{type(self).__name__}({', '.join(given)})"

    def _tensors(self, batch: Batch) -> dict[str, Tensor]:
        """`input_ids` and `labels` of a batch, int64 [B, T]."""
        labels = batch.targets.masked_fill(~batch.target_mask, IGNORE_INDEX)
        if not self.shift_labels:
            labels = torch.cat([torch.full_like(labels[:, :1], IGNORE_INDEX), labels[:, :-1]], 1)
        return {"input_ids": batch.ids, "labels": labels}


@explains_calls
class ShardDataset(_Sequences, Dataset[dict[str, Tensor]]):
    """The sequences of one epoch of packed data, for `torch.utils.data.DataLoader`; one block of data.

    An item is a dict `{"input_ids", "labels"}`, int64 [seq_len]: `x, y = dataset[0].values()`. The label of a column is
    the id that follows its input, for `F.cross_entropy(logits.flatten(0, 1), labels.flatten())`, or -100 where nothing
    is scored. `shift_labels=False` puts it one column later, as models of transformers expect, which shift labels
    themselves; the last target of a sequence is then not scored.

    The length may change by epoch, as with `pack="first_fit"` and `"best_fit_crop"`. A sampler that keeps the length,
    such as `DistributedSampler`, and its `DataLoader` are made after each `set_epoch`; or take a `ShardLoader`.

    pack, seed, shuffle, crop_offset and further options: as `Loader`; packings that form batches are refused.
    Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`, `Mismatch`, `InvalidConfig`, `UnknownName`, `WrongType`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        split: str = "train",
        *,
        seq_len: int,
        pack: str = "concat",
        shift_labels: bool = True,
        seed: int = 0,
        shuffle: bool = True,
        crop_offset: str = "random",
        **options: Any,
    ) -> None:
        named = {"seq_len": seq_len, "pack": pack, "seed": seed, "shuffle": shuffle, "shift_labels": shift_labels}
        super().__init__(path, split, 1, {**named, "crop_offset": crop_offset, **options})
        self._share(0)
        n_ids = int(self.loader.document_block(0).lengths().sum())
        if seq_len > n_ids:
            raise InvalidConfig(
                f"seq_len {seq_len:,} is more than all {n_ids:,} ids of the split {split!r}",
                fix=f"seq_len={min(256, n_ids)}, or another length up to that",
            )

    def _share(self, epoch: int) -> None:
        """Puts the epoch into memory that workers of a `DataLoader` share, which may outlive an epoch."""
        self._shared_epoch = torch.tensor(epoch)
        # Where the system has no shared memory, workers could not give back a batch either.
        with suppress(RuntimeError):
            self._shared_epoch.share_memory_()  # type: ignore[no-untyped-call]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if not self._shared_epoch.is_shared():  # type: ignore[no-untyped-call]
            self._share(self.epoch)

    @property
    def epoch(self) -> int:
        """The epoch of the documents and cuts; assigning one is `set_epoch`."""
        return int(self._shared_epoch)

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self.set_epoch(epoch)

    def set_epoch(self, epoch: int) -> None:
        """Takes the documents and cuts of another epoch, also in workers; call it before a `DataLoader` is iterated.

        The length may change: make a `DistributedSampler` and its `DataLoader` after each call. Several processes are
        warned where it changes.
        """
        number, before = _check_counted("epoch", epoch), self.epoch
        self._shared_epoch.fill_(number)
        # Elsewhere no sampler of torch keeps the length.
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            n_before, n = (len(self.loader.packing(each, 0)) for each in (before, number))
            if n_before != n:
                warnings.warn(
                    f"epoch {number} of the {type(self).__name__} has {n:,} sequences, epoch {before} had {n_before:,} "
                    f"(pack {self.loader.pack!r}). A DistributedSampler keeps the length, and then ends with an "
                    f"AssertionError: {_OF_SAMPLER}",
                    stacklevel=2,
                )

    def __len__(self) -> int:
        return len(self.loader.packing(self.epoch, 0))

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        """A sequence. Raises `IndexError`, `CorruptFile`."""
        n = len(self)
        if isinstance(index, slice):
            try:
                chosen = range(*index.indices(n))
            except TypeError:
                chosen = range(min(8, n))
            raise WrongType("a slice of a ShardDataset", fix=f"torch.utils.data.Subset(dataset, {chosen})")
        try:
            number = check_int("index", index, None)
        except WrongType as error:
            name: object = index
            fix = f"dataset[0][{name!r}]" if name in ("input_ids", "labels") else "dataset[0]"
            raise WrongType(error.fact, limit=f"0 to {n - 1}", fix=fix) from None
        if not -n <= number < n:
            fact = f"index {number} of a ShardDataset of {n:,} sequences, which are 0 to {n - 1}"
            if self.epoch:
                fact += f", in epoch {self.epoch}; other epochs may have more\n  fix:   {_OF_SAMPLER}"
            raise IndexError(fact)
        batch = self.loader.batch(np.array([[self.epoch, 0, number % n]]))
        return {name: tensor[0] for name, tensor in self._tensors(batch).items()}

    def __repr__(self) -> str:
        sequences = f"{len(self):,} sequence" + "s" * (len(self) != 1)
        return f"ShardDataset({self.path!r}, {self.split!r}, {sequences} of {self.loader.seq_len} ids)"


@explains_calls
class ShardLoader(_Sequences, IterableDataset[dict[str, Tensor]]):
    """Batches of packed data in the order of `slm train`, epoch after epoch, without end; the next is prefetched.

    A batch is `{"input_ids", "labels"}`, int64 [batch_size, seq_len]; see `ShardDataset`. With `rank` and `world_size`
    each process gets its share of the same batches. `state_dict()` says where the next batch begins. No `DataLoader` is
    needed around it; one must have `batch_size=None` and no workers.

    Options and errors: as `ShardDataset`; all packings are allowed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        split: str = "train",
        *,
        seq_len: int,
        batch_size: int,
        pack: str = "concat",
        shift_labels: bool = True,
        seed: int = 0,
        shuffle: bool = True,
        crop_offset: str = "random",
        rank: int = 0,
        world_size: int = 1,
        **options: Any,
    ) -> None:
        self.rank, self.world_size = check_int("rank", rank), check_int("world_size", world_size, 1)
        if not rank < world_size <= check_int("batch_size", batch_size, 1, example=8):
            more = f"batch_size={world_size}, or more: it counts the sequences of all ranks"
            fewer = f"world_size={rank + 1}, or more: the number of all processes"
            if rank == world_size:
                fewer = f"rank={rank - 1}, the last one, or {fewer}"
            raise OptionError(
                f"rank {rank} of world_size {world_size} with batch_size {batch_size}",
                limit="rank < world_size <= batch_size; ranks count from 0",
                fix=more if rank < world_size else fewer,
            )
        named = {"seq_len": seq_len, "pack": pack, "seed": seed, "shuffle": shuffle, "shift_labels": shift_labels}
        if check_int("seq_len", seq_len, 1, example=256) > MAX_SEQ_LEN:
            limit = f"1 to {MAX_SEQ_LEN:,}"
            raise OptionError(f"seq_len is {seq_len:,}", limit=limit, fix="seq_len=256", option="seq_len")
        super().__init__(path, split, batch_size, {**named, "crop_offset": crop_offset, **options})
        self._cursor = Cursor()
        n = len(self.loader.packing(0, 0))
        if self.loader.source.n_blocks == 1 and 0 < n < batch_size:
            warn_caller(
                f"batch_size {batch_size:,} is more than the {n:,} sequences of an epoch: a batch has sequences of "
                f"several epochs. batch_size={n} takes one epoch a step, and fewer take several steps"
            )

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int) -> NoReturn:
        """Raises `WrongType`: batches are read one after another."""
        raise WrongType("a ShardLoader has no batch by number", fix="next(iter(loader)), or a ShardDataset, which has")

    def __len__(self) -> int:
        """Raises `WrongType`: the epochs follow one another without an end."""
        steps = ceil_div(len(self.loader.packing(0, 0)), self.batch_size)
        limit = f"an epoch has about {steps:,} batches, and the next one follows it"
        raise WrongType(
            "a ShardLoader has no length: it has no end",
            limit=limit,
            fix=f"zip(range({steps}), loader)  # loader: this ShardLoader",
        )

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        fix = "iterate over the ShardLoader itself, or DataLoader(loader, batch_size=None)"
        if torch.utils.data.get_worker_info() is not None:
            raise InvalidConfig("a ShardLoader in a worker of a DataLoader", fix=fix)
        caller = sys._getframe(1).f_locals
        if isinstance(caller.get("self"), _IterableDatasetFetcher) and caller.get("auto_collation"):
            # The DataLoader would make batches of batches.
            fact = "a DataLoader with a batch_size around a ShardLoader, which gives whole batches"
            raise InvalidConfig(fact, limit="batch_size=None", fix=fix)
        return self._batches()

    def _batches(self) -> Iterator[dict[str, Tensor]]:
        loader, upcoming = self.loader, self.loader.global_batch(self._cursor)
        while True:
            step, upcoming = upcoming, loader.global_batch(upcoming.next)
            batch = loader.batch(step.sequence_keys[self.rank :: self.world_size])
            loader.prefetch(upcoming.sequence_keys[self.rank :: self.world_size])
            self._cursor = step.next
            yield self._tensors(batch)

    def state_dict(self) -> dict[str, Any]:
        """Where the next batch begins: three integers, the options that decide the sequences, which they count, and
        the digest of the data."""
        return {**self._cursor._asdict(), **self._order(), _DATA: self.loader.source.digest}

    def _order(self) -> dict[str, Any]:
        """The options that decide the sequences and their order; another `batch_size` takes the same ones."""
        loader = self.loader
        chosen = {"seq_len": loader.seq_len, "pack": loader.pack, "seed": loader.seed}
        return {
            **chosen,
            "shuffle": loader.shuffles_documents,
            "crop_offset": loader.crop_offset,
            **loader.packing(0, 0).options,
        }

    def _refuse_other_order(self, state: Mapping[str, Any]) -> None:
        """Raises `OptionError` for a state that was made with other options: its numbers count other sequences."""
        own, given = self._order(), {name: state[name] for name in state if name not in (*Cursor._fields, _DATA)}
        if not given or given == own:
            return
        changed = [name for name in {**given, **own} if given.get(name) != own.get(name)]
        theirs, ours = (
            ", ".join(f"{name}={each[name]!r}" for name in changed if name in each) for each in (given, own)
        )
        raise OptionError(
            f"the state is that of a ShardLoader with {theirs or f'none of {ours}'}",
            limit=f"this one has {ours or 'no such option'}; a state counts the sequences of one choice of options",
            fix=f"load it into a ShardLoader with {theirs or 'the options of the one that gave it'}",
            option="state",
        )

    def _refuse_other_data(self, state: Mapping[str, Any]) -> None:
        """Raises `Mismatch` for a state of other data: its numbers count their sequences."""
        digest = self.loader.source.digest
        if state.get(_DATA, digest) == digest:
            return
        numbers = {name: state[name] for name in Cursor._fields}
        raise Mismatch(
            f"the state is that of a ShardLoader of other data than {self.path!r}",
            where=f"split {self.split!r}",
            limit=f"digests: {digest[:16]}… of these data, {state[_DATA]!s:.16}… in the state",
            fix=f"load it into a ShardLoader of its own data; load_state_dict({numbers}) takes these from there on",
        )

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues there; a loop that is running is not moved. Raises `WrongType`, `OptionError`, `Mismatch`.

        A state of the three integers alone is taken for one of these options and data.
        """
        if not isinstance(state, Mapping) or not set(state) >= set(Cursor._fields):
            fix = "what loader.state_dict() gave after the last batch"
            numbers = list(state.values()) if isinstance(state, Mapping) else [state]
            if len(numbers) == 1 and type(numbers[0]) is int and 0 <= numbers[0] <= _MAX_STEPS_SOUGHT:
                cursor = Cursor()
                for _ in range(numbers[0]):
                    cursor = self.loader.global_batch(cursor).next
                fix = f"loader.load_state_dict({cursor._asdict()}), after {numbers[0]} batches"
            raise WrongType(f"the state is {state!r:.60}", limit=", ".join(Cursor._fields), fix=fix)
        self._refuse_other_order(state)
        self._refuse_other_data(state)
        cursor = Cursor(**{name: _check_counted(name, state[name]) for name in Cursor._fields})
        n_blocks = self.loader.source.n_blocks
        if n_blocks is not None and cursor.block >= n_blocks:
            bound = f"the data have {n_blocks} block{'s' * (n_blocks != 1)}"
        elif cursor.taken > (n_groups := self.loader.packing(cursor.epoch, cursor.block).n_groups):
            bound = f"the block has {n_groups:,} sequences"
        else:
            self._cursor = cursor
            return
        raise OptionError(
            f"the state is that of other data or options: {cursor._asdict()}",
            limit=bound,
            fix="load it into a ShardLoader with the data and options of the one that gave it",
            option="state",
        )

    def __repr__(self) -> str:
        size = f"{self.batch_size} sequences of {self.loader.seq_len} ids"
        return f"ShardLoader({self.path!r}, {self.split!r}, {size}, {self._cursor})"
