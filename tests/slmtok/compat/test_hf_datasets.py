"""`datasets.map` takes the adapter: several processes, and a cache that is found again, from another process too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shared_data import peer

import slmtok
from slmtok.compat import as_hf
from slmtok.errors import WrongType

pytestmark = pytest.mark.peer

SCRIPT = """
import json, sys
from pathlib import Path
import datasets
import slmtok
from slmtok.compat import as_hf

datasets.disable_progress_bars()
folder = Path(sys.argv[1])
hf = as_hf(slmtok.load(folder / "tok.json"))
if len(sys.argv) > 2:
    hf(["used before"], padding=True, truncation=True, max_length=5)
    hf.get_vocab()
data = datasets.load_from_disk(str(folder / "data"))
rows = data.map(hf, batched=True, input_columns=["text"], remove_columns=["text"], num_proc=2)
cut = data.map(
    lambda batch: hf(batch["text"], truncation=True, max_length=8, return_overflowing_tokens=True),
    batched=True,
    remove_columns=["text"],
)
blocks = data.map(lambda batch: hf.chunk(batch["text"], 16), batched=True, batch_size=50, remove_columns=["text"])
files = [Path(file["filename"]) for made in (rows, cut, blocks) for file in made.cache_files]
print(json.dumps({
    "fingerprints": [made._fingerprint for made in (rows, cut, blocks)],
    "files": sorted([file.name, file.stat().st_mtime_ns, file.stat().st_ino] for file in files),
    "rows": rows["input_ids"][:],
    "cut": cut["input_ids"][:],
    "samples": cut["overflow_to_sample_mapping"][:],
    "blocks": blocks["input_ids"][:],
}))
"""


def _run(folder: Path, *arguments: str) -> dict[str, Any]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "HF_DATASETS_CACHE": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
    }
    script = folder / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, str(script), str(folder), *arguments], capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def test_the_second_map_hits_the_cache(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    datasets = peer("datasets")
    texts = [f"Once upon a time there was a fox {index} " * (index % 7) for index in range(120)]
    datasets.Dataset.from_dict({"text": texts}).save_to_disk(str(tmp_path / "data"))
    bpe400.save(tmp_path / "tok.json")
    first = _run(tmp_path)
    again = _run(tmp_path, "used")
    assert again == first, "nothing was made anew, and the cache files are the same ones"
    assert len(first["files"]) >= 3
    hf = as_hf(bpe400)
    assert first["rows"] == hf(texts)["input_ids"]
    assert first["cut"] == hf(texts, truncation=True, max_length=8, return_overflowing_tokens=True)["input_ids"]
    assert first["blocks"] == [
        row for start in (0, 50, 100) for row in hf.chunk(texts[start : start + 50], 16).input_ids
    ]


def test_another_tokenizer_is_another_function(bpe400: slmtok.Tokenizer) -> None:
    fingerprint = peer("datasets.fingerprint")
    one = fingerprint.Hasher.hash(as_hf(bpe400))
    assert one == fingerprint.Hasher.hash(as_hf(slmtok.Tokenizer.from_bytes(bpe400.to_bytes())))
    others = [as_hf(slmtok.slice(bpe400, 390)), as_hf(bpe400.with_special("user", "<u>")), as_hf(bpe400, add_eos=True)]
    assert len({one, *map(fingerprint.Hasher.hash, others)}) == 4


def test_texts_of_a_batch_are_encoded_into_a_column(bpe400: slmtok.Tokenizer) -> None:
    """`map` refuses a `Ragged`; the literal texts of one batch would be wrong for the others."""
    data = peer("datasets").Dataset.from_dict({"text": ["one fox", "two"]})
    with pytest.raises(WrongType) as caught:
        data.map(lambda batch: {"ids": bpe400.encode(batch["text"])}, batched=True)
    fix = str(caught.value.fix)
    assert fix == "list(tok.encode_batch(texts))"
    rows = data.map(lambda batch: {"ids": eval(fix, {"tok": bpe400, "texts": batch["text"]})}, batched=True)
    assert rows["ids"][:] == [bpe400.encode_list(text) for text in ("one fox", "two")]
    with pytest.raises(WrongType, match=r"tok\.encode_batch\(\['one fox'\]\)$"):
        bpe400.encode(["one fox"])  # type: ignore[arg-type]
