"""`slmtok exposure`: counts equal to those of the decoded documents, and its way into `slmtok prune`."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import slmtok as library
from slmtok import file_kinds
from slmtok.analysis.exposure import exposure
from slmtok.shards import open_shards
from slmtok.stories import story

PLANTED = b"zzqjx"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packed stories, with a tokenizer of which one token never occurs in them."""
    folder = tmp_path_factory.mktemp("packed")
    texts = [story(i) for i in range(200)]
    (folder / "t.txt").write_text("\n".join(texts[:50]))
    made = library.train(library.Texts(texts), vocab_size=1200, require=[PLANTED])
    library.pack(folder / "t.txt", made, folder / "data", val="none")
    return folder / "data"


def test_updates_are_the_ids_of_all_documents(packed: Path) -> None:
    shards = open_shards(packed)
    made = library.load(packed / "tok.json")
    found = exposure(shards, made, epochs=2.5)
    counted = Counter(id for i in range(shards.n_docs()) for id in shards.document(i).tolist())
    assert found.updates.tolist() == [2.5 * counted[id] for id in range(made.n_vocab)]
    specials = sum(counted[token.id] for token in made.specials.tokens)
    assert found.special_share == pytest.approx(specials / counted.total())
    assert made.token_id(PLANTED) in found.rare[: int((found.updates[found.learned] == 0).sum())]


def test_tokens_that_never_occur_head_the_list(slmtok, packed: Path) -> None:
    made = library.load(packed / "tok.json")
    result = slmtok("exposure", packed, "--below", "1000000", "--top", "2000", "--json").json["result"]
    rows = result["rarest"]
    assert [row["updates"] for row in rows] == sorted(row["updates"] for row in rows)
    assert len(rows) == result["learned"] == made.n_vocab - 272
    never = {row["id"] for row in rows[: result["never"]]}
    assert made.token_id(PLANTED) in never
    assert all(row["updates"] > 0 for row in rows[result["never"] :])


def test_scaffolds_are_what_prune_keeps(slmtok, packed: Path, tmp_path: Path) -> None:
    shown = slmtok("exposure", packed, "--below", 40, "-o", "dead.json", "--json").json["result"]
    listed = json.loads((tmp_path / "dead.json").read_text())
    assert len(listed["ids"]) == shown["rare"] > 20
    pruned = slmtok("prune", packed, "--ids", "dead.json", "-o", "small.json", "--json").json["result"]
    assert len(pruned["kept_as_parts"]) == shown["scaffolds"] > 0
    assert pruned["removed"] == shown["rare"] - shown["scaffolds"]
    small = library.load(tmp_path / "small.json")
    assert small.token_id(PLANTED) is None
    text = story(3)
    assert small.decode(small.encode(text)) == text


def test_the_printed_table_leads_to_the_list_of_the_same_ids(slmtok, packed: Path) -> None:
    Path("rare.txt").write_bytes(slmtok("exposure", packed, "--epochs", "0.5", "--below", "30").stdout)
    ran = slmtok("prune", packed, "--ids", "rare.txt", "-o", "small.json")
    fix = ran.err.rpartition("fix:")[2].strip()
    given = "--split train --epochs 0.5 --below 30 -o rare.json"
    assert ran.code == 1
    assert fix == f"slmtok exposure {packed} {given} && slmtok prune {packed} --ids rare.json -o small.json"
    assert all(slmtok(*line.split()[1:]).code == 0 for line in fix.split(" && "))


def test_a_list_of_ids_on_stdin(slmtok, packed: Path) -> None:
    """As the list comes from exposure in a pipe, and the table, which is none."""
    given = ["exposure", packed, "--epochs", "0.5", "--below", "30"]
    prune = ["prune", packed, "--ids", "-", "-o", "small.json"]
    table = slmtok(*given).stdout
    ran = slmtok(*prune, stdin=table)
    assert ran.code == 1 and "error: stdin is not a list of ids\n" in ran.err
    assert f"-o rare.json && slmtok prune {packed} --ids rare.json -o small.json\n" in ran.err
    ran = slmtok(*prune, stdin=b"5 x\n7 y\n")
    assert ran.code == 1 and "fix:   name a file with one id a line;" in ran.err
    assert slmtok(*prune, "--quiet", stdin=slmtok(*given, "-o", "-").stdout).code == 0
    assert Path("small.json").exists()


def test_stdin_where_a_file_is_read(slmtok, packed: Path) -> None:
    for line in (["audit", packed, "--on", "-", "--leak", "-", "-o", "x"], ["report", packed, "--with", "-"]):
        ran = slmtok(*line, stdin=b"")
        assert ran.code == 1 and "error: '-' stands for stdin, which is not read here\n" in ran.err


def test_an_id_beyond_the_vocabulary(packed: Path, tmp_path: Path, slmtok) -> None:
    shutil.copytree(packed, tmp_path / "bad")
    shard = next((tmp_path / "bad").glob("*.bin"))
    data = bytearray(shard.read_bytes())
    data[-2:] = np.uint16(60000).tobytes()
    shard.write_bytes(data)
    done = slmtok("exposure", "bad")
    assert (done.code, done.err.splitlines()[0]) == (1, "error: bad/train-00000.bin has the id 60000")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope",), "no file 'nope'"),
        (("tok.json",), "'tok.json' is a tokenizer, not packed data"),
        (("DATA", "--epochs", "0"), "--epochs 0.0 is no number of epochs"),
        (("DATA", "--epochs", "nan"), "--epochs nan is no number of epochs"),
        (("DATA", "--epochs", "1e308"), "above 0, at most 1,000,000"),
        (("DATA", "--below", "0"), "--below 0"),
        (("DATA", "--split", "val"), "--split val holds no documents"),
        (("DATA", "-o", "old.json"), "output 'old.json' exists"),
    ],
)
def test_wrong_arguments(slmtok, packed: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "old.json").write_text("mine")
    (tmp_path / "tok.json").write_bytes((packed / "tok.json").read_bytes())
    done = slmtok("exposure", *(packed if each == "DATA" else each for each in arguments))
    assert done.code in (1, 2)
    assert message in done.err


@pytest.mark.parametrize(
    ("budget", "epochs"),
    [
        (("--budget", "tokens=1K"), "{:.4g}"),
        (("--tokens", "1000"), "{:.4g}"),
        (("--budget=epochs=2",), "2"),
        (("--steps", "8"), "X"),
    ],
)
def test_a_budget_of_slm_leads_to_how_often_the_data_are_read(slmtok, packed: Path, budget, epochs: str) -> None:
    n_tokens = open_shards(packed).n_tokens()
    fix = slmtok("exposure", packed, *budget).err.rpartition("  fix:   ")[2].strip()
    meaning = f": how often the training reads the {n_tokens:,} ids of train" * (epochs != "2")
    assert fix == f"use --epochs {epochs.format(1000 / n_tokens)}{meaning}"
    assert slmtok("exposure", packed, "--budget", "tokens=1K", "--split", "val").code == 2


def test_packed_data_are_looked_for_among_the_first_entries_of_a_folder(
    slmtok, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = packed.parent
    shutil.copy(packed / "tok.json", folder / "tok.json")
    assert file_kinds.data_in(folder) == [str(packed)] and file_kinds.data_in("missing") == []
    assert f"fix:   name the folder: {packed}\n" in slmtok("exposure", str(folder / "tok.json")).err
    monkeypatch.setattr(file_kinds, "_MAX_SCANNED", 0)
    assert "fix:   slmtok pack CORPUS" in slmtok("exposure", str(folder / "tok.json")).err
