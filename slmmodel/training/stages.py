"""`DataStages`: the loader of each step of a run whose data change on the way (`data.stages`).

A stage begins with blocks of its own, and reads each source on from where the stages before stopped.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from slmmodel.config import RunConfig
from slmmodel.data import Cursor, Loader, RunData
from slmmodel.data.mixture import Mixture
from slmmodel.data.opening import StageData
from slmmodel.data.strategies import strategy_of
from slmmodel.errors import Argument, Fix, InvalidConfig
from slmmodel.run_files import TrainState
from slmmodel.training.setup import make_loader

MAX_BATCH_GROWTH = 16
"""A fix proposes at most this many times the ids of a step."""


class DataStages:
    """The stages of a run, one where it has none, and the loader of the present one."""

    def __init__(self, data: RunData, config: RunConfig, *, pin: bool = False) -> None:
        """Opens each stage once, so that its errors come before the first step. Raises what loaders raise."""
        self._data, self._config, self._pin = data, config, pin
        self._stages = data.stages or (StageData(1, data.train, None),)
        self._number = 0
        if data.stages:
            self._check()
        self.loader = self._open(0, {})
        digests = [self.loader.digest]
        for number in range(1, len(self._stages)):
            later = self._open(number, {})
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
        lengths = [stage.seq_len or longest for stage in self._stages]
        for stage, seq_len in zip(self._stages, lengths, strict=True):
            if seq_len > longest or config.run.batch_tokens % seq_len:
                raise InvalidConfig(
                    f"data.stages: seq_len is {seq_len} from step {stage.from_step} on",
                    limit=f"at most model.seq_len, {longest}, and a divisor of run.batch_tokens, "
                    f"{config.run.batch_tokens}",
                    fix=self._fitting(lengths),
                    option="data.stages",
                )

    def _fitting(self, lengths: list[int]) -> Fix:
        """Settings that fit all lengths of sequences, which are those of the stages."""
        config, longest = self._config, max(*lengths, self._config.seq_len)
        tokens, common = config.run.batch_tokens, math.lcm(*lengths, longest)
        fix: list[str | Argument] = [Argument("model.seq_len", longest)] if longest > config.seq_len else []
        if tokens % common and common <= MAX_BATCH_GROWTH * tokens:
            fix += [" "] * bool(fix) + [Argument("run.batch_tokens", max(round(tokens / common), 1) * common)]
        elif tokens % common:
            return "write lengths of the stages that divide run.batch_tokens, and are at most model.seq_len"
        return (*fix, ", or another seq_len of the stage")

    def notes(self, steps: int) -> list[str]:
        """A remark on stages that begin after the last of `steps`."""
        late = [stage.from_step for stage in self._stages if stage.from_step > steps]
        if not late:
            return []
        stages = "stages" if len(late) > 1 else "stage"
        names = " and ".join(f"{step:,}" for step in late)
        return [f"data.stages: the run ends at step {steps:,}, before the {stages} from step {names}"]

    def _open(self, number: int, bytes_read_by_source: Mapping[str, int]) -> Loader:
        stage = self._stages[number]
        if isinstance(stage.source, Mixture):
            stage = stage._replace(source=stage.source.starting_at(bytes_read_by_source))
        return make_loader(self._data, self._config, stage=stage, pin=self._pin)

    def begins_after(self, step: int) -> bool:
        """Whether another stage begins when `step` steps are done."""
        return self._number_at(step) != self._number

    def _number_at(self, step: int) -> int:
        return sum(stage.from_step <= step + 1 for stage in self._stages) - 1

    def advance(self, state: TrainState) -> Loader:
        """As `enter`, after a step was taken: a stage that begins reads each source on from where this one stopped."""
        if self.begins_after(state.counters.step):
            source, cursor = self.loader.source, Cursor(*state.cursor)
            if isinstance(source, Mixture):
                state.bytes_read_by_source |= source.stream_bytes(cursor.block + bool(cursor.taken))
            state.cursor = list(Cursor())
        return self.enter(state)

    def enter(self, state: TrainState) -> Loader:
        """The loader of the next step; opens its stage, if that is another one than the present one."""
        if self.begins_after(state.counters.step):
            before, self._number = self.loader, self._number_at(state.counters.step)
            before.close()
            self.loader = self._open(self._number, state.bytes_read_by_source)
            self.loader.seconds_waited += before.seconds_waited
        return self.loader
