; The part of the CPU runtime that compiled programs call: buffers, the launch, error reports.
;
; Platform facts are written $${LIKE_THIS} and filled in by runtime/native.py, nowhere else.
; Locals that change are allocas: the pipeline turns them into registers.
;
; A context is 32 i64 slots, made by runtime/execute.py, one per call of a program:
;    0 error code    1 error site    2 error index    3 error value    4 error extent   5 error lock
;    6 first live buffer             7 threads to use 8 cancel flag    9 bytes live    10 peak bytes
;   11 the thread that may run Python's signal handlers, or 0         12 when it last did (ns)
;   13 14 15 the Python exception a signal handler raised (type, value, traceback)
;   16 lock of the list of buffers
;
; A buffer is a header of 64 bytes, then the data, whose address is what programs hold:
%Header = type {
  i64,   ; 0 references
  i64,   ; 1 capacity: bytes of data there is room for
  ptr,   ; 2 header before this one in the list of its context
  ptr,   ; 3 header after it
  i64,   ; 4 1 for a mapping of its own (large), 0 for aligned_alloc (small)
  ptr,   ; 5 context whose list this is in, or null once it has escaped
  i64,   ; 6 bytes counted in slot 9 of that context
  i64    ; 7 large: bytes of the mapping that may be resident
}

; A mapping nobody uses, kept because fresh pages cost more than a scan.
%Idle = type { i64, i64, i64, i64 }   ; address, length, resident bytes, when it was freed

@idle = internal global [64 x %Idle] zeroinitializer
@idle_lock = internal global i64 0
@idle_clock = internal global i64 0
@fw_idle_bytes = global i64 0               ; sum of the resident bytes of @idle
@fw_idle_limit = global i64 67108864        ; most bytes @idle may hold at any time
@fw_memory_limit = global i64 1099511627776 ; a larger request is refused; set by buffers.py

; The pool. The gate: bits 0-15 workers inside, 16-31 workers allowed, 32 open, 33-63 epoch.
@gate = internal global i64 0, align 128
@next_block = internal global i64 0, align 128
@job = internal global { ptr, ptr, ptr, i64 } zeroinitializer, align 128  ; ctx kernel args nblocks
@busy = internal global i64 0, align 128
@sleepers = internal global i64 0, align 128
@wake_word = internal global i32 0, align 128
@joiner = internal global i32 0, align 128
@stopping = internal global i64 0
@fw_workers = global i64 0                  ; worker loops alive
@fw_spin_ns = global i64 20000              ; how long a worker looks for work before it parks

declare noalias ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)
declare i64 @pthread_self()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
${PAUSE_DECLARATION}

; ---------------------------------------------------------------- time, waiting, locks

define internal i64 @now(i32 %clock) {
  %spec = alloca [2 x i64]
  call i32 @clock_gettime(i32 %clock, ptr %spec)
  %seconds = load i64, ptr %spec
  %rest.at = getelementptr i64, ptr %spec, i64 1
  %rest = load i64, ptr %rest.at
  %scaled = mul i64 %seconds, 1000000000
  %ns = add i64 %scaled, %rest
  ret i64 %ns
}

; Sleeps while *word is `expected`, at most `ns` (0: without limit). May return early.
define internal void @park(ptr %word, i32 %expected, i64 %ns) {
  %spec = alloca [2 x i64]
  store i64 0, ptr %spec
  %rest.at = getelementptr i64, ptr %spec, i64 1
  store i64 %ns, ptr %rest.at
  %forever = icmp eq i64 %ns, 0
  %limit = select i1 %forever, ptr null, ptr %spec
  %value = zext i32 %expected to i64
  call i64 (i64, ...) @syscall(i64 ${SYS_FUTEX}, ptr %word, i64 ${FUTEX_WAIT}, i64 %value,
                               ptr %limit, ptr null, i64 0)
  ret void
}

define internal void @unpark(ptr %word, i64 %count) {
  call i64 (i64, ...) @syscall(i64 ${SYS_FUTEX}, ptr %word, i64 ${FUTEX_WAKE}, i64 %count,
                               ptr null, ptr null, i64 0)
  ret void
}

