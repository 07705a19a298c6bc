"""A machine in NumPy: it runs units and finds what real machines would not forgive.

It runs kernel IR and nothing else, in any order of blocks and warps that a machine may choose.

    control.py    bodies over the lanes that run: scalar work, control, loads and updates
    order.py      who uses memory, and what happened before what
    memory.py     buffers that know who wrote and read each element
    warp.py       one warp of a block
    schedules.py  which block and which warp goes on; counts.py: what a device would count
    run.py        a launch, the host, and all of it
"""
