"""Steps and batches for training: conservation, one order for all world sizes, resume, prefetch, several blocks."""

from __future__ import annotations

import sys
from itertools import pairwise

import made_shards as made
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from slmmodel.data.batch import make_batch  # noqa: E402
from slmmodel.data.loader import Cursor, Loader  # noqa: E402
from slmmodel.data.order import permute  # noqa: E402
from slmmodel.data.source import ArraySource, NoSuchBlockError  # noqa: E402
from slmmodel.data.strategies import make_packing  # noqa: E402
from slmmodel.errors import InvalidConfig, UnknownName, WrongType  # noqa: E402

VOCAB = made.vocab()
SIZES = [5, 0, 40, 1, 7, 12, 3, 90]


def loader(batch_size: int = 3, seq_len: int = 8, **options: object) -> Loader:
    return Loader(made.source(SIZES), VOCAB, seq_len=seq_len, batch_size=batch_size, **options)  # type: ignore[arg-type]


def test_a_batch_by_hand() -> None:
    block = ArraySource([[1, 20, 21, 2], [1, 2], [1, 30, 2]], [2, 0, 1])
    packing = make_packing("concat", block.lengths(), 4, shuffle=False)
    batch = make_batch(block, packing, VOCAB, np.array([0, 1]))
    assert batch.ids.tolist() == [[1, 20, 21, 1], [1, 30, 3, 3]]
    assert batch.targets.tolist() == [[20, 21, 2, 2], [30, 2, 3, 3]]
    assert batch.document_ids.tolist() == [[0, 0, 0, 1], [0, 0, -1, -1]]
    assert batch.position_ids.tolist() == [[0, 1, 2, 0], [0, 1, 0, 0]]
    assert batch.target_mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert (batch.n_targets, batch.n_bytes, batch.one_document_per_row) == (6, 3, False)
    assert batch.sequence_keys.tolist() == [[0, 0, 0], [0, 0, 1]]
    kinds = [
        tensor.dtype for tensor in (batch.ids, batch.targets, batch.target_mask, batch.document_ids, batch.position_ids)
    ]
    assert kinds == [torch.int64, torch.int64, torch.bool, torch.int32, torch.int64]
    with pytest.raises(WrongType, match=r"x, y = batch\.ids, batch\.targets"):
        _, _ = batch


def test_ways_to_count_positions() -> None:
    block = made.source([10, 3])
    packing = make_packing("concat", block.lengths(), 6, shuffle=False)
    rows = np.array([1])
    assert make_batch(block, packing, VOCAB, rows, positions="reset").position_ids.tolist() == [[0, 1, 2, 3, 4, 0]]
    assert make_batch(block, packing, VOCAB, rows, positions="true").position_ids.tolist() == [[6, 7, 8, 9, 10, 0]]
    assert make_batch(block, packing, VOCAB, rows, positions="row").position_ids.tolist() == [[0, 1, 2, 3, 4, 5]]
    with pytest.raises(InvalidConfig, match="positions is 'up'"):
        make_batch(block, packing, VOCAB, rows, positions="up")


def test_single_doc_means_no_boundary_and_no_padding_in_front() -> None:
    block = made.source([20, 9])
    packing = make_packing("concat", block.lengths(), 7, shuffle=False)
    assert [len(packing.spans(row)) for row in range(len(packing))] == [1, 1, 1, 1, 1]
    assert packing.stats().padding_share > 0
    assert make_batch(block, packing, VOCAB, np.arange(5)).one_document_per_row
    crossing = make_packing("concat", block.lengths(), 10, shuffle=False)
    single = [make_batch(block, crossing, VOCAB, np.array([row])).one_document_per_row for row in range(len(crossing))]
    assert single == [True, True, False, True]
    assert not make_batch(block, crossing, VOCAB, np.array([0, 2])).one_document_per_row
    padded = make_packing("left_pad", block.lengths(), 7)
    assert not make_batch(block, padded, VOCAB, np.array([0])).one_document_per_row


def test_a_batch_of_several_blocks_equals_the_batches_of_its_parts() -> None:
    run = Loader(Blocks(3, [SIZES, [30, 2], [9]]), VOCAB, seq_len=8, batch_size=4)
    keys = np.array([[0, 0, 3], [0, 0, 1], [0, 1, 2], [1, 0, 2], [1, 2, 0]])
    whole, rows = run.batch(keys), [run.batch(keys[row : row + 1]) for row in range(len(keys))]
    for name in ("ids", "targets", "target_mask", "document_ids", "position_ids"):
        assert torch.equal(getattr(whole, name), torch.cat([getattr(row, name) for row in rows])), name
    assert whole.row_bytes.tolist() == [row.n_bytes for row in rows]
    assert run.batch(keys[:0]).ids.shape == (0, 0)


