"""Machine code, memory, threads and devices; nothing here knows an IR.

Here is what runs compiled code and what keeps it between processes: `native.py` compiles LLVM's
text, `image.py` and `cache.py` store what it gives, `execute.py` calls it, `support.py` and
`systems.py` have its services of the process and the system, `devices/` everything on devices.
"""
