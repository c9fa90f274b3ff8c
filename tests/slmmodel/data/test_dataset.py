"""`ShardDataset` and `ShardLoader`: the sequences of `slm train`, for other training loops."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import made_shards as made
import numpy as np
import pytest

import slmmodel
from slmmodel.data import Cursor, Loader, open_source
from slmmodel.errors import InvalidConfig, Mismatch, MissingInput, OptionError, SlmmodelError, UnknownName, WrongType

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader  # noqa: E402

from slmmodel.data import ShardDataset, ShardLoader  # noqa: E402

SEQ_LEN = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shards of training data."""
    lengths = [[20, 5, 9, 30], [7, 13, 40]]
    return made.write_data(tmp_path_factory.mktemp("data"), {"train": [made.documents(each) for each in lengths]})


def rows(tensor: Any) -> list[list[int]]:
    return [list(map(int, row)) for row in tensor]


@pytest.mark.parametrize("pack", ["concat", "best_fit", "right_pad_once"])
def test_items_are_the_sequences_of_training(folder: Path, pack: str) -> None:
    dataset = ShardDataset(folder, seq_len=SEQ_LEN, pack=pack, seed=3)
    source = open_source(folder)
    loader = Loader(source, source.vocab, seq_len=SEQ_LEN, batch_size=1, pack=pack, seed=3)
    for epoch in (0, 2):
        dataset.set_epoch(epoch)
        assert len(dataset) == len(loader.packing(epoch, 0))
        for index, item in enumerate(dataset):
            batch = loader.batch(np.array([[epoch, 0, index]]))
            assert item["input_ids"].tolist() == batch.ids[0].tolist()
            assert item["labels"].tolist() == torch.where(batch.target_mask, batch.targets, -100)[0].tolist()
            assert {name: tensor.dtype for name, tensor in item.items()} == dict.fromkeys(item, torch.int64)


def test_labels_of_transformers(folder: Path) -> None:
    """Models of transformers predict the label of the next position."""
    shifted, unshifted = (ShardDataset(folder, seq_len=SEQ_LEN, shift_labels=done) for done in (True, False))
    for ours, theirs in zip(shifted, unshifted, strict=True):
        assert theirs["input_ids"].tolist() == ours["input_ids"].tolist()
        assert theirs["labels"].tolist() == [-100, *ours["labels"].tolist()[:-1]]


@pytest.mark.peer
def test_a_model_of_transformers_takes_a_batch(folder: Path) -> None:
    transformers = pytest.importorskip("transformers")
    dataset = ShardDataset(folder, seq_len=SEQ_LEN, shift_labels=False)
    rows = dataset.vocab.padded_vocab
    config = transformers.GPT2Config(vocab_size=rows, n_positions=SEQ_LEN, n_embd=8, n_layer=1, n_head=1)
    model = transformers.GPT2LMHeadModel(config).eval()
    batch = next(iter(DataLoader(dataset, batch_size=4)))
    out = model(**batch)
    shifted = next(iter(DataLoader(ShardDataset(folder, seq_len=SEQ_LEN), batch_size=4)))["labels"]
    ours = torch.nn.functional.cross_entropy(out.logits[:, :-1].flatten(0, 1), shifted[:, :-1].flatten())
    assert out.loss.item() == pytest.approx(ours.item(), rel=1e-6)


