"""The text of one LLVM function with its blocks, branches, phis and stack places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.base.plan import OUT_OF_MEMORY
from flatweave.codegen.llvm.text.module import Body, Module

# Reports write nothing that programs read, so loads may move across them.
_EFFECTS = "cold nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)"
REPORT = f"void @fw_report(ptr, i64, i64, i64, i64, i64) {_EFFECTS}"
STOPPED = "stopped"  # the block that leaves a function whose call has been cancelled
Phi = tuple[str, str, Sequence[tuple[str, str]]]  # name, type, (value, block it comes from)..


class Code(Body):
    """A function's body: blocks by name, phis filled in once a loop's last values are known."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.has_streamed = False
        self._stack: list[str] = []
        self.can_stop = False  # whether anything goes to the block `STOPPED`
        self._fuel = ""
        self._scratch: list[tuple[str, int]] = []

    def scratch(self, size: int) -> str:
        """A buffer of so many bytes, made before the function's entry."""
        self.declare("noalias ptr @fw_alloc(ptr, i64) nounwind")
        self.declare(REPORT)
        self._scratch.append((self.fresh("scratch"), size))
        return self._scratch[-1][0]

    def leave(self) -> None:
        """Free scratch buffers and return; a cancelled call frees them at its end."""
        for name, _ in self._scratch:
            self.declare("void @fw_release(ptr, ptr nocapture) nounwind")
            self.line(f"call void @fw_release(ptr %ctx, ptr {name})")
        self.line("ret void")

    def fuel(self, full: int) -> str:
        """The stack slot of the function's fuel counter, `full` at entry (body/look.py)."""
        if not self._fuel:
            self._fuel = self.fresh("fuel")
            self._stack.append(f"  {self._fuel} = alloca i64")
            self._stack.append(f"  store i64 {full}, ptr {self._fuel}")
        return self._fuel

    def stop(self) -> str:
        """The block to go to when the call has been cancelled."""
        self.can_stop = True
        return STOPPED

    def begin(self, line: str) -> None:
        """Add an instruction at the function's entry."""
        self._stack.append(f"  {line}")

    def alloca(self, type_: str, align: int = 64) -> str:
        """A place on the stack, made once at the function's entry."""
        name = self.fresh("stack")
        self._stack.append(f"  {name} = alloca {type_}, align {align}")
        return name

    def names(self, *stems: str) -> list[str]:
        """Fresh names for blocks."""
        self._count += 1
        return [f"{stem}{self._count - 1}" for stem in stems]

    def jump(self, target: str) -> None:
        """End this block by going to another."""
        self.line(f"br label %{target}")

    def branch(self, condition: str, then: str, other: str) -> None:
        """End this block by going to one of two."""
        self.line(f"br i1 {condition}, label %{then}, label %{other}")

    def hole(self) -> int:
        """A place for lines that are not known yet."""
        self._lines.append("")
        return len(self._lines) - 1

    def fill(self, hole: int, phis: Sequence[Phi]) -> None:
        """Put phis where a hole was left."""
        self._lines[hole] = "\n".join(_phi(*phi) for phi in phis)

    def phi(self, type_: str, arms: Sequence[tuple[str, str]]) -> str:
        """The value that comes with the block it comes from."""
        if all(value == arms[0][0] for value, _ in arms):
            return arms[0][0]
        name = self.fresh("phi")
        self._lines.append(_phi(name, type_, arms))
        return name

    def text(self) -> str:
        """The whole body."""
        if not self._scratch:
            return "\n".join(("entry:", *self._stack, *filter(None, self._lines), ""))
        return "\n".join((*self._begin(), "entry:", *filter(None, self._lines), ""))

    def _begin(self) -> Iterator[str]:
        """The block before the entry: the stack, and the scratch buffers or the end of the call."""
        yield from ("begin:", *self._stack)
        for name, size in self._scratch:
            good, bad, null = (f"{name[1:]}.{stem}" for stem in ("good", "bad", "null"))
            yield f"  {name} = call ptr @fw_alloc(ptr %ctx, i64 {size})"
            yield f"  %{null} = icmp eq ptr {name}, null"
            yield f"  br i1 %{null}, label %{bad}, label %{good}"
            report = f"i64 {OUT_OF_MEMORY}, i64 0, i64 0, i64 {size}, i64 0"
            yield f"{bad}:\n  call void @fw_report(ptr %ctx, {report})\n  ret void\n{good}:"
        yield "  br label %entry"


def _phi(name: str, type_: str, arms: Sequence[tuple[str, str]]) -> str:
    listed = ", ".join(f"[ {value}, %{block} ]" for value, block in arms)
    return f"  {name} = phi {type_} {listed}"
