"""A machine that does not exist: runs units in NumPy, and finds what real machines would not
forgive.

    control.py   bodies: scalar work and control, over the lanes that run
    memory.py    buffers that know who wrote and read each element
    access.py    what loads, stores and updates do
    warp.py      one warp of a block
    grid.py      a launch: which block and which warp goes on
    run.py       the host, and all of it
"""
