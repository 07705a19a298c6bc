; Buffers with reference counts, listed in the context that made them. Part of support.ll.
;
; A buffer is a header of 64 bytes, then the data, whose address is what programs hold:
%Header = type {
  i64,   ; 0 references
  i64,   ; 1 capacity: bytes of data there is room for
  ptr,   ; 2 header before this one in the list of its context
  ptr,   ; 3 header after it
  i64,   ; 4 1 for a mapping of its own (large), 0 for the heap's (small)
  ptr,   ; 5 context whose list this is in, or null once it has escaped
  i64,   ; 6 bytes counted in slot 9 of that context
  i64    ; 7 large: bytes of the mapping that may be resident
}

define ptr @fw_alloc(ptr %ctx, i64 %bytes) {
  %length = alloca i64
  %absurd = icmp ugt i64 %bytes, 70368744177664
  br i1 %absurd, label %fail, label %measure
fail:
  ret ptr null
measure:
  %total = add i64 %bytes, 64
  %large = icmp uge i64 %bytes, 1048576
  br i1 %large, label %from.map, label %from.heap
from.heap:
  %up = add i64 %total, 63
  %rounded = and i64 %up, -64
  %wanted = sub i64 %rounded, 64
  %middling = icmp uge i64 %bytes, 32768
  br i1 %middling, label %from.shelf, label %from.library
from.shelf:
  %shelved = call ptr @take_from_shelf(i64 %wanted)
  %found = icmp ne ptr %shelved, null
  br i1 %found, label %known, label %from.library
known:
  %known.at = getelementptr %Header, ptr %shelved, i64 0, i32 1
  %known.capacity = load i64, ptr %known.at
  br label %fill
from.library:
  %heap = call ptr @heap_new(i64 %rounded)
  %heap.fail = icmp eq ptr %heap, null
  br i1 %heap.fail, label %fail, label %fill
from.map:
  %base = call ptr @map_large(i64 %total, ptr %length)
  %map.fail = icmp eq ptr %base, null
  br i1 %map.fail, label %fail, label %place
place:                                          ; spread starts over a page: see Note [Stagger]
  %clock = load atomic i64, ptr @idle_clock monotonic, align 8
  %tick = add i64 %clock, 1
  store atomic i64 %tick, ptr @idle_clock monotonic, align 8
  %turn = and i64 %tick, 7
  %stagger = mul i64 %turn, 576
  %map = getelementptr i8, ptr %base, i64 %stagger
  %mapped = load i64, ptr %length
  %used = add i64 %stagger, 64
  %map.capacity = sub i64 %mapped, %used
  %resident.at = getelementptr %Header, ptr %map, i64 0, i32 7
  store i64 %mapped, ptr %resident.at
  br label %fill
fill:
  %header = phi ptr [ %shelved, %known ], [ %heap, %from.library ], [ %map, %place ]
  %capacity = phi i64 [ %known.capacity, %known ], [ %wanted, %from.library ],
                      [ %map.capacity, %place ]
  %kind = zext i1 %large to i64
  store i64 1, ptr %header
  %capacity.at = getelementptr %Header, ptr %header, i64 0, i32 1
  store i64 %capacity, ptr %capacity.at
  %kind.at = getelementptr %Header, ptr %header, i64 0, i32 4
  store i64 %kind, ptr %kind.at
  call void @enlist(ptr %ctx, ptr %header, i64 %bytes)
  %data = getelementptr i8, ptr %header, i64 64
  ret ptr %data
}

; A buffer of `count` elements with room to read behind its end; null, and a report, where there is
; no memory for it.
define ptr @fw_new(ptr %ctx, i64 %count, i64 %size, i64 %site, i64 %dtype) {
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %size)
  %bytes = extractvalue { i64, i1 } %product, 0
  %wraps = extractvalue { i64, i1 } %product, 1
  %large = icmp ugt i64 %bytes, 4611686018427387904       ; 2^62
  %absurd = or i1 %wraps, %large
  %padded = add i64 %bytes, 64
  %wanted = select i1 %absurd, i64 -1, i64 %padded
  %data = call ptr @fw_alloc(ptr %ctx, i64 %wanted)
  %refused = icmp eq ptr %data, null
  br i1 %refused, label %report, label %out