; One turn of waiting for another thread, which may not be running: give way before long.
define void @fw_backoff(i64 %attempt) {
  %soon = icmp ult i64 %attempt, 200
  br i1 %soon, label %pause, label %yield
pause:
  ${PAUSE}
  ret void
yield:
  call i32 @sched_yield()
  ret void
}

define internal void @lock(ptr %word) {
entry:
  br label %try
try:
  %attempt = phi i64 [ 0, %entry ], [ %again, %wait ]
  %took = cmpxchg ptr %word, i64 0, i64 1 acquire monotonic
  %won = extractvalue { i64, i1 } %took, 1
  br i1 %won, label %done, label %wait
wait:
  call void @fw_backoff(i64 %attempt)
  %again = add i64 %attempt, 1
  br label %try
done:
  ret void
}

define internal void @unlock(ptr %word) {
  store atomic i64 0, ptr %word release, align 8
  ret void
}

; ---------------------------------------------------------------- large buffers

; Takes entry `i` out of @idle (the lock is held).
define internal void @forget_idle(i64 %i) {
  %entry = getelementptr [64 x %Idle], ptr @idle, i64 0, i64 %i
  %resident.at = getelementptr %Idle, ptr %entry, i64 0, i32 2
  %resident = load i64, ptr %resident.at
  %sum = load i64, ptr @fw_idle_bytes
  %less = sub i64 %sum, %resident
  store i64 %less, ptr @fw_idle_bytes
  store %Idle zeroinitializer, ptr %entry
  ret void
}

; The entry freed longest ago, or -1 (the lock is held).
define internal i64 @oldest_idle() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %best = phi i64 [ -1, %entry ], [ %best.next, %loop ]
  %stamp.best = phi i64 [ -1, %entry ], [ %stamp.next, %loop ]
  %entry.at = getelementptr [64 x %Idle], ptr @idle, i64 0, i64 %i
  %address = load i64, ptr %entry.at
  %stamp.at = getelementptr %Idle, ptr %entry.at, i64 0, i32 3
  %stamp = load i64, ptr %stamp.at
  %used = icmp ne i64 %address, 0
  %older = icmp ult i64 %stamp, %stamp.best
  %better = and i1 %used, %older
  %best.next = select i1 %better, i64 %i, i64 %best
  %stamp.next = select i1 %better, i64 %stamp, i64 %stamp.best
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 64
  br i1 %more, label %loop, label %done
done:
  ret i64 %best.next
}

; Unmaps idle buffers, oldest first, until they hold at most `limit` bytes.
define void @fw_shrink_idle(i64 %limit) {
  br label %again
again:
  call void @lock(ptr @idle_lock)
  %sum = load i64, ptr @fw_idle_bytes
  %above = icmp ugt i64 %sum, %limit
  br i1 %above, label %choose, label %stop
choose:
  %i = call i64 @oldest_idle()
  %none = icmp slt i64 %i, 0
  br i1 %none, label %stop, label %unmap
unmap:
  %entry = getelementptr [64 x %Idle], ptr @idle, i64 0, i64 %i
  %base = load ptr, ptr %entry
  %length.at = getelementptr %Idle, ptr %entry, i64 0, i32 1
  %length = load i64, ptr %length.at
  call void @forget_idle(i64 %i)
  call void @unlock(ptr @idle_lock)
  call i32 @munmap(ptr %base, i64 %length)       ; slow, so outside the lock
  br label %again
stop:
  call void @unlock(ptr @idle_lock)
  ret void
}

