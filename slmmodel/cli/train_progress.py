"""The progress of training on the command line."""

from __future__ import annotations

from slmmodel.run_files import SAVED, VALIDATING, VALIDATION
from slmtok.cli.progress import Progress


class TrainProgress(Progress):
    """Steps as `step 12/30`. Validations and checkpoints are lines that stay."""

    def __call__(self, stage: str, done: int, total: int, text: str = "") -> None:
        """Reports a stage, a step or an event."""
        amount = f"step {done}/{total}"
        if stage in (VALIDATION, SAVED):
            self.line(f"{amount}: {stage} {text}")
        elif stage == VALIDATING:
            self.report("training", done, total, f"{stage}, {text}", amount=amount)
        elif stage == "training":
            self.report(stage, done, total, text, amount=amount)
        else:
            super().__call__(stage, done, total, text)
