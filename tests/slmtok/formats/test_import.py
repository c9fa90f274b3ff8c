"""Imports: ids are kept, exports come back as they were, and what ours could not do in the same way is refused."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from shared_data import peer, tiktoken_cache
from story_texts import story_texts

import slmtok
from slmtok._engine import pattern_names
from slmtok.errors import (
    CorruptFile,
    Inexpressible,
    InvalidSpecials,
    MissingInput,
    NotEqual,
    OptionError,
    UnknownName,
)
from slmtok.formats import hf
from slmtok.formats.export import export
from slmtok.formats.foreign_files import train_own
from slmtok.formats.importing import import_file
from slmtok.formats.own_layout import roles_of

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    peer("tokenizers")
    peer("tiktoken")


@pytest.mark.parametrize("pattern", [*pattern_names(), r"[a-z]+|\s+$|(?s:.)"])
@pytest.mark.parametrize(("to", "file"), [("hf", "."), ("tiktoken", "mine.json")])
def test_what_was_exported_comes_back(pattern: str, to: str, file: str, tmp_path: Path) -> None:
    tok = slmtok.train(slmtok.Texts(story_texts()), vocab_size=400, pattern=pattern, allow_smaller=True).with_special(
        "user", "<|user|>"
    )
    export(tok, to, tmp_path / "mine", verify=False)
    back, receipt = import_file(tmp_path / "mine" / file)
    assert back.fingerprint == tok.fingerprint
    assert back.specials == tok.specials
    assert receipt["verified"] is True
    assert receipt["mismatches"] == 0


@pytest.mark.parametrize("scheme", ["word", "char", "byte"])
def test_other_schemes_come_back(scheme: str, tmp_path: Path) -> None:
    tok = slmtok.train(
        slmtok.Texts(story_texts()), vocab_size=272 if scheme == "byte" else 400, scheme=scheme, allow_smaller=True
    )
    export(tok, "hf", tmp_path / "mine", verify=False)
    assert import_file(tmp_path / "mine")[0].fingerprint == tok.fingerprint


@pytest.fixture(scope="module")
def trained_there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer that Hugging Face's library trained and saved, with a special of its own."""
    tokenizers = peer("tokenizers")
    steps = tokenizers.pre_tokenizers
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = steps.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=420,
        initial_alphabet=sorted(steps.ByteLevel.alphabet()),
        special_tokens=["<|endoftext|>"],
        show_progress=False,
    )
    theirs.train_from_iterator(story_texts(), trainer)
    path = tmp_path_factory.mktemp("there") / "tokenizer.json"
    theirs.save(str(path))
    return path


def test_a_table_from_there_keeps_its_ids(trained_there: Path, tmp_path: Path) -> None:
    tokenizers = peer("tokenizers")
    tok, receipt = import_file(trained_there)
    assert tok.vocabulary.layout == "foreign"
    assert tok.specials["eos"] == 0
    assert tok.pattern.name == "gpt2"
    theirs = tokenizers.Tokenizer.from_file(str(trained_there))
    assert tok.n_vocab == theirs.get_vocab_size() == receipt["tokenizer"]["n_vocab"]
    rng = random.Random(5)
    for _ in range(100):
        text = "".join(rng.choices("the fox Größe 今天 1998\n", k=30))
        assert tok.encode_list(text) == theirs.encode(text).ids
    tok.save(tmp_path / "tok.json")
    assert slmtok.load(tmp_path / "tok.json").encode_list("a fox") == theirs.encode("a fox").ids


@pytest.mark.shared
def test_rank_files() -> None:
    from slmtok.formats.tiktoken import find_ranks

    tiktoken_cache()
    tok, receipt = import_file(find_ranks("r50k_base"))
    assert tok.fingerprint == slmtok.from_tiktoken("r50k_base").fingerprint
    assert receipt["target"] == "tiktoken"


