"""The same documents in every container give the same counts and the same corpus digest."""

from __future__ import annotations

import gzip
import json
import lzma
from itertools import islice
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import slmtok
from slmtok.stories import stories


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Name of a container to the options that it needs."""
    folder = tmp_path_factory.mktemp("containers")
    texts = [text.replace("\n", " ") for text in islice(stories(seed=2), 300)]
    records = "".join(json.dumps({"id": index, "text": text}) + "\n" for index, text in enumerate(texts)).encode()
    files = folder / "files"
    files.mkdir()
    for index, text in enumerate(texts):
        (files / f"{index}.txt").write_text(text)
    written = {
        "a.jsonl": records,
        "b.jsonl.gz": gzip.compress(records),
        "c.jsonl.xz": lzma.compress(records),
        "d.jsonl.zst": zstandard.compress(records),
        "e.lines": "\n".join(texts).encode(),
        "f.tsv": "".join(f"{index}\t{text}\n" for index, text in enumerate(texts)).encode(),
        "g.txt": "<|end|>".join(texts).encode(),
        "h.txt.xz": lzma.compress("<|end|>".join(texts).encode()),
    }
    for name, data in written.items():
        (folder / name).write_bytes(data)
    pq.write_table(pa.table({"id": range(300), "text": texts}), folder / "i.parquet", row_group_size=70)
    datasets.Dataset.from_dict({"text": texts}).save_to_disk(str(folder / "saved"))
    special: dict[str, dict[str, Any]] = {
        "f.tsv": {"text_key": "2"},
        "g.txt": {"separator": "<|end|>"},
        "h.txt.xz": {"separator": "<|end|>"},
    }
    names = [*written, "files", "i.parquet", "saved"]
    return {str(folder / name): special.get(name, {}) for name in names}


@pytest.mark.parametrize("selected", [{}, {"sample": 0.4, "seed": 3}, {"max_doc_chars": 80}], ids=str)
def test_one_digest(containers: dict[str, dict[str, Any]], selected: dict[str, Any]) -> None:
    found = {}
    for path, options in containers.items():
        counts = slmtok.count(path, threads=1, **options, **selected)
        found[Path(path).name] = (counts.documents, counts.bytes, counts.sha256, counts.stats.corpus_digest)
    assert len(set(found.values())) == 1, found
    assert 80 <= found["a.jsonl"][0] <= 300
