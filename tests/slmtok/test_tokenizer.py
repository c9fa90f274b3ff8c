"""The methods of `Tokenizer`: results and refusals."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import slmtok
from slmtok import Special, Trusted, errors
from slmtok.segments import Segment

TEXT = "Once upon a time, it's <s>raining</s> in 1998. Größe 今天 👩‍👧 x"


def test_facts(bpe: slmtok.Tokenizer) -> None:
    assert bpe.n_vocab == 400
    assert bpe.padded_vocab == 448
    assert bpe.specials["eos"] == 2
    assert bpe.dtype == np.uint16
    assert bpe.pattern.name == "slm"
    assert bpe.token_id(bpe.token_bytes(300)) == 300
    assert int(bpe.byte_lengths()[300]) == len(bpe.token_bytes(300))
    assert bpe.metadata()["n_vocab"] == 400


def test_byte_lengths_equal_the_engine_s(tok: slmtok.Tokenizer) -> None:
    assert tok.byte_lengths().tolist() == tok._encoder.byte_lengths().tolist()


def test_arrays_are_read_only_and_narrow(bpe: slmtok.Tokenizer) -> None:
    for ids in (bpe.encode(TEXT), bpe.encode(TEXT, bos=True), bpe.encode("<s>", allow_special="all"), bpe.encode("")):
        assert ids.dtype == np.uint16
        assert not ids.flags.writeable


def test_list_and_array_agree(tok: slmtok.Tokenizer) -> None:
    assert tok.encode_list(TEXT) == tok.encode(TEXT).tolist() == tok.encode(TEXT.encode()).tolist()
    assert tok.encode_list(TEXT, bos=True, eos=True) == [1, *tok.encode_list(TEXT), 2]
    assert tok.encode(bytearray(TEXT.encode())).tolist() == tok.encode(memoryview(TEXT.encode())).tolist()


def test_spellings_are_text_unless_allowed(tok: slmtok.Tokenizer) -> None:
    assert not any(id < 16 for id in tok.encode_list("<s><?><></s><sep><mask>"))
    assert tok.encode_list("a<s>b", allow_special={"bos"}) == [*tok.encode_list("a"), 1, *tok.encode_list("b")]
    assert tok.encode_list("a<s>b", allow_special=["<s>"]) == tok.encode_list("a<s>b", allow_special="all")
    assert tok.encode_list(b"\xff<s>", allow_special="all") == [*tok.encode_list(b"\xff"), 1]
    assert tok.encode_list("a<s>b", allow_special={"eos"}) == tok.encode_list("a<s>b")
    with pytest.raises(errors.UnknownSpecial, match="unk, bos"):
        tok.encode("x", allow_special={"user"})
    with pytest.raises(errors.WrongType, match="one string"):
        tok.encode("x", allow_special="bos")


def test_longest_spelling_wins(bpe: slmtok.Tokenizer) -> None:
    tok = bpe.with_special("a", "<s>>").with_special("b", "<s>>>")
    assert tok.encode_list("<s>>>", allow_special="all") == [7]
    assert tok.encode_list("<s>>", allow_special="all") == [6]
    assert tok.encode_list("<s>>>", allow_special={"bos"}) == [1, *tok.encode_list(">>")]


def test_lone_surrogate(bpe: slmtok.Tokenizer) -> None:
    with pytest.raises(errors.InvalidText):
        bpe.encode("ab\ud800")


def test_decode(tok: slmtok.Tokenizer) -> None:
    ids = tok.encode(TEXT, bos=True, eos=True)
    assert tok.decode(ids) == f"<s>{TEXT}</s>"
    assert tok.decode(ids, skip_special=True) == TEXT
    assert tok.decode(ids.tolist()) == tok.decode(ids.astype(np.int64)) == tok.decode(ids.astype(np.uint32))
    assert tok.decode([]) == ""
    assert tok.decode(tok.encode(b"a\xff")) == "a\ufffd"
    assert tok.decode_bytes(tok.encode(b"a\xff")) == b"a\xff"
    with pytest.raises(UnicodeDecodeError):
        tok.decode(tok.encode(b"a\xff"), errors="strict")


def test_stream(tok: slmtok.Tokenizer) -> None:
    stream = tok.stream()
    pieces = [stream.push(id) for id in tok.encode_list(TEXT)]
    assert "".join(pieces) + stream.finish() == TEXT


def test_batch_is_the_loop(tok: slmtok.Tokenizer) -> None:
    texts: list[str | bytes] = [TEXT, "", b"\xff\xfe", TEXT * 50, "x"]
    for threads in (0, 1, 3):
        batch = tok.encode_batch(texts, threads=threads, bos=True, eos=True)
        assert batch.to_lists() == [tok.encode_list(text, bos=True, eos=True) for text in texts]
        assert tok.count_tokens(texts, threads=threads).tolist() == [len(tok.encode(text)) for text in texts]
    assert tok.decode_batch(tok.encode_batch([TEXT, "x"])) == [TEXT, "x"]
    assert tok.decode_batch([[20, 21], np.array([22]), []]) == [tok.decode([20, 21]), tok.decode([22]), ""]
    assert tok.encode_batch(iter(["a", "b"])).to_lists() == tok.encode_batch(("a", "b")).to_lists()
    assert len(tok.encode_batch([])) == 0


def test_offsets_tile(tok: slmtok.Tokenizer) -> None:
    data = TEXT.encode()
    ids, spans = tok.encode_with_offsets(TEXT)
    assert [data[start:end] for start, end in spans] == [tok.token_bytes(int(id)) for id in ids]
    ids, spans = tok.encode_with_offsets(TEXT, unit="chars")
    assert spans.dtype == np.int64
    assert "".join(TEXT[start:end] for start, end in spans) == TEXT
    assert spans[1:, 0].tolist() == spans[:-1, 1].tolist()


def test_char_spans_of_split_and_broken_characters() -> None:
    tok = slmtok.train(slmtok.Texts(["x"]), scheme="byte")
    _, spans = tok.encode_with_offsets("a今b", unit="chars")
    assert spans.tolist() == [[0, 1], [1, 1], [1, 1], [1, 2], [2, 3]]
    _, spans = tok.encode_with_offsets(b"\xe4\xbba\xff", unit="chars")
    assert spans.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]


def test_pieces(bpe: slmtok.Tokenizer) -> None:
    assert b"".join(token for _, token in bpe.pieces(TEXT)) == TEXT.encode()


def test_segments(bpe: slmtok.Tokenizer) -> None:
    parts: list[Segment] = [
        Special("bos"),
        "untrusted <s> text",
        b"\xff",
        Trusted("a<sep>b", allow={"sep"}),
        Special("</s>"),
        Special(9),
    ]
    found = bpe.encode_segments(parts)
    assert [int(id) for id in found.ids if id < 16] == [1, 4, 2, 9]
    assert sorted(set(found.segments.tolist())) == [0, 1, 2, 3, 4, 5]
    text = [b"", b"untrusted <s> text", b"\xff", b"a<sep>b", b"", b""]
    for (start, end), segment, id in zip(
        found.spans.tolist(), found.segments.tolist(), found.ids.tolist(), strict=True
    ):
        assert text[segment][start:end] in (bpe.token_bytes(id), b"")
    assert bpe.decode_segments(found.ids) == [
        Special("bos"),
        b"untrusted <s> text\xffa",
        Special("sep"),
        "b",
        Special("eos"),
        Special(9),
    ]
    with pytest.raises(errors.UnknownSpecial):
        bpe.encode_segments([Special("user")])
    with pytest.raises(errors.UnknownSpecial):
        bpe.encode_segments([Special(77)])
    assert len(bpe.encode_segments([])) == 0


def test_no_merge_crosses_a_segment(bpe: slmtok.Tokenizer) -> None:
    assert bpe.encode_segments(["th", "e"]).ids.tolist() == bpe.encode_list("th") + bpe.encode_list("e")


def test_immutable(bpe: slmtok.Tokenizer) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        bpe._vocabulary = None  # type: ignore[assignment]
    with pytest.raises(AttributeError, match=r"immutable; tok = slmtok\.slice\(tok, 280\) makes another one$"):
        bpe.n_vocab = 280  # type: ignore[misc]
    with pytest.raises(AttributeError, match=r"tok = slmtok\.extend\(.*, vocab_size=90000\)\.tokenizer makes another"):
        bpe.n_vocab = 90_000  # type: ignore[misc]
    with pytest.raises(
        TypeError, match=r"nor looped over\n  fix:   tok.token_bytes\(0\), or tok\.get_vocab\(\), a dict"
    ):
        list(bpe)  # type: ignore[call-overload]
    with pytest.raises(AttributeError, match="immutable"):
        del bpe._vocabulary
    before = bpe.to_bytes()
    bpe.options["vocab"] = 3
    bpe.encode(TEXT * 100)
    assert bpe.to_bytes() == before


def test_identity(bpe: slmtok.Tokenizer) -> None:
    same = slmtok.Tokenizer.from_bytes(bpe.to_bytes())
    named = bpe.with_special("user", "<|user|>")
    assert same == bpe
    assert hash(same) == hash(bpe)
    assert named != bpe
    assert named.fingerprint == bpe.fingerprint
    assert named.sha256 != bpe.sha256
    assert named.encode_list("hi<|user|>", allow_special={"user"})[-1] == 6
    assert named.decode([6]) == "<|user|>"
    assert bpe != "tokenizer"


def test_pickle_and_copy_carry_the_file(bpe: slmtok.Tokenizer) -> None:
    for again in (pickle.loads(pickle.dumps(bpe)), copy.deepcopy(bpe)):
        assert again == bpe
        assert again.encode_list(TEXT) == bpe.encode_list(TEXT)


def test_spawned_process_gets_the_same(bpe: slmtok.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "tok.pickle").write_bytes(pickle.dumps(bpe))
    code = (
        "import pickle, sys; tok = pickle.load(open(sys.argv[1], 'rb')); "
        "print(tok.fingerprint, tok.encode_list(sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "tok.pickle"), TEXT], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"{bpe.fingerprint} {bpe.encode_list(TEXT)}"


def test_slice_is_shorter_training(bpe: slmtok.Tokenizer) -> None:
    from story_texts import story_texts

    small = slmtok.slice(bpe, 330)
    assert small.fingerprint == slmtok.train(slmtok.Texts(story_texts()), vocab_size=330).fingerprint
    assert small.provenance["sliced_from"] == bpe.fingerprint
    assert slmtok.Tokenizer.from_bytes(small.to_bytes()) == small


def test_encode_files(bpe: slmtok.Tokenizer, tmp_path: Path) -> None:
    texts = [TEXT * 3, "", "second\nfile\n"]
    paths = [tmp_path / f"{index}.txt" for index in range(3)]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    out = tmp_path / "ids.bin"
    found = bpe.encode_files(paths, out, bos=True, eos=True)
    assert found.to_lists() == [bpe.encode_list(text, bos=True, eos=True) for text in texts]
    assert np.fromfile(out, dtype="<u2").tolist() == found.ids.tolist()
    assert np.load(tmp_path / "ids.bin.offsets.npy").tolist() == found.offsets.tolist()
    lines = bpe.encode_files(str(paths[2]), tmp_path / "lines.bin", document="line")
    assert lines.to_lists() == [bpe.encode_list("second"), bpe.encode_list("file")]
    with pytest.raises(errors.OutputExists):
        bpe.encode_files(paths, out)
    assert len(bpe.encode_files(paths[1], out, force=True).ids) == 0


def test_encode_files_leaves_nothing_on_failure(bpe: slmtok.Tokenizer, tmp_path: Path) -> None:
    good = tmp_path / "good.txt"
    good.write_text("x" * 100)
    with pytest.raises(errors.MissingInput, match="missing"):
        bpe.encode_files([good, tmp_path / "missing.txt"], tmp_path / "out.bin")

    def stop(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bpe.encode_files([good], tmp_path / "out.bin", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["good.txt"]


def test_vocab_json(bpe: slmtok.Tokenizer, tmp_path: Path) -> None:
    from slmmodel.vocab import VocabMeta
    from slmtok.vocab_json import render_metadata

    (tmp_path / "vocab.json").write_bytes(render_metadata(bpe.metadata()))
    info = VocabMeta.load(tmp_path / "vocab.json")
    assert (info.n_vocab, info.padded_vocab, info.fingerprint) == (400, 448, bpe.fingerprint)
    assert dict(info.specials) == dict(bpe.specials)
    assert info.token_nbytes.tolist() == bpe.byte_lengths().tolist()
    ids = bpe.encode(TEXT, bos=True, eos=True)
    assert int(info.token_nbytes[ids].sum()) == len(TEXT.encode())


def test_import_is_light() -> None:
    code = "import slmtok, sys; print([m for m in ('numpy', 'rich', 'typer', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist() -> None:
    assert sorted(slmtok.__all__) == slmtok.__all__
    for name in slmtok.__all__:
        assert getattr(slmtok, name) is not None
        assert name in dir(slmtok)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        slmtok.nothing  # noqa: B018
