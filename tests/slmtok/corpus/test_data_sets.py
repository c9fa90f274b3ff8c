"""Hugging Face data sets from folders, map-style and streaming, without a network."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from slmtok import errors
from slmtok.corpus import Skipped, find, read
from slmtok.corpus.arrow import DatasetName, parse_dataset_name
from slmtok.options import ReadOptions

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")

TEXTS = ["one", "zwei", "három 中", ""]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left in the cache of whoever runs the tests, and nothing is asked of a hub."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)


def made(texts: list[str | None] = TEXTS) -> Any:  # type: ignore[assignment]
    return datasets.Dataset.from_dict({"id": list(range(len(texts))), "text": texts})


def texts(source: str, skipped: Skipped | None = None, **options: object) -> list[str]:
    judged = ReadOptions(**options)  # type: ignore[arg-type]
    return [document.text.decode() for document in read(find(source, judged), judged, skipped)]


@pytest.mark.parametrize("streaming", [False, True])
def test_saved_to_disk(tmp_path: Path, streaming: bool) -> None:
    saved = str(tmp_path / "saved")
    made().save_to_disk(saved)
    assert find(saved, ReadOptions()) == [f"hf:{saved}"]
    assert texts(saved, streaming=streaming) == texts(f"hf:{saved}") == TEXTS
    assert texts(saved, text_template="{id}:{text}")[2] == "2:három 中"
    both = str(tmp_path / "both")
    datasets.DatasetDict({"train": made(), "test": made(["t"])}).save_to_disk(both)
    assert texts(both) == texts(f"hf:{both}@train") == TEXTS
    assert texts(f"hf:{both}@test") == ["t"]
    with pytest.raises(errors.MissingInput, match=r"no split 'dev'(.|\n)*splits: test, train"):
        texts(f"hf:{both}@dev")


@pytest.mark.parametrize("streaming", [False, True])
def test_folder_of_data_files(tmp_path: Path, streaming: bool) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    made().to_parquet(folder / "train.parquet")
    cache = tmp_path / "mine"
    assert texts(f"hf:{folder}", streaming=streaming, cache_dir=cache) == TEXTS
    assert texts(f"hf:{folder}@train", streaming=streaming, cache_dir=cache) == TEXTS
    assert any(cache.rglob("*.arrow")) != streaming
    assert texts(str(folder)) == TEXTS


def test_order_and_indices_are_kept(tmp_path: Path) -> None:
    many = made([str(number) for number in range(2500)]).select(range(2400, 0, -1))
    many.save_to_disk(str(tmp_path / "many"))
    assert texts(str(tmp_path / "many")) == [str(number) for number in range(2400, 0, -1)]


def test_rows_that_are_no_text(tmp_path: Path) -> None:
    saved = str(tmp_path / "saved")
    made(["a", None, "c"]).save_to_disk(saved)  # type: ignore[list-item]
    with pytest.raises(errors.MalformedRecord, match="is null") as caught:
        texts(saved)
    assert caught.value.where == f"hf:{saved}, row 2"
    skipped = Skipped()
    assert (texts(saved, skipped, skip_malformed=True), skipped.records) == (["a", "c"], 1)
    with pytest.raises(errors.MalformedRecord, match=r"no column 'body' \(columns: id, text\)"):
        texts(saved, text_key="body")


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_dataset_name("hf:a/b") == DatasetName("a/b", None, None)
    assert parse_dataset_name("hf:a/b:en@train[:10%]") == DatasetName("a/b", "en", "train[:10%]")
    assert parse_dataset_name("hf:b@validation") == DatasetName("b", None, "validation")
    (tmp_path / "odd@name:x").mkdir()
    assert parse_dataset_name(f"hf:{tmp_path}/odd@name:x") == DatasetName(f"{tmp_path}/odd@name:x", None, None)
    with pytest.raises(errors.OptionError, match="names no data set"):
        parse_dataset_name("hf:@train")
    with pytest.raises(errors.MissingInput, match="cannot load the data set 'no/such'"):
        texts("hf:no/such")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(errors.MissingExtra, match=r"fix:   pip install datasets$"):
        texts("hf:no/such")


def test_no_program_of_a_repository_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the installed version would run it by default; the oldest allowed version does not."""
    folder, ran = tmp_path / "scripted", tmp_path / "ran"
    folder.mkdir()
    (folder / "scripted.py").write_text(f"open({str(ran)!r}, 'w')\n", encoding="utf-8")
    given: dict[str, Any] = {}
    real = datasets.load_dataset

    def load_dataset(*arguments: Any, **options: Any) -> Any:
        given.update(options)
        return real(*arguments, **options)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(errors.MissingInput):
        texts(f"hf:{folder}")
    assert given["trust_remote_code"] is False and not ran.exists()
    lines = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if '"datasets>=2.21"' in line]) == 2


def rewritten(folder: Path, *, compression: str | None, dictionary: bool = False) -> str:
    """A saved data set whose file is written again by pyarrow."""
    made().save_to_disk(str(folder))
    (path,) = folder.glob("*.arrow")
    column = pa.array(TEXTS)
    table = pa.table({"text": column.dictionary_encode() if dictionary else column})
    path.unlink()
    with pa.ipc.new_stream(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    info = json.loads((folder / "dataset_info.json").read_text())
    (folder / "dataset_info.json").write_text(json.dumps({**info, "features": None}))
    return str(folder)


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_compressed_batches_are_refused(tmp_path: Path, compression: str, dictionary: bool) -> None:
    """200 kB of them took 4 GB."""
    plain = rewritten(tmp_path / "plain", compression=None, dictionary=dictionary)
    assert texts(plain) == TEXTS
    packed = rewritten(tmp_path / "packed", compression=compression, dictionary=dictionary)
    with pytest.raises(errors.Unreadable, match="a compressed batch"):
        texts(packed)


@pytest.mark.parametrize("split", ["", "train"])
def test_files_outside_of_a_saved_data_set_are_refused(tmp_path: Path, split: str) -> None:
    made().save_to_disk(str(tmp_path / "other"))
    folder = tmp_path / "saved"
    (datasets.DatasetDict({split: made()}) if split else made()).save_to_disk(str(folder))
    state = folder / split / "state.json"
    content = json.loads(state.read_text())
    (other,) = (tmp_path / "other").glob("*.arrow")
    for name in (f"../{'../' if split else ''}other/{other.name}", str(other)):
        state.write_text(json.dumps({**content, "_data_files": [{"filename": name}]}))
        with pytest.raises(errors.Unreadable, match="which is not in its folder"):
            texts(str(folder))


@pytest.mark.parametrize("split", ["", "train"])
def test_a_saved_data_set_that_is_not_complete(tmp_path: Path, split: str) -> None:
    saved = tmp_path / "saved"
    (datasets.DatasetDict({split: made()}) if split else made()).save_to_disk(str(saved))
    data, state = next((saved / split).glob("*.arrow")), saved / split / "state.json"
    content = data.read_bytes()
    data.unlink()
    with pytest.raises(errors.MissingInput, match=f"lacks {data.name}, which its state.json names") as caught:
        texts(str(saved))
    assert caught.value.fix is not None and caught.value.fix.startswith("copy the folder again")
    data.write_bytes(content)
    whole = state.read_text()
    for wrong, reason in (('{"_data_files": [', "Expecting value"), ("{}", "it lists no files of data")):
        state.write_text(wrong)
        with pytest.raises(errors.Unreadable, match=f"state.json' is not as datasets.save_to_disk writes it: {reason}"):
            texts(str(saved))
    state.write_text(whole)
    assert texts(str(saved)) == TEXTS
