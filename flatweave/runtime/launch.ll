; Blocks run by the caller and the workers of pool.py. Part of support.ll.
;
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
@fw_cores = global i64 65535                ; how many threads run at once: see Note [Crowds]

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

; Claims blocks of the job in order until there are none; how many this thread has run.
define internal i64 @claim(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks) {
entry:
  %gate = load atomic i64, ptr @gate monotonic, align 8
  %shifted = lshr i64 %gate, 16
  %allowed = and i64 %shifted, 65535
  %cores = load i64, ptr @fw_cores
  %crowded = icmp uge i64 %allowed, %cores      ; with the caller, more threads than cores
  %begin = call i64 @now()
  br label %check
check:
  %ran = phi i64 [ 0, %entry ], [ %ran.next, %turn ], [ %ran.next, %crowd ]
  %since = phi i64 [ %begin, %entry ], [ %since, %turn ], [ %since.next, %crowd ]
  %stopped = call i1 @is_stopped(ptr %ctx)
  br i1 %stopped, label %done, label %claim
claim:
  %block = atomicrmw add ptr @next_block, i64 1 monotonic
  %more = icmp slt i64 %block, %nblocks
  br i1 %more, label %turn, label %done
turn:
  call void %kernel(ptr %ctx, ptr %args, i64 %block)
  call i64 @fw_poll(ptr %ctx)
  %ran.next = add i64 %ran, 1
  br i1 %crowded, label %crowd, label %check
crowd:
  %since.next = call i64 @invite(i64 %since)
  br label %check
done:
  ret i64 %ran
}

; Wakes one more worker if the job has room for it and this thread has worked for a millisecond since
; it began or last woke one; the time of that.
define internal i64 @invite(i64 %since) {
  %now = call i64 @now()
  %worked = sub i64 %now, %since
  %long = icmp ugt i64 %worked, 1000000
  br i1 %long, label %look, label %no
look:
  %gate = load atomic i64, ptr @gate monotonic, align 8
  %room = call i1 @has_room(i64 %gate)
  %asleep = load atomic i64, ptr @sleepers monotonic, align 8
  %any = icmp sgt i64 %asleep, 0
  %wake = and i1 %room, %any
  br i1 %wake, label %one, label %no
one:
  atomicrmw add ptr @wake_word, i32 1 seq_cst
  call void @unpark(ptr @wake_word, i64 1)
  ret i64 %now
no:
  ret i64 %since
}

; What one thread does for a job; noted where the call has a trail.
define internal void @work(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks) {
  %trail.at = getelementptr i64, ptr %ctx, i64 20
  %trail = load ptr, ptr %trail.at
  %watched = icmp ne ptr %trail, null
  br i1 %watched, label %timed, label %plain
plain:
  call i64 @claim(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks)
  ret void
timed:
  %begin = call i64 @now()
  %ran = call i64 @claim(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks)
  call void @note(ptr %trail, i64 0, i64 %begin, i64 %ran, i64 0)
  ret void
}

; Runs a kernel on so many blocks; whether an error or a cancellation ends the program.
define i1 @fw_launch(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks) {
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
  %ended = call i1 @is_stopped(ptr %ctx)
  ret i1 %ended
}

; The trail of a call that is watched, in words (runtime/execute.py): 0 how many events there are,
; 1 how many until it must be emptied, 2 how many fit, 3 the Python function that empties it. From
; word 8 on, six words an event: a kernel's number, or 0 for the share of one thread, which stands
; before its launch; the thread; when it began and ended; blocks; how many threads could take part.
define internal void @note(ptr %trail, i64 %what, i64 %begin, i64 %blocks, i64 %threads) {
  %end = call i64 @now()
  %self = call i64 @fw_this_thread()
  %place = atomicrmw add ptr %trail, i64 1 monotonic
  %most.at = getelementptr i64, ptr %trail, i64 2
  %most = load i64, ptr %most.at
  %fits = icmp slt i64 %place, %most
  br i1 %fits, label %write, label %out
write:
  %words = mul i64 %place, 6
  %first = add i64 %words, 8
  %what.at = getelementptr i64, ptr %trail, i64 %first
  store i64 %what, ptr %what.at
  %self.at = getelementptr i64, ptr %what.at, i64 1
  store i64 %self, ptr %self.at
  %begin.at = getelementptr i64, ptr %what.at, i64 2
  store i64 %begin, ptr %begin.at
  %end.at = getelementptr i64, ptr %what.at, i64 3
  store i64 %end, ptr %end.at
  %blocks.at = getelementptr i64, ptr %what.at, i64 4
  store i64 %blocks, ptr %blocks.at
  %threads.at = getelementptr i64, ptr %what.at, i64 5
  store i64 %threads, ptr %threads.at
  br label %out
out:
  ret void
}