def test_the_order_of_a_step_does_not_depend_on_where_it_begins() -> None:
    source = made.source([0] * 9000)
    run, few = (Loader(source, VOCAB, seq_len=1, batch_size=batch_size) for batch_size in (9000, 7))
    assert len(run.packing(0, 0)) == 9000
    expected = permute(np.arange(9000), 9000, 0, 0).tolist()
    assert run.global_batch(Cursor()).sequence_keys[:, 2].tolist() == expected
    for taken in (4090, 8190, 0, 8992):
        assert few.global_batch(Cursor(0, 0, taken)).sequence_keys[:, 2].tolist() == expected[taken : taken + 7]


def test_the_calls_of_a_step_do_not_grow_with_its_sequences() -> None:
    run = Loader(made.source([700] * 60), VOCAB, seq_len=64, batch_size=128)
    step = run.global_batch(Cursor())
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    run.batch(run.global_batch(step.next).sequence_keys)
    sys.setprofile(None)
    assert calls < 5 * 128  # one by one, a sequence takes 30


def pairs_of(run: Loader, steps: int) -> list[tuple[int, int]]:
    cursor, out = Cursor(), []
    for _ in range(steps):
        rows, n_targets, cursor = run.global_batch(cursor)
        batch = run.batch(rows)
        assert batch.n_targets == n_targets
        inputs, targets = batch.ids[batch.target_mask].tolist(), batch.targets[batch.target_mask].tolist()
        out += list(zip(inputs, targets, strict=True))
    return out


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("crop_offset", ["random", "fixed"])
def test_an_epoch_has_each_pair_once(shuffle: bool, crop_offset: str) -> None:
    docs = made.documents(SIZES)
    expected = sorted((a, b) for doc in docs for a, b in pairwise(doc))
    run = loader(batch_size=1, shuffle=shuffle, crop_offset=crop_offset)
    rows = len(run.packing(0, 0))
    assert sorted(pairs_of(run, rows)) == expected
    # Steps that straddle epochs lose nothing either.
    assert sorted(pairs_of(loader(batch_size=rows + 1, shuffle=shuffle, crop_offset=crop_offset), rows)) == sorted(
        expected * (rows + 1)
    )


def test_sequences_of_one_long_document_differ_between_epochs() -> None:
    """And the sequence across the join separates the end from the beginning."""
    source, firsts = made.source([200]), []
    for crop_offset in ("random", "fixed"):
        run = Loader(source, VOCAB, seq_len=16, batch_size=13, crop_offset=crop_offset, shuffle=False)
        cursor, starts = Cursor(), []
        for _ in range(3):
            rows, _, cursor = run.global_batch(cursor)
            batch = run.batch(rows)
            assert (batch.n_targets, int((batch.document_ids < 0).sum())) == (201, 7)
            assert not ((batch.ids == VOCAB.specials["eos"]) & (batch.document_ids >= 0)).any()
            starts.append({tuple(row) for row in batch.ids.tolist()})
        firsts.append(len(starts[0] & starts[1]) + len(starts[1] & starts[2]))
    assert firsts == [0, 26]


def test_resume_anywhere_is_exact_and_prefetch_changes_nothing() -> None:
    plain, cursors = [], [Cursor()]
    run = loader()
    for _ in range(12):
        step = run.global_batch(cursors[-1])
        plain.append(run.batch(step.sequence_keys).ids)
        cursors.append(step.next)
    for start in range(12):
        again = loader()
        cursor = cursors[start]
        for number in range(start, 12):
            step = again.global_batch(cursor)
            again.prefetch(again.global_batch(step.next).sequence_keys)
            assert torch.equal(again.batch(step.sequence_keys).ids, plain[number])
            cursor = step.next
        again.close()
        again.close()


def test_ranks_share_the_sequences_of_a_step() -> None:
    run = loader(batch_size=4)
    rows = run.global_batch(Cursor()).sequence_keys
    whole = run.batch(rows)
    parts = [run.batch(rows[rank::2]) for rank in range(2)]
    for rank, part in enumerate(parts):
        assert torch.equal(part.ids, whole.ids[rank::2])
    assert sum(part.n_targets for part in parts) == whole.n_targets


class Blocks:
    """Several blocks, computed at each call, like text that is tokenized while training."""

    digest = "1" * 64

    def __init__(self, n_blocks: int | None, made_of: list[list[int]]) -> None:
        self.n_blocks, self._sizes, self.calls = n_blocks, made_of, 0

    def block(self, index: int) -> ArraySource:
        if index >= len(self._sizes):
            raise NoSuchBlockError(index)
        self.calls += 1
        return made.source(self._sizes[index], seed=index)


