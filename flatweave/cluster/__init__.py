"""The same program on data in chunks: on a Dask cluster, and on files larger than memory.

    chunked (frontend/values)   an array whose chunks are anywhere
    divide.py     a traced program becomes steps: local programs, and what is exchanged between them
    rules/        for each operation, what a chunk computes of it, and what is made of all parts
    needs.py      which rows of other arrays a chunk reads
    local.py      the program of one step on one chunk
    drive.py      runs the steps, chunk by chunk, where the chunks are
    here.py, on_dask.py         where that is
"""
