"""Write flatweave/__init__.pyi: the types of the public names, for mypy, pyright and editors.

    python -m tools.stub flatweave/__init__.pyi        `make docs`; a test compares it

Names, parameters and defaults are those of the package when this runs. The tables here have only
what its annotations leave open: the arrays that a parameter accepts, and the type of a result.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from flatweave.base.dtypes import DType
from flatweave.frontend.call.operation import OPERATIONS
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.array import HostComplex
from tools.stub_head import HEAD

WIDTH = 100

# what a parameter takes that is annotated Any
PARAMETERS = {
    **dict.fromkeys(
        ("x", "y", "z", "xs", "x1", "x2", "p", "a", "b", "q", "m", "f", "xp", "fp", "idx",
         "indices", "flags", "reps", "keys", "repeats", "bins"), "ArrayLike",
    ),
    "axis": "Axes", "axes": "Axes", "dtype": "DTypeLike", "device": "str",
    "shape": "Shape",
}  # fmt: skip
# results that are not one array
RESULTS = {
    **dict.fromkeys(
        ("cond", "expand", "expand_reduce", "fori_loop", "generate", "map", "stencil",
         "while_loop", "zip_with"), "Any",
    ),
    **dict.fromkeys(
        ("broadcast_arrays", "meshgrid", "nonzero", "unstack"), "tuple[Array, ...]"
    ),
    "split": "list[Array]", "gradient": "Any", "unique": "Any",
    "ragged": "Ragged", "unique_all": "UniqueAll", "unique_counts": "UniqueCounts",
    "unique_inverse": "UniqueInverse", "sort_by_key": "tuple[Array, Array]",
    "partition": "tuple[Array, Array]", "slices": "Ragged", "rolling": "Ragged",
    "rolling_by": "Ragged", "unflatten": "Ragged", "overlaps": "Ragged", "neighbors": "Ragged",
    "nearest": "tuple[Array, Array]",
    "join": "Any", "recurrence": "tuple[Any, Any]", "value_counts": "tuple[Array, Array]",
}  # fmt: skip
# what takes structures of arrays, or a Ragged, as well, and gives the like: in which parameters
STRUCTURED = {
    **dict.fromkeys(
        ("broadcast", "expand_dims", "filter", "gather", "getitem", "partition",
         "reduce", "reshape", "reverse", "rotate", "scan", "segmented_reduce", "segmented_scan",
         "sort", "transpose", "backpermute"), "xs",
    ),
    **dict.fromkeys(("scatter", "reduce_by_index"), "dest"),
    "astype": "x", "clip": "x", "concat": "arrays", "full": "fill_value", "permute": "defaults",
    "replicate": "v", "sort_by_key": "values", "store": "x", "where": "a b",
}  # fmt: skip
# what takes elements of any structure, rows among them, and gives what its function makes of them
OF_ELEMENTS = ("expand", "expand_reduce", "map", "recurrence", "zip_with")
# what takes a Ragged as well, and no other structure
REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum")
OF_ROWS = (
    *REDUCTIONS, "argsort", "cumprod", "cumsum", "median", "nanargmax", "nanargmin", "nancumprod",
    "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod",
    "nanquantile", "nanstd", "nansum", "nanvar", "percentile", "ptp", "quantile", "changed",
    "cummax", "cummin", "is_none", "logsumexp", "n_unique", "rank", "run_lengths", "softmax",
    "std", "top_k", "var",
)
OF_MISSING = (*REDUCTIONS, "median", "std", "var")  # and what of a Nullable, whose result is one
# what annotations say of results that are arrays of some kind
OF_ARRAYS = ("Any", "Array", "Array | Ragged", "HostArray", "Reduced", "Self", "Values")
# type variables of values in a trace: users give numbers for some, and get arrays
INSIDE = re.compile(r"\b(Carried|Out)\b")
FLAT = {"concat": "Sequence[ArrayLike]", "where": "ArrayLike"}  # else: what `Flat` says
PROTOCOLS = {1: "Unary", 2: "Binary", 3: "Ternary"}
# modules whose annotations leave nothing open
TYPED = {
    "flatweave.frontend.call.options", "flatweave.frontend.call.compiled", "flatweave.jit",
    "flatweave.profiler.profile", "flatweave.tuning.tune",
}  # fmt: skip
# results that a word among the arguments decides: the parameter, its words, the result for the
# last and for any other
NULLS = ("nulls", ("raise", "nan", "mask"))
WORDS = {
    "asarray": (*NULLS, "tuple[Array, Array]", "Array"),
    "ragged": (*NULLS, "tuple[Ragged, Ragged]", "Ragged"),
}
# operators of an array that a Ragged on their right makes one of rows
WITH_ROWS = {
    f"__{name}__" for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift",
        "rshift", "lt", "le", "gt", "ge",
    )
}  # fmt: skip
MEMBERS = {
    "T": "Array", "mT": "Array", "shape": "tuple[int, ...]", "ndim": "int", "size": "int",
    "dtype": "np.dtype[Any]", "real": "Array", "imag": "Array", "values": "Any",
}  # fmt: skip
NUMBERS = {
    "__len__": "int", "__bool__": "bool", "__int__": "int", "__float__": "float",
    "__index__": "int", "__complex__": "complex", "__contains__": "bool", "__iter__": "Any",
    "__format__": "str", "__array__": "npt.NDArray[Any]", "__dlpack__": "Any",
    "__dlpack_device__": "tuple[int, int]", "__array_namespace__": "Any",
    "__arrow_c_array__": "Any", "__array_ufunc__": "Any", "__array_function__": "Any",
    "item": "Any", "tolist": "Any",
    "to_numpy": "npt.NDArray[Any]", "__setitem__": "None", "__divmod__": "tuple[Any, Any]",
    "__rdivmod__": "tuple[Any, Any]",
}  # fmt: skip
# methods of a Ragged that give something else
OF_RAGGED = {
    **dict.fromkeys(("argmax", "argmin", "firsts", "flatten", "mask"), "Any"),
    **dict.fromkeys(("combinations", "argcombinations"), "tuple[Ragged, ...]"),
    **dict.fromkeys(
        ("cartesian", "argcartesian", "run_lengths", "top_k"), "tuple[Ragged, Ragged]"
    ),
    "num": "Array", "corr": "Array", "linear_fit": "dict[str, Array]",
}  # fmt: skip
LEFT_OUT = {
    "__class__", "__getattr__", "__init__", "__new__", "__reduce__", "__copy__", "__deepcopy__",
    "__repr__", "__str__", "made", "__iadd__", "__isub__", "__imul__", "__itruediv__",
    "__ifloordiv__", "__imod__", "__ipow__", "__imatmul__", "__iand__", "__ior__", "__ixor__",
    "__ilshift__", "__irshift__",  # for type checkers `x += v` is `x = x + v`
}  # fmt: skip
SHOWN = {"_repr_html_"}  # what notebooks ask for
IN_HEAD = {"Array", "ArrayLike", "Jitted", "Ragged", "jit", "vmap"}
STARS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**",
}  # fmt: skip

def stub(package: Any) -> str:
    """The text of the stub for the package."""
    functions = "".join(
        line for name in public(package) for line in declared(name, getattr(package, name))
    )
    classes = "\n".join([
        written_class("Array", HostComplex),
        written_class("Ragged", Ragged),
    ])
    imports = "\n".join(sorted(imported(package)))
    head = HEAD.format(imports=imports, jit=both_forms(package.jit))
    names = filled([f'"{name}"' for name in sorted(package.__all__)], "    ")
    return f"{head}\n{classes}\n{functions}\n__all__ = [\n{names}\n]\n"


def public(package: Any) -> list[str]:
    """The names that get a separate line: all but those of the head and the classes."""
    return [name for name in dir(package) if name not in IN_HEAD]


def imported(package: Any) -> Iterator[str]:
    """What is taken from where it is declared."""
    yield "from flatweave import random as random"
    yield "from flatweave.frontend.functions.custom_rules import CustomJvp, CustomVjp"
    yield "from flatweave.frontend.standard import fft as fft, linalg as linalg"
    yield "from flatweave.frontend.standard.namespace import FloatInfo, IntegerInfo"
    yield "from flatweave import jax as jax, torch as torch"
    yield "from flatweave.numpy_functions.sets import UniqueAll, UniqueCounts, UniqueInverse"
    for name in public(package):
        value = getattr(package, name)
        if is_reexported(value):
            yield f"from {value.__module__} import {name} as {name}"


def is_reexported(value: Any) -> bool:
    """Whether the annotations of a name say all where it is declared."""
    return isinstance(value, type) or getattr(value, "__module__", "") in TYPED


def declared(name: str, value: Any) -> Iterator[str]:
    """The lines of one public name."""
    if isinstance(value, types.ModuleType) or is_reexported(value):
        return
    if isinstance(value, DType):
        yield dtype(name, value)
        return
    if not callable(value):
        yield f"{name}: {'None' if value is None else type(value).__name__}\n"
        return
    known = OPERATIONS.get(value)
    if known is not None and known.is_elementwise and {*known.positional} <= {"x", "y", "z"}:
        yield f"{name}: {PROTOCOLS[len(known.positional)]}\n"
        return
    signature = inspect.signature(value)
    result = result_of(name, signature, "Array")
    where = STRUCTURED.get(value.__name__)
    if name in OF_MISSING:
        yield "@overload\n" + of_missing(name, signature)
    if name in WORDS:
        yield from by_word(name, signature, *WORDS[name])
    elif name in OF_ROWS:
        rows = next(iter(signature.parameters))
        yield "@overload\n" + function(name, signature, {rows: "Ragged"}, "Any")
        yield "@overload\n" + function(name, signature, {}, result)
    elif where is not None:
        flat = dict.fromkeys(where.split(), FLAT.get(value.__name__, "Flat"))
        yield "@overload\n" + function(name, signature, flat, result)
        yield "@overload\n" + function(name, signature, dict.fromkeys(flat, "Any"), "Any")
    else:
        yield function(name, signature, {"xs": "Any"} if name in OF_ELEMENTS else {}, result)


def dtype(name: str, value: DType) -> str:
    """A dtype: under its own name a class of the numbers that have it, else another name of that.
    """
    if name != value.name:
        return f"{name}: TypeAlias = {value.name}\n"
    return (
        f"class {name}(Array, metaclass=Kind):\n"
        "    def __new__(cls, value: Any) -> Any: ...\n"
    )


def by_word(
    name: str, signature: inspect.Signature, which: str, words: Sequence[str], result: str,
    otherwise: str,
) -> Iterator[str]:
    """A function that gives something else where its parameter `which` is the last of its words."""
    quoted = [f'"{word}"' for word in words]
    yield "@overload\n" + function(
        name, signature, {which: f"Literal[{', '.join(quoted[:-1])}]"}, otherwise
    )
    asked = [each.replace(default=each.empty) if each.name == which else each
             for each in signature.parameters.values()]  # fmt: skip
    yield "@overload\n" + function(
        name, signature.replace(parameters=asked), {which: f"Literal[{quoted[-1]}]"}, result
    )


def of_missing(name: str, signature: inspect.Signature) -> str:
    """A reduction of a Nullable, which takes one parameter more."""
    first, *others = signature.parameters.values()
    skip = inspect.Parameter("skip_missing", inspect.Parameter.KEYWORD_ONLY, default=True,
                             annotation="bool")  # fmt: skip
    return function(
        name, signature.replace(parameters=[first, *others, skip]), {first.name: "Nullable"},
        "Nullable",
    )  # fmt: skip


def result_of(name: str, signature: inspect.Signature, otherwise: str) -> str:
    """The result that an annotation says, or the table."""
    if name in RESULTS:
        return RESULTS[name]
    said = str(signature.return_annotation).replace("fw.", "")
    return otherwise if said in OF_ARRAYS else said


def function(name: str, signature: inspect.Signature, own: dict[str, str], result: str) -> str:
    """The line, or lines, of a function; `own` are types of parameters in this overload."""
    parts: list[str] = []
    kind: Any = None
    for each in signature.parameters.values():
        if kind is each.POSITIONAL_ONLY and each.kind is not each.POSITIONAL_ONLY:
            parts.append("/")
        if each.kind is each.KEYWORD_ONLY and kind not in (each.KEYWORD_ONLY, each.VAR_POSITIONAL):
            parts.append("*")
        kind = each.kind
        parts.append(parameter(each, own))
    if kind is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return definition(name, parts, result)


def definition(name: str, parts: list[str], result: str, indent: str = "") -> str:
    """`def name(..) -> result: ..`, on several lines where one is too short."""
    result = of_builtins(result)
    line = f"{indent}def {name}({', '.join(parts)}) -> {result}: ..."
    if len(line) > WIDTH:
        line = f"{indent}def {name}(\n{filled(parts, indent + '    ')}\n{indent}) -> {result}: ..."
    return line + "\n"


def filled(parts: Sequence[str], indent: str) -> str:
    """Parts with commas between them, as many on a line as there is room for."""
    whole = ", ".join(part.replace(" ", "\0") for part in parts)
    lines = textwrap.wrap(whole, WIDTH - len(indent), break_long_words=False,
                          break_on_hyphens=False)  # fmt: skip
    return "\n".join(indent + line for line in lines).replace("\0", " ")


def parameter(each: inspect.Parameter, own: dict[str, str]) -> str:
    """A parameter with its type and default."""
    stars = STARS.get(each.kind, "")
    said = "Any" if each.annotation is each.empty else INSIDE.sub("Any", str(each.annotation))
    type_ = own.get(each.name) or (PARAMETERS.get(each.name, "Any") if said == "Any" else said)
    if each.default is None and type_ != "Any" and "None" not in type_:
        type_ += " | None"
    default = ""
    if isinstance(each.default, str):
        default = f" = {json.dumps(each.default)}"
    elif each.default is not each.empty:
        is_plain = isinstance(each.default, bool | int | float | tuple | None)
        default = f" = {each.default}" if is_plain else " = ..."
    return f"{stars}{each.name}: {of_builtins(type_)}{default}"


def of_builtins(type_: str) -> str:
    """A type in which `bool` is Python's, not the dtype of the package."""
    return re.sub(r"\b(bool|complex)\b", r"builtins.\1", type_)


