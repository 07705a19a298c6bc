; The part of the CPU runtime that compiled programs call, with mappings.ll, buffers.ll, launch.ll and
; one of linux.ll and portable.ll, where the system is asked: the five files are one module.
;
; runtime/systems.py says which file it is, and what is filled in for $${LIKE_THIS}.
; Locals that change are allocas: the pipeline turns them into registers.
;
; A context is 32 i64 slots, made by runtime/execute.py, one per call of a program:
;    0 error code    1 error site    2 error index    3 error value    4 error extent   5 error lock
;    6 first live buffer             7 threads to use 8 cancel flag    9 bytes live    10 peak bytes
;   11 the thread that may run Python's signal handlers, or 0         12 when it last did (ns)
;   13 14 15 the Python exception that ended the call (type, value, traceback)
;   16 lock of the list of buffers    17 the program's table of kernels (runtime/execute.py)
;   18 the context of the call, in one of a thread that runs rows, and 19 the row that it is at
;   20 the trail of a call that is watched, or 0 (launch.ll)
;   21 the calls of libraries and users: the Python function that makes them, then for each its loop, or 0
;   22 where the sites of the kernel that runs begin; 0 for the host program
;   23 how many of the threads run at once (launch.ll, Note [Crowds])
; Such a thread's has slots 32 to 65 besides: its own memory (codegen/llvm/rows.py).

declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare void @Py_DecRef(ptr)
${PAUSE_DECLARATION}

; ---------------------------------------------------------------- waiting, locks

@never = internal global i32 0              ; sleepers on it sleep for their time

; One turn of waiting for another thread, which may not be running: give way before long, and sleep
; where that does not help. With more threads than cores, those who only give way take turns with
; each other, and with other processes, before the one they wait for comes; who sleeps leaves it a
; core. The first sleep takes 2 us, each one after 16 more attempts twice as long, up to 1 ms.
define void @fw_backoff(i64 %attempt) {
  %patient = icmp ult i64 %attempt, 216         ; 200 pauses, then 16 yields
  br i1 %patient, label %wait, label %sleep
wait:
  call void @wait_awake(i64 %attempt)
  ret void
sleep:
  %slept = sub i64 %attempt, 216
  %doublings = lshr i64 %slept, 4
  %few = icmp ult i64 %doublings, 9
  %times = select i1 %few, i64 %doublings, i64 9
  %ns = shl i64 2000, %times
  call void @park(ptr @never, i32 0, i64 %ns)
  ret void
}

; The same without sleep: for what is held for a moment only.
define internal void @wait_awake(i64 %attempt) {
  %soon = icmp ult i64 %attempt, 200
  br i1 %soon, label %pause, label %yield
pause:
  ${PAUSE}
  ret void
yield:
  call void @give_way()
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
  call void @wait_awake(i64 %attempt)
  %again = add i64 %attempt, 1
  br label %try
done:
  ret void
}

define internal void @unlock(ptr %word) {
  store atomic i64 0, ptr %word release, align 8
  ret void
}

; ---------------------------------------------------------------- errors and signals

