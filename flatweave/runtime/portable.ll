; What the runtime asks of the system, on any: locks from Python's C interface, memory from the C
; library. Part of support.ll; linux.ll is the other one.
;
; Two names differ between systems, and runtime/systems.py says them: the C library's clock,
; and what gives way to other threads. Everything else is there wherever Python is.

declare i32 @${CLOCK}(ptr, i32)
declare i32 @${GIVE_WAY}()
declare i64 @PyThread_get_thread_ident()
declare ptr @PyThread_allocate_lock()
declare void @PyThread_free_lock(ptr)
declare i32 @PyThread_acquire_lock_timed(ptr, i64, i32)
declare void @PyThread_release_lock(ptr)
declare noalias ptr @malloc(i64)
declare void @free(ptr)

; ---------------------------------------------------------------- time, threads

; Nanoseconds since 1970: seconds as 64 bits, then nanoseconds, of which C promises 32 bits.
; 1: TIME_UTC. Somebody may set this clock; then one wait is shorter, or one look comes earlier.
define internal i64 @now() {
  %spec = alloca [2 x i64]
  store [2 x i64] zeroinitializer, ptr %spec
  call i32 @${CLOCK}(ptr %spec, i32 1)
  %seconds = load i64, ptr %spec
  %rest.at = getelementptr i64, ptr %spec, i64 1
  %rest = load i32, ptr %rest.at
  %scaled = mul i64 %seconds, 1000000000
  %nanoseconds = zext i32 %rest to i64
  %ns = add i64 %scaled, %nanoseconds
  ret i64 %ns
}

define internal i64 @now_roughly() {
  %ns = call i64 @now()
  ret i64 %ns
}

define internal void @give_way() {
  call i32 @${GIVE_WAY}()
  ret void
}

; The number by which Python knows this thread, of which 32 bits count on Windows.
define i64 @fw_this_thread() {
  %self = call i64 @PyThread_get_thread_ident()
  ret i64 %self
}

; Whether this is the thread that Python knows by this number. C's long has 32 bits on Windows, so
; only these count; where two threads share them, Python itself finds out which is the main one.
define internal i1 @is_this_thread(i64 %ident) {
  %self = call i64 @fw_this_thread()
  %self.low = trunc i64 %self to i32
  %ident.low = trunc i64 %ident to i32
  %same = icmp eq i32 %self.low, %ident.low
  ret i1 %same
}

; ---------------------------------------------------------------- sleeping and waking

; A thread that sleeps on a word. It waits for its own lock, which is taken already; whoever wakes it
; takes it off the list and releases that lock.
%Sleeper = type { ptr, ptr, ptr }           ; the next one, the word, the lock

@sleeping = internal global ptr null        ; the list
@sleeping_lock = internal global i64 0      ; held for all that follows but the wait itself
@spare = internal global [64 x ptr] zeroinitializer             ; taken locks that nobody waits for
@spares = internal global i64 0                                 ; how many

; Sleeps while *word is `expected`, at most `ns` (0: without limit). May return early.
; Who changes the word does so before it asks for @sleeping_lock: it finds this sleeper on the list,
; or this sleeper finds the word changed.
define internal void @park(ptr %word, i32 %expected, i64 %ns) {
  %sleeper = alloca %Sleeper
  call void @lock(ptr @sleeping_lock)
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %expected
  br i1 %same, label %prepare, label %leave
prepare:
  %lock = call ptr @taken_lock()
  %none = icmp eq ptr %lock, null
  br i1 %none, label %leave, label %sleep
leave:
  call void @unlock(ptr @sleeping_lock)
  call void @give_way()
  ret void
sleep:
  %head = load ptr, ptr @sleeping
  store ptr %head, ptr %sleeper
  %word.at = getelementptr %Sleeper, ptr %sleeper, i64 0, i32 1
  store ptr %word, ptr %word.at
  %lock.at = getelementptr %Sleeper, ptr %sleeper, i64 0, i32 2
  store ptr %lock, ptr %lock.at
  store ptr %sleeper, ptr @sleeping
  call void @unlock(ptr @sleeping_lock)
  %us = udiv i64 %ns, 1000
  %forever = icmp eq i64 %ns, 0
  %limit = select i1 %forever, i64 -1, i64 %us
  %how = call i32 @PyThread_acquire_lock_timed(ptr %lock, i64 %limit, i32 0)
  call void @lock(ptr @sleeping_lock)
  %listed = call i1 @unlist(ptr %sleeper)
  %late = icmp ne i32 %how, 1                   ; 1: PY_LOCK_ACQUIRED
  %woken = xor i1 %listed, true
  %released = and i1 %late, %woken              ; woken after the time was over: take the lock again
  br i1 %released, label %take, label %keep
take:
  call i32 @PyThread_acquire_lock_timed(ptr %lock, i64 -1, i32 0)
  br label %keep
keep:
  call void @keep_spare(ptr %lock)
  call void @unlock(ptr @sleeping_lock)
  ret void
}

