"""Exports: equal ids for every pattern and target, refusals before work, and no file where an id differs."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_data import peer, tiktoken_cache
from story_texts import story_texts

import slmtok
from slmtok._engine import pattern_names
from slmtok.envelope import read_envelope
from slmtok.errors import (
    Inexpressible,
    MissingExtra,
    MissingInput,
    NotEqual,
    OptionError,
    OutputExists,
    UnknownName,
    Unreadable,
)
from slmtok.formats import base, verification
from slmtok.formats import export as export_module
from slmtok.formats.export import RECEIPT, TARGETS, export

pytestmark = pytest.mark.peer
GAPLESS = r"[a-zA-Z]+|[0-9]{1,3}+|\s+$|\s+|(?s:.)"
GAPS = r"[a-zA-Z]+|[0-9]+|\s+"


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    peer("tokenizers")
    peer("tiktoken")


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("pattern", [*pattern_names(), GAPLESS])
def test_every_pattern(pattern: str, to: str, tmp_path: Path) -> None:
    tok = slmtok.train(slmtok.Texts(story_texts()), vocab_size=500, pattern=pattern, allow_smaller=True)
    receipt = export(tok, to, tmp_path / "mine")
    assert next(iter(receipt)) == "verified"
    assert receipt["verified"] is True
    assert receipt["mismatches"] == 0
    assert {check["name"] for check in receipt["checks"]} == {"golden", "tokens", "fuzz", "code_points", "text"}
    assert all(check["strings"] > 10 for check in receipt["checks"])
    written = read_envelope((tmp_path / "mine" / RECEIPT).read_bytes(), "receipt", RECEIPT)
    assert written.payload == receipt
    assert written.inputs == {"tokenizer": receipt["tokenizer"]["sha256"]}
    assert names(tmp_path / "mine") == sorted([*receipt["files"], "export.receipt.json"])
    assert names(tmp_path) == [f"mine/{name}" for name in names(tmp_path / "mine")]


@pytest.mark.parametrize("ties", ["bytes-greatest", "hf"])
@pytest.mark.parametrize("to", TARGETS)
def test_every_tie_rule(ties: Any, to: str, tmp_path: Path) -> None:
    tok = slmtok.train(slmtok.Texts(story_texts()), vocab_size=400, tie_break=ties)
    assert export(tok, to, tmp_path / "mine")["mismatches"] == 0


@pytest.mark.parametrize(("scheme", "to"), [("word", "hf"), ("char", "hf"), ("byte", "hf"), ("char", "tiktoken")])
def test_other_schemes(scheme: str, to: str, tmp_path: Path) -> None:
    tok = slmtok.train(
        slmtok.Texts(story_texts()), vocab_size=272 if scheme == "byte" else 400, scheme=scheme, allow_smaller=True
    )
    assert export(tok, to, tmp_path / "mine")["mismatches"] == 0


@pytest.mark.parametrize("name", ["gpt2"])
@pytest.mark.shared
def test_foreign_tables(name: str, tmp_path: Path) -> None:
    tiktoken_cache()
    tok = slmtok.from_tiktoken(name)
    for to in TARGETS:
        assert export(tok, to, tmp_path / to)["mismatches"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("to", TARGETS)
def test_all_of_it(to: str, bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    """Every code point, and as much text as users get."""
    receipt = export(bpe400, to, tmp_path / "mine", effort=verification.Effort(text_bytes=1_000_000))
    assert receipt["bytes"] > 8_000_000


def test_own_text_is_compared(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xc3\xa9 \xff\xfe " * 50)
    receipt = export(bpe400, "hf", tmp_path / "mine", verify_on=[tmp_path / "a.txt"])
    assert receipt["text"] == "files"
    assert receipt["checks"][-1] == {**receipt["checks"][-1], "name": "text", "strings": 1}


def test_the_name_is_that_of_the_folder(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    export(bpe400, "tiktoken", tmp_path / "my größe 1", verify=False)
    assert "my-gr-e-1.tiktoken" in names(tmp_path / "my größe 1")


KILLED = """
import os, signal, sys
import slmtok
from slmtok.formats import export
export._move = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
export.export(slmtok.load(sys.argv[1]), "hf", sys.argv[2], verify=False)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="process start times are known on Linux only")
@pytest.mark.parametrize("place", ["mine", "."])
def test_an_export_removes_the_leftovers_of_a_killed_one(bpe400: slmtok.Tokenizer, tmp_path: Path, place: str) -> None:
    bpe400.save(tmp_path / "tok.json")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    work = tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-c", KILLED, str(tmp_path / "tok.json"), place]
    assert subprocess.run(command, cwd=work, env=env, check=False).returncode == -9
    (left,) = work.iterdir()
    assert left.name.endswith(".part") and names(left) != []
    (work / ".mine.other-1-1-0badcafe.part").mkdir()
    subprocess.run(
        [*command[:2], KILLED.replace("export._move = ", "wrong = "), *command[3:]], cwd=work, env=env, check=True
    )
    assert [path.name for path in work.iterdir() if path.name.startswith(".")] == [".mine.other-1-1-0badcafe.part"]