def test_a_rank_file_does_not_tell_its_pattern(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    export(bpe400, "tiktoken", tmp_path / "mine", verify=False)
    ranks = (tmp_path / "mine" / "mine.tiktoken").rename(tmp_path / "alone.tiktoken")
    with pytest.raises(MissingInput, match=r"rank file of an export of slmtok, and its side file .*alone.json' is"):
        import_file(ranks)
    tok, receipt = import_file(ranks, pattern="slm")
    assert receipt["mismatches"] == 0
    assert "the pattern is the one that was given" in receipt["notes"][0]
    assert tok.encode_list("Once upon a time") == bpe400.encode_list("Once upon a time")


def test_the_file_beside_the_ranks_tells_the_pattern(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    export(bpe400, "tiktoken", tmp_path / "mine", verify=False)
    ranks = tmp_path / "mine" / "mine.tiktoken"
    assert import_file(ranks)[0].fingerprint == bpe400.fingerprint
    with pytest.raises(CorruptFile, match=r"slmtok import .*mine.tiktoken -o tok.json"):
        slmtok.load(ranks)
    ranks.write_bytes(b"".join(ranks.read_bytes().splitlines(keepends=True)[:300]))
    with pytest.raises(CorruptFile, match="is not the rank file"):
        import_file(ranks)


@pytest.mark.parametrize("name", ["mine.tiktoken", "mine.json"])
def test_a_pattern_that_contradicts_the_side_file(bpe400: slmtok.Tokenizer, name: str, tmp_path: Path) -> None:
    export(bpe400, "tiktoken", tmp_path / "mine", verify=False)
    path, side = tmp_path / "mine" / name, str(tmp_path / "mine" / "mine.json")
    for verify in (True, False):
        with pytest.raises(OptionError, match="is not the pattern that ") as caught:
            import_file(path, pattern="gpt2", verify=verify)
        assert (caught.value.where, str(caught.value.fix)) == (side, "leave pattern out")
    assert import_file(path, pattern="slm")[0].fingerprint == bpe400.fingerprint


def test_a_rank_file_that_was_renamed_with_its_side_file(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    export(bpe400, "tiktoken", tmp_path / "mine", verify=False)
    for ending in (".json", ".tiktoken"):
        (tmp_path / "mine" / f"mine{ending}").rename(tmp_path / f"other{ending}")
    assert import_file(tmp_path / "other.tiktoken", verify=False)[0].fingerprint == bpe400.fingerprint


def test_a_model_that_is_not_bpe(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"model": {"type": "Unigram", "vocab": [["a", -1.0]]}}))
    with pytest.raises(Inexpressible, match="its model is Unigram"):
        import_file(path)


def test_a_changed_rank_file_is_noticed(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    export(bpe400, "tiktoken", tmp_path / "mine", verify=False)
    ranks = tmp_path / "mine" / "mine.tiktoken"
    ranks.write_bytes(b"".join(ranks.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(CorruptFile, match="is not the rank file"):
        import_file(tmp_path / "mine" / "mine.json")


def _no_merge(document: dict[str, Any]) -> None:
    del document["model"]["merges"][3]


def _reorder(document: dict[str, Any]) -> None:
    merges = document["model"]["merges"]
    merges[0], merges[1] = merges[1], merges[0]


def _sentencepiece(document: dict[str, Any]) -> None:
    document["model"]["vocab"]["▁the"] = 1000


def _set(*path: str, to: Any) -> Any:
    def change(document: dict[str, Any]) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = to

    change.__name__ = "_".join(path)
    return change


SPLIT = {"type": "Sequence", "pretokenizers": [{"type": "Digits"}, {"type": "ByteLevel"}]}
REFUSED = [
    (_set("normalizer", to={"type": "NFC"}), Inexpressible, "NFC changes text"),
    (_set("pre_tokenizer", to=None), Inexpressible, "pre_tokenizer is none"),
    (_set("pre_tokenizer", to=SPLIT), Inexpressible, "Digits then ByteLevel"),
    (_set("pre_tokenizer", "add_prefix_space", to=True), Inexpressible, "pre_tokenizer is ByteLevel"),
    (_set("model", "type", to="Unigram"), Inexpressible, "its model is Unigram"),
    (_set("model", "end_of_word_suffix", to="</w>"), Inexpressible, "end_of_word_suffix"),
    (_set("model", "merges", to=[["a", "no such"]]), Inexpressible, "joins no two tokens"),
    (_set("model", "merges", to=[["a", "zzz"]]), Inexpressible, "makes no token"),
    (_set("model", "vocab", to={"a": -1}), CorruptFile, "model.vocab.a is -1"),
    (_set("model", "vocab", to=[]), CorruptFile, r"model.vocab is \[\], expected an object"),
    (_set("added_tokens", to=[{"id": 1}]), CorruptFile, r"the key 'added_tokens\[0\].content' is missing"),
    (_no_merge, Inexpressible, "no merge joins"),
    (_reorder, Inexpressible, "merges in the order of their ids"),
    (_sentencepiece, Inexpressible, "not spelled in GPT-2's characters"),
]


@pytest.mark.parametrize(("change", "error", "told"), REFUSED)
def test_inexpressible_files_are_refused(
    trained_there: Path, tmp_path: Path, change: Any, error: type[Exception], told: str
) -> None:
    document = json.loads(trained_there.read_bytes())
    change(document)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(error, match=told):
        import_file(path, origin="hf")


def test_a_wrong_pattern_is_detected(trained_there: Path) -> None:
    with pytest.raises(NotEqual, match="gives other ids"):
        import_file(trained_there, pattern="o200k")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(CorruptFile, match="cannot be imported: unknown format"):
        import_file(tmp_path / "a.txt")
    with pytest.raises(UnknownName):
        import_file(tmp_path / "a.txt", origin="gguf")
    (tmp_path / "b.json").write_text('{"model": {"vocab"')
    with pytest.raises(CorruptFile, match="it is not JSON"):
        import_file(tmp_path / "b.json")


def test_every_split_of_every_token_as_merges(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    """As converters from tiktoken write it: all pairs that spell a token, and pieces that are tokens taken whole."""
    export(bpe400, "hf", tmp_path / "mine", verify=False)
    path = tmp_path / "mine" / "tokenizer.json"
    document = json.loads(path.read_bytes())
    vocab = {name: id for name, id in document["model"]["vocab"].items() if id >= 16}
    merges = []
    for name in sorted((name for name, id in vocab.items() if id >= 272), key=vocab.__getitem__):
        pairs = [(name[:at], name[at:]) for at in range(1, len(name))]
        merges += [f"{left} {right}" for left, right in pairs if left in vocab and right in vocab]
    assert len(merges) > 400 - 272
    document["model"] |= {"vocab": vocab, "merges": merges, "ignore_merges": True}
    path.write_text(json.dumps(document), encoding="utf-8")
    tok, receipt = import_file(path)
    assert receipt["mismatches"] == 0
    for text in story_texts():
        assert tok.encode_list(text) == bpe400.encode_list(text)
    assert tok.specials.spellings["</s>"] == 2


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (None, "name the file itself"),
        ("tok.json", "a tokenizer of slmtok already"),
        ("tokenizer.model", "tokenizer.model is a SentencePiece model; slmtok reads byte-level BPE alone; "),
        ("vocab.json", "whose merges are another file; name the tokenizer.json of the same model: "),
        ("x.tiktoken", "name the rank file"),
    ],
)
def test_a_folder_without_a_tokenizer_json(tmp_path, name, told):
    if name:
        (tmp_path / name).write_bytes(b"\n\x0e\n\x05<unk>" if name == "tokenizer.model" else b'{"a": 0}')
    with pytest.raises(MissingInput, match="holds no tokenizer"):
        import_file(tmp_path)
    with pytest.raises(MissingInput) as caught:
        import_file(tmp_path)
    assert told in str(caught.value)


def test_a_file_of_ours_needs_no_import(tmp_path):
    slmtok.train(slmtok.Texts(["some words"] * 3), vocab_size=272).save(tmp_path / "tok.json")
    with pytest.raises(CorruptFile, match="is a tokenizer of slmtok already"):
        import_file(tmp_path / "tok.json")


def _saved_there(path: Path, steps: Any, **options: Any) -> Path:
    """A tokenizer.json of BPE with these pre-tokenizers, trained there."""
    tokenizers = peer("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
    theirs.pre_tokenizer = steps
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=500, special_tokens=["[UNK]"], show_progress=False, **options)
    theirs.train_from_iterator(story_texts(), trainer)
    theirs.save(str(path))
    return path


def test_bpe_of_characters_needs_a_tokenizer_of_its_own(tmp_path: Path) -> None:
    steps = peer("tokenizers").pre_tokenizers
    for made, name in (
        (steps.Whitespace(), "Whitespace"),
        (steps.Metaspace(), "Metaspace"),
        (steps.BertPreTokenizer(), "BertPreTokenizer"),
        (steps.Sequence([steps.WhitespaceSplit(), steps.Punctuation()]), "WhitespaceSplit then Punctuation"),
    ):
        path = _saved_there(tmp_path / "tokenizer.json", made)
        for pattern in (None, "gpt2"):
            with pytest.raises(Inexpressible, match=f"not byte-level: its pre_tokenizer is {name}, and") as caught:
                import_file(path, pattern=pattern)
            assert caught.value.fix == train_own()
        with pytest.raises(Inexpressible, match="not byte-level"):
            slmtok.load(path)


def test_bytes_that_no_token_is_and_spaces_that_a_step_adds(tmp_path: Path) -> None:
    steps = peer("tokenizers").pre_tokenizers
    path = tmp_path / "tokenizer.json"
    _saved_there(path, steps.ByteLevel(add_prefix_space=False))
    with pytest.raises(Inexpressible, match=r"no token is the byte 0x00, nor are \d+ others") as caught:
        import_file(path)
    assert caught.value.fix == train_own() and "initial_alphabet" in str(caught.value.limit)
    alphabet = sorted(steps.ByteLevel.alphabet())
    for made in (steps.ByteLevel(), steps.Sequence([steps.Digits(), steps.ByteLevel()])):
        with pytest.raises(Inexpressible, match="adds a space before each text") as caught:
            import_file(_saved_there(path, made, initial_alphabet=alphabet))
        assert caught.value.fix == train_own()
    # Byte tokens without a step: a pattern may fit, and ids are compared.
    with pytest.raises(Inexpressible, match="its pre_tokenizer is Whitespace") as caught:
        import_file(_saved_there(path, steps.Whitespace(), initial_alphabet=alphabet))
    assert str(caught.value.fix).startswith("pattern='gpt2'")


def test_what_tokenizers_cannot_read_or_would_repeat_is_refused(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    export(bpe400, "hf", tmp_path / "hf", verify=False)
    content = json.loads((tmp_path / "hf/tokenizer.json").read_text())
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**content, "x": 1}))
    with pytest.raises(CorruptFile, match="the package tokenizers cannot read "):
        import_file(path)
    piece = {"Sequence": {"id": "A", "type_id": 0}}
    template = {"type": "TemplateProcessing", "single": [piece] * 2, "pair": [], "special_tokens": {}}
    for processor in (template, {"type": "Sequence", "processors": [template]}):
        path.write_text(json.dumps({**content, "post_processor": processor}))
        with pytest.raises(Inexpressible, match="its template 'single' repeats a text"):
            import_file(path)


def test_a_thread_that_does_not_start_is_no_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    peer("tokenizers")
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        hf.open_tokenizer_json(tmp_path / "tokenizer.json")


def _nested(steps: object, depth: int = 0) -> dict[str, Any]:
    """A sequence of all four stages with `steps` in each."""
    found = {"type": "Sequence", **dict.fromkeys(("normalizers", "pretokenizers", "processors", "decoders"), steps)}
    return _nested([found], depth - 1) if depth else found


HOSTILE_STEPS: list[Any] = [
    *(5, "x", True, [], [5], {}, {"type": 5}, {"type": []}, {"type": None}),
    *(_nested(steps) for steps in (5, "abc", True, {"a": 1}, [5], ["x"], [None], [[]], [{}], [{"type": 5}])),
    *(_nested([5], 2), _nested([], 8)),
    *({"type": "T", "single": pieces, "pair": []} for pieces in (5, "x", True, {"Sequence": 1}, [5], [[]])),
]


@pytest.mark.parametrize("stage", ["normalizer", "pre_tokenizer", "post_processor", "decoder"])
def test_steps_of_wrong_types_are_one_error(bpe400: slmtok.Tokenizer, tmp_path: Path, stage: str) -> None:
    """Some ended with a TypeError of Python."""
    export(bpe400, "hf", tmp_path / "hf", verify=False)
    path = tmp_path / "hf/tokenizer.json"
    content = json.loads(path.read_text())
    for step in HOSTILE_STEPS:
        path.write_text(json.dumps({**content, stage: step}))
        with pytest.raises((CorruptFile, Inexpressible), match=r"tokenizer\.json") as caught:
            import_file(path, verify=False)
        assert caught.value.where == str(path) and caught.value.fix


@pytest.mark.parametrize(
    "added",
    [
        *(5, "x", {}, [5], [None], [[]], [{}], [{"id": 5}], [{"content": "a"}]),
        *([{"id": id, "content": "a"}] for id in ("5", None, True, 1.5, -1, 10**30, 1 << 21)),
        *([{"id": 700, "content": text}] for text in (5, None, "", "\ud800", "x" * 5000)),
        [{"id": 700, "content": "a"}, {"id": 700, "content": "b"}],
    ],
)
def test_hostile_added_tokens_are_one_error(bpe400: slmtok.Tokenizer, tmp_path: Path, added: object) -> None:
    export(bpe400, "hf", tmp_path / "hf", verify=False)
    path = tmp_path / "hf/tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "added_tokens": added}))
    with pytest.raises((CorruptFile, InvalidSpecials)) as caught:
        import_file(path, verify=False)
    assert caught.value.where == str(path) and caught.value.fix


def test_roles_of_many_added_tokens_take_linear_time() -> None:
    """Each role was compared with all others: 20,000 took 80 s."""
    begin = time.monotonic()
    spellings = {f"<t{number}>": number for number in range(100_000)}
    assert roles_of(spellings) == {text: text.strip("<>") for text in spellings}
    assert roles_of({"<a>": 0, "a": 1, "(a)": 2}) == {"a": "a", "<a>": "a_0", "(a)": "a_2"}
    assert time.monotonic() - begin < 20


def test_merges_that_are_listed_often_are_refused_soon(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    """The table of characters was made for each part of each merge: 100,000 took 46 s."""
    export(bpe400, "hf", tmp_path / "hf", verify=False)
    path = tmp_path / "hf/tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["merges"] = content["model"]["merges"][:1] * 100_000
    path.write_text(json.dumps(content))
    begin = time.monotonic()
    with pytest.raises(Inexpressible, match="no merge joins"):
        import_file(path)
    assert time.monotonic() - begin < 20


def test_a_regex_on_which_the_library_gives_up_is_one_error(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    """It ended with a PanicException, which is no Exception."""
    export(bpe400, "hf", tmp_path / "hf", verify=False)
    path = tmp_path / "hf/tokenizer.json"
    content = json.loads(path.read_text())
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": "(a*)*b" * 300}, "behavior": "Isolated", "invert": False}
    path.write_text(
        json.dumps({**content, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]}})
    )
    with pytest.raises(CorruptFile, match="the package tokenizers fails on a text with "):
        import_file(path)
