"""What Python may not ask of a traced array, with the way round for each.

    if x > 0: ..        a value that is only known when the compiled program runs
    kept.append(x)      a value that has no meaning once its trace has ended
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

from flatweave.base.errors import ArgumentError, EscapedArrayError, NotTraceableError
from flatweave.base.source import Location, user_location
from flatweave.frontend import NAMES, public

C = TypeVar("C")
BRANCH = (
    "Use fw.where(p, a, b) to choose between values, fw.cond(p, f, g) between computations; in a"
    " kernel fk.cond(p, f, g) and fk.when(p, f)."
)
LOOP = "Use fw.while_loop(cond, body, state), which repeats inside the compiled program."
LOGIC = "Use p & q, p | q and ~p on traced values, in brackets: (x > 0) & (x < 9)."
EXTREMA = "Use fw.maximum(a, b) and fw.minimum(a, b), which choose inside the compiled program."
CHAIN = "A chain of comparisons is an `and`: write (0 < x) & (x < 3)."
MEMBER = "Use fw.isin(x, fw.asarray(values)), or compare with each: (x == 1) | (x == 2)."
GATHER = (
    "Use fw.gather(table, i) to read a NumPy array at a traced index, and functions of fw for"
    " other work."
)
STORED = (
    "An array of NumPy holds no traced values: make one of fw, by fw.generate or fw.concat, and"
    " ys = fw.replace(xs, i, v) for a copy with other values."
)
# builtins that go through an array, and what does so inside a program
GOES_THROUGH = {
    "sum": "sum", "sorted": "sort", "any": "any", "all": "all", "max": "max", "min": "min",
    "map": "map", "filter": "filter", "zip": "map", "enumerate": "map", "reversed": "reverse",
    "list": "map", "tuple": "map", "set": "unique_values",
}  # fmt: skip
ASSERT = "Check concrete values before the call; inside, fw.where can mark the bad ones."


def truth(described: str) -> NotTraceableError:
    """`if x`, `while x`, `x and y`, `not x`, `0 < x < 3`, `x in [1, 2]`, `assert x`."""
    where = user_location()
    text, asked = where.text.strip(), _expression(where)
    if re.search(r"(?<![\w.])(max|min)\b\s*[(,]", text):
        remedy = EXTREMA
    elif text.startswith("while "):
        remedy = LOOP
    elif text.startswith("assert "):
        remedy = ASSERT
    elif re.search(r"\b(and|or|not)\b(?! in)", asked):
        remedy = LOGIC
    elif re.fullmatch(r"[^<>=()]+[<>]=?[^<>=()]+[<>]=?[^<>=()]+", asked):
        remedy = CHAIN
    elif re.search(r"\bin\b", asked):
        remedy = MEMBER
    elif text.startswith(("if ", "elif ")) or " if " in text:
        remedy = BRANCH
    elif any(f" {word} " in f" {text} " for word in ("and", "or", "not")):
        remedy = LOGIC
    else:
        remedy = BRANCH
    return NotTraceableError(
        f"Python asks whether a traced value of type {described} is true, which is known only"
        " when the compiled function runs.",
        where=where, remedy=remedy,
    )  # fmt: skip


def conversion(described: str, wanted: str) -> NotTraceableError:
    """`int(x)`, `float(x)`, `math.sin(x)`, `range(x)`, `a_list[x]`, `numpy_array[0] = x`."""
    remedies = {
        "int": "Use x.astype(fw.i64), which converts inside the compiled program.",
        "float": "Use x.astype(fw.f64), and fw.sin rather than math.sin.",
        "complex": "Keep the real and the imaginary part as two arrays.",
        "index": "Use fw.fori_loop for range(n), and fw.gather(xs, i) to read a NumPy array or a"
        " list at a traced index.",
    }
    where = user_location()
    what = "a Python index" if wanted == "index" else f"a Python {wanted}"
    return NotTraceableError(
        f"Python needs {what} from a traced value of type {described}, which is known only when"
        " the compiled function runs.",
        where=where, remedy=_named_here(where) or _stored(where) or remedies[wanted],
    )  # fmt: skip


def host_array(described: str, is_scalar: bool = False) -> NotTraceableError:
    """`np.asarray(x)`, `np.arange(x)`, `x.__dlpack__()`; and `table[i]` with a NumPy table."""
    where = user_location()
    remedy = _named_here(where) or _stored(where) or (
        GATHER
        if is_scalar or re.fullmatch(r"\w+\[.*\]", _expression(where))
        else "Use the function of fw with the same meaning, or return the array and call NumPy on"
        " the result."
    )
    return NotTraceableError(
        f"NumPy needs the values of a traced array of type {described}, which are known only when"
        " the compiled function runs.",
        where=where, remedy=remedy,
    )  # fmt: skip


def python_value(described: str, method: str) -> NotTraceableError:
    """`x.item()`, `x.tolist()`."""
    return NotTraceableError.here(
        f"{method}() gives Python numbers, but those of a traced array of type {described} are"
        " known only when the compiled function runs.",
        "Leave it out, for x[0] is a number in the compiled function; or return the array,"
        f" and call {method}() on the result.",
    )


def formatting(described: str, spec: str) -> NotTraceableError:
    """`f"{x:.2f}"`."""
    return NotTraceableError.here(
        f"the format {spec!r} needs the number of a traced value of type {described}, which is"
        " known only when the compiled function runs.",
        "Return the value, and format the result.",
    )


def _expression(where: Location) -> str:
    """The expression that Python was at: `max(x, 0)`."""
    return where.text[where.column : where.end_column] if where.column is not None else ""


def _named_here(where: Location) -> str:
    """`np.arange(n)`: the function of that name here."""
    called = re.match(r"(?:np|numpy)\.(\w+)\(", _expression(where))
    if called is None or called[1] not in NAMES:
        return ""
    return f"Use fw.{called[1]}, which is a part of the compiled program."


def _stored(where: Location) -> str:
    """`array[0] = x` of an array of NumPy."""
    is_one = re.match(r"[\w.]+\[.*\]\s*[-+*/]?=(?!=)", where.text.strip())
    return STORED if is_one else ""


def length(described: str) -> NotTraceableError:
    """`len(x)`, which must give a Python int."""
    return NotTraceableError.here(
        f"len() needs the length of a traced array of type {described}, which is known only when"
        " the compiled function runs.",
        "Use x.shape[0], which can be computed with and used as an extent, or fw.map(f, x)"
        " for every element.",
    )


def row_count(described: str) -> NotTraceableError:
    """`len(rows)`, `for row in rows`."""
    return NotTraceableError.here(
        f"Python needs the number of rows of a traced {described}, which is known only when the"
        " compiled function runs.",
        "Use rows.lengths.shape[0], which can be computed with, and fw.map(f, rows) for"
        " every row at once.",
    )


def rows_on_host(described: str, wanted: str) -> NotTraceableError:
    """`rows.to_arrow()`, `pickle.dumps(rows)`."""
    return NotTraceableError.here(
        f"{wanted} needs the values of a traced {described}, which are known only when the compiled"
        " function runs.",
        "Return the rows, and convert the result.",
    )


def truth_of_rows() -> ArgumentError:
    """`if rows`, `assert a == b` of Ragged values."""
    return ArgumentError.here(
        "Python asks whether a Ragged is true, which may mean any or all of its elements.",
        "Use rows.any() or rows.all(); len(rows) > 0 for whether there are rows.",
    )


def truth_of_chunks() -> ArgumentError:
    """`if xs`, `assert xs == ys` of arrays in chunks."""
    return ArgumentError.here(
        "Python asks whether an array in chunks is true, which may mean any or all of its"
        " elements.",
        "Use xs.any() or xs.all(); len(xs) > 0 for whether there are rows.",
    )


def iteration(described: str) -> NotTraceableError:
    """`for v in x`, `a, b = x`, `sum(x)`."""
    where = user_location()
    remedy = (
        "Use fw.map(f, x) for every element at once, or fw.fori_loop(0, x.shape[0], body, state)"
        " for one at a time."
    )
    called = re.match(r"(\w+)\(", _expression(where))
    if called is not None and called[1] in GOES_THROUGH:
        remedy = f"Use fw.{GOES_THROUGH[called[1]]}, which is a part of the compiled program."
    elif re.match(r"[\w.]+(\s*,\s*[\w.]+)+\s*=(?!=)", where.text.strip()):
        remedy = "Read the elements one by one: x[0], x[1]."
    return NotTraceableError(
        f"Python iterates over a traced array of type {described}, whose length is known only when"
        " the compiled function runs.",
        where=where, remedy=remedy,
    )  # fmt: skip


def search(described: str) -> NotTraceableError:
    """`v in x`."""
    return NotTraceableError.here(
        f"Python searches a traced array of type {described}, whose elements are known only when"
        " the compiled function runs.",
        "Use fw.any(x == v), or fw.isin(vs, x) for many values.",
    )


def repetition(described: str) -> NotTraceableError:
    """`[0] * n`, which in Python is a list of n zeros."""
    return NotTraceableError.here(
        f"Python would repeat a list or tuple by a traced value of type {described}, which is known"
        " only when the compiled function runs.",
        "Use fw.full(n, v) for n times one value, fw.tile(xs, n) for several;"
        " fw.asarray(xs) * n multiplies them.",
    )


def hashing(described: str) -> NotTraceableError:
    """`{x: 1}`, `x in a_set`."""
    return NotTraceableError.here(
        f"Python hashes a traced value of type {described}, whose value is known only when the"
        " compiled function runs.",
        "Read a table at traced indices from an array, fw.gather(table, i), or choose with"
        " fw.where; fw.isin asks whether a value is in a set; id(x) as the key tells traced values"
        " apart.",
    )


def escaped(described: str, trace: str, ended: bool) -> EscapedArrayError:
    """A value used where it means nothing: after its trace, or outside its element function."""
    if ended:
        message = (
            f"a traced value of type {described} is used after the trace of {trace} has ended."
        )
        remedy = "Return it from the traced function instead of keeping it in a variable outside."
    else:
        message = (
            f"a traced value of type {described} is used outside the element function or loop"
            " body that it belongs to."
        )
        remedy = "Return it from that function, so that it becomes part of the result."
    return EscapedArrayError.here(message, remedy)


def assignment(described: str) -> NotTraceableError:
    """`x[i] = v` where x does not belong to the function that is being traced."""
    return NotTraceableError.here(
        f"an array of type {described} from outside of the traced function, element function or"
        " loop body is assigned to: what a body changes, it must take and return.",
        "Work on a copy, ys = xs.copy(), and return it; in a loop let the array be part of the"
        " state.",
    )


def written_to(what: str) -> NotTraceableError:
    """`numpy_array += x`, `np.add(a, b, out=x)`."""
    return NotTraceableError.here(
        f"{what}: a result is a new array.", "Write ys = a + b in place of a += b and of out=."
    )


class NoAttributeError(ArgumentError, AttributeError):
    """An array has nothing of this name: `x.std()`."""


def attribute(
    name: str, of: str = "an array", kind: str = "Array", fields: Collection[str] = (),
) -> AttributeError:  # fmt: skip
    """`x.std()`, `x.foo`, `records.field`; programs ask for names that start with an underscore."""
    if name.startswith("_"):
        return AttributeError(f"{of} has no attribute {name!r}.")
    x = "rows" if kind == "Ragged" else "xs" if kind == "Chunked" else "x"
    return NoAttributeError.here(
        f"{of} has no attribute {name!r}.",
        f'A field is read by its name: {x}["{name}"].'
        if name in fields
        else f"Use fw.sort({x}), of which {x}[k] is element k, or fw.argpartition({x}, k)."
        if name == "partition"
        else f"Use the function: {_call(name)}."
        if name in NAMES and callable(public(name))
        else f"help(fw.{kind}) shows what there is; functions are in fw: fw.sort({x}).",
    )


def _call(name: str) -> str:
    """What a call of a public function needs: `fw.filter(p, xs)`, `fw.median(x, ..)`."""
    params = inspect.signature(cast(Callable[..., Any], public(name))).parameters.values()
    needed = [str(p.replace(annotation=p.empty)) for p in params if p.default is p.empty]
    return f"fw.{name}({', '.join(needed + ['..'] * (len(needed) < len(params)))})"


SAME_LENGTH = (
    "A loop in vmap gives rows of one length where its state begins with the length that the body"
    " gives: with fw.zeros_like(b), say, not fw.zeros(20)."
)


def no_shape() -> NoAttributeError:
    """`rows.shape`"""
    return NoAttributeError.here(
        "a Ragged has no shape: its rows may differ in length.",
        "rows.lengths has the number of elements of each row, rows.lengths.shape[0] is the number"
        f" of rows. {SAME_LENGTH}",
    )


def must_take(
    called: str, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
    bound: int = 0,
) -> None:  # fmt: skip
    """ArgumentError for a call with other arguments than a function has, of which `bound` ones
    come before the dot."""
    taken = inspect.signature(fn)
    try:
        taken.bind(*args, **kwargs)
    except TypeError as misfit:
        params = list(taken.parameters.values())[bound:]
        plain = [p.replace(annotation=p.empty) for p in params]
        raise ArgumentError.here(
            f"{called.rpartition('.')[2]} does not take these arguments: {misfit}.",
            f"Call it as {called}{inspect.Signature(plain)}.",
        ) from None


def _told(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose errors for other arguments are those of functions."""

    @functools.wraps(method)
    def work(*args: Any, **options: Any) -> Any:
        try:
            return method(*args, **options)
        except TypeError:
            must_take(f"x.{method.__name__}", method, args, options, 1)
            raise

    return work


def as_functions(cls: type[C]) -> type[C]:
    """A class whose public methods refuse arguments as functions do."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, _told(method))
    return cls


def no_one_truth(described: str) -> ArgumentError:
    """`if x > 0`, of an array of several elements."""
    return ArgumentError.here(
        f"Python asks whether {described} is true, which may mean any or all of its elements.",
        "Use x.any() or x.all(); x.size > 0 for whether there are elements.",
    )


def no_one_element(described: str) -> ArgumentError:
    """`x.item()`, of an array of several elements."""
    return ArgumentError.here(
        f"item() gives the only element as a number of Python, but {described} has more or none.",
        "Give an index, x.item(0), or use x.tolist() for all of them.",
    )


def stream() -> ArgumentError:
    """`x.to_device("cpu", stream=1)`"""
    return ArgumentError.here(
        "to_device has no streams: arrays are in the memory of the host.", "Leave the stream out."
    )