report:
  call void @fw_report(ptr %ctx, i64 1, i64 %site, i64 0, i64 %count, i64 %dtype)  ; 1: memory
  br label %out
out:
  ret ptr %data
}

; What counts the owners of memory that the caller of a program gave away: a buffer without room.
; Null where it is not given, or there is no memory left: then the caller keeps it.
define ptr @fw_token(ptr %ctx, i64 %given) {
  %is.given = icmp ne i64 %given, 0
  br i1 %is.given, label %make, label %none
none:
  ret ptr null
make:
  %data = call ptr @fw_alloc(ptr %ctx, i64 0)
  ret ptr %data
}

; Puts a header first in the list of its context and counts its bytes.
define internal void @enlist(ptr %ctx, ptr %header, i64 %bytes) {
  %lock = getelementptr i64, ptr %ctx, i64 16
  call void @lock(ptr %lock)
  %head.at = getelementptr i64, ptr %ctx, i64 6
  %head = load ptr, ptr %head.at
  %prev.at = getelementptr %Header, ptr %header, i64 0, i32 2
  store ptr null, ptr %prev.at
  %next.at = getelementptr %Header, ptr %header, i64 0, i32 3
  store ptr %head, ptr %next.at
  %owner.at = getelementptr %Header, ptr %header, i64 0, i32 5
  store ptr %ctx, ptr %owner.at
  %counted.at = getelementptr %Header, ptr %header, i64 0, i32 6
  store i64 %bytes, ptr %counted.at
  store ptr %header, ptr %head.at
  %live.at = getelementptr i64, ptr %ctx, i64 9
  %live = atomicrmw add ptr %live.at, i64 %bytes monotonic
  %live.new = add i64 %live, %bytes
  %peak.at = getelementptr i64, ptr %ctx, i64 10
  %peak = load i64, ptr %peak.at
  %peak.new = call i64 @llvm.umax.i64(i64 %peak, i64 %live.new)
  store i64 %peak.new, ptr %peak.at
  %empty = icmp eq ptr %head, null
  br i1 %empty, label %done, label %link
link:
  %back = getelementptr %Header, ptr %head, i64 0, i32 2
  store ptr %header, ptr %back
  br label %done
done:
  call void @unlock(ptr %lock)
  ret void
}

; Takes a header out of the list of its context; nothing to do once it has escaped.
define internal void @delist(ptr %ctx, ptr %header) {
  %owner.at = getelementptr %Header, ptr %header, i64 0, i32 5
  %owner = load ptr, ptr %owner.at
  %mine = icmp eq ptr %owner, %ctx
  br i1 %mine, label %unlink, label %out
out:
  ret void
unlink:
  %lock = getelementptr i64, ptr %ctx, i64 16
  call void @lock(ptr %lock)
  store ptr null, ptr %owner.at
  %prev.at = getelementptr %Header, ptr %header, i64 0, i32 2
  %prev = load ptr, ptr %prev.at
  %next.at = getelementptr %Header, ptr %header, i64 0, i32 3
  %next = load ptr, ptr %next.at
  %head.at = getelementptr i64, ptr %ctx, i64 6
  %first = icmp eq ptr %prev, null
  %forward = getelementptr %Header, ptr %prev, i64 0, i32 3
  %from = select i1 %first, ptr %head.at, ptr %forward
  store ptr %next, ptr %from
  %last = icmp eq ptr %next, null
  br i1 %last, label %done, label %relink
relink:
  %back = getelementptr %Header, ptr %next, i64 0, i32 2
  store ptr %prev, ptr %back
  br label %done
done:
  call void @unlock(ptr %lock)
  ret void
}

define internal void @give_back(ptr %header) {
  %kind.at = getelementptr %Header, ptr %header, i64 0, i32 4
  %kind = load i64, ptr %kind.at
  %large = icmp ne i64 %kind, 0
  br i1 %large, label %retire, label %heap
retire:
  call void @retire_large(ptr %header)
  ret void
heap:
  %capacity.at = getelementptr %Header, ptr %header, i64 0, i32 1
  %capacity = load i64, ptr %capacity.at
  %middling = icmp uge i64 %capacity, 32768
  br i1 %middling, label %shelve, label %library
shelve:
  call void @put_on_shelf(ptr %header)
  ret void
library:
  call void @heap_free(ptr %header)
  ret void
}

