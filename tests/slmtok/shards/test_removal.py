"""Replacing packed data removes what a manifest or journal in the folder names, and follows no symbolic link."""

from __future__ import annotations

import os
import shutil

import pytest
from slmtok_shards import content

from slmmodel.data.shards import refuse_link as refuse_link_of_model
from slmmodel.errors import Unreadable as UnreadableByModel
from slmtok.errors import CorruptShard, OutputExists, Unreadable, render
from slmtok.formats.export import export
from slmtok.shards import folder, open_shards, pack
from slmtok.shards.format import refuse_link

links = pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")


@pytest.fixture
def packed(records, tokenizer, tmp_path):
    pack(records, tokenizer, tmp_path / "d", subset=(20,))
    return tmp_path / "d"


@links
def test_a_link_in_place_of_a_subset_is_not_followed(records, tokenizer, tmp_path, packed):
    shutil.copytree(packed / "subset-20", tmp_path / "other")
    before = content(tmp_path / "other")
    shutil.rmtree(packed / "subset-20")
    (packed / "subset-20").symlink_to("../other")
    pack(records, tokenizer, packed, force=True)
    assert content(tmp_path / "other") == before
    assert (packed / "subset-20").is_symlink()
    with pytest.raises(OutputExists, match="is a symbolic link; files behind it are not replaced"):
        pack(records, tokenizer, packed, subset=(20,), force=True)
    assert content(tmp_path / "other") == before


@links
@pytest.mark.parametrize("name", ["vocab.json", "train-00000.bin", "train-00000.off"])
def test_a_link_that_leads_back_to_itself_is_named(packed, name):
    """`Path.resolve` raised RuntimeError, which was called a fault of this package."""
    (packed / name).unlink()
    (packed / name).symlink_to(name)
    with pytest.raises(Unreadable, match=f"{name}' is a symbolic link that leads back to itself") as caught:
        refuse_link(packed / name)
    assert caught.value.where == f"it is a link to '{name}'"
    with pytest.raises(UnreadableByModel, match="leads back to itself"):
        refuse_link_of_model(packed / name)


