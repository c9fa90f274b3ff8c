"""Errors of the processes that torchrun starts: each is printed once, by the rank that asks first."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture
def rank(monkeypatch):
    """Turns this process into a rank; the test holds the store that torchrun would."""
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    environment = {"WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port}

    def turn_into(number: int) -> None:
        settings = {**environment, "RANK": number, "TORCHELASTIC_USE_AGENT_STORE": "True"}
        for name, value in settings.items():
            monkeypatch.setenv(name, str(value))

    yield turn_into
    del store


@pytest.mark.cluster
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_error_of_all_ranks_is_printed_once(slm, rank, options):
    printed = []
    for number in (1, 0):
        rank(number)
        ran = slm("train", "nowhere", *options, code=1)
        printed.append((bool(ran.err), bool(ran.out)))
    assert printed == [(True, bool(options)), (False, False)]
    assert "elsewhere" in slm("train", "elsewhere", *options, code=1).err, "another error of one rank"


@pytest.mark.cluster
def test_without_the_store_every_rank_prints(slm, rank, monkeypatch):
    rank(1)
    monkeypatch.setenv("MASTER_PORT", "1")
    monkeypatch.setattr("slmmodel.cli.ranks.STORE_TIMEOUT_SECONDS", 0.5)
    assert "nowhere" in slm("train", "nowhere", code=1).err
