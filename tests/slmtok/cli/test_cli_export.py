"""`slmtok export` and `slmtok import` as people type them: folders, receipts, refusals, statuses."""

from __future__ import annotations

import base64
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from shared_data import peer

import slmtok as package
from slmtok.formats.export import TARGETS, export

if TYPE_CHECKING:
    from conftest import Run

pytestmark = pytest.mark.peer


@pytest.fixture(autouse=True)
def _libraries() -> None:
    peer("tokenizers")
    peer("tiktoken")


@pytest.mark.parametrize(("to", "back"), [("hf", "out"), ("tiktoken", "out/out.json")])
def test_there_and_back(slmtok: Run, tok: Path, tmp_path: Path, to: str, back: str) -> None:
    ran = slmtok("export", tok, "--output-format", to, "-o", "out", "--json")
    assert ran.code == 0
    result = ran.json["result"]
    assert ran.json["schema"] == "slmtok.export/1"
    assert result["verified"] is True
    assert result["mismatches"] == 0
    assert (tmp_path / "out" / "export.receipt.json").is_file()
    ran = slmtok("import", back, "-o", "again.json", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["result"]["tokenizer"]["fingerprint"] == result["tokenizer"]["fingerprint"]
    assert json.loads((tmp_path / "again.receipt.json").read_bytes())["payload"]["verified"] is True
    assert slmtok("verify", "again.json").code == 0


def test_what_people_see(slmtok: Run, tok: Path, corpus: Path) -> None:
    ran = slmtok("export", tok, "--output-format", "hf", "-o", "out", "--verify-on", corpus)
    assert ran.code == 0
    assert "equal ids in tokenizers" in ran.out
    assert "tokenizer_config.json" in ran.out
    ran = slmtok("import", "out/tokenizer.json", "-o", "again.json", "--verify-on", corpus)
    assert "layout       own" in ran.out


def test_an_output_that_exists(slmtok: Run, tok: Path) -> None:
    assert slmtok("export", tok, "--output-format", "hf", "-o", "out", "--no-verify", "-q").code == 0
    ran = slmtok("export", tok, "--output-format", "hf", "-o", "out", "--no-verify")
    assert ran.code == 1
    assert "--force" in ran.err
    ran = slmtok("export", tok, "--output-format", "hf", "-o", "out", "--no-verify", "--force", "--json")
    assert ran.code == 0
    assert ran.json["warnings"] == ["ids were not compared"]
    assert slmtok("import", "out", "-o", "again.json", "--no-verify").code == 0
    assert slmtok("import", "out", "-o", "again.json", "--no-verify").code == 1


def test_other_ids_are_status_3(slmtok: Run, tok: Path, monkeypatch: pytest.MonkeyPatch, leftovers: Any) -> None:
    honest = TARGETS["hf"]

    def files(*arguments: Any, **options: Any) -> dict[str, bytes]:
        found = honest.files(*arguments, **options)
        document = json.loads(found["tokenizer.json"])
        del document["model"]["merges"][5]
        return {**found, "tokenizer.json": json.dumps(document).encode()}

    monkeypatch.setitem(TARGETS, "hf", dataclasses.replace(honest, files=files))  # type: ignore[arg-type]  # it is a dict
    ran = slmtok("export", tok, "--output-format", "hf", "-o", "out", "--json")
    assert ran.code == 3
    assert ran.json["ok"] is False
    assert ran.json["error"]["class"] == "NotEqual"
    assert leftovers() == []


def test_wrong_usage(slmtok: Run, tok: Path) -> None:
    assert slmtok("export", tok, "--output-format", "gguf", "-o", "out").code == 2
    ran = slmtok("export", tok, "--output-format", "hf")
    assert ran.code == 2
    assert "error: --output is missing" in ran.err and f"slmtok export {tok} --output-format hf -o hf" in ran.err
    assert slmtok("export", tok, "--output-format", "tiktoken", "-o", "out", "--add-eos").code == 2
    ran = slmtok("import", tok, "-o", "x.json")
    assert ran.code == 1
    assert "is a tokenizer of slmtok already" in ran.err
    assert slmtok("import", "gone.json", "-o", "x.json").code == 1
    assert slmtok("import", "gone.json").code == 2


def test_eos_is_asked_for(slmtok: Run, tok: Path, tmp_path: Path) -> None:
    assert slmtok("export", tok, "--output-format", "hf", "-o", "out", "--add-eos", "-q").code == 0
    config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_bytes())
    assert config["add_eos_token"] is True
    document = json.loads((tmp_path / "out" / "tokenizer.json").read_bytes())
    assert [next(iter(piece)) for piece in document["post_processor"]["single"]] == [
        "SpecialToken",
        "Sequence",
        "SpecialToken",
    ]


def test_a_size_for_an_import_is_that_of_a_slice_behind_it(slmtok: Run, tok: Path, tmp_path: Path) -> None:
    export(package.load(tok), "hf", "hf", verify=False)
    ran = slmtok("import", "hf/tokenizer.json", "--vocab", "300", "-o", "i.json", "--no-verify")
    fix = ran.err.partition("fix:")[2].strip()
    importing = "slmtok import hf/tokenizer.json -o i-whole.json --no-verify"
    assert ran.code == 2 and fix == f"{importing} && slmtok slice i-whole.json --vocab 300 -o i.json"
    for line in fix.split(" && "):
        assert slmtok(*line.split()[1:]).code == 0
    assert package.load("i.json").n_vocab == 300


def test_a_size_for_a_foreign_tokenizer_is_refused(slmtok: Run) -> None:
    ranks = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    Path("x.tiktoken").write_bytes(ranks)
    ran = slmtok("import", "x.tiktoken", "--pattern", "gpt2", "--vocab", "300", "-o", "i.json")
    assert ran.code == 2 and "keeps its ids; slmtok train CORPUS --vocab 300 -o i.json" in ran.err


def test_an_import_of_another_format_is_mended_without_the_option(slmtok, tmp_path):
    package.train(package.Texts(["the cat sat on the mat"] * 9), vocab_size=280).save("tok.json")
    for target, path, other in (("hf", "hf/tokenizer.json", "tiktoken"), ("tiktoken", "ranks/ranks.tiktoken", "hf")):
        slmtok("export", "tok.json", "--output-format", target, "-o", path.split("/")[0], "--no-verify")
        ran = slmtok("import", path, "--input-format", other, "--no-verify", "-o", f"{target}.json")
        assert f"error: {path} is of the format {target}, not {other}\n" in ran.err
        fix = ran.err.rpartition("  fix:   ")[2].strip()
        assert fix == f"slmtok import {path} --no-verify -o {target}.json"
    assert slmtok("import", "hf/tokenizer.json", "--no-verify", "-o", "hf.json").code == 0
    ran = slmtok("import", "tok.json", "--input-format", "hf", "-o", "own.json")
    assert "error: tok.json is a tokenizer of slmtok already\n" in ran.err