; The idle buffer of least length that fits `need` without much waste, or -1 (the lock is held).
define internal i64 @best_idle(i64 %need) {
entry:
  %quarter = lshr i64 %need, 2
  %slack = call i64 @llvm.umin.i64(i64 %quarter, i64 16777216)
  %most = add i64 %need, %slack
  %most.plus = add i64 %most, 1
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %best = phi i64 [ -1, %entry ], [ %best.next, %loop ]
  %length.best = phi i64 [ %most.plus, %entry ], [ %length.next, %loop ]
  %entry.at = getelementptr [64 x %Idle], ptr @idle, i64 0, i64 %i
  %length.at = getelementptr %Idle, ptr %entry.at, i64 0, i32 1
  %length = load i64, ptr %length.at
  %enough = icmp uge i64 %length, %need
  %smaller = icmp ult i64 %length, %length.best
  %better = and i1 %enough, %smaller
  %best.next = select i1 %better, i64 %i, i64 %best
  %length.next = select i1 %better, i64 %length, i64 %length.best
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 64
  br i1 %more, label %loop, label %done
done:
  ret i64 %best.next
}

; Fresh zero pages, 2 MiB aligned so that the kernel can use huge ones; null when there are none.
define internal ptr @map_fresh(i64 %length) {
  %padded = add i64 %length, 2097152
  %raw = call ptr @mmap(ptr null, i64 %padded, i32 ${PROT_READ_WRITE}, i32 ${MAP_FLAGS}, i32 -1, i64 0)
  %raw.int = ptrtoint ptr %raw to i64
  %failed = icmp eq i64 %raw.int, -1
  br i1 %failed, label %none, label %mapped
none:
  ret ptr null
mapped:
  %up = add i64 %raw.int, 2097151
  %base.int = and i64 %up, -2097152
  %base = inttoptr i64 %base.int to ptr
  %front = sub i64 %base.int, %raw.int
  %back = sub i64 2097152, %front
  %cut.front = icmp ne i64 %front, 0
  br i1 %cut.front, label %front.cut, label %back.test
front.cut:
  call i32 @munmap(ptr %raw, i64 %front)
  br label %back.test
back.test:
  %cut.back = icmp ne i64 %back, 0
  br i1 %cut.back, label %back.cut, label %advise
back.cut:
  %end = getelementptr i8, ptr %base, i64 %length
  call i32 @munmap(ptr %end, i64 %back)
  br label %advise
advise:
  call i32 @madvise(ptr %base, i64 %length, i32 ${MADV_HUGEPAGE})
  ret ptr %base
}

; A mapping for `total` bytes: an idle one that fits, or a fresh one. Its length is stored in
; *length. See Note [Idle memory].
define internal ptr @map_large(i64 %total, ptr %length.out) {
  %padded = add i64 %total, 69631              ; a page of stagger, then whole 64 KiB units
  %need = and i64 %padded, -65536
  %limit = load i64, ptr @fw_memory_limit
  %absurd = icmp ugt i64 %need, %limit
  br i1 %absurd, label %refuse, label %search
refuse:
  ret ptr null
search:
  call void @lock(ptr @idle_lock)
  %i = call i64 @best_idle(i64 %need)
  %none = icmp slt i64 %i, 0
  br i1 %none, label %miss, label %hit
hit:
  %entry = getelementptr [64 x %Idle], ptr @idle, i64 0, i64 %i
  %base = load ptr, ptr %entry
  %length.at = getelementptr %Idle, ptr %entry, i64 0, i32 1
  %length = load i64, ptr %length.at
  %resident.at = getelementptr %Idle, ptr %entry, i64 0, i32 2
  %resident = load i64, ptr %resident.at
  call void @forget_idle(i64 %i)
  call void @unlock(ptr @idle_lock)
  store i64 %length, ptr %length.out
  %grows = icmp ult i64 %resident, %need
  br i1 %grows, label %shrink, label %found
shrink:
  call void @fw_shrink_idle(i64 67108864)
  br label %found
found:
  ret ptr %base
miss:
  call void @unlock(ptr @idle_lock)
  call void @fw_shrink_idle(i64 67108864)
  store i64 %need, ptr %length.out
  %fresh = call ptr @map_fresh(i64 %need)
  %got = icmp ne ptr %fresh, null
  br i1 %got, label %have, label %retry
have:
  ret ptr %fresh
retry:
  call void @fw_shrink_idle(i64 0)
  %last = call ptr @map_fresh(i64 %need)
  ret ptr %last
}

