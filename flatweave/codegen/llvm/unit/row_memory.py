"""Buffers of a thread that runs rows: a few instructions each, since nobody else sees them.

    header        as of all buffers (runtime/buffers.ll): references, class, next free one, kind 2
    %ctx          slots 32 to 63: the free buffers of each class, 2^class bytes with their header
                  slot 64: where fresh memory begins; slot 65: where it ends

They stand where they are called: classes of arrays whose lengths stay are found once for a loop.

A buffer of more than 64 KiB is one of the whole program's kind. Fresh memory comes in chunks that
belong to the thread's context, which frees them when its block of rows ends.
"""

from __future__ import annotations

from flatweave.codegen.llvm.text.module import Module

SLOTS = 66
"""Slots of the context of such a thread."""
LARGEST_CLASS = 16

NEW = """\
define internal noalias ptr @row_new(ptr %ctx, i64 %count, i64 %size, i64 %site, i64 %dtype)
    #0 alwaysinline {
entry:
  %absurd = icmp ugt i64 %count, 65536
  %product = mul i64 %count, %size
  %total = add i64 %product, 127                                ; a header, room to read behind
  %zeros = call i64 @llvm.ctlz.i64(i64 %total, i1 true)
  %class = sub i64 64, %zeros
  %large = icmp ugt i64 %class, LARGEST_CLASS
  %slow = or i1 %absurd, %large
  br i1 %slow, label %program, label %look
program:
  %listed = call ptr @fw_new(ptr %ctx, i64 %count, i64 %size, i64 %site, i64 %dtype)
  ret ptr %listed
look:
  %slot = add i64 %class, 32
  %free.at = getelementptr i64, ptr %ctx, i64 %slot
  %free = load ptr, ptr %free.at
  %none = icmp eq ptr %free, null
  br i1 %none, label %bump, label %pop
pop:
  %next.at = getelementptr i64, ptr %free, i64 2
  %next = load ptr, ptr %next.at
  store ptr %next, ptr %free.at
  br label %fill
bump:
  %fresh.at = getelementptr i64, ptr %ctx, i64 64
  %end.at = getelementptr i64, ptr %ctx, i64 65
  %fresh = load i64, ptr %fresh.at
  %end = load i64, ptr %end.at
  %bytes = shl i64 1, %class
  %after = add i64 %fresh, %bytes
  %fits = icmp ule i64 %after, %end
  br i1 %fits, label %take, label %grow
take:
  store i64 %after, ptr %fresh.at
  %taken = inttoptr i64 %fresh to ptr
  br label %fill
grow:
  %grown = call ptr @fw_row_grow(ptr %ctx, i64 %bytes, i64 %site, i64 %count, i64 %dtype)
  %refused = icmp eq ptr %grown, null
  br i1 %refused, label %out, label %fill
out:
  ret ptr null
fill:
  %header = phi ptr [ %free, %pop ], [ %taken, %take ], [ %grown, %grow ]
  store i64 1, ptr %header
  %class.at = getelementptr i64, ptr %header, i64 1
  store i64 %class, ptr %class.at
  %kind.at = getelementptr i64, ptr %header, i64 4
  store i64 2, ptr %kind.at
  %data = getelementptr i8, ptr %header, i64 64
  ret ptr %data
}
""".replace("LARGEST_CLASS", str(LARGEST_CLASS))

RELEASE = """\
define internal void @row_release(ptr %ctx, ptr %data) #0 alwaysinline {
entry:
  %nobody = icmp eq ptr %data, null
  br i1 %nobody, label %out, label %count
out:
  ret void
count:
  %header = getelementptr i8, ptr %data, i64 -64
  %owners = load i64, ptr %header
  %last = icmp eq i64 %owners, 1
  br i1 %last, label %dead, label %less
less:
  %left = sub i64 %owners, 1
  store i64 %left, ptr %header
  ret void
dead:
  %kind.at = getelementptr i64, ptr %header, i64 4
  %kind = load i64, ptr %kind.at
  %own = icmp eq i64 %kind, 2
  br i1 %own, label %push, label %program
program:
  call void @fw_release(ptr %ctx, ptr %data)
  ret void
push:
  %class.at = getelementptr i64, ptr %header, i64 1
  %class = load i64, ptr %class.at
  %slot = add i64 %class, 32
  %free.at = getelementptr i64, ptr %ctx, i64 %slot
  %free = load ptr, ptr %free.at
  %next.at = getelementptr i64, ptr %header, i64 2
  store ptr %free, ptr %next.at
  store ptr %header, ptr %free.at
  ret void
}
"""

RETAIN = """\
define internal void @row_retain(ptr %data) #0 alwaysinline {
entry:
  %nobody = icmp eq ptr %data, null
  br i1 %nobody, label %out, label %count
out:
  ret void
count:
  %header = getelementptr i8, ptr %data, i64 -64
  %owners = load i64, ptr %header
  %more = add i64 %owners, 1
  store i64 %more, ptr %header
  ret void
}
"""

IS_UNIQUE = """\
define internal i64 @row_is_unique(ptr %data) #0 alwaysinline {
entry:
  %nobody = icmp eq ptr %data, null
  br i1 %nobody, label %no, label %count
no:
  ret i64 0
count:
  %header = getelementptr i8, ptr %data, i64 -64
  %owners = load i64, ptr %header
  %one = icmp eq i64 %owners, 1
  %answer = zext i1 %one to i64
  ret i64 %answer
}
"""

PREFIX = "@row_"
FUNCTIONS = {"new": NEW, "release": RELEASE, "retain": RETAIN, "is_unique": IS_UNIQUE}


def define_row_memory(module: Module) -> None:
    """Write the functions into a module."""
    if module.defines(f"{PREFIX}new"):
        return
    module.declare("noalias ptr @fw_new(ptr, i64, i64, i64, i64) nounwind")
    module.declare("void @fw_release(ptr, ptr nocapture) nounwind")
    module.declare("ptr @fw_row_grow(ptr, i64, i64, i64, i64) nounwind")
    module.declare("i64 @llvm.ctlz.i64(i64, i1)")
    for name, text in FUNCTIONS.items():
        module.define_text(f"{PREFIX}{name}", text)
