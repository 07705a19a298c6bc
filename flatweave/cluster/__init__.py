"""The same program on data in chunks: on a Dask cluster, and on files larger than memory.

    sources/        what arrays are read from: files, in the process that needs them
    chunks.py       a jitted function that is given `Chunked` arrays (frontend/values/chunked.py)
    traced/         what its trace goes through first
    divide.py       the trace becomes steps (steps.py): what is done with each chunk, and what the
                    client does between them
    rules/          for each operation that looks beyond its own row: what a chunk computes of it,
                    and what is made of all parts
    exchanges/      operations on whole arrays in chunks: sorts, writes, loops, branches
    needs.py        which rows of other arrays a chunk reads; windows.py: with what the client knows
                    of these
    local.py        the program of a step on one chunk
    drive.py        runs the steps, chunk by chunk
    parts/          what the client has of what chunks found out, joined where it is large
    apart.py        reads of large arrays at computed places, taken out of element functions
    ends.py         rows of varying lengths, by where they begin and end
    known.py        what was found out about arrays, for the next turn of a loop
    stages.py       what became of each step, to be looked at
    place.py        where that is: here.py, with spill.py for results beyond a bound on memory;
                    on_dask.py, with workers/
    save.py         an array in chunks as files (sinks/)
    to_dask.py      an array in chunks as a Dask array
"""
