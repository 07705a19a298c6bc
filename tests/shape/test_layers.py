"""Imports only go down: between folders, between the rooms of a folder, and never in a circle."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import flatweave as fw
from tests.shape.tree import PACKAGE, Source, python_files

# A file may import from its own folder and from rows above it in this table, never from another
# folder of the same row. Names without a folder are files of the package itself.
ROWS = [
    ("base",),
    ("scalar", "runtime"),
    ("terms",),
    ("access",),
    ("array_ir", "kernel_ir"),
    ("ops", "on_machines", "simulator", "algorithms"),
    ("operator_checks", "gradients"),
    ("frontend", "passes", "kernel_passes", "codegen"),
    ("lower",),
    ("targets", "recall"),
    ("pipeline", "recall_on_devices"),
    ("jit",),
    ("cotangents",),
    ("tuning", "random", "places", "cluster", "notebook", "torch", "jax"),
    ("profiler",),
    ("tools", "kernel", "page", "__init__"),
    ("tables", "strings", "numpy_functions"),
    ("library_columns",),
    ("awkward", "duckdb", "pandas", "polars"),
    ("__main__",),
]
ROW = {unit: number for number, row in enumerate(ROWS) for unit in row}
# The rooms of a folder, lowest first: a file imports from its own room and from rooms before it;
# rooms with a comma between them never import each other. A room is a folder inside, or a file.
# Files that a line does not name are above its rooms.
ROOMS = {
    "codegen": "c, llvm < cuda, opencl",
    "codegen/llvm": "module < values < isa < math < shapes < emitter < scalars < control < loops"
    " < counted, permuted < memory < updates < collectives < rearranged, by_flags < host"
    " < rows < unit",
    "runtime": "lazy_import < trusted_files < systems < cache < devices",
    "ops": "rows < sweep < folds < arrays, writes, nests, calls",
    "frontend": "__init__ < values < trace < call < elements < arrays < ragged < functions"
    " < complex < standard",
    "lower": "machine < schedule < traverse < kernel_builder < element_loops < element_functions"
    " < context < in_place, atomic < sweep < scatter < sort < calls < program",
    "cluster": "files < arrow_columns < formats < open, file_sinks, steps, prepare_folds,"
    " loops_with_reads < prepare, row_ranges, indexed_rules < rules < chunk_program < executor"
    " < exchange, shuffle < shuffled, dask_worker",
    "kernel": "code < elements < checks < pulls < parts < loops < pushes < units, chunks"
    " < stores < atomics < operators < folds, networks, warps, chained_scans < build"
    " < in_programs < called < tuning",
    "passes": "operators, cost < rewrite < dce, monoid < uses < sharing < fuse, fuse_siblings"
    " < nests, into_branches, library_products",
    "passes/nests": "hard < segments < masked, rows < distribute < scan_rules, loop_state"
    " < inner_rules, control_rules, select < versions < lift, sizes",
}
ALLOWED_INSIDE_FUNCTIONS = "# optional dependency"
# The one file that imports modules when it is called, and these: the compiler, its LLVM, and what
# few programs use.
LAZY_IMPORT = "flatweave/runtime/lazy_import.py"
IMPORTED_LATE = {
    "flatweave.pipeline", "flatweave.runtime.native", "flatweave.frontend.complex.rules",
    "flatweave.frontend.standard.fft", "flatweave.frontend.standard.linalg", "flatweave.random",
    "flatweave.places.anywhere", "flatweave.cluster.calls",
    "flatweave.cluster.on_dask", "flatweave.cluster.open", "flatweave.page.write",
    "flatweave.frontend.ragged.chunked",
    "flatweave.cluster.export", "flatweave.cluster.in_process", "flatweave.gradients.derive",
    "flatweave.recall_on_devices", "flatweave.profiler.report",
    "flatweave.operator_checks.first_calls",
    "flatweave.notebook",
    "flatweave.frontend.numpy_protocol", "flatweave.frontend.functions.half_precision",
    "flatweave.tables", "flatweave.strings", "flatweave.frontend.standard.derivatives",
    "flatweave.torch", "flatweave.jax",
}  # fmt: skip


def unit_of(path: Path) -> str:
    """The folder, or the file of the package itself, that a file belongs to."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def located(parts: tuple[str, ...]) -> Path | None:
    """The file that `flatweave.a.b` is, if it is one."""
    folder = PACKAGE.joinpath(*parts)
    file = folder.with_suffix(".py") if parts else PACKAGE / "__init__.py"
    if parts and file.is_file():
        return file
    return folder / "__init__.py" if (folder / "__init__.py").is_file() else None