; fw_launch in a call that is watched. Before it the trail is emptied if it is nearly full.
define internal i1 @launch_noted(ptr %ctx, ptr %trail, i64 %number, ptr %kernel, ptr %args,
                                 i64 %nblocks) {
  %count = load i64, ptr %trail
  %limit.at = getelementptr i64, ptr %trail, i64 1
  %limit = load i64, ptr %limit.at
  %full = icmp sgt i64 %count, %limit
  br i1 %full, label %empty, label %run
empty:
  %emptier.at = getelementptr i64, ptr %trail, i64 3
  %emptier = load ptr, ptr %emptier.at
  %failed = call i1 @call_python(ptr %ctx, ptr %emptier, ptr %trail, i64 %number)
  br i1 %failed, label %leave, label %run
leave:
  ret i1 true
run:
  %threads.at = getelementptr i64, ptr %ctx, i64 7
  %threads = load i64, ptr %threads.at
  %begin = call i64 @now()
  %ended = call i1 @fw_launch(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks)
  call void @note(ptr %trail, i64 %number, i64 %begin, i64 %nblocks, i64 %threads)
  ret i1 %ended
}

; The clock of trails, for Python.
define i64 @fw_now() {
  %ns = call i64 @now()
  ret i64 %ns
}

@two_numbers = internal constant [3 x i8] c"LL\00"

; Calls a Python function with an address and a number; what it raises cancels the call: true.
define internal i1 @call_python(ptr %ctx, ptr %function, ptr %address, i64 %number) {
  %state = call i32 @PyGILState_Ensure()
  %result = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %function, ptr @two_numbers,
                                                            ptr %address, i64 %number)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %keep, label %drop
keep:
  call void @keep_raised(ptr %ctx)
  br label %out
drop:
  call void @Py_DecRef(ptr %result)
  br label %out
out:
  call void @PyGILState_Release(i32 %state)
  ret i1 %failed
}

; Calls a function of a library or of the user by its number among the program's, with values and
; buffers in memory. A loop of NumPy is called from here, any other function by Python; what that
; raises cancels the call: true.
define i1 @fw_call_host(ptr %ctx, i64 %number, ptr %args) {
  %stopped = call i1 @is_stopped(ptr %ctx)
  br i1 %stopped, label %out, label %find
find:
  %calls.at = getelementptr i64, ptr %ctx, i64 21
  %calls = load ptr, ptr %calls.at
  %following = add i64 %number, 1
  %loop.at = getelementptr ptr, ptr %calls, i64 %following
  %loop = load ptr, ptr %loop.at
  %known = icmp ne ptr %loop, null
  br i1 %known, label %direct, label %python
direct:
  %done = call i1 @call_loop(ptr %loop, ptr %args)
  br i1 %done, label %good, label %python
good:
  ret i1 false
python:
  %caller = load ptr, ptr %calls
  %failed = call i1 @call_python(ptr %ctx, ptr %caller, ptr %args, i64 %number)
  ret i1 %failed
out:
  ret i1 true
}

; Calls the loop of a product (base/library_products.py): whether that is all. Its words are the
; function and its state, how many bytes an element has if Python must correct NaN, or 0; then 16
; times the numbers of two words in memory, or -1 for 1, and a factor, which are multiplied: three
; addresses, four sizes and nine strides.
define internal i1 @call_loop(ptr %loop, ptr %args) {
  %values = alloca [16 x i64]
  %triples = getelementptr i64, ptr %loop, i64 3
  br label %next
next:
  %at = phi i64 [ 0, %0 ], [ %at.next, %next ]
  %triple = getelementptr [3 x i64], ptr %triples, i64 %at
  %one = call i64 @word_of(ptr %args, ptr %triple, i64 0)
  %other = call i64 @word_of(ptr %args, ptr %triple, i64 1)
  %factor.at = getelementptr i64, ptr %triple, i64 2
  %factor = load i64, ptr %factor.at
  %both = mul i64 %one, %other
  %value = mul i64 %both, %factor
  %value.at = getelementptr i64, ptr %values, i64 %at
  store i64 %value, ptr %value.at
  %at.next = add i64 %at, 1
  %more = icmp ult i64 %at.next, 16
  br i1 %more, label %next, label %call
call:
  %out.at = getelementptr ptr, ptr %values, i64 2
  %out = load ptr, ptr %out.at                  ; the loop moves the addresses on
  %function = load ptr, ptr %loop
  %state.at = getelementptr ptr, ptr %loop, i64 1
  %state = load ptr, ptr %state.at
  %sizes = getelementptr i64, ptr %values, i64 3
  %strides = getelementptr i64, ptr %values, i64 7
  call void %function(ptr %values, ptr %sizes, ptr %strides, ptr %state)
  %bytes.at = getelementptr i64, ptr %loop, i64 2
  %bytes = load i64, ptr %bytes.at
  %as.it.is = icmp eq i64 %bytes, 0
  br i1 %as.it.is, label %done, label %look
done:
  ret i1 true
look:
  %rows.at = getelementptr i64, ptr %values, i64 4
  %rows = load i64, ptr %rows.at
  %columns.at = getelementptr i64, ptr %values, i64 6
  %columns = load i64, ptr %columns.at
  %stack = load i64, ptr %sizes
  %each = mul i64 %rows, %columns
  %count = mul i64 %stack, %each
  %valid = call i1 @has_no_nan(ptr %out, i64 %bytes, i64 %count)
  ret i1 %valid
}

