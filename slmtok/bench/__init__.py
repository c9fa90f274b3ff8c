"""Measuring slmtok beside other tokenizers: adapters of peers, and what one process and one comparison need.

It stands behind `slmtok bench` and behind the project's own benchmarks. A peer is imported only in the process that
measures it. Nothing here draws tables or knows corpora.
"""