; Puts a large buffer aside for reuse.
define internal void @retire_large(ptr %header) {
  %at = ptrtoint ptr %header to i64
  %base = and i64 %at, -2097152
  %stagger = sub i64 %at, %base
  %capacity.at = getelementptr %Header, ptr %header, i64 0, i32 1
  %capacity = load i64, ptr %capacity.at
  %before = add i64 %stagger, 64
  %length = add i64 %capacity, %before
  %resident.at = getelementptr %Header, ptr %header, i64 0, i32 7
  %resident = load i64, ptr %resident.at
  br label %search
search:
  call void @lock(ptr @idle_lock)
  br label %scan
scan:
  %i = phi i64 [ 0, %search ], [ %i.next, %next ]
  %entry = getelementptr [64 x %Idle], ptr @idle, i64 0, i64 %i
  %address = load i64, ptr %entry
  %free = icmp eq i64 %address, 0
  br i1 %free, label %insert, label %next
next:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 64
  br i1 %more, label %scan, label %full
full:
  %sum.full = load i64, ptr @fw_idle_bytes
  call void @unlock(ptr @idle_lock)
  %less = sub i64 %sum.full, 1                  ; the oldest one goes
  call void @fw_shrink_idle(i64 %less)
  br label %search
insert:
  %clock = load i64, ptr @idle_clock
  %tick = add i64 %clock, 1
  store i64 %tick, ptr @idle_clock
  store i64 %base, ptr %entry
  %length.to = getelementptr %Idle, ptr %entry, i64 0, i32 1
  store i64 %length, ptr %length.to
  %resident.to = getelementptr %Idle, ptr %entry, i64 0, i32 2
  store i64 %resident, ptr %resident.to
  %stamp.to = getelementptr %Idle, ptr %entry, i64 0, i32 3
  store i64 %tick, ptr %stamp.to
  %sum = load i64, ptr @fw_idle_bytes
  %sum.new = add i64 %sum, %resident
  store i64 %sum.new, ptr @fw_idle_bytes
  %limit = load i64, ptr @fw_idle_limit
  call void @unlock(ptr @idle_lock)
  call void @fw_shrink_idle(i64 %limit)
  ret void
}

; Held across a fork, so that the child finds @idle whole.
define void @fw_lock_idle() {
  call void @lock(ptr @idle_lock)
  ret void
}

define void @fw_unlock_idle() {
  call void @unlock(ptr @idle_lock)
  ret void
}

; ---------------------------------------------------------------- buffers

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
  %heap = call ptr @aligned_alloc(i64 64, i64 %rounded)
  %heap.fail = icmp eq ptr %heap, null
  %heap.capacity = sub i64 %rounded, 64
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
  %header = phi ptr [ %heap, %from.heap ], [ %map, %place ]
  %capacity = phi i64 [ %heap.capacity, %from.heap ], [ %map.capacity, %place ]
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
  %live = load i64, ptr %live.at
  %live.new = add i64 %live, %bytes
  store i64 %live.new, ptr %live.at
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
  call void @free(ptr %header)
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
  call i32 @madvise(ptr %cut.ptr, i64 %tail, i32 ${MADV_DONTNEED})
  %resident = sub i64 %cut, %base
  %resident.at = getelementptr %Header, ptr %header, i64 0, i32 7
  store i64 %resident, ptr %resident.at
  br label %out
out:
  ret void
}

; ---------------------------------------------------------------- errors and signals

; Keeps the report of the least element, then of the least site.
define void @fw_report(ptr %ctx, i64 %code, i64 %site, i64 %index, i64 %value, i64 %extent) {
  %lock = getelementptr i64, ptr %ctx, i64 5
  call void @lock(ptr %lock)
  %site.at = getelementptr i64, ptr %ctx, i64 1
  %index.at = getelementptr i64, ptr %ctx, i64 2
  %code.old = load atomic i64, ptr %ctx monotonic, align 8
  %site.old = load i64, ptr %site.at
  %index.old = load i64, ptr %index.at
  %first = icmp eq i64 %code.old, 0
  %before = icmp slt i64 %index, %index.old
  %same = icmp eq i64 %index, %index.old
  %site.less = icmp slt i64 %site, %site.old
  %tie = and i1 %same, %site.less
  %less = or i1 %before, %tie
  %keep = or i1 %first, %less
  br i1 %keep, label %write, label %done
write:
  %value.at = getelementptr i64, ptr %ctx, i64 3
  %extent.at = getelementptr i64, ptr %ctx, i64 4
  store i64 %site, ptr %site.at
  store i64 %index, ptr %index.at
  store i64 %value, ptr %value.at
  store i64 %extent, ptr %extent.at
  store atomic i64 %code, ptr %ctx release, align 8
  br label %done
done:
  call void @unlock(ptr %lock)
  ret void
}