@pytest.mark.parametrize(
    ("start_method", "n_workers", "is_unpickled"), [("fork", 2, False), ("fork", 1, True), ("spawn", 1, True)]
)
def test_workers_give_the_batches_of_each_epoch(
    folder: Path, start_method: str, n_workers: int, is_unpickled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They outlive an epoch, and take the next one."""
    if start_method not in torch.multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start_method} on this system")
    monkeypatch.chdir(folder)
    dataset, alone = (ShardDataset(".", seq_len=SEQ_LEN, seed=3) for _ in range(2))
    if is_unpickled:
        dataset = pickle.loads(pickle.dumps(dataset))
    dataset[0]  # opened before the workers start
    options: dict[str, Any] = {"num_workers": n_workers, "multiprocessing_context": start_method}
    loader: Any = DataLoader(dataset, batch_size=3, persistent_workers=True, **options)
    for epoch in (1, 2, 0):
        dataset.set_epoch(epoch)
        alone.set_epoch(epoch)
        plain = [rows(batch["input_ids"]) for batch in DataLoader(alone, batch_size=3)]
        assert [rows(batch["input_ids"]) for batch in loader] == plain


def test_pickles_hold_the_path_and_not_the_data(folder: Path, tmp_path: Path) -> None:
    big = made.write_data(tmp_path / "big", {"train": [made.documents([200_000])]})
    dataset = ShardDataset(big, seq_len=SEQ_LEN)
    dataset[0]
    assert len(pickle.dumps(dataset)) < 20_000
    again = pickle.loads(pickle.dumps(dataset))
    assert again[5]["input_ids"].tolist() == dataset[5]["input_ids"].tolist() and str(big) in repr(again)


@pytest.mark.parametrize("kind", ["packed", "file"])
def test_pickles_refuse_other_data(tmp_path: Path, kind: str) -> None:
    """Workers that are spawned anew each epoch would else read the data that replaced those of the data set."""
    at = tmp_path / "data"

    def write(lengths: list[int]) -> Path:
        made.write_data(at, {"train": [made.documents(lengths)]})
        if kind == "packed":
            return at
        np.save(at / "ids.npy", np.concatenate(made.documents(lengths)).astype("<u2"))
        return at / "ids.npy"

    path = write([20, 30])
    objects = [ShardDataset(path, seq_len=SEQ_LEN, seed=3), ShardLoader(path, seq_len=SEQ_LEN, batch_size=2)]
    pickles = [pickle.dumps(each) for each in objects]
    assert [pickle.loads(each).vocab.n_vocab for each in pickles] == [each.vocab.n_vocab for each in objects]
    shutil.rmtree(at)
    write([30, 20])
    for pickled in (*pickles, pickle.dumps(pickle.loads(pickles[0]))):
        with pytest.raises(Mismatch, match=r"are not those of the Shard.* that was pickled") as caught:
            next(iter(pickle.loads(pickled)))
        assert next(iter(eval(str(caught.value.fix).partition(" takes ")[0])))["input_ids"].shape[-1] == SEQ_LEN


def test_batches_in_the_order_of_training(folder: Path) -> None:
    source = open_source(folder)
    loader = Loader(source, source.vocab, seq_len=SEQ_LEN, batch_size=4, seed=5)
    cursor, found = Cursor(), ShardLoader(folder, seq_len=SEQ_LEN, batch_size=4, seed=5)
    halves = [
        iter(ShardLoader(folder, seq_len=SEQ_LEN, batch_size=4, seed=5, rank=rank, world_size=2)) for rank in (0, 1)
    ]
    for batch in islice(found, 9):
        step = loader.global_batch(cursor)
        want = loader.batch(step.sequence_keys)
        assert rows(batch["input_ids"]) == rows(want.ids)
        parts = [rows(next(half)["input_ids"]) for half in halves]
        assert parts == [rows(want.ids[0::2]), rows(want.ids[1::2])]
        cursor = step.next
    assert cursor.epoch > 0 and found.state_dict().items() >= cursor._asdict().items()


def test_a_loader_continues(folder: Path) -> None:
    first, second = (ShardLoader(folder, seq_len=SEQ_LEN, batch_size=3) for _ in range(2))
    list(islice(first, 4))
    second.load_state_dict(first.state_dict())
    want, found = next(iter(first)), next(iter(second))
    assert rows(found["labels"]) == rows(want["labels"])


@pytest.mark.parametrize(
    ("state", "limit"),
    [
        ({"epoch": 10**30}, "0 to 2,147,483,647"),
        ({"block": 99}, "the data have 1 block"),
        ({"taken": 10**6}, r"the block has \d+ sequences"),
    ],
)
def test_states_of_other_data_are_refused(folder: Path, state: dict[str, int], limit: str) -> None:
    loader = ShardLoader(folder, seq_len=SEQ_LEN, batch_size=3)
    before = loader.state_dict()
    with pytest.raises(OptionError) as caught:
        loader.load_state_dict({**before, **state})
    assert re.fullmatch(limit, str(caught.value.limit)) and loader.state_dict() == before


@pytest.mark.parametrize(
    ("options", "theirs", "ours"),
    [
        ({"seq_len": 16}, "seq_len=8", "seq_len=16"),
        ({"pack": "best_fit"}, "pack='concat'", "pack='best_fit'"),
        ({"seed": 7}, "seed=0", "seed=7"),
        ({"shuffle": False}, "shuffle=True", "shuffle=False"),
        ({"pack": "stream", "stride": 2}, "pack='concat'", "pack='stream', "),
    ],
)
def test_states_of_other_options_are_refused(folder: Path, options: dict[str, Any], theirs: str, ours: str) -> None:
    """Their numbers count other sequences, so that other data would follow."""
    first = ShardLoader(folder, seq_len=SEQ_LEN, batch_size=3)
    list(islice(first, 2))
    other = ShardLoader(folder, **{"seq_len": SEQ_LEN, "batch_size": 3, **options})
    before, state = other.state_dict(), json.loads(json.dumps(first.state_dict()))
    with pytest.raises(OptionError) as caught:
        other.load_state_dict(state)
    assert theirs in caught.value.fact and ours in str(caught.value.limit) and theirs in str(caught.value.fix)
    assert other.state_dict() == before
    # As many sequences have been taken with batches of another size.
    same = ShardLoader(folder, seq_len=SEQ_LEN, batch_size=2)
    same.load_state_dict(state)
    assert same.state_dict() == state
    same.load_state_dict({"epoch": 0, "block": 0, "taken": 3})
    assert same.state_dict()["taken"] == 3


def test_a_state_of_other_data_is_refused_by_their_digest(folder: Path, tmp_path: Path) -> None:
    """The numbers fit data of another size too, whose sequences would follow from the middle of another order."""
    first = ShardLoader(folder, seq_len=SEQ_LEN, batch_size=3)
    list(islice(first, 2))
    state = json.loads(json.dumps(first.state_dict()))
    repacked = made.write_data(tmp_path / "data", {"train": [made.documents([20, 5, 9, 31, 7, 13, 40])]})
    other = ShardLoader(repacked, seq_len=SEQ_LEN, batch_size=3)
    before = other.state_dict()
    with pytest.raises(Mismatch, match="other data than") as caught:
        other.load_state_dict(state)
    assert state["data"][:16] in str(caught.value.limit) and before["data"][:16] in str(caught.value.limit)
    assert other.state_dict() == before
    call = re.search(r"load_state_dict\((\{.*?\})\)", str(caught.value.fix))
    assert call is not None
    other.load_state_dict(json.loads(call[1].replace("'", '"')))
    assert other.state_dict()["taken"] == state["taken"]


def test_a_length_beyond_all_memory_is_refused(folder: Path) -> None:
    with pytest.raises(OptionError, match="seq_len is 1,099,511,627,776"):
        ShardLoader(folder, seq_len=1 << 40, batch_size=2)


def test_packings_that_form_batches(folder: Path) -> None:
    for pack, meant, kind in (
        ("bucket", "bucket", InvalidConfig),
        ("stateful", "stateful", InvalidConfig),
        ("pad", "bucket", UnknownName),
        ("buckt", "bucket", UnknownName),
    ):
        with pytest.raises(kind, match="forms batches, and a data set has single sequences") as caught:
            ShardDataset(folder, seq_len=SEQ_LEN, pack=pack, seed=3)
        fix = f"slmmodel.data.ShardLoader({str(folder)!r}, seq_len={SEQ_LEN}, pack={meant!r}, seed=3, batch_size=8)"
        assert caught.value.fix == fix
        assert next(iter(eval(fix, {"slmmodel": slmmodel})))["input_ids"].shape[0]
    with pytest.raises(UnknownName, match=r"'concat'(?s:.)*limit: one of concat, (?!.*(bucket|stateful))"):
        ShardDataset(folder, seq_len=SEQ_LEN, pack="conact")

    batch = next(iter(ShardLoader(folder, seq_len=SEQ_LEN, batch_size=2, pack="bucket")))
    assert batch["input_ids"].shape[1] <= SEQ_LEN


WRONG: list[tuple[Callable[[Path], object], type[Exception]]] = [
    (lambda at: ShardDataset(3, seq_len=8), WrongType),  # type: ignore[arg-type]
    (lambda at: ShardDataset(at / "nope", seq_len=8), MissingInput),
    (lambda at: ShardDataset(at, "val", seq_len=8), MissingInput),
    (lambda at: ShardDataset(at, seq_len="8"), WrongType),  # type: ignore[arg-type]
    (lambda at: ShardDataset(at, seq_len=0), OptionError),
    (lambda at: ShardDataset(at, seq_len=8, pack="cocnat"), UnknownName),
    (lambda at: ShardDataset(at, seq_len=8, strid=2), InvalidConfig),
    (lambda at: ShardDataset(at, seq_len=8)["a"], WrongType),  # type: ignore[index]
    (lambda at: ShardDataset(at, seq_len=8)[:2], WrongType),  # type: ignore[index]
    (lambda at: ShardDataset(at, seq_len=8).set_epoch(-1), OptionError),
    (lambda at: ShardLoader(at, seq_len=8, batch_size=0), OptionError),
    (lambda at: ShardLoader(at, seq_len=8, batch_size=2, rank=2, world_size=2), OptionError),
    (lambda at: ShardLoader(at, seq_len=8, batch_size=2).load_state_dict({"step": 1}), WrongType),
    (lambda at: next(iter(DataLoader(ShardLoader(at, seq_len=8, batch_size=2), None, num_workers=1))), InvalidConfig),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_calls(folder: Path, number: int) -> None:
    call, error = WRONG[number]
    with pytest.raises(error) as caught:
        call(folder)
    assert isinstance(caught.value, SlmmodelError)


FIXES: list[tuple[Callable[[Path], object], str]] = [
    (lambda at: ShardDataset(at, 8), "', seq_len=8)"),  # type: ignore[call-arg, arg-type]
    (lambda at: ShardDataset(at, "train", 8), "fix:   give options by name: seq_len=8"),  # type: ignore[call-arg, misc]
    (lambda at: ShardLoader(at, 8, 4), "give options by name: seq_len=8, batch_size=4"),  # type: ignore[call-arg, misc]
    (lambda at: ShardDataset(at, seq_len="8"), "fix:   seq_len=8"),  # type: ignore[arg-type]
    (lambda at: ShardDataset(at, seq_len=8.0), "fix:   seq_len=8"),  # type: ignore[arg-type]
    (lambda at: ShardDataset(at, block_size=8), "fix:   seq_len=8"),  # type: ignore[call-arg]
    (lambda at: ShardDataset(at, seq_len=8)["labels"], "fix:   dataset[0]['labels']"),  # type: ignore[index]
    (lambda at: ShardDataset(at, seq_len=8)["x"], "fix:   dataset[0]"),  # type: ignore[index]
    (lambda at: ShardDataset(at, seq_len=8, max_seq_len=8), "fix:   seq_len=8"),
    (lambda at: ShardDataset(at, seq_len=8, shufle=False), "did you mean 'shuffle'?"),
    (lambda at: ShardDataset(at, seq_len=8, shuffle="no"), "shuffle must be True or False"),  # type: ignore[arg-type]
    (lambda at: ShardDataset(at, seq_len=8, shift_labels=1), "shift_labels must be True or"),  # type: ignore[arg-type]
    *(
        (
            lambda at, name=name: ShardDataset(at, seq_len=8, **{name: 1}),
            f"give {name} to the torch.utils.data.DataLoader that takes",
        )  # type: ignore[misc]
        for name in ("timeout", "prefetch_factor", "generator", "worker_init_fn", "batch_sampler", "num_workers")
    ),
    (lambda at: ShardLoader(at, seq_len=8, batch_size=4, rank=2), "fix:   world_size=3, or more"),
    (lambda at: ShardLoader(at, seq_len=8, batch_size=4, rank=2, world_size=2), "fix:   rank=1, the last one"),
    (lambda at: ShardLoader(at, seq_len=8, batch_size=1, rank=1, world_size=2), "fix:   batch_size=2, or more"),
]


@pytest.mark.parametrize("number", range(len(FIXES)))
def test_fixes_of_wrong_calls(folder: Path, number: int) -> None:
    call, text = FIXES[number]
    with pytest.raises(SlmmodelError) as caught:
        call(folder)
    assert text in str(caught.value)


def test_indices_out_of_range(folder: Path) -> None:
    dataset = ShardDataset(folder, seq_len=SEQ_LEN)
    assert dataset[-1]["input_ids"].tolist() == dataset[len(dataset) - 1]["input_ids"].tolist()
    for index in (len(dataset), -len(dataset) - 1):
        with pytest.raises(IndexError, match=f"index {index} of a ShardDataset of {len(dataset)} sequences"):
            dataset[index]
    for wrong in ("0", 1.0, None):
        with pytest.raises(WrongType, match=r"(?s)index must be an integer.*fix:   dataset\[0\]"):
            dataset[wrong]  # type: ignore[index]


def test_a_batch_of_more_than_an_epoch_is_warned_of(folder: Path) -> None:
    with pytest.warns(UserWarning, match=r"batch_size 1,000 is more than the \d+ sequences of an epoch") as caught:
        ShardLoader(folder, seq_len=SEQ_LEN, batch_size=1000)
    assert caught[0].filename == __file__
    (size,) = re.findall(r"batch_size=(\d+) takes one epoch", str(caught[0].message))
    ShardLoader(folder, seq_len=SEQ_LEN, batch_size=int(size))  # without a warning, which would be an error


def test_an_attribute_that_is_set_takes_effect_or_is_refused(folder: Path) -> None:
    dataset, same = (ShardDataset(folder, seq_len=SEQ_LEN) for _ in range(2))
    same.set_epoch(2)
    dataset.epoch = 2
    assert dataset.epoch == same.epoch == pickle.loads(pickle.dumps(dataset)).epoch == 2
    assert [rows(each["input_ids"][None]) for each in islice(dataset, 9)] == [
        rows(each["input_ids"][None]) for each in islice(same, 9)
    ]
    with pytest.raises(WrongType, match="epoch"):
        dataset.epoch = "2"  # type: ignore[assignment]
    for made_one in (dataset, pickle.loads(pickle.dumps(dataset))):
        with pytest.raises(AttributeError, match="seq_len of a ShardDataset is fixed when it is made") as caught:
            made_one.seq_len = 4
        fix = str(caught.value).partition("make another one: ")[2]
        assert len(eval(fix, {"ShardDataset": ShardDataset})[0]["labels"]) == 4
    loader = ShardLoader(folder, seq_len=SEQ_LEN, batch_size=2)
    with pytest.raises(AttributeError, match="batch_size=4") as caught:
        loader.batch_size = 4
    with pytest.raises(AttributeError, match="the epochs follow one another") as caught:
        loader.epoch = 3  # type: ignore[attr-defined]
    eval(str(caught.value).partition("; ")[2].removesuffix(" begins with that epoch"), {"loader": loader})
    assert loader.state_dict()["epoch"] == 3

    class Mine(ShardDataset):
        def __init__(self) -> None:
            super().__init__(folder, seq_len=SEQ_LEN)
            self.seed, self.note = 3, "mine"

    assert Mine().note == "mine"


def test_lengths_that_change_by_epoch_name_the_sampler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `DistributedSampler` that is made before dies in a later epoch, with an AssertionError of torch."""
    dataset = ShardDataset(folder, seq_len=48, pack="first_fit")
    n, way_on = len(dataset), "make the sampler and its DataLoader after each set_epoch"
    dataset.set_epoch(1)
    assert (len(dataset), n) == (3, 4)
    with pytest.raises(IndexError, match=f"index 3 of a ShardDataset of 3 sequences.*in epoch 1.*(?s:.*){way_on}"):
        dataset[n - 1]
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    with pytest.warns(UserWarning, match=rf"epoch 0 .* has 4 sequences, epoch 1 had 3 .*: {way_on}") as caught:
        dataset.set_epoch(0)
        dataset.set_epoch(5)
    assert len(dataset) == n and len(caught) == 1


def test_data_are_read_without_torch() -> None:
    code = "import sys, slmmodel.data; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("option", [{"stride": 2}, {"open_rows": 4}, {"loss_on": "last"}])
def test_an_option_of_another_packing_names_it(folder: Path, option: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfig) as caught:
        ShardDataset(folder, seq_len=SEQ_LEN, **option)
    fix, _, rest = str(caught.value.fix).partition(", ")
    assert rest == "which has it, or leave it out"
    assert len(ShardDataset(folder, seq_len=SEQ_LEN, **option, **eval(f"dict({fix})")))
