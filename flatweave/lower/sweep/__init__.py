"""A sweep becomes a kernel: its launches, and the passes over a block."""
