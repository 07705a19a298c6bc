"""What became of a call as one page for a browser: `f.stages(*args).page("f.html")`.

    graph     a program as nodes and edges; a nest is a node with nodes inside
    layout    where nodes stand: layers from top to bottom, the same on every run
    draw      a graph as SVG
    passes    what there is to say of each pass over data: bytes, plan, kernels, their code
    source    the user's lines, and the places in them by which everything on the page is linked
    watch     who reads and writes what in a kernel, as the simulator sees it
    timing    how long a call takes, and its bytes at the machine's rate
    small     the page in small, for notebooks
    write     the page: one file, which needs nothing else; page.css and page.js are put into it
"""