; The word in memory whose number is given there, or 1 for -1.
define internal i64 @word_of(ptr %args, ptr %numbers, i64 %at) {
  %number.at = getelementptr i64, ptr %numbers, i64 %at
  %number = load i64, ptr %number.at
  %is.one = icmp slt i64 %number, 0
  br i1 %is.one, label %none, label %some
none:
  ret i64 1
some:
  %word.at = getelementptr i64, ptr %args, i64 %number
  %word = load i64, ptr %word.at
  ret i64 %word
}

; Whether none of these floats of 4 or 8 bytes in a buffer is NaN. Words of 64 bits are looked at, of
; which the last may be half a float more: a magnitude beyond infinity's carries into the sign.
define internal i1 @has_no_nan(ptr %floats, i64 %bytes, i64 %count) {
  %wide = icmp eq i64 %bytes, 8
  %magnitude = select i1 %wide, i64 9223372036854775807, i64 9223372034707292159
  %gap = select i1 %wide, i64 4503599627370495, i64 36028792732385279
  %size = mul i64 %bytes, %count
  %up = add i64 %size, 7
  %words = lshr i64 %up, 3
  %some = icmp ne i64 %words, 0
  br i1 %some, label %next, label %none
none:
  ret i1 true
next:
  %at = phi i64 [ 0, %0 ], [ %at.next, %next ]
  %carries = phi i64 [ 0, %0 ], [ %carries.next, %next ]
  %word.at = getelementptr i64, ptr %floats, i64 %at
  %word = load i64, ptr %word.at
  %positive = and i64 %word, %magnitude
  %carried = add i64 %positive, %gap
  %carries.next = or i64 %carries, %carried
  %at.next = add i64 %at, 1
  %more = icmp ult i64 %at.next, %words
  br i1 %more, label %next, label %out
out:
  %signs = xor i64 %magnitude, -1
  %found = and i64 %carries.next, %signs
  %valid = icmp eq i64 %found, 0
  ret i1 %valid
}

; Launches a kernel by its number in the program's table, in the lower half of %which. One that is not
; there is made first, by the Python function in the table; what that raises cancels the call. The
; upper half is its number among all kernels of the program, from which its sites are numbered.
define i1 @fw_launch_by_number(ptr %ctx, i64 %which, ptr %args, i64 %nblocks) {
  %number = and i64 %which, 4294967295
  %place = lshr i64 %which, 32
  %sites = shl i64 %place, 20
  %some = icmp sgt i64 %nblocks, 0
  %stopped = call i1 @is_stopped(ptr %ctx)
  %idle = select i1 %some, i1 %stopped, i1 true
  br i1 %idle, label %out, label %find
find:
  %table.at = getelementptr i64, ptr %ctx, i64 17
  %table = load ptr, ptr %table.at
  %kernel.at = getelementptr i64, ptr %table, i64 %number
  %known = load atomic i64, ptr %kernel.at acquire, align 8
  %ready = icmp ne i64 %known, 0
  br i1 %ready, label %run, label %make
make:
  %maker = load ptr, ptr %table
  %failed = call i1 @call_python(ptr %ctx, ptr %maker, ptr %table, i64 %number)
  br i1 %failed, label %leave, label %again
leave:
  ret i1 true
again:
  %made = load atomic i64, ptr %kernel.at acquire, align 8
  br label %run
run:
  %address = phi i64 [ %known, %find ], [ %made, %again ]
  %kernel = inttoptr i64 %address to ptr
  %sites.at = getelementptr i64, ptr %ctx, i64 22
  store i64 %sites, ptr %sites.at
  %trail.at = getelementptr i64, ptr %ctx, i64 20
  %trail = load ptr, ptr %trail.at
  %watched = icmp ne ptr %trail, null
  br i1 %watched, label %noted, label %plain
noted:
  %ended.noted = call i1 @launch_noted(ptr %ctx, ptr %trail, i64 %number, ptr %kernel, ptr %args,
                                       i64 %nblocks)
  br label %done
plain:
  %ended.plain = call i1 @fw_launch(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks)
  br label %done
done:
  %ended = phi i1 [ %ended.noted, %noted ], [ %ended.plain, %plain ]
  store i64 0, ptr %sites.at
  ret i1 %ended
out:
  ret i1 %stopped
}