; Freed buffers of 32 KiB to 1 MiB, kept for reuse: see Note [The shelf].
@shelf = internal global [16 x ptr] zeroinitializer
@shelf_turn = internal global i64 0

; A buffer from the shelf with room for `wanted` bytes and not much more, or null.
define internal ptr @take_from_shelf(i64 %wanted) {
entry:
  %quarter = lshr i64 %wanted, 2
  %most = add i64 %wanted, %quarter
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %at = getelementptr [16 x ptr], ptr @shelf, i64 0, i64 %i
  %seen = load atomic ptr, ptr %at monotonic, align 8
  %bare = icmp eq ptr %seen, null
  br i1 %bare, label %on, label %claim
claim:                                          ; ours alone from here: only then look inside
  %header = atomicrmw xchg ptr %at, ptr null acquire
  %gone = icmp eq ptr %header, null
  br i1 %gone, label %on, label %measure
measure:
  %capacity.at = getelementptr %Header, ptr %header, i64 0, i32 1
  %capacity = load i64, ptr %capacity.at
  %enough = icmp uge i64 %capacity, %wanted
  %close = icmp ule i64 %capacity, %most
  %fits = and i1 %enough, %close
  br i1 %fits, label %take, label %back
take:
  ret ptr %header
back:
  %other = atomicrmw xchg ptr %at, ptr %header release
  call void @heap_free(ptr %other)                   ; put there meanwhile by another thread, or null
  br label %on
on:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 16
  br i1 %more, label %look, label %none
none:
  ret ptr null
}

; Puts a freed buffer into an empty place, or in place of another in turn.
define internal void @put_on_shelf(ptr %header) {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %at = getelementptr [16 x ptr], ptr @shelf, i64 0, i64 %i
  %put = cmpxchg ptr %at, ptr null, ptr %header release monotonic
  %done = extractvalue { ptr, i1 } %put, 1
  br i1 %done, label %out, label %on
on:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 16
  br i1 %more, label %look, label %full
full:
  %turn = atomicrmw add ptr @shelf_turn, i64 1 monotonic
  %victim = and i64 %turn, 15
  %place = getelementptr [16 x ptr], ptr @shelf, i64 0, i64 %victim
  %old = atomicrmw xchg ptr %place, ptr %header acq_rel
  call void @heap_free(ptr %old)
  br label %out
out:
  ret void
}

define void @fw_retain(ptr %data) {
  %none = icmp eq ptr %data, null
  br i1 %none, label %out, label %count
count:
  %header = getelementptr i8, ptr %data, i64 -64
  atomicrmw add ptr %header, i64 1 monotonic
  br label %out
out:
  ret void
}

; Gives up one reference; true when it was the last one.
define internal i1 @unreference(ptr %header) {
  %old = atomicrmw sub ptr %header, i64 1 acq_rel
  %last = icmp eq i64 %old, 1
  ret i1 %last
}

define void @fw_release(ptr %ctx, ptr %data) {
  %none = icmp eq ptr %data, null
  br i1 %none, label %out, label %count
count:
  %header = getelementptr i8, ptr %data, i64 -64
  %last = call i1 @unreference(ptr %header)
  br i1 %last, label %dead, label %out
dead:
  call void @delist(ptr %ctx, ptr %header)
  %counted.at = getelementptr %Header, ptr %header, i64 0, i32 6
  %counted = load i64, ptr %counted.at
  %live.at = getelementptr i64, ptr %ctx, i64 9
  %less = sub i64 0, %counted
  atomicrmw add ptr %live.at, i64 %less monotonic
  call void @give_back(ptr %header)
  br label %out
out:
  ret void
}

