"""The committed golden shards: packing gives the same bytes, and a reader written from the specification reads them."""

from __future__ import annotations

import json
import struct
from array import array
from pathlib import Path

import slmtok
from slmtok.shards import open_shards, pack

HERE = Path(__file__).parent
GOLDEN = HERE / "golden-shards"
TEXTS = ["the cat", "", "naïve 今天", "a rat ran to the hat", "on the mat", "<s> is text </s>", "the end"]


def make(folder: Path) -> Path:
    """Packs the texts as the golden folder was packed."""
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, text in enumerate(TEXTS):
        (corpus / f"{number}.{'md' if number % 3 else 'txt'}").write_text(text, encoding="utf-8", newline="")
    tokenizer = slmtok.load(HERE / "golden/bpe-1.json")
    pack(corpus, tokenizer, folder / "data", val="files:[35].*", shard_tokens=20, domains={"plain": "*.txt"})
    return folder / "data"


def test_packed_today_is_what_was_packed_then(tmp_path: Path) -> None:
    made = make(tmp_path)
    assert {path.name for path in made.iterdir()} == {path.name for path in GOLDEN.iterdir()}
    for path in GOLDEN.iterdir():
        # The tokenizer's provenance names the version that wrote it.
        assert (made / path.name).read_bytes() == path.read_bytes(), path.name
    assert open_shards(GOLDEN).splits == ["train", "val"]


def plain_documents(folder: Path, split: str) -> list[tuple[list[int], int, int]]:
    """(ids, raw bytes, domain) of each document: docs/formats/shards.md in plain Python."""
    found = []
    for entry in json.loads((folder / "manifest.json").read_bytes())["shards"]:
        if entry["split"] != split:
            continue
        data = (folder / f"{entry['name']}.bin").read_bytes()
        magic, version, width, tokens, docs = struct.unpack_from("<8sIIQQ", data)
        assert (magic, version) == (b"SLMSHARD", 1)
        ids = array("H" if width == 2 else "I", data[4096:])
        offsets = array("Q", (folder / f"{entry['name']}.off").read_bytes())
        nbytes = array("Q", (folder / f"{entry['name']}.nb").read_bytes())
        domains = array("H", (folder / f"{entry['name']}.dom").read_bytes())
        assert (len(ids), len(offsets), len(nbytes)) == (tokens, docs + 1, docs)
        for index in range(docs):
            found.append((ids[offsets[index] : offsets[index + 1]].tolist(), nbytes[index], domains[index]))
    return found


def test_a_plain_reader_reads_them() -> None:
    tokenizer = slmtok.load(HERE / "golden/bpe-1.json")
    for split, numbers in (("train", [0, 1, 2, 4, 6]), ("val", [3, 5])):
        wanted = [
            ([1, *tokenizer.encode_list(TEXTS[number]), 2], len(TEXTS[number].encode()), int(number % 3 > 0))
            for number in numbers
        ]
        assert plain_documents(GOLDEN, split) == wanted


if __name__ == "__main__":
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        shutil.rmtree(GOLDEN, ignore_errors=True)
        shutil.copytree(make(Path(folder)), GOLDEN)