def modules_named(source: Source, node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The dotted names inside flatweave, longest form first, that an import statement reads."""
    if isinstance(node, ast.Import):
        yield from (tuple(alias.name.split(".")) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = tuple(node.module.split(".")) if node.module else ()
        if node.level:
            package = ("flatweave", *source.path.relative_to(PACKAGE).parts[: -node.level])
            base = package + base
        yield from ((*base, alias.name) for alias in node.names)


def imports(source: Source) -> Iterator[tuple[int, Path]]:
    """Each import of a file of ours: the line, and the file read."""
    for node in source.nodes:
        for name in modules_named(source, node):
            if name[0] != "flatweave":
                continue
            file = located(name[1:]) or located(name[1:-1])
            if file is not None:
                yield getattr(node, "lineno", 0), file


def test_every_folder_has_a_row():
    """A folder or file that the table does not know has no layer."""
    units = {unit_of(source.path) for source in python_files("flatweave")}

    assert units <= ROW.keys(), f"add to ROWS: {sorted(units - ROW.keys())}"


def test_imports_go_down():
    """A file imports only from its own folder and from rows nearer to base."""
    wrong = [
        f"{source.name}:{line} imports {file.relative_to(PACKAGE)}, which is not below it"
        for source in python_files("flatweave")
        for line, file in imports(source)
        if unit_of(file) != (unit := unit_of(source.path)) and ROW[unit_of(file)] >= ROW[unit]
    ]

    assert not wrong, "\n".join(wrong)


def places(line: str) -> dict[str, int]:
    """The number of each room of a line of ROOMS."""
    return {
        room: number
        for number, group in enumerate(line.split(" < "))
        for room in group.split(", ")
    }


def test_every_room_is_named():
    """A folder inside a folder has a position among its rooms."""
    wrong = [
        str(room.relative_to(PACKAGE))
        for room in sorted({source.path.parent for source in python_files("flatweave")})
        if room.parent not in (PACKAGE, PACKAGE.parent)
        and room.name not in places(ROOMS.get(room.parent.relative_to(PACKAGE).as_posix(), ""))
    ]

    assert not wrong, f"name in ROOMS: {', '.join(wrong)}"


@pytest.mark.parametrize("folder", ROOMS)
def test_imports_go_down_among_rooms(folder):
    """A room imports only those before it."""
    home, place = PACKAGE / folder, places(ROOMS[folder])

    def room(path):
        return path.relative_to(home).parts[0].removesuffix(".py")

    wrong = [
        f"{source.name}:{line} imports {file.relative_to(PACKAGE)}, which is not below it"
        for source in python_files(f"flatweave/{folder}")
        for line, file in imports(source)
        if (own := room(source.path)) in place
        and file.is_relative_to(home)
        and room(file) != own
        and place.get(room(file), len(place)) >= place[own]
    ]

    assert not wrong, "\n".join(wrong)


def test_no_import_inside_a_function():
    """A hidden import is a layering mistake, except for a driver that need not be installed."""
    wrong = [
        f"{source.name}:{node.lineno}: {source.lines[node.lineno - 1].strip()}"
        for source in python_files("flatweave")
        for function in source.functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and ALLOWED_INSIDE_FUNCTIONS not in source.lines[node.lineno - 1]
    ]

    assert not wrong, "\n".join(wrong)


def test_one_file_imports_late():
    """Only one module imports modules by their name, as text; it names these modules of ours."""
    hidden = ("import_module", "__import__", "run_module", "exec_module")
    sources = {source.name: source for source in python_files("flatweave")}
    users = {
        name
        for name, source in sources.items()
        for node in source.nodes
        if (isinstance(node, ast.Attribute) and node.attr in hidden)
        or (isinstance(node, ast.Name) and node.id in hidden)
    }
    names = {
        node.value
        for node in sources[LAZY_IMPORT].nodes
        if isinstance(node, ast.Constant) and str(node.value).startswith("flatweave.")
    }

    assert (users, names) == ({LAZY_IMPORT}, IMPORTED_LATE)


def cycle_from(start: Path, graph: dict[Path, set[Path]]) -> list[Path]:
    """The files from `start` back to itself; none when it is on no cycle."""
    trail: dict[Path, Path] = {}
    waiting = [start]
    while waiting:
        file = waiting.pop()
        for read in sorted(graph.get(file, set())):
            if read == start:
                cycle = [start, file]
                while cycle[-1] != start:
                    cycle.append(trail[cycle[-1]])
                return cycle[::-1]
            if read not in trail:
                trail[read] = file
                waiting.append(read)
    return []


def test_no_cycles():
    """Two files that need each other are one file, or hide a third one."""
    graph = {
        source.path: {file for _, file in imports(source) if file != source.path}
        for source in python_files("flatweave")
    }
    cycles = [
        " -> ".join(str(file.relative_to(PACKAGE)) for file in cycle)
        for path in graph
        if (cycle := cycle_from(path, graph)) and path == min(cycle)
    ]

    assert not cycles, "\n".join(cycles)


# Folders that import the package itself and their own files alone, and read no private attribute,
# and how many lines of code each may have, without docstrings.
ON_PUBLIC_NAMES = {"tables": 2500, "strings": 1200, "numpy_functions": 1126}


@pytest.mark.parametrize(("folder", "most"), ON_PUBLIC_NAMES.items())
def test_libraries_stand_on_public_names(folder, most):
    """What other packages can do suffices for what is written here."""
    sources = list(python_files(f"flatweave/{folder}"))
    wrong = [
        f"{source.name} imports {'.'.join(name)}"
        for source in sources
        for node in source.nodes
        for name in modules_named(source, node)
        if name[0] == "flatweave" and len(name) > 1 and name[1] != folder
    ]
    private = [
        f"{source.name}:{node.lineno} reads fw.{node.attr}"
        for source in sources
        for node in source.nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        and node.value.id == "fw" and (node.attr[0] == "_" or not hasattr(fw, node.attr))
    ]
    code = 0
    for source in sources:
        texts = [n for n in ast.walk(source.tree) if isinstance(n, ast.Expr) and is_text(n.value)]
        prose = {line for node in texts for line in range(node.lineno, node.end_lineno + 1)}
        numbered = enumerate((line.strip() for line in source.lines), 1)
        code += sum(1 for k, line in numbered if line and line[0] != "#" and k not in prose)

    assert (wrong, private) == ([], [])
    assert code <= most


def is_text(node):
    """A docstring, or one after an assignment."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