; The cancel flag; every 50 ms the thread that may do so runs Python's signal handlers first.
define i64 @fw_poll(ptr %ctx) {
  %cancel.at = getelementptr i64, ptr %ctx, i64 8
  %cancel = load atomic i64, ptr %cancel.at monotonic, align 8
  %ident.at = getelementptr i64, ptr %ctx, i64 11
  %ident = load i64, ptr %ident.at
  %nobody = icmp eq i64 %ident, 0
  %set = icmp ne i64 %cancel, 0
  %skip = or i1 %nobody, %set
  br i1 %skip, label %out, label %who
who:
  %self = call i64 @pthread_self()
  %mine = icmp eq i64 %self, %ident
  br i1 %mine, label %clock, label %out
clock:
  %now = call i64 @now(i32 ${CLOCK_COARSE})
  %last.at = getelementptr i64, ptr %ctx, i64 12
  %last = load i64, ptr %last.at
  %passed = sub i64 %now, %last
  %due = icmp ugt i64 %passed, 50000000
  br i1 %due, label %signals, label %out
signals:
  store i64 %now, ptr %last.at
  %state = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %fine = icmp eq i32 %raised, 0
  br i1 %fine, label %leave, label %keep
keep:
  %type.at = getelementptr i64, ptr %ctx, i64 13
  %value.at = getelementptr i64, ptr %ctx, i64 14
  %trace.at = getelementptr i64, ptr %ctx, i64 15
  call void @PyErr_Fetch(ptr %type.at, ptr %value.at, ptr %trace.at)
  store atomic i64 1, ptr %cancel.at release, align 8
  br label %leave
leave:
  call void @PyGILState_Release(i32 %state)
  %after = load atomic i64, ptr %cancel.at monotonic, align 8
  ret i64 %after
out:
  ret i64 %cancel
}

; ---------------------------------------------------------------- the launch

; Whether blocks should no longer be claimed.
define internal i1 @is_stopped(ptr %ctx) {
  %code = load atomic i64, ptr %ctx monotonic, align 8
  %cancel.at = getelementptr i64, ptr %ctx, i64 8
  %cancel = load atomic i64, ptr %cancel.at monotonic, align 8
  %either = or i64 %code, %cancel
  %stopped = icmp ne i64 %either, 0
  ret i1 %stopped
}

define internal void @run_serially(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks) {
entry:
  br label %next
next:
  %block = phi i64 [ 0, %entry ], [ %block.next, %turn ]
  %more = icmp slt i64 %block, %nblocks
  br i1 %more, label %check, label %done
check:
  %stopped = call i1 @is_stopped(ptr %ctx)
  br i1 %stopped, label %done, label %turn
turn:
  call void %kernel(ptr %ctx, ptr %args, i64 %block)
  %block.next = add i64 %block, 1
  call i64 @fw_poll(ptr %ctx)
  br label %next
done:
  ret void
}

; Claims blocks of the job in order until there are none.
define internal void @work(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks) {
  br label %check
check:
  %stopped = call i1 @is_stopped(ptr %ctx)
  br i1 %stopped, label %done, label %claim
claim:
  %block = atomicrmw add ptr @next_block, i64 1 monotonic
  %more = icmp slt i64 %block, %nblocks
  br i1 %more, label %turn, label %done
turn:
  call void %kernel(ptr %ctx, ptr %args, i64 %block)
  call i64 @fw_poll(ptr %ctx)
  br label %check
done:
  ret void
}

