"""Flatweave next to its peers: the measurements, the method, and the tables.

    rows/       one file per piece of work: the program a user would write, and its peers
    peers/      the C and C++ peers, compiled when a row needs them
    run.py      the command; a separate process for every row
    measure.py  one row's times, everything interleaved
    memory.py   one row's peak memory
    needs.py    what a row must reach, judged from its times
    readme.py   the table of README.md, of a page of results

    first_calls.py  the first calls of small programs in fresh processes: a separate command
    library_calls.py  the first calls of fw.linalg and fw.fft, by its own command
    small_calls.py    calls on 1,000 elements next to NumPy and Numba, by its own command
    names.py    every public function that NumPy has as well, next to NumPy: a separate command
    functions/  these functions, with the arguments of each
"""
