"""Packing on a cluster gives the folder of a local run, byte for byte, also when workers are killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from corpora import write
from slmtok_shards import content
from tasks import DyingEncoder, broken, dying, failing

import slmtok
from slmtok import errors
from slmtok.cluster import connected, ordered_map, pack_on
from slmtok.cluster.session import workers_of
from slmtok.shards import pack

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("corpus") / "files")


@pytest.fixture(scope="module")
def tokenizer(corpus: Path) -> slmtok.Tokenizer:
    return slmtok.train(str(corpus), vocab_size=600)


def test_killed_workers_are_replaced_and_errors_are_raised(cluster: Any, tmp_path: Path) -> None:
    jobs = [(str(tmp_path / str(number)), number) for number in range(2)]
    assert list(ordered_map(cluster, dying, jobs)) == [(number, step) for number in range(2) for step in range(3)]
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(errors.OptionError, match="no such thing"):
        list(ordered_map(cluster, failing, [()]))
    with pytest.raises(errors.ClusterFailed, match="KeyError"):
        list(ordered_map(cluster, broken, [()]))
    with connected("auto") as ray:
        assert workers_of(ray) == 2


OPTIONS: list[dict[str, Any]] = [
    {"val": "hash:10%", "shard_tokens": 20_000},
    {"val": "auto", "domains": {"lines": "*.lines"}, "sample": 0.8, "shard_tokens": 9_000},
    {"val": "none", "max_tokens": 30_000},
    {"val": "tail:20%"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: options["val"])
def test_folder_equals_the_local_one(
    cluster: Any, corpus: Path, tokenizer: slmtok.Tokenizer, tmp_path: Path, options: dict[str, Any]
) -> None:
    pack(str(corpus), tokenizer, tmp_path / "local", threads=1, **options)
    pack(str(corpus), tokenizer, tmp_path / "far", remote=pack_on("auto"), **options)
    assert content(tmp_path / "far") == content(tmp_path / "local")


def test_a_worker_killed_while_it_packs(
    cluster: Any, corpus: Path, tokenizer: slmtok.Tokenizer, tmp_path: Path
) -> None:
    marker = tmp_path / "died"

    def remote(corpus: Any, encoder: Any, start: Any) -> Any:
        return pack_on("auto")(corpus, DyingEncoder(encoder, str(marker)), start)

    (tmp_path / "more").mkdir()
    for number, text in enumerate(sorted(corpus.iterdir())):
        (tmp_path / "more" / f"{number:02}{''.join(text.suffixes)}").write_bytes(text.read_bytes())
    # 20 MB, so that one task has several chunks.
    large = json.dumps({"text": "many words " * 9000})
    (tmp_path / "more" / "00.jsonl").write_text((large + "\n") * 200)
    options: dict[str, Any] = {"val": "hash:10%", "shard_tokens": 200_000}
    pack(str(tmp_path / "more"), tokenizer, tmp_path / "local", threads=1, **options)
    pack(str(tmp_path / "more"), tokenizer, tmp_path / "far", remote=remote, **options)
    assert marker.exists()
    assert content(tmp_path / "far") == content(tmp_path / "local")


def test_begun_on_a_cluster_and_finished_here(
    cluster: Any, corpus: Path, tokenizer: slmtok.Tokenizer, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"val": "hash:10%", "shard_tokens": 10_000}
    pack(str(corpus), tokenizer, tmp_path / "local", threads=1, **options)
    for first, second in ((pack_on("auto"), None), (None, pack_on("auto"))):
        taken = 0

        def stop(state: Any) -> None:
            nonlocal taken
            taken += 1
            if taken == 4:
                raise KeyboardInterrupt

        out = tmp_path / ("far" if first else "here")
        with pytest.raises(KeyboardInterrupt), pytest.MonkeyPatch.context() as patch:
            patch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 20_000)
            pack(str(corpus), tokenizer, out, remote=first, on_progress=stop, threads=1, **options)
        pack(str(corpus), tokenizer, out, remote=second, threads=1, **options)
        assert content(out) == content(tmp_path / "local")


def test_limits_that_need_order_are_refused(
    cluster: Any, corpus: Path, tokenizer: slmtok.Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(errors.OptionError, match="max_chars ends a corpus"):
        pack(str(corpus), tokenizer, tmp_path / "a", remote=pack_on("auto"), max_chars=9)


def test_from_the_command_line(
    cluster: Any, corpus: Path, tokenizer: slmtok.Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from slmtok.cli import main

    tokenizer.save(tmp_path / "tok.json")
    digests = []
    for name, extra in (("local", []), ("far", ["--ray", "auto"])):
        assert main(["count", str(corpus), "-o", str(tmp_path / f"{name}.counts"), "--json", *extra]) == 0
        found = json.loads(capsys.readouterr().out)["result"]
        digests.append((found["digest"], found["worth"], found["corpus_digest"], found["documents"]))
        folder = str(tmp_path / name)
        line = ["pack", str(corpus), "-t", str(tmp_path / "tok.json"), "--shard-tokens", "9000", "-q", *extra]
        assert main([*line, "-o", folder]) == 0
        assert main([*line, "--output-format", "nanogpt", "-o", f"{folder}.gpt"]) == 0
    assert digests[0] == digests[1]
    assert content(tmp_path / "far") == content(tmp_path / "local")
    assert content(tmp_path / "far.gpt") == content(tmp_path / "local.gpt")