define void @fw_launch(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks) {
  %single = icmp eq i64 %nblocks, 1
  br i1 %single, label %direct, label %plan
direct:                                         ; as every launch: not after an error
  %stopped = call i1 @is_stopped(ptr %ctx)
  br i1 %stopped, label %out, label %call
call:
  call void %kernel(ptr %ctx, ptr %args, i64 0)
  br label %out
plan:
  %threads.at = getelementptr i64, ptr %ctx, i64 7
  %threads = load i64, ptr %threads.at
  %least = call i64 @llvm.smin.i64(i64 %threads, i64 %nblocks)
  %helpers.wanted = sub i64 %least, 1
  %workers = load atomic i64, ptr @fw_workers monotonic, align 8
  %helpers.some = call i64 @llvm.smin.i64(i64 %helpers.wanted, i64 %workers)
  %helpers = call i64 @llvm.smin.i64(i64 %helpers.some, i64 32767)
  %alone = icmp slt i64 %helpers, 1
  br i1 %alone, label %serial, label %take
take:                                           ; in use: nested, or another Python thread's
  %took = cmpxchg ptr @busy, i64 0, i64 1 acquire monotonic
  %won = extractvalue { i64, i1 } %took, 1
  br i1 %won, label %shared, label %serial
serial:
  call void @run_serially(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks)
  br label %out
shared:
  call void @open_gate(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks, i64 %helpers)
  call void @work(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks)
  call void @close_gate(ptr %ctx)
  store atomic i64 0, ptr @busy release, align 8
  br label %out
out:
  ret void
}

; Publishes the job and wakes as many sleepers as may help.
define internal void @open_gate(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks, i64 %helpers) {
  store ptr %ctx, ptr @job
  %kernel.at = getelementptr i64, ptr @job, i64 1
  store ptr %kernel, ptr %kernel.at
  %args.at = getelementptr i64, ptr @job, i64 2
  store ptr %args, ptr %args.at
  %nblocks.at = getelementptr i64, ptr @job, i64 3
  store i64 %nblocks, ptr %nblocks.at
  store atomic i64 0, ptr @next_block monotonic, align 8
  %old = load atomic i64, ptr @gate monotonic, align 8
  %epoch = lshr i64 %old, 33
  %epoch.next = add i64 %epoch, 1
  %epoch.bits = shl i64 %epoch.next, 33
  %allowed = shl i64 %helpers, 16
  %opened = or i64 %epoch.bits, 4294967296
  %new = or i64 %opened, %allowed
  store atomic i64 %new, ptr @gate seq_cst, align 8
  %asleep = load atomic i64, ptr @sleepers seq_cst, align 8
  %count = call i64 @llvm.smin.i64(i64 %asleep, i64 %helpers)
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %wake, label %done
wake:
  atomicrmw add ptr @wake_word, i32 1 seq_cst
  call void @unpark(ptr @wake_word, i64 %count)
  br label %done
done:
  ret void
}

; Lets no more workers in and waits until those inside have left.
define internal void @close_gate(ptr %ctx) {
entry:
  %old = atomicrmw and ptr @gate, i64 -4294967297 seq_cst
  br label %spin
spin:
  %attempt = phi i64 [ 0, %entry ], [ %attempt.next, %spin.wait ]
  %now = load atomic i64, ptr @gate seq_cst, align 8
  %inside = and i64 %now, 65535
  %gone = icmp eq i64 %inside, 0
  br i1 %gone, label %done, label %spin.more
spin.more:
  %patient = icmp ult i64 %attempt, 260         ; about 200 pauses, then 60 yields
  br i1 %patient, label %spin.wait, label %sleep
spin.wait:
  call void @fw_backoff(i64 %attempt)
  %attempt.next = add i64 %attempt, 1
  br label %spin
sleep:
  store atomic i32 1, ptr @joiner seq_cst, align 4
  %again = load atomic i64, ptr @gate seq_cst, align 8
  %inside.again = and i64 %again, 65535
  %gone.again = icmp eq i64 %inside.again, 0
  br i1 %gone.again, label %awake, label %sleep.wait
sleep.wait:                                     ; the low half of the gate is the futex
  %low = trunc i64 %again to i32
  call void @park(ptr @gate, i32 %low, i64 50000000)
  call i64 @fw_poll(ptr %ctx)
  br label %sleep
awake:
  store atomic i32 0, ptr @joiner monotonic, align 4
  br label %done
done:
  ret void
}

