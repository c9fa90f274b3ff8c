"""`DataStages`: the loader of each step of a run whose data change on the way (`data.stages`).

A stage begins with blocks of its own, and reads each source on from where the stages before stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from slmmodel.config import RunConfig
from slmmodel.data import Cursor, Loader, RunData
from slmmodel.data.mixture import Mixture
from slmmodel.data.opening import StageData
from slmmodel.data.strategies import strategy_of
from slmmodel.errors import Argument, InvalidConfig
from slmmodel.training.setup import make_loader


class DataStages:
    """The stages of a run, one where it has none, and the loader of the present one."""

    def __init__(self, data: RunData, config: RunConfig, *, pin: bool = False) -> None:
        """Opens each stage once, so that its errors come before the first step. Raises what loaders raise."""
        self._data, self._config, self._pin = data, config, pin
        self._stages = data.stages or (StageData(1, data.train, None),)
        self._number = 0
        self.bytes_read_by_source: dict[str, int] = {}
        """The byte from which the present stage reads the documents of each source, by their digest."""
        if data.stages:
            self._check()
        self.loader = self._open(0)
        digests = [self.loader.digest]
        for number in range(1, len(self._stages)):
            later = self._open(number)
            digests.append(later.digest)
            later.close()
        steps = [stage.from_step for stage in self._stages]
        content = repr(list(zip(steps, digests, strict=True)))
        self.sequences_digest = hashlib.sha256(content.encode()).hexdigest() if data.stages else self.loader.digest
        """SHA-256 over everything that decides the sequences of each step."""

    def _check(self) -> None:
        config, longest = self._config, self._config.seq_len
        if strategy_of(config.data.pack).carries_state:
            raise InvalidConfig(
                f"data.stages with data.pack {config.data.pack}, whose streams run through the whole data",
                fix=(Argument("data.pack", "bucket"), ", or leave data.stages out"),
                option="data.stages",
            )
        if config.run.budget.kind == "epochs":
            raise InvalidConfig(
                "run.budget epochs with data.stages, whose data have different sizes",
                fix=(Argument("budget", "tokens=328M"), ", or steps"),
                option="run.budget",
            )
        for stage in self._stages:
            seq_len = stage.seq_len or longest
            if seq_len > longest or config.run.batch_tokens % seq_len:
                raise InvalidConfig(
                    f"data.stages: seq_len is {seq_len} from step {stage.from_step} on",
                    limit=f"at most model.seq_len, {longest}, and a divisor of run.batch_tokens, "
                    f"{config.run.batch_tokens}",
                    fix="another seq_len of the stage, or a larger model.seq_len",
                    option="data.stages",
                )

    def _open(self, number: int) -> Loader:
        stage = self._stages[number]
        if isinstance(stage.source, Mixture):
            stage = stage._replace(source=stage.source.starting_at(self.bytes_read_by_source))
        return make_loader(self._data, self._config, stage=stage, pin=self._pin)

    def begins_after(self, step: int) -> bool:
        """Whether another stage begins when `step` steps are done."""
        return self._number_at(step) != self._number

    def _number_at(self, step: int) -> int:
        return sum(stage.from_step <= step + 1 for stage in self._stages) - 1

    def advance(self, step: int, cursor: Cursor) -> Cursor:
        """Where the step after `step` steps begins; opens its stage if that is another one."""
        if not self.begins_after(step):
            return cursor
        source, bytes_read = self.loader.source, dict(self.bytes_read_by_source)
        if isinstance(source, Mixture):
            bytes_read |= source.stream_bytes(cursor.block + bool(cursor.taken))
        self.enter(step, bytes_read)
        return Cursor()

    def enter(self, step: int, bytes_read_by_source: Mapping[str, int]) -> None:
        """Opens the stage of the step after `step` steps, if it is another one than the present one."""
        self.bytes_read_by_source = dict(bytes_read_by_source)
        if self.begins_after(step):
            before, self._number = self.loader, self._number_at(step)
            before.close()
            self.loader = self._open(self._number)
            self.loader.seconds_waited += before.seconds_waited
