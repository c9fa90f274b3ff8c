"""Accelerations that change no result beyond rounding; `run.cpu_accel` switches those of the CPU."""