def both_forms(jit: Callable[..., Any]) -> str:
    """jit as a function, and as a decorator with options."""
    given = [each for each in inspect.signature(jit).parameters.values()
             if each.name != "f" and each.kind is not each.VAR_KEYWORD]  # fmt: skip
    options = ["*", *(parameter(each, {}) for each in given)]
    return "".join([
        "@overload\n",
        definition("jit", ["f: Callable[P, R]", *options], "Jitted[P, R]"),
        "@overload\n",
        definition("jit", ["f: None = None", *options], "Callable[[Callable[P, R]], Jitted[P, R]]"),
    ])  # fmt: skip


def written_class(name: str, cls: type) -> str:
    """A class of arrays as users see it: the members of all kinds of them in one."""
    lines = [f"class {name}:\n", "    __hash__: None  # type: ignore[assignment]\n"]
    for member in sorted(dir(cls)):
        value = inspect.getattr_static(cls, member)
        hidden = member.startswith("_") and not member.endswith("__") and member not in SHOWN
        if member in LEFT_OUT or hidden:
            continue
        if inspect.getattr_static(object, member, None) is value:
            continue
        if isinstance(value, property):
            assert value.fget is not None
            said = MEMBERS.get(member) or str(inspect.signature(value.fget).return_annotation)
            lines.append("    @property\n")
            lines.append(definition(member, ["self"], said, "    "))
        elif inspect.isfunction(value):
            lines += method(name, member, inspect.signature(value))
    return "".join(lines)


