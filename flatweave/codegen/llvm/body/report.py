"""Error reports: one call for uniform code, one for each lane that runs in a `lanes` region.

    report 3 7 i x n     uniform:   call void @fw_report(ptr %ctx, i64 3, i64 7, i64 i, ..)
                         lanes 16:  call void @report_lanes_16(ptr %ctx, .., i16 mask, ..)
                                    a cold function: @fw_report for each lane in the mask
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held, scalar_type
from flatweave.codegen.llvm.text.code import REPORT, Code
from flatweave.codegen.llvm.text.module import Module
from flatweave.kernel_ir.syntax import Report
from flatweave.terms.syntax import Atom, Let


def call_report(e: Emitter, code: int, site: int, index: str, value: str, extent: str) -> None:
    """One report."""
    e.code.declare(REPORT)
    e.code.line(
        f"call void @fw_report(ptr %ctx, i64 {code}, i64 {site}, "
        f"i64 {index}, i64 {value}, i64 {extent})"
    )


def emit_report(e: Emitter, let: Let) -> Sequence[Held]:
    """A report for each lane that runs."""
    op: Report = let.op  # type: ignore[assignment]
    texts = [as_bits(e, atom) for atom in (op.index, op.value, op.extent)]
    if e.width == 1:
        call_report(e, op.code, op.site, *texts)
        return ()
    _define(e.code.module, e.width)
    kind, bits = f"<{e.width} x i64>", f"i{e.width}"
    listed = ", ".join(f"{kind} {text}" for text in texts)
    e.code.line(
        f"call void @report_lanes_{e.width}(ptr %ctx, i64 {op.code}, i64 {op.site}, "
        f"{bits} {e.mask_bits(e.mask)}, {listed})"
    )
    return ()


def as_bits(e: Emitter, atom: Atom) -> str:
    """A value in every lane as an i64: integers extended, floats by their bits."""
    dtype, text = scalar_type(atom.type), e.vector(atom)
    if dtype.is_float:
        text = _converted(e, "bitcast", dtype.llvm, f"i{dtype.bits}", text)
    if dtype.bits == i64.bits:
        return text
    opcode = "sext" if dtype.kind == "i" else "zext"
    return _converted(e, opcode, f"i{dtype.bits}", "i64", text)


def _converted(e: Emitter, opcode: str, source: str, target: str, text: str) -> str:
    if e.width > 1:
        source, target = f"<{e.width} x {source}>", f"<{e.width} x {target}>"
    return e.code.let(f"{opcode} {source} {text} to {target}")


def _define(module: Module, width: int) -> None:
    """The function that reports for each lane of a mask with a lane in it."""
    name, kind, bits = f"@report_lanes_{width}", f"<{width} x i64>", f"i{width}"
    if module.defines(name):
        return
    code = Code(module)
    code.declare(REPORT)
    code.declare(f"{bits} @llvm.cttz.{bits}({bits}, i1)")
    code.jump("turn")
    code.label("turn")
    hole, left = code.hole(), code.fresh("left")
    lane = code.let(f"call {bits} @llvm.cttz.{bits}({bits} {left}, i1 true)")
    texts = [
        f"i64 {code.let(f'extractelement {kind} {x}, {bits} {lane}')}"
        for x in ("%index", "%value", "%extent")
    ]
    code.line(f"call void @fw_report(ptr %ctx, i64 %code, i64 %site, {', '.join(texts)})")
    less = code.let(f"sub {bits} {left}, 1")
    rest = code.let(f"and {bits} {left}, {less}")
    code.fill(hole, [(left, bits, [("%mask", "entry"), (rest, "turn")])])
    code.branch(code.let(f"icmp eq {bits} {rest}, 0"), "done", "turn")
    code.label("done")
    code.line("ret void")
    head = (
        f"define internal void {name}(ptr %ctx, i64 %code, i64 %site, {bits} %mask, "
        f"{kind} %index, {kind} %value, {kind} %extent) cold noinline #0 {{"
    )
    module.define(name, head, code)


HANDLERS: Handlers = {
    Report: emit_report,
}