; Tries to enter the gate as it was seen: the job must be open and have room.
define internal i1 @enter(i64 %seen) {
  %open.bit = and i64 %seen, 4294967296
  %open = icmp ne i64 %open.bit, 0
  %inside = and i64 %seen, 65535
  %shifted = lshr i64 %seen, 16
  %allowed = and i64 %shifted, 65535
  %room = icmp ult i64 %inside, %allowed
  %may = and i1 %open, %room
  br i1 %may, label %try, label %no
no:
  ret i1 false
try:
  %more = add i64 %seen, 1
  %took = cmpxchg ptr @gate, i64 %seen, i64 %more acq_rel monotonic
  %won = extractvalue { i64, i1 } %took, 1
  ret i1 %won
}

; Leaves the gate; the last one out wakes the caller if it sleeps.
define internal void @leave() {
  %old = atomicrmw sub ptr @gate, i64 1 seq_cst
  %asleep = load atomic i32, ptr @joiner seq_cst, align 4
  %none = icmp eq i32 %asleep, 0
  br i1 %none, label %out, label %wake
wake:
  call void @unpark(ptr @gate, i64 1)
  br label %out
out:
  ret void
}

; Sleeps until a job newer than `epoch` is published.
define internal void @doze(i64 %epoch) {
  %word = load atomic i32, ptr @wake_word seq_cst, align 4
  atomicrmw add ptr @sleepers, i64 1 seq_cst
  %gate = load atomic i64, ptr @gate seq_cst, align 8     ; after @sleepers: see @open_gate
  %now = lshr i64 %gate, 33
  %open.bit = and i64 %gate, 4294967296
  %open = icmp ne i64 %open.bit, 0
  %other = icmp ne i64 %now, %epoch
  %work = and i1 %open, %other
  %stop = load atomic i64, ptr @stopping seq_cst, align 8
  %stopped = icmp ne i64 %stop, 0
  %stay = or i1 %work, %stopped
  br i1 %stay, label %out, label %sleep
sleep:
  call void @park(ptr @wake_word, i32 %word, i64 0)
  br label %out
out:
  atomicrmw sub ptr @sleepers, i64 1 seq_cst
  ret void
}

; Runs the published job if there is a new one with room; the epoch helped with last.
define internal i64 @help(i64 %last) {
  %seen = load atomic i64, ptr @gate seq_cst, align 8
  %epoch = lshr i64 %seen, 33
  %fresh = icmp ne i64 %epoch, %last
  br i1 %fresh, label %try, label %no
try:
  %in = call i1 @enter(i64 %seen)
  br i1 %in, label %inside, label %no
no:
  ret i64 %last
inside:
  %ctx = load ptr, ptr @job
  %kernel.at = getelementptr i64, ptr @job, i64 1
  %kernel = load ptr, ptr %kernel.at
  %args.at = getelementptr i64, ptr @job, i64 2
  %args = load ptr, ptr %args.at
  %nblocks.at = getelementptr i64, ptr @job, i64 3
  %nblocks = load i64, ptr %nblocks.at
  call void @work(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks)
  call void @leave()
  ret i64 %epoch
}

