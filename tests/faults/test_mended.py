"""What the full harness found, each at the call where it struck; positions count from the end of a command."""

from __future__ import annotations

import pytest
from command_table import COMMANDS, MODEL_COMMANDS
from fault_harness import FAULTS, Harness

ALL = {**COMMANDS, **MODEL_COMMANDS}


@pytest.mark.parametrize(
    ("name", "kind", "share"),
    [
        # A killed or failed scoring of a finished run was never made up for: the run was refused as finished.
        ("slm train", "kill before", 0.99),
        ("slm train", "full disk", 0.99),
        ("slm resume", "mmap", 1.0),
        # Validation data that could not be read were taken for no validation data.
        ("slm train", "mmap", 0.6),
        # The newest checkpoint stayed unmarked, and old ones stayed, where a process was killed behind writing it.
        ("slm train", "kill before", 0.76),
        # A branch that was killed was refused as an output that exists.
        ("slm resume --step", "kill before", 0.6),
        # Its fingerprint was replaced, and the sums of the branch were not.
        *(("slm resume --step", kind, 0.49) for kind in ("kill before", "kill behind")),
        # The checkpoint was copied after it had been verified, and so was the tokenizer.
        ("slm resume --step", "cut", 0.33),
        ("slm resume --step", "change", 0.5),
        # Temporary files of a killed process stayed for ever.
        ("slm eval", "kill before", 0.4),
        ("slm passkey", "kill before", 0.6),
        # Weights that cannot be mapped were an internal error.
        ("slm chat", "mmap", 1.0),
        # A counts file that became shorter was an internal error.
        ("merge", "cut", 0.4),
        # The lock of a tokenizer named a corpus that the tokenizer was not trained on.
        ("train", "change", 0.95),
        # The manifest named sources that had changed while they were packed.
        ("pack", "cut", 0.8),
        ("pack", "change", 0.9),
        # A replacement that failed behind the removal of the old data was refused for ever: a tokenizer file was left.
        *(("pack --force", kind, share) for kind, share in [("full disk", 0.14), ("ENOSPC", 0.27), ("cut", 0.8)]),
        # A manifest that could not be read was taken for a damaged one: an old subset stayed beside the new data.
        ("pack --force", "close", 0.05),
        # Mapped files that became shorter: signal 7, or an internal error.
        *(("verify", "cut", share / 20) for share in range(11, 21)),
        *(("audit", "cut", share / 20) for share in range(14, 21)),
        # Ids in the temporary folder that became shorter were an internal error.
        *(("bench", "cut", share) for share in (0.92, 0.96)),
        # The words of the training text were left out without a note.
        *(("slm report", kind, 0.65) for kind in ("read", "mmap")),
        # An input that could not be read was reported as stdout.
        *((name, "read", share) for name, share in [("verify", 0.5), ("reproduce", 0.5), ("merge", 0.45)]),
        *((name, "read", share) for name, share in [("align", 0.1), ("train", 1.0)]),
        ("slm compare", "read", 0.5),
        ("slm chat", "read", 1.0),
        # Packing had written its manifest, so its plan and journal were never removed.
        *(("slm demo", kind, 0.57) for kind in ("kill before", "EIO")),
        # The lock and the heartbeat of a run that was finished stayed for ever.
        *(("slm demo", "kill before", share) for share in (0.937, 0.941)),
        *(("slm ablate", "EIO", share) for share in (0.428, 0.431)),
        # A file that transformers could not close was an internal error.
        ("slm export", "close", 0.8),
        # Weights that changed behind their verification were exported.
        *(("slm export", "change", share) for share in (0.77, 0.86)),
        # What an export that was killed behind its renaming left stayed for ever.
        ("slm export", "kill before", 0.94),
        # The export that was replaced lost its receipt first, and was then refused as none.
        *(("slm export --force", kind, 0.85) for kind in ("kill before", "kill behind", "EIO")),
        # Lines that were left out made the command fail, and --quiet hid which.
        ("slm chat", "change", 1.0),
    ],
)
def test_a_fault_that_was_found(harness: Harness, name: str, kind: str, share: float) -> None:
    expected, calls = harness.undisturbed(ALL[name], FAULTS[kind])
    assert harness.fault(ALL[name], expected, FAULTS[kind], max(1, round(share * calls))) is None
