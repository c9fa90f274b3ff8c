"""vocab.json as models read it: one refusal for each fault, and no arrow to slmtok."""

from __future__ import annotations

import copy
import json
import pickle
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slmmodel import SlmmodelError, VocabMeta
from slmmodel.errors import ERRORS, CorruptFile, MissingInput, UnknownName, UnsupportedFormat

SOUND: dict[str, Any] = {
    "format": "slmtok-vocab",
    "version": 1,
    "n_vocab": 4,
    "padded_vocab": 64,
    "specials": {"bos": 0, "eos": 1},
    "byte_lengths": [0, 0, 1, 3],
    "fingerprint": "ab" * 32,
}


def parse(**changes: Any) -> VocabMeta:
    return VocabMeta.parse(json.dumps({**SOUND, **changes}).encode(), source="vocab.json")


def test_sound(tmp_path: Path) -> None:
    info = parse()
    assert (info.n_vocab, info.padded_vocab, info.special("eos")) == (4, 64, 1)
    assert info.token_nbytes.tolist() == [0, 0, 1, 3]
    assert not info.token_nbytes.flags.writeable
    (tmp_path / "vocab.json").write_text(json.dumps(SOUND))
    assert VocabMeta.load(tmp_path / "vocab.json").fingerprint == info.fingerprint


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda info: pickle.loads(pickle.dumps(info))])
def test_copies(copied: Callable[[VocabMeta], VocabMeta]) -> None:
    info, again = parse(), copied(parse())
    assert again.token_nbytes.tolist() == info.token_nbytes.tolist() and not again.token_nbytes.flags.writeable
    for name in ("n_vocab", "padded_vocab", "n_special", "fingerprint", "specials"):
        assert getattr(again, name) == getattr(info, name)
    with pytest.raises(TypeError):
        again.specials["bos"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"format": "slmtok-tokenizer"}, "format"),
        ({"n_vocab": 5}, "byte_lengths has 4 entries"),
        ({"n_vocab": 0}, "has n_vocab 0"),
        ({"padded_vocab": 65}, "padded_vocab is 65"),
        ({"specials": {"bos": 4}}, "specials"),
        ({"specials": {"bos": 2}}, "'bos' has the id 2, which .* has bytes"),
        ({"byte_lengths": [0, 0, 1, -3]}, r"has byte_lengths\.3 -3"),
        ({"byte_lengths": [0, 0, 1, 3.0]}, r"has byte_lengths\.3 3\.0"),
        ({"fingerprint": "short"}, "fingerprint"),
        ({"extra": 1}, "has the unknown key 'extra'"),
    ],
)
def test_corrupt(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(CorruptFile, match=match):
        parse(**changes)


def test_other_refusals(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFormat, match="has version 2"):
        parse(version=2)
    with pytest.raises(CorruptFile, match="is not JSON"):
        VocabMeta.parse(b"{", source="vocab.json")
    with pytest.raises(CorruptFile, match="lacks the key 'n_vocab'"):
        VocabMeta.parse(json.dumps({k: v for k, v in SOUND.items() if k != "n_vocab"}).encode(), source="vocab.json")
    with pytest.raises(MissingInput, match=r"none\.json"):
        VocabMeta.load(tmp_path / "none.json")
    with pytest.raises(UnknownName, match="bos, eos"):
        parse().special("user")
    assert all(issubclass(kind, SlmmodelError) for kind in ERRORS)


def test_the_packages_are_strangers() -> None:
    code = "import slmmodel, slmmodel.vocab, sys; slmmodel.VocabMeta; print('slmtok' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def ours(**lengths: int) -> dict[str, Any]:
    """A table of slmtok's layout with one merge; `id_N=bytes` falsifies a length."""
    nbytes = [0] * 16 + [1] * 256 + [2]
    for name, value in lengths.items():
        nbytes[int(name.removeprefix("id_"))] = value
    roles = {"unk": 0, "bos": 1, "eos": 2, "pad": 3, "sep": 4, "mask": 5}
    return {"n_vocab": 273, "padded_vocab": 320, "specials": roles, "byte_lengths": nbytes}


def test_our_layout_is_told_and_held_to_its_promises() -> None:
    info = parse(**ours())
    assert (info.n_special, info.pad_id) == (16, 3)
    for changes in ({"id_9": 1}, {"id_16": 2}, {"id_271": 0}, {"id_272": 0}):
        with pytest.raises(CorruptFile, match=next(iter(changes)).replace("_", " ")):
            parse(**ours(**changes))


def test_foreign_tables_keep_their_ids() -> None:
    info = parse(specials={"eos": 0}, byte_lengths=[0, 2, 1, 3])
    assert (info.n_special, info.n_vocab, info.pad_id) == (0, 4, 0)
    assert parse(specials={}, byte_lengths=[1, 2, 1, 3]).pad_id == 0


def test_the_file_of_another_program_is_moved_to_a_free_name(tmp_path):
    path = tmp_path / "vocab.json"
    path.write_text('{"a": 1}')
    (tmp_path / "vocab-other.json").write_text("kept")
    with pytest.raises(CorruptFile) as caught:
        VocabMeta.load(path)
    moved = str(caught.value.fix).partition(" && ")[0]
    assert shlex.split(moved) == ["mv", "-n", str(path), str(tmp_path / "vocab-other-2.json")]
