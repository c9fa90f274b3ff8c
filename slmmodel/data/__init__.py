"""Data for models: sources of ids, plans that cut them into rows, the order of rows, and the batches made of them.

Sees ids and vocabulary metadata, never text and never a model. A document with ids `l_0 .. l_n` is a range of pairs
(input `l_i`, target `l_{i+1}`); a plan is a pure function from a row number to spans of pairs; nothing is materialised.
"""