; Keeps the report of the least element, then of the least site, then of the least value.
define void @fw_report(ptr %ctx, i64 %code, i64 %own, i64 %index, i64 %value, i64 %extent) {
  %sites.at = getelementptr i64, ptr %ctx, i64 22
  %sites = load i64, ptr %sites.at
  %site = add i64 %own, %sites
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
  %value.at = getelementptr i64, ptr %ctx, i64 3
  %value.old = load i64, ptr %value.at
  %site.less = icmp slt i64 %site, %site.old
  %site.same = icmp eq i64 %site, %site.old
  %value.less = icmp slt i64 %value, %value.old
  %value.first = and i1 %site.same, %value.less
  %rest.less = or i1 %site.less, %value.first
  %tie = and i1 %same, %rest.less
  %less = or i1 %before, %tie
  %keep = or i1 %first, %less
  br i1 %keep, label %write, label %done
write:
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

; Cancels the call for what Python has raised.
define internal void @keep_raised(ptr %ctx) {
  %type.at = getelementptr i64, ptr %ctx, i64 13
  %value.at = getelementptr i64, ptr %ctx, i64 14
  %trace.at = getelementptr i64, ptr %ctx, i64 15
  call void @PyErr_Fetch(ptr %type.at, ptr %value.at, ptr %trace.at)
  %cancel.at = getelementptr i64, ptr %ctx, i64 8
  store atomic i64 1, ptr %cancel.at release, align 8
  ret void
}

; The cancel flag; every 50 ms the thread that may do so runs Python's signal handlers first.
define i64 @fw_poll(ptr %ctx) {
  %parent.at = getelementptr i64, ptr %ctx, i64 18
  %parent = load ptr, ptr %parent.at
  %rows = icmp ne ptr %parent, null
  br i1 %rows, label %ask, label %own
ask:
  %asked = call i64 @fw_poll(ptr %parent)
  %asked.at = getelementptr i64, ptr %ctx, i64 8
  store i64 %asked, ptr %asked.at
  ret i64 %asked
own:
  %cancel.at = getelementptr i64, ptr %ctx, i64 8
  %cancel = load atomic i64, ptr %cancel.at monotonic, align 8
  %ident.at = getelementptr i64, ptr %ctx, i64 11
  %ident = load i64, ptr %ident.at
  %nobody = icmp eq i64 %ident, 0
  %set = icmp ne i64 %cancel, 0
  %skip = or i1 %nobody, %set
  br i1 %skip, label %out, label %who
who:
  %mine = call i1 @is_this_thread(i64 %ident)
  br i1 %mine, label %clock, label %out
clock:
  %now = call i64 @now_roughly()
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
  call void @keep_raised(ptr %ctx)
  br label %leave
leave:
  call void @PyGILState_Release(i32 %state)
  %after = load atomic i64, ptr %cancel.at monotonic, align 8
  ret i64 %after
out:
  ret i64 %cancel
}

; The same for loops inside of kernels, which keep what they have in general registers.
define preserve_mostcc i64 @fw_look(ptr %ctx) {
  %cancel = call i64 @fw_poll(ptr %ctx)
  ret i64 %cancel
}

; ---------------------------------------------------------------- rows, each a program

; A context for a thread that runs rows one after the other, inside a call of a program.
define void @fw_begin_rows(ptr %ctx, ptr %outer) {
  call void @llvm.memset.p0.i64(ptr %ctx, i8 0, i64 528, i1 false)
  %threads.at = getelementptr i64, ptr %ctx, i64 7
  store i64 1, ptr %threads.at
  %outer.at = getelementptr i64, ptr %ctx, i64 18
  store ptr %outer, ptr %outer.at
  ret void
}

; Fresh memory for a buffer of at most 64 KiB with its header: the beginning of a new chunk.
define ptr @fw_row_grow(ptr %ctx, i64 %bytes, i64 %site, i64 %count, i64 %dtype) {
  %chunk = call ptr @fw_alloc(ptr %ctx, i64 262144)
  %refused = icmp eq ptr %chunk, null
  br i1 %refused, label %report, label %keep
report:
  call void @fw_report(ptr %ctx, i64 1, i64 %site, i64 0, i64 %count, i64 %dtype)  ; 1: memory
  ret ptr null
keep:
  %begin = ptrtoint ptr %chunk to i64
  %after = add i64 %begin, %bytes
  %end = add i64 %begin, 262144
  %fresh.at = getelementptr i64, ptr %ctx, i64 64
  store i64 %after, ptr %fresh.at
  %end.at = getelementptr i64, ptr %ctx, i64 65
  store i64 %end, ptr %end.at
  ret ptr %chunk
}

; Ends it: what a row reported goes to the call, under the row's number.
define void @fw_end_rows(ptr %ctx, ptr %outer) {
  %code = load i64, ptr %ctx
  %fine = icmp eq i64 %code, 0
  br i1 %fine, label %buffers, label %report
report:
  %site.at = getelementptr i64, ptr %ctx, i64 1
  %site = load i64, ptr %site.at
  %value.at = getelementptr i64, ptr %ctx, i64 3
  %value = load i64, ptr %value.at
  %extent.at = getelementptr i64, ptr %ctx, i64 4
  %extent = load i64, ptr %extent.at
  %row.at = getelementptr i64, ptr %ctx, i64 19
  %row = load i64, ptr %row.at
  call void @fw_report(ptr %outer, i64 %code, i64 %site, i64 %row, i64 %value, i64 %extent)
  br label %buffers
buffers:
  call void @fw_cleanup(ptr %ctx)
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
  %cores = load i64, ptr @fw_cores
  %together = call i64 @llvm.smin.i64(i64 %threads, i64 %cores)
  %together.at = getelementptr i64, ptr %ctx, i64 23
  store i64 %together, ptr %together.at
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
