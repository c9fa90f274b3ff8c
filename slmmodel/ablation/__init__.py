"""Ablations: matched models on several tokenizers, and which of them is better (`slm ablate`).

`arms` are the data of each tokenizer, `matches` the sizes and steps that hold one quantity equal over them, `runs` the
models that are trained, `result` what is found. `slmmodel.cli.ablate` is the command.
"""
