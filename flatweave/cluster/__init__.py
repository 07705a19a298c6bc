"""The same program on data in chunks: on a Dask cluster, and on files larger than memory.

Here is what only chunks need: how a traced program is divided into steps, which rows each chunk
reads, and how chunks run and exchange rows. A signature with chunks is compiled here, by the
compiler that all programs share; `frontend/values/chunked.py` holds the arrays themselves.

    open.py               where rows of arrays are read from: files (files.py, with a reader a
                          format in formats.py and arrow_columns.py), blocks of Dask collections
    calls.py              a jitted function that is given `Chunked` arrays, and its stages
    prepare.py            what its trace goes through first, with prepare_folds.py
    divide.py             the trace becomes steps (steps.py)
    rules.py              for each operation that looks beyond its own row: what a chunk computes of
                          it, and what follows from all parts (executor.py); indexed_rules.py
                          makes separate steps of reads of large arrays at computed positions,
                          loops_with_reads.py of loops with such reads
    exchange.py           operations on whole arrays in chunks: loops, branches; shuffled.py: sorts,
                          reads and writes, by shuffle.py
    row_ranges.py         which rows of other arrays a chunk reads; windows.py: the same with
                          what the client knows of offsets
    chunk_program.py      the program of a step on one chunk
    drive.py              runs the steps, chunk by chunk
    executor.py           what runs chunks: in_process.py, or on_dask.py with dask_tasks.py and
                          dask_worker.py
    export.py             an array in chunks as files (file_sinks.py) or as a Dask array
"""
