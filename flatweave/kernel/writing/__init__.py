"""The code of a kernel while it is traced: its level, its elements, its launches."""
