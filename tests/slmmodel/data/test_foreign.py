"""Files of ids in other layouts: finding documents, derived bytes, missing information."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import made_shards as made
import numpy as np
import pytest

from slmmodel.data import open_source
from slmmodel.data.foreign import LAYOUTS
from slmmodel.data.opening import open_val_or_all
from slmmodel.data.source import DocumentBlock, NoSuchBlockError, TokenSource
from slmmodel.errors import CorruptFile, InvalidConfig, MissingInput, UnknownName, UnsupportedFormat

DOCS = [doc[1:-1] for doc in made.documents([5, 0, 40, 1])]
VOCAB = made.vocab()
BOS, EOS = 1, 2


def ids_of(frame: str, docs: list[list[int]] = DOCS) -> list[int]:
    before = [BOS] if frame in ("bos", "bos_eos") else []
    after = [EOS] if frame in ("eos", "bos_eos") else []
    return [id for doc in docs for id in (*before, *doc, *after)]


def write(path: Path, layout: str, ids: list[int], dtype: str = "<u2") -> Path:
    array = np.array(ids, dtype)
    if layout == "npy":
        np.save(path, array)
    elif layout == "llmc":
        header = np.zeros(256, "<i4")
        header[:3] = 20240520, 1, len(ids)
        path.write_bytes(header.tobytes() + array.tobytes())
    else:
        path.write_bytes(array.tobytes())
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ragged", [False, True])
def test_documents_are_found(tmp_path: Path, layout: str, ragged: bool) -> None:
    frame = LAYOUTS[layout].stored
    ids = ids_of(frame)
    if ragged:  # a piece of a document at the other end
        ids = ids[:-1] if frame == "eos" else ids[1:]
    path = write(tmp_path / ("x.npy" if layout == "npy" else "x.bin"), layout, ids)
    source = open_source(path, layout=layout, vocab=VOCAB)
    assert isinstance(source, TokenSource) and isinstance(source.block(0), DocumentBlock)
    assert source.bytes_from == "derived"
    edge = BOS if frame == "bos" else EOS
    found = [source.ids(doc, 0, 10**6).tolist() for doc in range(source.n_docs)]
    assert found == [[edge, *doc, edge] for doc in DOCS]
    assert source.lengths().tolist() == [len(doc) + 2 for doc in DOCS]
    assert source.nbytes().tolist() == [made.raw_bytes(doc) for doc in DOCS]
    with pytest.raises(NoSuchBlockError):
        source.block(1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_is_scanned_in_chunks(tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / ("x.npy" if layout == "npy" else "x.bin"), layout, ids_of(LAYOUTS[layout].stored))
    for size in (1, 2, 3, 7, len(ids_of(LAYOUTS[layout].stored))):
        monkeypatch.setattr("slmmodel.data.foreign.SCAN_IDS", size)
        source = open_source(path, layout=layout, vocab=VOCAB)
        assert isinstance(source, DocumentBlock)
        assert source.nbytes().tolist() == [made.raw_bytes(doc) for doc in DOCS]


def test_meta_and_vocab_beside_the_file_are_read(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_bytes(made.vocab_json())
    meta = {"format": "slmtok-layout", "version": 1, "layout": "npy", "dtype": "u32", "frame": "bos_eos"}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    write(tmp_path / "val.npy", "npy", ids_of("bos_eos"), "<u4")
    source = open_source(tmp_path, "val")
    assert [source.ids(doc, 0, 99).tolist() for doc in range(source.n_docs)] == [[BOS, *doc, EOS] for doc in DOCS]
    # Fixed-length rows cut documents anywhere.
    write(tmp_path / "val.npy", "npy", ids_of("bos_eos")[3:-1], "<u4")
    source = open_source(tmp_path, "val")
    assert source.ids(0, 0, 99).tolist() == [BOS, *DOCS[0][2:], EOS]
    assert source.n_docs == len(DOCS)
    np.save(tmp_path / "val.npy", np.array(ids_of("bos_eos")[:50], "<u4").reshape(5, 10))
    assert open_source(tmp_path, "val").lengths()[0] == len(DOCS[0]) + 2
    for changes, told in (
        ({"frame": "x"}, "has frame 'x'"),
        ({"version": 2}, "has version 2"),
        ({"dtype": 4}, "dtype 4"),
    ):
        (tmp_path / "meta.json").write_text(json.dumps({**meta, **changes}))
        with pytest.raises((CorruptFile, UnsupportedFormat), match=f"meta.json {told}|meta.json has {told}"):
            open_source(tmp_path, "val")


def test_layouts_are_guessed_and_delimiters_may_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.bin", "llmc", ids_of("bos"))
    assert open_source(path, vocab=VOCAB).layout == "llmc"  # type: ignore[union-attr]
    path = write(tmp_path / "y.bin", "nanogpt", [20, 21, 299, 22])
    one = open_source(path, vocab=VOCAB)
    assert (one.n_docs, one.ids(0, 0, 9).tolist()) == (1, [EOS, 20, 21, 299, 22, EOS])
    two = open_source(path, vocab=VOCAB, delimiter=299)
    assert [two.ids(doc, 0, 9).tolist() for doc in range(2)] == [[299, 20, 21, 299], [299, 22, 299]]
    assert one.digest != two.digest
    assert one.domains() is None
    assert open_source(write(tmp_path / "z.bin", "nanogpt", []), vocab=VOCAB).n_docs == 0


def test_four_byte_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "x.bin", "nanogpt", ids_of("eos"), "<u4")
    assert open_source(path, vocab=VOCAB, dtype="u4").n_docs == len(DOCS)


def test_characters_of_nanogpt_have_no_tokenizer(tmp_path: Path) -> None:
    path = write(tmp_path / "train.bin", "nanogpt", range(65))
    (tmp_path / "meta.pkl").touch()
    with pytest.raises(UnsupportedFormat, match=r"ids of characters(.|\n)*fix:   train on the text: .* TEXT -t TOK"):
        open_source(path)
    (tmp_path / "input.txt").touch()
    with pytest.raises(UnsupportedFormat, match=r"slm train \S*input.txt -t TOK; or remove meta.pkl"):
        open_source(path)


def test_refusals(tmp_path: Path) -> None:
    path = write(tmp_path / "x.bin", "nanogpt", ids_of("eos"))
    with pytest.raises(UnsupportedFormat, match="does not record its tokenizer"):
        open_source(path)
    with pytest.raises(UnknownName, match="unknown layout 'nanogtp'; did you mean 'nanogpt'"):
        open_source(path, layout="nanogtp", vocab=VOCAB)
    with pytest.raises(UnsupportedFormat, match="'f4'"):
        open_source(path, vocab=VOCAB, dtype="f4")
    with pytest.raises(InvalidConfig, match="delimiter is 300"):
        open_source(path, vocab=VOCAB, delimiter=300)
    with pytest.raises(CorruptFile, match="does not begin with"):
        open_source(path, layout="llmc", vocab=VOCAB)
    with pytest.raises(CorruptFile, match="is not a readable array"):
        open_source(path, layout="npy", vocab=VOCAB)
    with pytest.raises(MissingInput):
        open_source(tmp_path / "none.bin", vocab=VOCAB)
    (tmp_path / "odd.bin").write_bytes(b"abc")
    with pytest.raises(CorruptFile, match="not a multiple of 2"):
        open_source(tmp_path / "odd.bin", vocab=VOCAB)
    wild = write(tmp_path / "wild.bin", "nanogpt", [20, 300, 21])
    with pytest.raises(CorruptFile, match="holds id 300 at 1; n_vocab is 300"):
        open_source(wild, vocab=VOCAB).lengths()
    np.save(tmp_path / "f.npy", np.zeros(3))
    with pytest.raises(CorruptFile, match="1-dimensional float64"):
        open_source(tmp_path / "f.npy", vocab=VOCAB)
    cut = write(tmp_path / "cut.bin", "llmc", ids_of("bos"))
    cut.write_bytes(cut.read_bytes()[:-2])
    with pytest.raises(CorruptFile, match="has 1,122 bytes, expected 1,124"):
        open_source(cut, vocab=VOCAB)
    newer = bytearray(cut.read_bytes())
    newer[4] = 2
    cut.write_bytes(newer)
    with pytest.raises(UnsupportedFormat, match="version 2"):
        open_source(cut, vocab=VOCAB)


def test_the_command_that_names_a_tokenizer_leaves_nothing_where_it_fails(tmp_path: Path) -> None:
    path = write(tmp_path / "x.bin", "nanogpt", ids_of("eos"))
    with pytest.raises(UnsupportedFormat) as lacking:
        open_source(path)
    # A shell would create the file of `>` before the command fails.
    assert lacking.value.fix == f"slmtok vocab TOK --metadata -o {tmp_path / 'vocab.json'}"
    (tmp_path / "vocab.json").touch()
    with pytest.raises(CorruptFile, match="it is empty") as empty:
        open_source(path)
    written = f"slmtok vocab TOK --metadata -o {tmp_path / 'vocab.json'} --force"
    assert empty.value.fix == f"write it again: {written}"


@pytest.mark.parametrize(("dtype", "name"), [("<u4", "uint32"), ("<u8", "uint64")])
def test_wider_integers_are_not_read_as_uint16(tmp_path: Path, dtype: str, name: str) -> None:
    path = write(tmp_path / "x.bin", "nanogpt", ids_of("eos"), dtype)
    with pytest.raises(UnsupportedFormat, match=f"id is 0: its ids are {name}") as error:
        open_source(path, vocab=VOCAB)
    code = shlex.split(str(error.value.fix))[2]
    exec(code, {})
    assert open_source(tmp_path / f"x-{name}.npy", vocab=VOCAB).block(0).n_docs == len(DOCS)
    # Where the type is given or recorded, nothing is guessed.
    write(tmp_path / "zeros.bin", "nanogpt", [5, 0] * 20)
    assert open_source(tmp_path / "zeros.bin", vocab=VOCAB, dtype="u2").block(0).n_docs == 1


def test_a_damaged_file_is_refused_before_its_tokenizer_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "odd.bin").write_bytes(b"\xff" * 999)
    np.save(tmp_path / "floats.npy", np.ones(4, "f4"))
    for name, fact in {"odd.bin": "has 999 bytes", "floats.npy": "float32"}.items():
        with pytest.raises(CorruptFile, match=fact):
            open_source(tmp_path / name)


OTHER_KINDS = {
    "run.yaml": (b"# Settings of slm train\n\nmodel:\n  preset: cpu-demo\n", "a configuration"),
    "small.json": (b'{"format":"slmtok-tokenizer","version":2}', "a tokenizer of slmtok"),
    "tok.lock": (b'{\n "kind": "lock",\n "version": 2\n}', "a file of slmtok (lock)"),
    "val.json": (b'{"kind": "certificate", "version": 1}', "a certificate of slm eval"),
    "a.losses": (
        bytes(8) + rb'{"__metadata__":{"about":"{\"format\": \"slm-losses\"}"}}',
        "a file of losses of slm eval",
    ),
    "report.html": (b"<!doctype html>\n<p>", "a page (HTML)"),
    "run/metrics.jsonl": (b'{"step": 1}\n', "a file of the run 'run'"),
    "w.safetensors": (bytes(8) + b'{"a":{}}', "a file of tensors (safetensors)"),
}


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_what_is_no_text_is_not_proposed_for_packing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("run/config.yaml", "run/SHA256SUMS", "data/manifest.json", "tok.json"):
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_bytes(b"{}")
    content, kind = OTHER_KINDS[name]
    Path(name).write_bytes(content)
    with pytest.raises(UnsupportedFormat) as caught:
        open_source(name)
    assert caught.value.fact == f"{Path(name).name} is {kind}, not a file of ids"
    packed = f"name packed data: slmtok pack TEXT -t {name} -o DIR"
    assert caught.value.fix == (packed if name == "small.json" else "name packed data, such as data")
    with pytest.raises(UnsupportedFormat) as of_val:
        open_val_or_all(name, pack_options="-t data/tok.json")
    assert of_val.value.fix == "name packed data: slmtok pack TEXT -t data/tok.json --val none -o DIR"


def test_text_that_begins_like_another_kind_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for content in (b"model: a toy of 8 parts\n" * 4, b'12345678{"a"}, and so on to a full line of text\n'):
        Path("notes.txt").write_bytes(content)
        with pytest.raises(UnsupportedFormat, match=r"slmtok pack notes\.txt -t TOK -o data  # TOK: "):
            open_source("notes.txt")


def test_what_is_no_file_of_ids_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("tok.json").touch()
    text = b"A story of a cat, and of a dog.\n" * 40
    for name, content in {"even.bin": text[:1000], "odd.bin": text[:1001], "notes": text}.items():
        Path(name).write_bytes(content)
        with pytest.raises(UnsupportedFormat, match=f"^{name} is (text, not|not a file of) ids") as caught:
            open_source(name)
        # A folder that exists is not named.
        assert caught.value.fix == f"name packed data: slmtok pack {name} -t tok.json -o data-2"
    Path("shard.bin").write_bytes(b"SLMSHARD" + bytes(9))
    with pytest.raises(UnsupportedFormat, match=r"shard\.bin is one shard of packed data and cannot be read alone"):
        open_source("shard.bin")
    Path("cut.bin").write_bytes(bytes(range(1, 100)))
    with pytest.raises(CorruptFile) as cut:
        open_source("cut.bin")
    assert (cut.value.limit, cut.value.fix) == (
        "each id has 2 bytes",
        "check the path; if it is a copy, copy it again",
    )


def test_ids_as_floats_have_the_command_that_writes_integers(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array(ids_of("eos"), "<f4"))
    with pytest.raises(CorruptFile) as caught:
        open_source(tmp_path / "x.npy", vocab=VOCAB)
    line, written = str(caught.value.fix).removesuffix(": name that").rsplit(" writes ", 1)
    code = shlex.split(line)[2]
    subprocess.run([sys.executable, "-c", code], check=True)
    assert open_source(shlex.split(written)[0], vocab=VOCAB).n_docs == len(DOCS)
    np.save(tmp_path / "x.npy", np.array([0.5, 1.0], "<f4"))
    with pytest.raises(CorruptFile) as caught:
        open_source(tmp_path / "x.npy", vocab=VOCAB)
    assert caught.value.fix == "name an array of token ids"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", ["(99999999999999999999,)", "(True,)", "(4294967296,4294967296)", "(-3,)"])
def test_an_array_of_no_possible_shape_is_damaged(tmp_path: Path, shape: str) -> None:
    header = f"{{'descr':'<u2','fortran_order':False,'shape':{shape}}}".ljust(117).encode() + b"\n"
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(16))
    with pytest.raises(CorruptFile, match="is not a readable array: it is truncated or damaged"):
        open_source(path, vocab=VOCAB)


def test_what_is_not_one_array_of_ids_is_named(tmp_path: Path) -> None:
    for number in (5, 5.0):
        np.save(tmp_path / "one.npy", np.array(number))
        with pytest.raises(CorruptFile, match="holds 0-dimensional"):
            open_source(tmp_path / "one.npy", vocab=VOCAB)
    with (tmp_path / "x.npy").open("wb") as file:
        np.savez(file, ids=np.array(ids_of("eos"), "<u2"))
    with pytest.raises(CorruptFile, match="is an archive of arrays") as caught:
        open_source(tmp_path / "x.npy", vocab=VOCAB)
    assert caught.value.fix is not None
    command = shlex.split(caught.value.fix.split(" writes ")[0])
    subprocess.run([sys.executable, *command[1:]], check=True)
    assert open_source(tmp_path / "x-array.npy", vocab=VOCAB).n_docs == len(DOCS)