def method(cls: str, name: str, signature: inspect.Signature) -> Iterator[str]:
    """The lines of a method; an operator of an array with a Ragged gives a Ragged."""
    result = NUMBERS.get(name) or result_of(name, signature, cls)
    if cls == "Ragged" and name in (*REDUCTIONS, "__getitem__"):
        result = "Any"
    if cls == "Ragged" and name in OF_RAGGED:
        result = OF_RAGGED[name]
    if "other" not in signature.parameters:
        line = function(name, signature, {}, result).replace("self: Any", "self")
        yield textwrap.indent(line, "    ")
        return
    if name in ("__eq__", "__ne__"):
        yield f"    def {name}(self, other: object) -> {cls}: ...  # type: ignore[override]\n"
        return
    if cls == "Ragged" or name not in WITH_ROWS:
        other = "ArrayLike | Ragged" if cls == "Ragged" else "ArrayLike"
        yield definition(name, ["self", f"other: {other}"], result, "    ")
        return
    yield "    @overload\n" + definition(name, ["self", "other: Ragged"], "Ragged", "    ")
    yield "    @overload\n" + definition(name, ["self", "other: ArrayLike"], cls, "    ")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path, help="the file to write: flatweave/__init__.pyi")
    text = stub(sys.modules["flatweave"])
    parser.parse_args().path.write_text(text, encoding="utf-8")
