"""Speed of slmtok against other tokenizers: the code behind `slmtok bench` and the project's own benchmarks.

A peer is imported only in the process that measures it. Nothing here prints tables or knows corpora.
"""