@pytest.mark.parametrize("exists", [False, True])
def test_an_export_whose_files_were_removed_is_not_published(
    bpe400: slmtok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    def remove(tokenizer: slmtok.Tokenizer, target: object, folder: Path, name: str) -> Callable[[list[str]], Any]:
        shutil.rmtree(folder)
        return tokenizer.encode_batch

    if exists:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / RECEIPT).touch()
    monkeypatch.setattr(export_module, "_open", remove)
    with pytest.raises(Unreadable, match="another program removed the temporary file"):
        export(bpe400, "hf", tmp_path / "out", force=True, effort=verification.Effort(1000, 10, 5000))
    assert names(tmp_path) == (["out/" + RECEIPT] if exists else []) and not list(tmp_path.glob(".*"))


def test_text_that_is_not_there_is_told_before_work(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(MissingInput):
        verification.probes(bpe400, [tmp_path / "gone.txt"], None, verification.FULL)
    with pytest.raises(MissingInput):
        export(bpe400, "hf", tmp_path / "mine", verify_on=[tmp_path / "gone.txt"])
    assert names(tmp_path) == []


def test_equal_work_gives_equal_bytes(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        export(bpe400, "hf", tmp_path / folder)
    for name in names(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_get_encoding_finds_the_plugin(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    export(bpe400, "tiktoken", tmp_path / "mine-1", verify=False)
    code = "import tiktoken, json; e = tiktoken.get_encoding('mine-1'); print(json.dumps([e.n_vocab, e.eot_token "
    code += "if '<|endoftext|>' in e.special_tokens_set else e.encode('</s>', allowed_special='all'), "
    code += "e.encode_ordinary('Once upon a time </s>')]))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "mine-1")}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert json.loads(ran.stdout) == [400, [2], bpe400.encode_list("Once upon a time </s>")]


# --- what is refused ------------------------------------------------------------------------------------------------


def _swap_ids(content: bytes) -> bytes:
    document = json.loads(content)
    vocab = document["model"]["vocab"]
    a, b = [name for name, id in vocab.items() if id in (300, 301)]
    vocab[a], vocab[b] = vocab[b], vocab[a]
    return json.dumps(document).encode()


def _drop_merge(content: bytes) -> bytes:
    document = json.loads(content)
    del document["model"]["merges"][20]
    return json.dumps(document).encode()


def _flip_merge(content: bytes) -> bytes:
    """The first merge becomes the last one."""
    document = json.loads(content)
    merges = document["model"]["merges"]
    merges.append(merges.pop(0))
    return json.dumps(document).encode()


def _other_digits(content: bytes) -> bytes:
    return content.replace(rb"\\p{N}{1,2}", rb"\\p{N}{1,3}")


def _flip_rank(content: bytes) -> bytes:
    lines = content.splitlines()
    first, second = lines[300 - 16].split(), lines[301 - 16].split()
    lines[300 - 16], lines[301 - 16] = b" ".join((first[0], second[1])), b" ".join((second[0], first[1]))
    return b"\n".join(lines) + b"\n"


SABOTEURS: list[tuple[str, str, Callable[[bytes], bytes]]] = [
    ("hf", "tokenizer.json", _swap_ids),
    ("hf", "tokenizer.json", _drop_merge),
    ("hf", "tokenizer.json", _flip_merge),
    ("hf", "tokenizer.json", _other_digits),
    ("tiktoken", "mine.tiktoken", _flip_rank),
]


@pytest.mark.parametrize(("to", "file", "change"), SABOTEURS)
def test_a_saboteur_leaves_no_file(
    to: str, file: str, change: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok = slmtok.train(slmtok.Texts([*story_texts(), "123 456 78901 " * 20]), vocab_size=420)
    honest = TARGETS[to]

    def files(*arguments: Any, **options: Any) -> dict[str, bytes]:
        found = honest.files(*arguments, **options)
        changed = change(found[file])
        assert changed != found[file]
        found[file] = changed
        if to == "tiktoken":
            import hashlib

            side = json.loads(found["mine.json"])
            side["ranks_sha256"] = hashlib.sha256(changed).hexdigest()
            found["mine.json"] = json.dumps(side).encode()
        return found

    monkeypatch.setitem(TARGETS, to, dataclasses.replace(honest, files=files))  # type: ignore[arg-type]  # it is a dict
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a.txt").write_text("mine")
    for folder in ("mine", "kept"):
        with pytest.raises(NotEqual, match="gives other ids for") as caught:
            export(tok, to, tmp_path / folder, name="mine")
        assert "nothing was written" in str(caught.value)
    assert names(tmp_path) == ["kept/a.txt"]


def test_a_pattern_with_gaps_is_refused_for_tiktoken(tmp_path: Path) -> None:
    tok = slmtok.train(slmtok.Texts(story_texts()), vocab_size=300, pattern=GAPS)
    with pytest.raises(Inexpressible, match=r"does not match \d+\.\d% of the sample .first: ','.; tiktoken would"):
        export(tok, "tiktoken", tmp_path / "mine", verify=False)
    assert export(tok, "hf", tmp_path / "mine")["mismatches"] == 0


def test_words_are_refused_for_tiktoken(tmp_path: Path) -> None:
    tok = slmtok.train(slmtok.Texts(story_texts()), vocab_size=300, scheme="word")
    with pytest.raises(Inexpressible, match="scheme word"):
        export(tok, "tiktoken", tmp_path / "mine")


@pytest.mark.parametrize("to", TARGETS)
def test_a_merge_that_is_never_given_out_is_refused(to: str, tmp_path: Path) -> None:
    tok = slmtok.train(
        slmtok.Texts(["<s> <s> <s> and <s>"]), vocab_size=274, tie_break="hf", pattern="whole", allow_smaller=True
    )
    assert any(len(merge) == 3 for merge in tok.vocabulary.merges)
    with pytest.raises(Inexpressible, match="never emits"):
        export(tok, to, tmp_path / "mine")


def test_a_token_with_the_name_of_a_special_is_refused(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    assert bpe400.token_id(b"he") is not None
    with pytest.raises(Inexpressible, match="has the name of the ordinary token") as caught:
        export(bpe400.with_special("user", "he"), "hf", tmp_path / "mine")
    found = {"tok": bpe400.with_special("user", "he")}
    exec(str(caught.value.fix), found)
    export(found["tok"], "hf", tmp_path / "mine", verify=False)


def test_a_special_that_is_one_piece_is_refused_for_words(tmp_path: Path) -> None:
    tok = slmtok.train(slmtok.Texts(story_texts()), vocab_size=300, scheme="word").with_special("user", "USER")
    with pytest.raises(Inexpressible, match="'USER' is one piece of text"):
        export(tok, "hf", tmp_path / "mine", verify=False)


def test_required_tokens_that_do_not_follow_from_the_table_are_refused(tmp_path: Path) -> None:
    tok = slmtok.train(
        slmtok.Texts(["ab abc bc bcd " * 40]), vocab_size=290, require=["xyzzy", "yzzyx"], allow_smaller=True
    )
    try:
        assert export(tok, "tiktoken", tmp_path / "mine")["mismatches"] == 0
    except Inexpressible as error:
        assert "is not merged from the two tokens" in str(error)


def test_a_library_that_is_missing(bpe400: slmtok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match="tokenizers is not installed") as caught:
        export(bpe400, "hf", tmp_path / "mine")
    assert "pip install tokenizers" in str(caught.value.fix)
    assert not (tmp_path / "mine").exists()
    receipt = export(bpe400, "hf", tmp_path / "mine", verify=False)
    assert receipt["verified"] is False
    assert receipt["mismatches"] is None
    assert receipt["library_version"] is None
    assert base.installed("tokenizers") is None


def test_the_output_folder(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    export(bpe400, "hf", place, verify=False)
    (place / "model.safetensors").write_text("weights")
    with pytest.raises(OutputExists, match=r"holds 'tokenizer\.json'"):
        export(bpe400, "hf", place, verify=False)
    assert export(bpe400, "hf", place, force=True)["verified"] is True
    assert names(place) == ["export.receipt.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    with pytest.raises(UnknownName, match="gguf"):
        export(bpe400, "gguf", place)
    with pytest.raises(OptionError, match="is not a valid name"):
        export(bpe400, "tiktoken", tmp_path / "b", name="../up")


def test_an_export_that_another_process_finished_meanwhile_stays(bpe400, tmp_path, monkeypatch):
    """Both find the folder free at first."""
    module, place = sys.modules["slmtok.formats.export"], tmp_path / "mine"

    def compare(*_: Any, **__: Any) -> None:
        monkeypatch.undo()
        export(bpe400, "hf", place, verify=False)

    monkeypatch.setattr(module, "compare", compare)
    (tmp_path / "a.txt").write_text("a cat")
    with pytest.raises(OutputExists, match=r"holds 'tokenizer\.json'"):
        export(bpe400, "hf", place, verify_on=[tmp_path / "a.txt"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "mine"]


def test_a_file_that_cannot_be_replaced_is_named_in_its_folder(bpe400, tmp_path, monkeypatch):
    """As a file is after `chattr +i`; its temporary name is gone when the message is read."""
    place, real = tmp_path / "out", Path.replace
    export(bpe400, "hf", place, verify=False)

    def replace(path, target):
        if path.name == "tokenizer.json" and path.parent != place:
            raise PermissionError(errno.EPERM, "Operation not permitted", str(path))
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        with pytest.raises(Unreadable) as caught:
            export(bpe400, "hf", place, verify=False, force=True)
    error = caught.value
    assert error.fact == f"cannot write {str(place / 'tokenizer.json')!r}: Operation not permitted"
    assert error.where == f"the folder {str(place)!r}; some outputs are written; the same command finishes them"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    export(bpe400, "hf", place, verify=False, force=True)


def test_a_setting_that_the_target_does_not_have(tmp_path: Path) -> None:
    tok = slmtok.train(slmtok.Texts(["the cat sat"]), vocab_size=273)
    with pytest.raises(OptionError, match="settings has 'zzqq', which 'tiktoken' does not take") as caught:
        export(tok, "tiktoken", tmp_path / "out", settings={"zzqq": 1})
    assert caught.value.fix == "help(slmtok.formats.tiktoken.files)"
    assert caught.value.limit == "settings of tiktoken: none"
