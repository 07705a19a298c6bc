"""A call on one page for a browser: `f.stages(*args).page("f.html")`.

It draws the facts of stages, plans and the simulator about a call; it computes none.

    graph     a program as nodes and edges, laid out in layers and drawn as SVG
    passes    what there is to say of each pass over data: bytes, plan, kernels, their code
    source    the user's lines, by which everything on the page is linked, and the call's time; who
              reads and writes what in a kernel, as the simulator sees it
    write     the page: one file, which needs nothing else; page.css and page.js are put into it
"""
