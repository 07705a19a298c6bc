; Memory for large buffers: mappings with huge pages, kept when freed. Part of support.ll.

; A mapping nobody uses, kept because fresh pages cost more than a scan.
%Idle = type { i64, i64, i64, i64 }   ; address, length, resident bytes, when it was freed

@idle = internal global [64 x %Idle] zeroinitializer
@idle_lock = internal global i64 0
@idle_clock = internal global i64 0
@fw_idle_bytes = global i64 0               ; sum of the resident bytes of @idle
@fw_idle_limit = global i64 67108864        ; most bytes @idle may hold at any time
@fw_idle_floor = global i64 67108864        ; most bytes it holds when memory grows; see buffers.py
@fw_memory_limit = global i64 1099511627776 ; a larger request is refused; set by buffers.py

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
  call void @unmap(ptr %base, i64 %length)       ; slow, so outside the lock
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
  %kept = load i64, ptr @fw_idle_floor
  call void @fw_shrink_idle(i64 %kept)
  br label %found
found:
  ret ptr %base
miss:
  call void @unlock(ptr @idle_lock)
  %left = load i64, ptr @fw_idle_floor
  call void @fw_shrink_idle(i64 %left)
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

; Note [Idle memory]
; A program promises a peak of inputs + outputs + 64 MiB, and calling it again with the last result
; dropped must reuse the pages of that result. Both hold by one rule: what a freed buffer held
; stays idle (live memory shrinks by as much, so the sum does not grow), and just before the sum
; grows (fresh pages, or an idle buffer that was trimmed) idle memory is cut to 64 MiB. A worker
; of a cluster, whose memory others watch, has a limit of its own for both (buffers.py: keep).
