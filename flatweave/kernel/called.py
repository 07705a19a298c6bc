"""@kernel: a Python function that writes a kernel, called on arrays on any target.

    @fk.kernel
    def add(xs: fk.Pull[fw.f32], ys: fk.Pull[fw.f32]):
        return fk.zip_with(lambda x, y: x + y, xs, ys)

    add(a, b)                      an array, on the target in force
    add.text["cuda"]               as CUDA C
    add.stages(a, b).text["ptx"]   of the kernel for these arguments
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Fault
from flatweave.base.config import config
from flatweave.base.dtypes import DType
from flatweave.base.errors import ArgumentError, DTypeError, Unsupported, UserError
from flatweave.base.locks import Lock
from flatweave.base.recording import run
from flatweave.base.schedule import CHOSEN
from flatweave.frontend.call.compiled import Stages, rebuilt
from flatweave.frontend.call.eager import where_they_are
from flatweave.frontend.call.signature import flat_of, leaves_of
from flatweave.frontend.jit_arguments import Call, Picked
from flatweave.frontend.trace.run_time_checks import leave_ours_out, out_of_memory, user_error
from flatweave.frontend.trace.trace import Leaf
from flatweave.frontend.values.arguments import number_dtype
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.number_formats import speaks_of_short
from flatweave.frontend.values.scope import innermost
from flatweave.frontend.values.tree import Tree
from flatweave.kernel.build import (
    Way,
    build,
    schedule_for,
    simulated,
    trace_kernel,
    tree_on_host,
    watched,
)
from flatweave.kernel.code import NotElements, is_writing
from flatweave.kernel.in_programs import Inside, call_program, fused, program_of
from flatweave.kernel.pulls import Typed
from flatweave.lower.machine import CUDA
from flatweave.ops import KernelProgram
from flatweave.pipeline import Executable
from flatweave.runtime.lazy_import import opened
from flatweave.simulator.counts import Counting, Counts
from flatweave.simulator.schedules import Schedule
from flatweave.targets import Target, target_named

THREADS = 256
MOST_THREADS = 1024


class Made:
    """A kernel for one signature: what was traced, ready to run."""

    def __init__(self, traced: KernelProgram, tree: Tree, executable: Executable) -> None:
        self.traced = traced
        self.tree = tree
        self.executable = executable
        tried = traced.tried is not None
        self._checks = opened("operators").FirstCalls(program_of(traced)) if tried else None

    def __call__(self, flat: list[Any]) -> Any:
        return self.finished(flat, lambda: run(self.traced.name, self.executable, flat))

    def finished(self, flat: list[Any], run: Callable[[], list[Any]]) -> Any:
        """What a run gives, in the structure of the function's result; or the user's error. First
        the operators are tried, as long as they have not met elements that count."""
        try:
            if self._checks is not None and not self._checks.is_done:
                self._checks(flat)
            return rebuilt(self, run(), flat)
        except Fault as fault:
            raise user_error(fault) from None
        except MemoryError as failure:
            raise out_of_memory(failure) from None

    def user_error_of(self, fault: Fault) -> UserError:
        """The user's error for a fault that a device reports later."""
        return user_error(fault)