; What a worker thread runs until fw_stop_workers: look for a job, help, look again, park.
define void @fw_worker() {
entry:
  atomicrmw add ptr @fw_workers, i64 1 seq_cst
  br label %idle
idle:
  %last = phi i64 [ 0, %entry ], [ %last.new, %look ], [ %last.new, %sleep ]
  %since = call i64 @now(i32 ${CLOCK_PRECISE})
  br label %look.first
look.first:
  br label %look
look:
  %last.seen = phi i64 [ %last, %look.first ], [ %last.new, %clock ], [ %last.new, %spin ]
  %turn = phi i64 [ 0, %look.first ], [ %turn.next, %clock ], [ %turn.next, %spin ]
  %last.new = call i64 @help(i64 %last.seen)
  %turn.next = add i64 %turn, 1
  %helped = icmp ne i64 %last.new, %last.seen
  br i1 %helped, label %idle, label %rest
rest:
  %stop = load atomic i64, ptr @stopping monotonic, align 8
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %end, label %spin
spin:
  ${PAUSE}
  %low = and i64 %turn.next, 31
  %timed = icmp eq i64 %low, 0
  br i1 %timed, label %clock, label %look
clock:
  %now = call i64 @now(i32 ${CLOCK_PRECISE})
  %waited = sub i64 %now, %since
  %limit = load i64, ptr @fw_spin_ns
  %patient = icmp ult i64 %waited, %limit
  br i1 %patient, label %look, label %sleep
sleep:
  call void @doze(i64 %last.new)
  br label %idle
end:
  atomicrmw sub ptr @fw_workers, i64 1 seq_cst
  ret void
}

; Asks all workers to return; they do once they are not helping.
define void @fw_stop_workers() {
  store atomic i64 1, ptr @stopping seq_cst, align 8
  atomicrmw add ptr @wake_word, i32 1 seq_cst
  call void @unpark(ptr @wake_word, i64 65535)
  ret void
}

; Forgets workers and jobs: in the child of a fork, and before workers start anew.
define void @fw_reset_pool() {
  store i64 0, ptr @gate
  store i64 0, ptr @sleepers
  store i32 0, ptr @joiner
  store i64 0, ptr @fw_workers
  store i64 0, ptr @stopping
  store atomic i64 0, ptr @busy seq_cst, align 8
  ret void
}

; ---------------------------------------------------------------- one call of a program

; Runs `entry` in a fresh context: 0, or what it returned, or -1 if it reported or was cancelled.
; Whatever it leaves in the list of live buffers is freed.
define i64 @fw_run(ptr %ctx, ptr %entry, ptr %slots, i64 %threads, i64 %ident) {
  call void @llvm.memset.p0.i64(ptr %ctx, i8 0, i64 96, i1 false)        ; slot 12 stays
  %raised.at = getelementptr i64, ptr %ctx, i64 13
  call void @llvm.memset.p0.i64(ptr %raised.at, i8 0, i64 32, i1 false)
  %threads.at = getelementptr i64, ptr %ctx, i64 7
  store i64 %threads, ptr %threads.at
  %ident.at = getelementptr i64, ptr %ctx, i64 11
  store i64 %ident, ptr %ident.at
  %returned = call i64 %entry(ptr %ctx, ptr %slots)
  %stopped = call i1 @is_stopped(ptr %ctx)
  %status = sext i1 %stopped to i64
  %bad = or i64 %returned, %status
  %head.at = getelementptr i64, ptr %ctx, i64 6
  %head = load ptr, ptr %head.at
  %clean = icmp eq ptr %head, null
  br i1 %clean, label %out, label %sweep
sweep:
  call void @fw_cleanup(ptr %ctx)
  br label %out
out:
  ret i64 %bad
}

; Note [Idle memory]
; A program promises a peak of inputs + outputs + 64 MiB, and calling it again with the last result
; dropped must reuse the pages of that result. Both hold by one rule: what a freed buffer held
; stays idle (live memory shrinks by as much, so the sum does not grow), and just before the sum
; grows (fresh pages, or an idle buffer that was trimmed) idle memory is cut to 64 MiB.
;
; Note [Escaping twice]
; A program owns one reference for each fw_alloc or fw_retain, and each fw_escape hands one of them
; over. Two results in one buffer: fw_retain it once, fw_escape it twice, Python fw_drops it twice.
; The first fw_escape takes it out of the list of the context; references the program still holds
; are released as always. Escape only when nothing can fail any more: fw_cleanup no longer sees it.
;
; Note [Stagger]
; Mappings start at multiples of 2 MiB. Were all data to start at the same place in them, streams
; over several arrays would meet in the same few cache sets and their loads and stores would look
; dependent in the low 12 bits, so starts are spread over a page, in units of whole cache lines.