; Publishes the job and wakes as many sleepers as may help at once.
define internal void @open_gate(ptr %ctx, ptr %kernel, ptr %args, i64 %nblocks, i64 %helpers) {
  store ptr %ctx, ptr @job
  %kernel.at = getelementptr i64, ptr @job, i64 1
  store ptr %kernel, ptr %kernel.at
  %args.at = getelementptr i64, ptr @job, i64 2
  store ptr %args, ptr %args.at
  %nblocks.at = getelementptr i64, ptr @job, i64 3
  store i64 %nblocks, ptr %nblocks.at
  store atomic i64 0, ptr @next_block monotonic, align 8
  call void @spread_anew()
  %old = load atomic i64, ptr @gate monotonic, align 8
  %epoch = lshr i64 %old, 33
  %epoch.next = add i64 %epoch, 1
  %epoch.bits = shl i64 %epoch.next, 33
  %allowed = shl i64 %helpers, 16
  %opened = or i64 %epoch.bits, 4294967296
  %new = or i64 %opened, %allowed
  store atomic i64 %new, ptr @gate seq_cst, align 8
  %asleep = load atomic i64, ptr @sleepers seq_cst, align 8
  %cores = load i64, ptr @fw_cores
  %others = sub i64 %cores, 1
  %useful = call i64 @llvm.smin.i64(i64 %helpers, i64 %others)
  %count = call i64 @llvm.smin.i64(i64 %asleep, i64 %useful)
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
  call void @wait_awake(i64 %attempt)
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

; Whether fewer workers are inside than are allowed.
define internal i1 @has_room(i64 %seen) {
  %inside = and i64 %seen, 65535
  %shifted = lshr i64 %seen, 16
  %allowed = and i64 %shifted, 65535
  %room = icmp ult i64 %inside, %allowed
  ret i1 %room
}

; Tries to enter the gate as it was seen: the job must be open and have room.
define internal i1 @enter(i64 %seen) {
  %open.bit = and i64 %seen, 4294967296
  %open = icmp ne i64 %open.bit, 0
  %room = call i1 @has_room(i64 %seen)
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

; Sleeps until a job newer than `epoch` is published, while there is none that has room.
define internal void @doze(i64 %epoch) {
  %word = load atomic i32, ptr @wake_word seq_cst, align 4
  atomicrmw add ptr @sleepers, i64 1 seq_cst
  %gate = load atomic i64, ptr @gate seq_cst, align 8     ; after @sleepers: see @open_gate
  %now = lshr i64 %gate, 33
  %open.bit = and i64 %gate, 4294967296
  %open = icmp ne i64 %open.bit, 0
  %other = icmp ne i64 %now, %epoch
  %fresh = and i1 %open, %other
  %room = call i1 @has_room(i64 %gate)
  %work = and i1 %fresh, %room
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
define internal i64 @help(i64 %last, ptr %allowed) {
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
  call void @spread(ptr %allowed)
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
  %allowed = alloca [16 x i64]
  call void @note_allowed(ptr %allowed)
  atomicrmw add ptr @fw_workers, i64 1 seq_cst
  br label %idle
idle:
  %last = phi i64 [ 0, %entry ], [ %last.new, %look ], [ %last.new, %sleep ]
  %since = call i64 @now()
  br label %look.first
look.first:
  br label %look
look:
  %last.seen = phi i64 [ %last, %look.first ], [ %last.new, %clock ], [ %last.new, %spin ]
  %turn = phi i64 [ 0, %look.first ], [ %turn.next, %clock ], [ %turn.next, %spin ]
  %last.new = call i64 @help(i64 %last.seen, ptr %allowed)
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
  %now = call i64 @now()
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
  call void @forget_sleepers()
  ret void
}

; Note [Crowds]
; Threads beyond the cores do not make a short job faster: each of them must be woken and gets a core
; only when another one gives it up, and those that wait for a block of a thread without a core take
; turns in vain. So a job begins with one thread for each core. A job that lasts gets the others
; nevertheless, one by one, since its threads may sleep, or share their cores with other processes.
; Programs that divide work by the number of threads, as owners of destinations do, divide it by
; those that run at once (slot 23 of the context).
