"""The one file that imports the compiled engine; every other module takes it from here."""

import os

from slmtok._native import (
    MAX_REFUSALS,
    UNICODE_VERSION,
    VERSION,
    Counter,
    Counts,
    DocumentPipeline,
    DocumentReader,
    Documents,
    Encoder,
    Pattern,
    StreamDecoder,
    TrainResult,
    byte_automaton,
    frequent_pieces,
    merge_counts,
    pattern_names,
    prepare_arrays,
    read_counts,
    read_ranks,
    report_fatal_signals,
    train,
    weighted_counts,
    write_counts,
)

__all__ = [
    "MAX_REFUSALS",
    "UNICODE_VERSION",
    "VERSION",
    "Counter",
    "Counts",
    "DocumentPipeline",
    "DocumentReader",
    "Documents",
    "Encoder",
    "Pattern",
    "StreamDecoder",
    "TrainResult",
    "byte_automaton",
    "frequent_pieces",
    "merge_counts",
    "pattern_names",
    "prepare_arrays",
    "read_counts",
    "read_ranks",
    "report_fatal_signals",
    "train",
    "weighted_counts",
    "write_counts",
]

# A child that was forked while another thread imports numpy, or looks up its tables, would wait for them for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=prepare_arrays)
