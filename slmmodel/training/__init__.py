"""Training: the loop, budgets, micro-batches, ranks, checkpoints, signals, guards and metrics."""
