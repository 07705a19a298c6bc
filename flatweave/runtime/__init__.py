"""Machine code, memory and threads; knows no IR."""
