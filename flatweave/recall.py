"""Programs that an earlier process compiled run again without the compiler.

    build(program, "cpu", True, CHOSEN)     found under its trace: mapped (`runtime/image.py`)
                                            not found: compiled, and kept for the next process

Kept under the text of the trace with all that the compiler reads (`runtime/cache.py`): the host's
image with the data of a call, and separately each group of kernels, once a run has needed it.
The locations of errors are numbers of lets: the lines are those of the current trace.

What people ask of such a program, its texts and notes, the compiler is imported for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from flatweave.array_ir.syntax import Program, print_program
from flatweave.base.config import config
from flatweave.base.dtypes import DTYPES
from flatweave.base.locks import Lock
from flatweave.base.plan import LOCAL, HostCall, Operand, Param, Plan, Result, Site
from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.on_machines import OnCpu
from flatweave.ops import Callback
from flatweave.runtime.cache import facts, is_current, name_on_disk, process_cache
from flatweave.runtime.cpu import CpuProgram
from flatweave.runtime.execute import CompiledGroup, KernelTable
from flatweave.runtime.image import MappedCode, Unfit, from_bytes, image_from, to_bytes
from flatweave.runtime.lazy_import import compiler, opened
from flatweave.runtime.support import address_beside, begin_support, plain_image
from flatweave.runtime.tuned import is_any_kept, kept, kept_plans, key_of
from flatweave.terms.traverse import walk_lets

ENTRY = "fw_main"
_DTYPES = {dtype.name: dtype for dtype in DTYPES}
MakeGroup = Callable[[Sequence[str]], CompiledGroup]
Content = tuple[Any, ...]  # numbers, texts, bytes and tuples of them
DAMAGED = (Unfit, ValueError, KeyError, TypeError, IndexError, AttributeError)
T = TypeVar("T")


def build(program: Program, target: str, checks: bool, schedule: Schedule) -> Any:
    """The executable of a program: recalled, or made by the compiler."""
    schedule = with_tuned(program, target, schedule)

    def compiled() -> Any:
        if target == "cpu":
            begin_support()
        return compiler().build(program, target, checks, schedule)

    if target == "interp" or not is_wanted() or not facts() or calls_local(program):
        return compiled()
    if target != "cpu":
        return opened("recalled").build(program, target, f"{schedule} {checks}", compiled)
    kept = Kept(program, f"{config.cpu} {schedule} {checks}")
    found = kept.recalled(compiled)
    if found is not None:
        return found
    made = compiled()
    if isinstance(made.runnable, OnCpu):
        kept.keep(made.runnable.program, made.cpu)
    return made


def calls_local(program: Program) -> bool:
    """Whether a program calls a Python function that another process does not find."""
    return bool(LOCAL) and any(
        isinstance(let.op, Callback) and let.op.is_local for let in walk_lets(program.fn)
    )


def with_tuned(program: Program, target: str, schedule: Schedule) -> Schedule:
    """The schedule with what was tuned for the program, where that decides."""
    if target != "cpu" or schedule.version is not None or schedule.tuned or not is_any_kept():
        return schedule
    key = key_of(print_program(program), schedule)
    return replace(schedule, tuned=kept(key), tuned_text=kept_plans(key))


def is_wanted() -> bool:
    """Whether nothing is to be seen of the compiler's work: no text, no time, no check."""
    now = config.current
    return not (now.no_cache or now.dump or now.stop_after or now.verify or now.time)


class Kept:
    """What is on disk of one program."""

    def __init__(self, program: Program, choices: str) -> None:
        self.lines = [let.where for let in walk_lets(program.fn)]
        self.name = name_on_disk(choices, print_program(program))

    # -- written ----------------------------------------------------------------------------------

    def keep(self, program: CpuProgram, cpu: str) -> None:
        """Keep a program that was compiled, and each group of its kernels as it is made."""
        plan, table = program.plan, program.native.table
        try:
            content = cpu, self.plain_plan(plan), table.groups, plain_image(program.native.code)
        except Unfit:
            return
        put(self.name, content)
        for names, made in list(table.parts.items()):
            self.keep_group(plan, names, made)
        table.keep = lambda names, made: self.keep_group(plan, names, made)

    def keep_group(self, plan: Plan, names: Sequence[str], made: CompiledGroup) -> None:
        """Store kernels that were compiled together, and the sites where they report errors."""
        codes = list({id(code): code for code, _ in made}.values())
        symbols = tuple((codes.index(code), symbol) for code, symbol in made)
        try:
            images = tuple(plain_image(code) for code in codes)
            content = (symbols, self.plain_sites(plan), images)
        except Unfit:
            return
        put(self.group_name(names), content)

    def plain_plan(self, plan: Plan) -> Content:
        """A plan as numbers, texts and tuples."""
        return (
            tuple((param.dtype.name, param.is_array) for param in plan.params),
            tuple((result.dtype.name, result.extents) for result in plan.results),
            self.plain_sites(plan), plain_calls(plan),
        )  # fmt: skip

    def plain_sites(self, plan: Plan) -> Content:
        """Sites, with the number of a let for its line."""
        numbers = {id(line): number for number, line in enumerate(self.lines)}
        found = []
        for number, site in list(plan.sites.items()):
            line = -1 if site.where is None else numbers.get(id(site.where))
            if line is None:
                raise Unfit("the line of no let")
            found.append((number, site.kind, line, site.message, site.count, site.axis))
        return tuple(found)

    # -- read -------------------------------------------------------------------------------------

    def recalled(self, compiled: Callable[[], Any]) -> Recalled | None:
        """The program, if it is there; `compiled` makes it anew."""
        def read(content: Content) -> Recalled:
            cpu, parts, groups, image = content
            plan, code = self.plan_of(parts), _mapped(image, [ENTRY])
            return Recalled(
                self, cpu, plan,
                lambda make: OnCpu(CpuProgram(code, plan, KernelTable(groups, make))), compiled,
            )  # fmt: skip

        return recalled(self.name, read)

    def recalled_group(self, plan: Plan, names: Sequence[str]) -> CompiledGroup | None:
        """Kernels that are made together, if they are there."""
        def read(content: Content) -> CompiledGroup:
            symbols, sites, images = content
            wanted = [[name for code, name in symbols if code == n] for n in range(len(images))]
            codes = [_mapped(image, of) for image, of in zip(images, wanted, strict=True)]
            add_sites(plan, self.sites(sites))
            return [(codes[number], symbol) for number, symbol in symbols]

        return recalled(self.group_name(names), read)

    def group_name(self, names: Sequence[str]) -> str:
        return name_on_disk("group", self.name, *names)

    def plan_of(self, content: Content) -> Plan:
        """The plan of such tuples."""
        params, results, sites, calls = content
        return Plan(
            tuple(Param(_DTYPES[name], is_array) for name, is_array in params),
            tuple(Result(_DTYPES[name], extents) for name, extents in results),
            dict(self.sites(sites)), calls_of(calls),
        )  # fmt: skip

    def sites(self, content: Content) -> Mapping[int, Site]:
        lines = [*self.lines, None]
        return {
            number: Site(kind, lines[line], message, count, axis)
            for number, kind, line, message, count, axis in content
        }