@pytest.mark.parametrize("n_blocks", [4, None])
def test_several_blocks(n_blocks: int | None) -> None:
    sizes = [[5, 9], [], [30], [2, 2, 2]]
    expected = sorted(
        (a, b)
        for index, block in enumerate(sizes)
        for doc in made.documents(block, seed=index)
        for a, b in pairwise(doc)
    )
    source = Blocks(n_blocks, sizes)
    run = Loader(source, VOCAB, seq_len=4, batch_size=1)
    rows = sum(len(run.packing(0, block)) for block in range(4))
    seen, cursor = [], Cursor()
    for _ in range(rows):
        step = run.global_batch(cursor)
        run.prefetch(step.sequence_keys)
        batch = run.batch(step.sequence_keys)
        seen += list(zip(batch.ids[batch.target_mask].tolist(), batch.targets[batch.target_mask].tolist(), strict=True))
        cursor = step.next
    assert sorted(seen) == expected
    after = run.global_batch(cursor)
    assert after.sequence_keys[0, 0] == 1
    run.close()
    alone = Loader(Blocks(n_blocks, sizes), VOCAB, seq_len=4, batch_size=1)
    assert alone.global_batch(cursor).sequence_keys.tolist() == after.sequence_keys.tolist()


@pytest.mark.parametrize("n_blocks", [1, 3, None])
def test_data_without_a_pair_is_refused(n_blocks: int | None) -> None:
    run = Loader(Blocks(n_blocks, [[]] * (n_blocks or 2)), VOCAB, seq_len=4, batch_size=1)
    with pytest.raises(InvalidConfig, match="no targets to train on"):
        run.global_batch(Cursor())


def test_an_error_of_a_source_is_not_its_end() -> None:
    """An IndexError while a block is read would otherwise end the epoch, and all data after it were left out."""

    class Broken(Blocks):
        def block(self, index: int) -> ArraySource:
            return super().block(index) if index < 2 else [][index]

    run = Loader(Broken(None, [[5, 9], [30], [4]]), VOCAB, seq_len=4, batch_size=1)
    rows = sum(len(run.packing(0, block)) for block in range(2))
    cursor = Cursor()
    for _ in range(rows):
        cursor = run.global_batch(cursor).next
    with pytest.raises(IndexError):
        run.global_batch(cursor)


def test_refusals() -> None:
    with pytest.raises(UnknownName, match="unknown strategy 'conact'; did you mean 'concat'") as caught:
        loader(pack="conact")
    assert caught.value.fix == "settings={'data.pack': 'concat'}"
    with pytest.raises(InvalidConfig, match="batch_size is 0"):
        loader(batch_size=0)
    with pytest.raises(InvalidConfig, match="seq_len is 0"):
        loader(seq_len=0)
    with pytest.raises(InvalidConfig, match="crop_offset is 'away'"):
        loader(crop_offset="away")
    with pytest.raises(InvalidConfig, match="no option 'long'"):
        loader(long="drop")
    run = loader()
    with pytest.raises(InvalidConfig, match="the index of the sequence is 99"):
        run.packing(0, 0).spans(99)


def test_the_digest_covers_what_decides_the_sequences() -> None:
    digests = {
        run.digest
        for run in (
            loader(),
            loader(seed=1),
            loader(seq_len=9),
            loader(batch_size=4),
            loader(shuffle=False),
            loader(crop_offset="fixed"),
        )
    }
    assert len(digests) == 6
    assert loader(pack="best_fit", crop_offset="fixed").digest == loader(pack="best_fit").digest
    assert loader().digest == loader().digest


def test_reading_the_next_block_does_not_block_batches() -> None:
    """Batches of the current block are assembled while the thread reads the next one."""
    import threading

    begun, go = threading.Event(), threading.Event()

    class Slow(Blocks):
        def block(self, index: int) -> ArraySource:
            if index == 1:
                begun.set()
                assert go.wait(20)
            return super().block(index)

    run = Loader(Slow(3, [[40], [40], [40]]), VOCAB, seq_len=4, batch_size=1)
    step = run.global_batch(Cursor())
    run.prefetch(step.sequence_keys)
    assert begun.wait(20)
    assert run.batch(run.global_batch(step.next).sequence_keys).n_targets == 4
    go.set()
    run.close()


def test_a_block_that_failed_is_read_again() -> None:
    class Flaky(Blocks):
        def block(self, index: int) -> ArraySource:
            if index == 1 and self.calls < 2:
                self.calls = 2
                raise OSError("once")
            return super().block(index)

    run = Loader(Flaky(2, [[40], [9]]), VOCAB, seq_len=4, batch_size=1)
    with pytest.raises(OSError, match="once"):
        run.document_block(1)
    assert run.document_block(1).n_docs == 1
