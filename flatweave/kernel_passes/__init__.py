"""Kernel to kernel: rewriting inside the machine language."""