; Wakes so many of those who sleep on a word.
define internal void @unpark(ptr %word, i64 %count) {
entry:
  call void @lock(ptr @sleeping_lock)
  br label %look
look:
  %at = phi ptr [ @sleeping, %entry ], [ %sleeper, %pass ], [ %at, %wake ]
  %left = phi i64 [ %count, %entry ], [ %left, %pass ], [ %less, %wake ]
  %sleeper = load ptr, ptr %at
  %end = icmp eq ptr %sleeper, null
  %enough = icmp eq i64 %left, 0
  %stop = or i1 %end, %enough
  br i1 %stop, label %done, label %compare
compare:
  %word.at = getelementptr %Sleeper, ptr %sleeper, i64 0, i32 1
  %its = load ptr, ptr %word.at
  %mine = icmp eq ptr %its, %word
  br i1 %mine, label %wake, label %pass
pass:
  br label %look
wake:
  %next = load ptr, ptr %sleeper
  store ptr %next, ptr %at
  %lock.at = getelementptr %Sleeper, ptr %sleeper, i64 0, i32 2
  %lock = load ptr, ptr %lock.at
  call void @PyThread_release_lock(ptr %lock)
  %less = sub i64 %left, 1
  br label %look
done:
  call void @unlock(ptr @sleeping_lock)
  ret void
}

; Takes a sleeper off the list; false when somebody has done so.
define internal i1 @unlist(ptr %sleeper) {
entry:
  br label %look
look:
  %at = phi ptr [ @sleeping, %entry ], [ %one, %pass ]
  %one = load ptr, ptr %at
  %end = icmp eq ptr %one, null
  br i1 %end, label %gone, label %compare
compare:
  %found = icmp eq ptr %one, %sleeper
  br i1 %found, label %unlink, label %pass
pass:
  br label %look
unlink:
  %next = load ptr, ptr %sleeper
  store ptr %next, ptr %at
  ret i1 true
gone:
  ret i1 false
}

; A lock that is taken, so that whoever takes it again waits; null if there can be none.
define internal ptr @taken_lock() {
  %count = load i64, ptr @spares
  %some = icmp ne i64 %count, 0
  br i1 %some, label %spare, label %new
spare:
  %less = sub i64 %count, 1
  store i64 %less, ptr @spares
  %at = getelementptr [64 x ptr], ptr @spare, i64 0, i64 %less
  %kept = load ptr, ptr %at
  ret ptr %kept
new:
  %made = call ptr @PyThread_allocate_lock()
  %none = icmp eq ptr %made, null
  br i1 %none, label %out, label %take
take:
  call i32 @PyThread_acquire_lock_timed(ptr %made, i64 -1, i32 0)
  br label %out
out:
  ret ptr %made
}

; Keeps a taken lock for the next sleeper.
define internal void @keep_spare(ptr %lock) {
  %count = load i64, ptr @spares
  %room = icmp ult i64 %count, 64
  br i1 %room, label %keep, label %drop
keep:
  %at = getelementptr [64 x ptr], ptr @spare, i64 0, i64 %count
  store ptr %lock, ptr %at
  %more = add i64 %count, 1
  store i64 %more, ptr @spares
  ret void
drop:
  call void @PyThread_release_lock(ptr %lock)
  call void @PyThread_free_lock(ptr %lock)
  ret void
}

; In the child of a fork nobody sleeps; locks may be half made, so it makes its own.
define internal void @forget_sleepers() {
  store ptr null, ptr @sleeping
  store i64 0, ptr @spares
  store atomic i64 0, ptr @sleeping_lock seq_cst, align 8
  ret void
}

; ---------------------------------------------------------------- memory

; What the C library gives, up to the next multiple of `alignment`, which is 64 or more; before that
; stands what to free. Null if there is none.
define internal ptr @aligned(i64 %size, i64 %alignment) {
  %padded = add i64 %size, %alignment
  %raw = call ptr @malloc(i64 %padded)
  %none = icmp eq ptr %raw, null
  br i1 %none, label %out, label %place
place:
  %from = ptrtoint ptr %raw to i64
  %behind = add i64 %from, %alignment
  %mask = sub i64 0, %alignment
  %start = and i64 %behind, %mask               ; 8 bytes or more behind: malloc aligns to 8
  %data = inttoptr i64 %start to ptr
  %raw.at = getelementptr i8, ptr %data, i64 -8
  store ptr %raw, ptr %raw.at
  br label %out
out:
  %given = phi ptr [ null, %0 ], [ %data, %place ]
  ret ptr %given
}

define internal ptr @heap_new(i64 %size) {
  %data = call ptr @aligned(i64 %size, i64 64)
  ret ptr %data
}

define internal void @heap_free(ptr %data) {
  %none = icmp eq ptr %data, null
  br i1 %none, label %out, label %give
give:
  %raw.at = getelementptr i8, ptr %data, i64 -8
  %raw = load ptr, ptr %raw.at
  call void @free(ptr %raw)
  br label %out
out:
  ret void
}

; Mappings begin at multiples of 2 MiB (buffers.ll finds their start by that).
define internal ptr @map_fresh(i64 %length) {
  %base = call ptr @aligned(i64 %length, i64 2097152)
  ret ptr %base
}

define internal void @unmap(ptr %base, i64 %length) {
  call void @heap_free(ptr %base)
  ret void
}

; The C library takes no part of an allocation back.
define internal i1 @drop_pages(ptr %start, i64 %length) {
  ret i1 false
}

; ---------------------------------------------------------------- CPUs: the system's scheduler alone

define internal void @spread_anew() {
  ret void
}

define internal void @note_allowed(ptr %allowed) {
  ret void
}

define internal void @spread(ptr %allowed) {
  ret void
}