class Kernel:
    """A function that writes a kernel; compiled once for the dtypes and ranks of its arguments.

    `.text[stage]` is the text of the kernel that was last called, or of the only one that its
    annotations allow; `.stages(*args)` of the one for these arguments.

    Source: Obsidian (Svensson 2013); CUDA's kernels.

        >>> doubled = fk.kernel(lambda xs: fk.map(lambda x: x * 2, xs))
        >>> doubled(np.arange(4)), doubled.stages(np.arange(4)).kernels
        (Array([0, 2, 4, 6], dtype=int64), 1)
    """

    def __init__(
        self, fn: Callable[..., Any], threads: int, static_argnames: Sequence[str],
        target: str | None, checks: bool = True,
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, fn)
        self.__wrapped__ = fn
        self.__name__: str = getattr(fn, "__name__", type(fn).__name__)
        self.threads = threads
        self.target = target
        self.checks = checks
        self.static = Picked(fn, tuple(static_argnames), "static")
        self._lock = Lock()
        self._made: dict[Any, Made] = {}
        self._last: Made | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = innermost()
        if around is not None and is_writing(around):
            return self.__wrapped__(*args, **kwargs)
        if around is not None:
            return self._inside(args, kwargs)
        try:
            made, flat = self._entry(args, kwargs)
            return made(flat)
        except Exception as error:
            leave_ours_out(error)
            raise

    def _inside(self, args: Any, kwargs: Any) -> Any:
        """A call in a jitted function: it fuses with what is around it where it can."""
        values = (*args, *kwargs.values())
        _expect_whole(self.__name__, values)
        if speaks_of_short(values):
            raise Unsupported.here(
                f"an argument of the kernel {self.__name__} of floats of 16 bits, in a program.",
                "Call the kernel outside of the program, or give it f32: xs.astype(fw.f32).",
            )
        call = Inside(self.__name__, self.static, args, kwargs)
        self._expect_typed(call.described())
        body = functools.partial(call.body, self.__wrapped__)
        try:
            return fused(body, call.leaves, self.checks)
        except NotElements:
            target = where_they_are(self.target or config.target, [])
            machine = target_named(target).machine or CUDA
            program, tree = trace_kernel(
                self.__name__, body, call.described(), machine, self.threads, self.checks
            )
            return call_program(program, tree, call.leaves)

    def traced(self, *args: Any, **kwargs: Any) -> KernelProgram:
        """The kernel for these arguments as it was written, neither compiled nor run."""
        call = Call(self.__name__, self.static, args, kwargs)
        target = where_they_are(self.target or config.target, call.values)
        return self._traced(call, target_named(target))[0]

    def stages(self, *args: Any, **kwargs: Any) -> Stages:
        """Compile for these arguments without running, and show every stage."""
        made, flat = self._entry(args, kwargs)
        watch = functools.partial(watched, made.traced, flat)
        return Stages(self.__name__, made.executable, flat, watch=watch)

    def simulate(
        self, *args: Any, blocks: int = 1, seed: int | None = None,
        schedule: Schedule | None = None, threads: int | None = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Run in the simulator, `blocks` at a time. A schedule of `fk.schedules` orders them, or
        random choices from a seed. With `threads` the kernel is distributed to
        that many threads of a block, as for a device.

        Raises KernelError for a race, a read of what nobody wrote, or a barrier that some never
        reach, and IndexOutOfBounds.
        """
        made, flat = self._entry(args, kwargs)
        way = Way(blocks, schedule_for(seed, schedule), threads)
        return made.finished(flat, lambda: simulated(made.traced, flat, way))

    def counts(self, *args: Any, threads: int | None = None, **kwargs: Any) -> Counts:
        """What the kernel does when it is called on these arguments, as the simulator counts it:
        barriers, accesses of shared memory and of the grid's, bank conflicts, sectors, ..

        `.barriers` and so on are numbers, `.kernels` has them by launch, and as a string they are
        a table. With `threads` they are those of the kernel distributed to that many threads.
        """
        made, flat = self._entry(args, kwargs)
        counter = Counting()
        way = Way(threads=threads, counter=counter)
        made.finished(flat, lambda: simulated(made.traced, flat, way))
        return counter.counts()

    @property
    def text(self) -> Mapping[str, str]:
        """The text of each stage: "kernel", "cuda", "ptx", "opencl", "llvm", "asm"."""
        if self._last is None:
            args = [_example(param, self.__name__) for param in self._parameters()]
            self._entry(tuple(args), {})
        assert self._last is not None
        return self._last.executable.text

    def _parameters(self) -> list[inspect.Parameter]:
        signature = inspect.signature(self.__wrapped__, eval_str=True)
        return list(signature.parameters.values())

    def _entry(self, args: Any, kwargs: Any) -> tuple[Made, list[Any]]:
        """The compiled signature of a call, made if it is new, and the call's flat arguments."""
        call = Call(self.__name__, self.static, args, kwargs)
        flat = flat_of(call.values)
        target = where_they_are(self.target or config.target, flat)
        key = call.key(target, CHOSEN)
        made = self._made.get(key)
        if made is None:
            with self._lock:
                made = self._made.get(key)
                if made is None:
                    self._made[key] = made = self._make(call, target)
        self._last = made
        return made, flat

    def _make(self, call: Call, name: str) -> Made:
        """Trace and compile the function for the signature of a call."""
        target = target_named(name)
        traced, tree = self._traced(call, target)
        call.forget_values()  # the function may be traced once more, for the text of others
        return Made(traced, tree_on_host(traced, tree), build(traced, target))

    def _traced(self, call: Call, target: Target) -> tuple[KernelProgram, Tree]:
        _expect_whole(self.__name__, call.values)
        leaves = leaves_of(call.values, call.names, frozenset())
        self._expect_typed(leaves)
        body = functools.partial(call.body, self.__wrapped__)
        machine = target.machine or CUDA
        return trace_kernel(self.__name__, body, leaves, machine, self.threads, self.checks)

    def _expect_typed(self, leaves: Sequence[Leaf]) -> None:
        """Refuse arguments that are no arrays of the dtypes that annotations say."""
        try:
            annotations = inspect.get_annotations(self.__wrapped__, eval_str=True)
        except NameError:  # a name that is defined later, or nowhere
            return
        for leaf in leaves:
            wanted = annotations.get(leaf.name)
            if not isinstance(wanted, Typed | DType):
                continue
            is_array = isinstance(wanted, Typed)
            dtype = number_dtype(wanted.dtype if isinstance(wanted, Typed) else wanted)
            fits = leaf.dtype is dtype or (leaf.weak and not is_array)
            if not fits or bool(leaf.shape) is not is_array:
                found = f"an array of {leaf.dtype.name}" if leaf.shape else f"one {leaf.dtype.name}"
                kind = f"a Pull[{dtype.name}]" if is_array else f"one {dtype.name}"
                raise DTypeError.here(
                    f"{leaf.name} of the kernel {self.__name__} is {kind}, got {found}.",
                    f"Convert it: fw.asarray({leaf.name}, fw.{dtype.name}); or annotate "
                    "another dtype, or none.",
                )

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


def _expect_whole(who: str, values: Sequence[Any]) -> None:
    """Refuse arrays in chunks, over which only a jitted function goes."""
    if any(isinstance(value, Chunked) for value in values):
        raise Unsupported.here(
            f"an argument of the kernel {who} that is in chunks.",
            "Give it chunk by chunk, [k(x) for x in xs]. A kernel whose blocks share no"
            " memory can be called in a function that is given chunks: fw.jit(lambda x: k(x)).",
        )


def _example(param: inspect.Parameter, who: str) -> Any:
    """An argument of the dtype and rank that a parameter's annotation says."""
    wanted = param.annotation
    if isinstance(wanted, Typed):
        return np.zeros(0, number_dtype(wanted.dtype).numpy)
    if wanted is inspect.Parameter.empty:
        raise ArgumentError.here(
            f"the dtype of {param.name} of {who} is not known yet, and so there is no text.",
            f"Annotate it, {param.name}: fk.Pull[fw.f32]; or call {who} before, or ask for "
            f"{who}.stages(..).text.",
        )
    return number_dtype(wanted).numpy.type(0)


def kernel(
    f: Callable[..., Any] | None = None, *, threads: int = THREADS,
    static_argnames: Iterable[str] | str = (), target: str | None = None, checks: bool = True,
) -> Any:
    """Make a kernel of a function that takes pull arrays and numbers and gives arrays.

    `threads` is how many a block has where they are lanes; for_all over more goes in several
    passes. Arguments named in `static_argnames` are Python values that the function sees. `target`
    says where it runs, by default as fw.target and FLATWEAVE_TARGET do.

    An index that is outside of its array when the kernel runs raises IndexOutOfBounds, on every
    target. `checks=False` leaves out the tests in the code of blocks and threads: an index outside
    is a crash then, or a wrong value.

    Types: `f: (pull t[n], number, ..) -> array, or a tuple of them`; gives a `Kernel`. Raises
    ArgumentError for what is no function, and for fewer than 1 or more than 1024 threads.
    Source: Obsidian (Svensson 2013).

        >>> doubled = fk.kernel(lambda xs: fk.map(lambda x: x * 2, xs))
        >>> doubled(np.arange(4))
        Array([0, 2, 4, 6], dtype=int64)
    """
    if f is None:
        return functools.partial(
            kernel, threads=threads, static_argnames=static_argnames, target=target, checks=checks
        )
    if not callable(f):
        raise ArgumentError.here(
            f"kernel needs a function, got {kind_of(f)}.",
            "Write @fk.kernel above a def, or fk.kernel(f).",
        )
    if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise ArgumentError.here(
            f"a block has 1 to {MOST_THREADS} threads, got threads={threads!r}.",
            "Choose a multiple of 32; for_all over more goes in several passes.",
        )
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return Kernel(f, threads, names, target, checks)