class Recalled:
    """A program that an earlier process compiled."""

    def __init__(
        self, kept: Kept, cpu: str, plan: Plan, runnable: Callable[[MakeGroup], OnCpu],
        compiled: Callable[[], Any],
    ) -> None:  # fmt: skip
        self.cpu = cpu
        self.runnable = runnable(self._group)
        self._kept = kept
        self._plan = plan
        self._compiled = compiled
        self._switches = config.current
        self._lock = Lock()
        self._whole: Any = None
        self._made: Any = None

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault."""
        return self.whole.run(args) if config.debug else self.runnable.run(args)

    @property
    def whole(self) -> Any:
        """The same program as the compiler gives it; calls still run what was recalled."""
        with self._lock:
            if self._whole is None:
                now = self._switches
                with config.scoped(cpu=now.cpu, no_cache=now.no_cache):
                    made = self._compiled()
                self._made = made.runnable
                made.runnable = self.runnable
                self._whole = made
            return self._whole

    @property
    def is_whole(self) -> bool:
        """Whether somebody has asked for it."""
        return self._whole is not None

    def _group(self, names: Sequence[str]) -> CompiledGroup:
        """Kernels that are made together: recalled, or made by the compiler and kept."""
        found = self._kept.recalled_group(self._plan, names)
        if found is None:
            assert self.whole
            program: CpuProgram = self._made.program
            found = program.native.table.made_anew(names)
            add_sites(self._plan, program.plan.sites)
            self._kept.keep_group(self._plan, names, found)
        return found

    def __getattr__(self, name: str) -> Any:
        """What is asked of the compiler's work: texts, notes, times, kernels, what is stored."""
        if name not in ASKED:
            raise AttributeError(name)
        return getattr(self.whole, name)


ASKED = frozenset(["kernels", "launched", "manifest", "notes", "seconds", "text"])


def plain_calls(plan: Plan) -> Content:
    """The calls of Python functions as numbers, texts and tuples."""
    return tuple(
        (
            call.fn, call.method, call.mapped, call.numbered, *(
                tuple((each.dtype, each.memory, each.varying, each.mapped) for each in operands)
                for operands in (call.operands, call.results)
            ), site,
        )
        for call, site in plan.calls
    )  # fmt: skip


def calls_of(content: Content) -> tuple[tuple[HostCall, int], ...]:
    """The same as they were."""
    return tuple(
        (HostCall(fn, method, mapped, _operands(given), _operands(results), numbered), site)
        for fn, method, mapped, numbered, given, results, site in content
    )  # fmt: skip


def _operands(parts: Sequence[Any]) -> tuple[Operand, ...]:
    return tuple(Operand(*each) for each in parts)


def add_sites(plan: Plan, more: Mapping[int, Site]) -> None:
    """Sites of kernels that were written later."""
    assert isinstance(plan.sites, dict)
    plan.sites.update(more)


def _mapped(content: Content, symbols: Sequence[str]) -> MappedCode:
    image = image_from(content)
    if not all(symbol in image.defined for symbol in symbols):
        raise Unfit("a symbol is missing")
    return MappedCode(image, address_beside)


def put(name: str, content: Content) -> None:
    """Store, unless Flatweave's files are no longer those that this process runs."""
    if is_current():
        process_cache().put(name, to_bytes(content))


def recalled(name: str, read: Callable[[Any], T]) -> T | None:
    """`read` of what was stored under a name; None where it is missing or damaged."""
    found = process_cache().get(name)
    if found is None:
        return None
    try:
        return read(from_bytes(found))
    except DAMAGED:
        process_cache().drop(name)
        return None
