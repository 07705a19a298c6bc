; What the runtime asks of the system, on Linux. Part of support.ll; portable.ll is the other one.
;
; Futexes wake and put to sleep, buffers are mappings with huge pages, and workers spread over CPUs.

declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)
declare i64 @pthread_self()
declare noalias ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

; ---------------------------------------------------------------- time, waiting

; Nanoseconds of a clock: 1 CLOCK_MONOTONIC, 6 CLOCK_MONOTONIC_COARSE.
define internal i64 @read_clock(i32 %clock) {
  %spec = alloca [2 x i64]
  call i32 @clock_gettime(i32 %clock, ptr %spec)
  %seconds = load i64, ptr %spec
  %rest.at = getelementptr i64, ptr %spec, i64 1
  %rest = load i64, ptr %rest.at
  %scaled = mul i64 %seconds, 1000000000
  %ns = add i64 %scaled, %rest
  ret i64 %ns
}

define internal i64 @now() {
  %ns = call i64 @read_clock(i32 1)
  ret i64 %ns
}

; In steps of 4 ms, and 5 ns to read.
define internal i64 @now_roughly() {
  %ns = call i64 @read_clock(i32 6)
  ret i64 %ns
}

define internal void @give_way() {
  call i32 @sched_yield()
  ret void
}

; The number by which Python knows this thread.
define i64 @fw_this_thread() {
  %self = call i64 @pthread_self()
  ret i64 %self
}

; Whether this is the thread that Python knows by this number.
define internal i1 @is_this_thread(i64 %ident) {
  %self = call i64 @fw_this_thread()
  %same = icmp eq i64 %self, %ident
  ret i1 %same
}

; Sleeps while *word is `expected`, at most `ns` (0: without limit). May return early.
; 128: FUTEX_WAIT, private to this process.
define internal void @park(ptr %word, i32 %expected, i64 %ns) {
  %spec = alloca [2 x i64]
  store i64 0, ptr %spec
  %rest.at = getelementptr i64, ptr %spec, i64 1
  store i64 %ns, ptr %rest.at
  %forever = icmp eq i64 %ns, 0
  %limit = select i1 %forever, ptr null, ptr %spec
  %value = zext i32 %expected to i64
  call i64 (i64, ...) @syscall(i64 ${SYS_FUTEX}, ptr %word, i64 128, i64 %value,
                               ptr %limit, ptr null, i64 0)
  ret void
}

; Wakes so many of those who sleep on a word. 129: FUTEX_WAKE, private.
define internal void @unpark(ptr %word, i64 %count) {
  call i64 (i64, ...) @syscall(i64 ${SYS_FUTEX}, ptr %word, i64 129, i64 %count,
                               ptr null, ptr null, i64 0)
  ret void
}

; In the child of a fork nobody sleeps.
define internal void @forget_sleepers() {
  ret void
}

; ---------------------------------------------------------------- memory

; Memory that begins at a multiple of 64, or null; `size` is one, too.
define internal ptr @heap_new(i64 %size) {
  %data = call ptr @aligned_alloc(i64 64, i64 %size)
  ret ptr %data
}

define internal void @heap_free(ptr %data) {
  call void @free(ptr %data)
  ret void
}

; Fresh zero pages, 2 MiB aligned so that the kernel can use huge ones; null when there are none.
; 3: PROT_READ and WRITE; 16418: MAP_PRIVATE, ANONYMOUS and NORESERVE; 14: MADV_HUGEPAGE.
define internal ptr @map_fresh(i64 %length) {
  %padded = add i64 %length, 2097152
  %raw = call ptr @mmap(ptr null, i64 %padded, i32 3, i32 16418, i32 -1, i64 0)
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
  call i32 @madvise(ptr %base, i64 %length, i32 14)
  ret ptr %base
}

define internal void @unmap(ptr %base, i64 %length) {
  call i32 @munmap(ptr %base, i64 %length)
  ret void
}

; Gives pages of a mapping back to the system; they may be used again. Whether it did.
; 4: MADV_DONTNEED.
define internal i1 @drop_pages(ptr %start, i64 %length) {
  call i32 @madvise(ptr %start, i64 %length, i32 4)
  ret i1 true
}

; ---------------------------------------------------------------- CPUs

@cpus = internal global [16 x i64] zeroinitializer, align 128  ; where a job's threads run, a bit each

; A new job: only its caller's CPU is taken.
define internal void @spread_anew() {
  store [16 x i64] zeroinitializer, ptr @cpus
  call i64 @settle()
  ret void
}

; Notes the CPUs that this worker may use, a bit each.
define internal void @note_allowed(ptr %allowed) {
  store [16 x i64] zeroinitializer, ptr %allowed
  call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  ret void
}

; Marks the CPU this thread is on as taken; its number if another thread of the job had it, or -1.
define internal i64 @settle() {
  %cpu = call i32 @sched_getcpu()
  %known = icmp ult i32 %cpu, 1024
  br i1 %known, label %mark, label %fine
mark:
  %number = zext i32 %cpu to i64
  %word = lshr i64 %number, 6
  %shift = and i64 %number, 63
  %bit = shl i64 1, %shift
  %at = getelementptr i64, ptr @cpus, i64 %word
  %old = atomicrmw or ptr %at, i64 %bit monotonic
  %both = and i64 %old, %bit
  %taken = icmp ne i64 %both, 0
  br i1 %taken, label %clash, label %fine
clash:
  ret i64 %number
fine:
  ret i64 -1
}

; Leaves a CPU that another thread of the job is on, if one it may use is free.
; `allowed` has a bit for each CPU this worker may use. See Note [Spreading].
define internal void @spread(ptr %allowed) {
  %free = alloca [16 x i64]
  %clash = call i64 @settle()
  %alone = icmp slt i64 %clash, 0
  br i1 %alone, label %out, label %gather
gather:
  %mine = load <16 x i64>, ptr %allowed, align 8
  %taken = load <16 x i64>, ptr @cpus, align 8
  %untaken = xor <16 x i64> %taken, splat (i64 -1)
  %left = and <16 x i64> %mine, %untaken
  store <16 x i64> %left, ptr %free, align 8
  %any = call i64 @llvm.vector.reduce.or.v16i64(<16 x i64> %left)
  %none = icmp eq i64 %any, 0
  br i1 %none, label %out, label %move
move:
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %free)
  call i64 @settle()
  store <16 x i64> %mine, ptr %free, align 8
  %word = lshr i64 %clash, 6
  %shift = and i64 %clash, 63
  %bit = shl i64 1, %shift
  %at = getelementptr i64, ptr %free, i64 %word
  %old = load i64, ptr %at
  %without = xor i64 %old, %bit
  store i64 %without, ptr %at
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %free)
  br label %out
out:
  ret void
}

; Note [Spreading]
; Some schedulers, on virtual machines above all, put a thread that wakes up on the CPU of the thread
; that woke it, where both take turns for tens of milliseconds while other CPUs are idle. So a worker
; that finds itself on the CPU of another thread of the job moves to a free one, and from then on
; may run anywhere but where they met. With more threads than CPUs none is free and nobody moves.