define i64 @fw_is_unique(ptr %data) {
  %none = icmp eq ptr %data, null
  br i1 %none, label %no, label %look
no:
  ret i64 0
look:
  %header = getelementptr i8, ptr %data, i64 -64
  %count = load atomic i64, ptr %header acquire, align 8
  %one = icmp eq i64 %count, 1
  %answer = zext i1 %one to i64
  ret i64 %answer
}

; Hands one reference to the caller of the program. See Note [Escaping twice].
define void @fw_escape(ptr %ctx, ptr %data) {
  %none = icmp eq ptr %data, null
  br i1 %none, label %out, label %unlink
unlink:
  %header = getelementptr i8, ptr %data, i64 -64
  call void @delist(ptr %ctx, ptr %header)
  br label %out
out:
  ret void
}

define void @fw_drop(ptr %data) {
  %none = icmp eq ptr %data, null
  br i1 %none, label %out, label %count
count:
  %header = getelementptr i8, ptr %data, i64 -64
  %last = call i1 @unreference(ptr %header)
  br i1 %last, label %dead, label %out
dead:
  call void @give_back(ptr %header)
  br label %out
out:
  ret void
}

; Frees all buffers still in the list, whatever their references: after an error.
define void @fw_cleanup(ptr %ctx) {
  %head.at = getelementptr i64, ptr %ctx, i64 6
  br label %again
again:
  %header = load ptr, ptr %head.at
  %empty = icmp eq ptr %header, null
  br i1 %empty, label %done, label %drop
drop:
  %next.at = getelementptr %Header, ptr %header, i64 0, i32 3
  %next = load ptr, ptr %next.at
  store ptr %next, ptr %head.at
  call void @give_back(ptr %header)
  br label %again
done:
  %live.at = getelementptr i64, ptr %ctx, i64 9
  store i64 0, ptr %live.at
  ret void
}

; Gives the pages past the first `used` bytes back to the system; the capacity stays.
define void @fw_trim(ptr %data, i64 %used) {
  %none = icmp eq ptr %data, null
  br i1 %none, label %out, label %look
look:
  %header = getelementptr i8, ptr %data, i64 -64
  %kind.at = getelementptr %Header, ptr %header, i64 0, i32 4
  %kind = load i64, ptr %kind.at
  %large = icmp ne i64 %kind, 0
  br i1 %large, label %measure, label %out
measure:
  %at = ptrtoint ptr %header to i64
  %base = and i64 %at, -2097152
  %data.int = ptrtoint ptr %data to i64
  %capacity.at = getelementptr %Header, ptr %header, i64 0, i32 1
  %capacity = load i64, ptr %capacity.at
  %end = add i64 %data.int, %capacity
  %used.end = add i64 %data.int, %used
  %up = add i64 %used.end, 65535
  %cut = and i64 %up, -65536
  %some = icmp ult i64 %cut, %end
  br i1 %some, label %advise, label %out
advise:
  %cut.ptr = inttoptr i64 %cut to ptr
  %tail = sub i64 %end, %cut
  %dropped = call i1 @drop_pages(ptr %cut.ptr, i64 %tail)
  br i1 %dropped, label %note, label %out
note:
  %resident = sub i64 %cut, %base
  %resident.at = getelementptr %Header, ptr %header, i64 0, i32 7
  store i64 %resident, ptr %resident.at
  br label %out
out:
  ret void
}

; Note [Escaping twice]
; A program owns one reference for each fw_alloc or fw_retain, and each fw_escape hands one of them
; over. Two results in one buffer: fw_retain it once, fw_escape it twice, Python fw_drops it twice.
; The first fw_escape takes it out of the list of the context; references the program still holds
; are released as always. Escape only when nothing can fail any more: fw_cleanup no longer sees it.

; Note [Stagger]
; Mappings start at multiples of 2 MiB. Were all data to start at the same place in them, streams
; over several arrays would meet in the same few cache sets and their loads and stores would look
; dependent in the low 12 bits, so starts are spread over a page, in units of whole cache lines.

; Note [The shelf]
; The C library gives a freed buffer of this size straight back to the system, and the page faults of
; the next one cost several times what a sweep over it does. At most 16 MiB lie on the shelf. A
; place is claimed by exchange before its buffer is looked at, so no lock is held, not over a fork
; either.
