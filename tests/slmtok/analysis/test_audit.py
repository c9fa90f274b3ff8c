"""An audit passes on sound files, and names what is wrong with others: a length, a merge, a document."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from story_texts import story_texts

import slmtok
from slmtok.analysis.audit import audit
from slmtok.cli import main
from slmtok.envelope import read_envelope
from slmtok.shards import open_shards, pack
from slmtok.tokenizer_file import TokenizerFile
from slmtok.training.doc_digests import DocDigests

TEXTS = [text.encode() for text in story_texts()] + [b"", b"\xff\xfe", b"<s> is HTML</s>", "今天👩".encode()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tok.json, vocab.json, val.jsonl and a packed folder `data` of it."""
    path = tmp_path_factory.mktemp("audit")
    tok = slmtok.train(slmtok.Texts(story_texts()), vocab_size=400)
    tok.save(path / "tok.json")
    texts = [text.decode("utf-8", "replace") for text in TEXTS]
    (path / "val.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (path / "less.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[1:]))
    other = [texts[0][1:] + "x", *texts[1:]]
    (path / "other.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in other))
    pack(path / "val.jsonl", tok, path / "data")
    (path / "vocab.json").write_bytes((path / "data" / "vocab.json").read_bytes())
    return path


@pytest.mark.parametrize("scheme", ["bpe", "word", "char", "byte"])
def test_nothing_is_lost(scheme: str) -> None:
    size = 272 if scheme == "byte" else 350
    tok = slmtok.train(slmtok.Texts(story_texts()), vocab_size=size, scheme=scheme, allow_smaller=True)
    found = audit(tok, TEXTS, metadata=tok.metadata())
    assert found.passed, found.checks
    assert found.text.documents == len(TEXTS)
    assert found.token_bytes == found.text.bytes == sum(map(len, TEXTS))
    assert found.ids == int(tok.count_tokens(TEXTS).sum())
    assert len(found.checks) == 8


def test_the_order_of_documents_does_not_matter() -> None:
    tok = slmtok.train(slmtok.Texts(story_texts()), vocab_size=300)
    assert audit(tok, TEXTS).text == audit(tok, TEXTS[::-1]).text != audit(tok, TEXTS[1:]).text


def run(folder: Path, *arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    out = folder / "certificate.json"
    code = main(["audit", *map(str, arguments), "-o", str(out), "--force", "--json"])
    result = json.loads(capsys.readouterr().out)["result"]
    if result["path"] is not None:
        written = read_envelope(out.read_bytes(), "audit", str(out), allow_floats=True)
        assert written.payload == {key: value for key, value in result.items() if key != "path"}
        assert written.inputs == {"tokenizer": result["tokenizer"]["sha256"], "text": result["text"]["corpus_digest"]}
    return code, result


def faults(result: dict[str, Any]) -> dict[str, str]:
    return {name: check["fault"] for name, check in result["checks"].items() if not check["ok"]}


def test_the_certificate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run(folder, folder / "tok.json", "--on", folder / "val.jsonl", capsys=capsys)
    assert (code, result["verdict"]) == (0, True)
    assert set(result["special_bytes"].values()) == {0}
    assert result["control_ids"] == 0
    assert result["tokenizer"]["normalizer"] is None
    assert result["tokenizer"]["fingerprint"] == slmtok.load(folder / "tok.json").fingerprint
    assert (result["leak"], result["baselines"]) == (None, None)


def test_a_packed_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run(folder, folder / "data", "--on", folder / "val.jsonl", capsys=capsys)
    assert code == 0
    assert result["checks"]["data_documents"]["ok"]
    assert result["text"]["documents"] == sum(
        open_shards(folder / "data").n_docs(split) for split in open_shards(folder / "data").splits
    )


def test_one_document_that_packing_cut_in_two(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.txt").write_bytes(TEXTS[0])
    pack(folder / "one.txt", slmtok.load(folder / "tok.json"), folder / "one")
    assert sum(open_shards(folder / "one").n_docs(split) for split in ("train", "val")) == 2
    assert run(folder, folder / "one", "--on", folder / "one.txt", capsys=capsys)[0] == 0
    (folder / "one.txt").write_bytes(TEXTS[0][::-1])
    code, result = run(folder, folder / "one", "--on", folder / "one.txt", capsys=capsys)
    assert (code, list(faults(result))) == (3, ["data_documents"])


@pytest.mark.parametrize(("text", "told"), [("less", "it holds 8 documents"), ("other", "other documents")])
def test_a_dropped_or_changed_document(folder: Path, text: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run(folder, folder / "data", "--on", folder / f"{text}.jsonl", capsys=capsys)
    assert (code, result["verdict"]) == (3, False)
    assert told in faults(result)["data_documents"]


def test_a_wrong_byte_length(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads((folder / "vocab.json").read_bytes())
    tok = slmtok.load(folder / "tok.json")
    used = tok.encode_list("Once")[0]
    content["byte_lengths"][used] += 1
    (folder / "wrong.json").write_text(json.dumps(content))
    code, result = run(
        folder, folder / "tok.json", "--on", folder / "val.jsonl", "--metadata", folder / "wrong.json", capsys=capsys
    )
    assert code == 3
    found = faults(result)
    assert set(found) == {"metadata", "bytes_add_up", "totals"}
    assert f"id {used} has" in found["metadata"]


def test_a_flipped_merge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is signed anew, its fingerprint too; the golden vectors tell."""
    tok = slmtok.load(folder / "tok.json")
    merges = list(tok.vocabulary.merges)
    merges[0], merges[1] = merges[1], merges[0]
    flipped = dataclasses.replace(tok.vocabulary, merges=tuple(merges))
    file = TokenizerFile(flipped, tok._file.golden, options=tok.options, provenance=tok.provenance)
    (folder / "flipped.json").write_bytes(file.content)
    code, result = run(folder, folder / "flipped.json", "--on", folder / "val.jsonl", capsys=capsys)
    assert (code, result["verdict"]) == (3, False)
    assert result["error"]["class"] == "GoldenMismatch"


def test_data_of_another_tokenizer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tok = slmtok.slice(slmtok.load(folder / "tok.json"), 390)
    found = audit(tok, TEXTS, shards=open_shards(folder / "data"))
    assert "it was packed with" in str(found.checks["data_tokenizer"])
    assert not found.passed


def test_leaked_documents(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import hashlib

    digests = DocDigests()
    for text in [*TEXTS[:2], b"another"]:
        digests.add_heads(hashlib.sha256(text).digest()[:8])
    digests.save(folder / "seen.digests")
    _, result = run(
        folder, folder / "tok.json", "--on", folder / "val.jsonl", "--leak", folder / "seen.digests", capsys=capsys
    )
    assert result["leak"] == {"documents": 2, "of": len(TEXTS)}


def test_baselines_stand_in_the_certificate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, result = run(
        folder, folder / "tok.json", "--on", folder / "val.jsonl", "--baselines", folder / "less.jsonl", capsys=capsys
    )
    found = result["baselines"]
    assert list(found["ngram"]) == ["1", "2", "3", "4", "5", "6"]
    assert found["ngram"]["6"] < found["ngram"]["1"] < 8
    assert found["bz2"]["after_train"] < 8
    assert found["train_bytes"] < found["bytes"]


def test_baselines_that_have_read_the_text_are_warned_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = [folder / "tok.json", "--on", folder / "val.jsonl", "--baselines"]
    for text, n_notes in (("val.jsonl", 1), ("less.jsonl", 0)):
        assert main(["audit", *map(str, [*line, folder / text, "-o", folder / f"{text}.audit"])]) == 0
        assert capsys.readouterr().err.count("the baselines have read what they are scored on") == n_notes
