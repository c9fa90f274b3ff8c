"""The parts of the training loop in `slmmodel.trainer`."""