@links
def test_an_export_to_a_link_that_leads_back_to_itself(tokenizer, tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for name in ("a", "a/x"):
        with pytest.raises(Unreadable, match=r"a' is a symbolic link that leads back to itself"):
            export(tokenizer, "hf", tmp_path / name, verify=False)


@links
@pytest.mark.parametrize("name", ["train-00000.bin", "manifest.json", "tok.json"])
def test_links_in_place_of_files_are_replaced_and_not_followed(records, tokenizer, tmp_path, packed, name):
    (packed / name).replace(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    (packed / name).symlink_to(tmp_path / "elsewhere")
    try:
        pack(records, tokenizer, packed, force=True)
    except OutputExists as error:
        # The manifest behind a link names nothing in this folder.
        assert name == "manifest.json" and "which no manifest or journal of it names" in str(error)
    else:
        assert not (packed / name).is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == before


@links
def test_the_work_folder_of_a_layout_is_no_link(records, tokenizer, tmp_path, packed):
    out = tmp_path / "n"
    out.mkdir()
    (out / ".packing").symlink_to(packed)
    before = content_of_files(packed)
    for force in (False, True):
        with pytest.raises(OutputExists, match="symbolic link"):
            pack(records, tokenizer, out, output_format="nanogpt", force=force)
    assert content_of_files(packed) == before


@links
def test_an_unfinished_run_behind_a_link_stays(records, tokenizer, tmp_path, packed):
    (packed / "plan.json").write_bytes(b"{}")
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / ".packing").symlink_to(packed)
    before = content_of_files(packed)
    pack(records, tokenizer, tmp_path / "n", force=True)
    assert content_of_files(packed) == before and (tmp_path / "n" / ".packing").is_symlink()


def content_of_files(place):
    """Without temporary files, which stay while the process that wrote them runs."""
    return {path.name: path.read_bytes() for path in place.iterdir() if path.is_file() and path.suffix != ".part"}


@pytest.mark.parametrize("name", ["train-00007.bin", "val-00003.nb.tmp"])
def test_shards_that_nothing_names_are_refused(records, tokenizer, packed, name):
    (packed / name).write_bytes(b"mine")
    before = content_of_files(packed)
    with pytest.raises(OutputExists, match=f"{name}', which no manifest or journal of it names"):
        pack(records, tokenizer, packed, force=True)
    assert content_of_files(packed) == before


@pytest.mark.parametrize("name", ["train-00000.bin", "plan.json", "journal.jsonl", "vocab.json", folder.REMOVED])
def test_a_folder_in_the_place_of_a_file_is_refused_before_anything_is_removed(records, tokenizer, packed, name):
    """The manifest was taken away, and the fix "make the folder writable" led to the same error."""
    place = packed / name
    place.unlink(missing_ok=True)
    (place / "kept").mkdir(parents=True)
    before = sorted(packed.rglob("*"))
    with pytest.raises((OutputExists, CorruptShard)) as caught:
        pack(records, tokenizer, packed, force=True)
    assert sorted(packed.rglob("*")) == before
    assert render(caught.value.parts["fix"]).startswith(f"mv {place} elsewhere")
    (place / "kept").rmdir()
    place.rmdir()
    pack(records, tokenizer, packed, force=True)


def test_folders_that_only_look_like_subsets_stay(records, tokenizer, tmp_path, packed):
    (packed / "subset-7").mkdir()
    for name in ("tok.json", "vocab.json", "train-00000.bin", "plan.json"):
        (packed / "subset-7" / name).write_bytes(b"mine")
    pack(records, tokenizer, packed, force=True)
    assert not (packed / "subset-20").exists()
    assert set(content(packed / "subset-7").values()) == {b"mine"} and len(content(packed / "subset-7")) == 4


def test_the_tokenizer_in_the_folder_outlives_a_removal(records, tokenizer, packed, monkeypatch):
    """It may be the only copy: `pack -t DATA/tok.json -o DATA --force`."""

    def die(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("slmtok.shards.run.Committer", die)
    with pytest.raises(KeyboardInterrupt):
        pack(records, tokenizer, packed, force=True)
    assert (packed / "tok.json").read_bytes() == tokenizer.to_bytes()


def test_a_killed_removal_is_continued(records, tokenizer, tmp_path, packed, monkeypatch):
    """Killed at each removal of a file in turn."""
    pack(records, tokenizer, tmp_path / "whole", shard_tokens=9000)
    real = type(packed).unlink

    class Killed(BaseException):
        pass

    for after in range(200):
        out = tmp_path / f"k{after}"
        shutil.copytree(packed, out)
        left = [after]

        def unlink(self, missing_ok=False, left=left):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            real(self, missing_ok=missing_ok)

        with monkeypatch.context() as patch:
            patch.setattr(type(packed), "unlink", unlink)
            try:
                pack(records, tokenizer, out, shard_tokens=9000, force=True)
                break
            except Killed:
                pass
        if not (out / "manifest.json").exists():
            with pytest.raises(Exception, match=r"holds no packed data|holds an unfinished run"):
                open_shards(out)
        pack(records, tokenizer, out, shard_tokens=9000, force=True)
        assert content_of_files(out) == content(tmp_path / "whole")
        assert not (out / folder.REMOVED).exists() and not (out / "subset-20").exists()
    else:
        pytest.fail("the removal never ended")
    assert after > 8


def test_a_folder_that_is_replaced_while_it_is_read_is_said_to_be(packed):
    shards = open_shards(packed)
    first = shards.shards["train"][0]
    assert first.header.n_tokens
    for name in ("manifest.json", "train-00000.off"):
        (packed / name).unlink()
    with pytest.raises(CorruptShard, match=r"train-00000\.off is gone, and so is the manifest") as caught:
        print(first.offsets)
    assert caught.value.fix == "run the same command again once the folder is complete"
