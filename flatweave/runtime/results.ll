; Results of calls without Python in between, as arrays of ours. Part of support.ll; see calls.ll.

; The function's result; Ellipsis where an array is not in a buffer of its own, null where Python has
; raised something. Buffers that no array holds are freed.
define internal ptr @result_of(ptr %signature, ptr %slots, ptr %shape) {
entry:
  %number.at = getelementptr %Signature, ptr %signature, i64 0, i32 6
  %number = load i64, ptr %number.at
  %finish.at = getelementptr %Signature, ptr %signature, i64 0, i32 7
  %finish = load ptr, ptr %finish.at
  %first = call ptr @results(ptr %signature)
  %own = call i1 @are_own(ptr %first, i64 %number, ptr %slots)
  %alone = icmp eq ptr %finish, null
  %one = and i1 %own, %alone
  %rows.at = getelementptr %Signature, ptr %signature, i64 0, i32 2
  %rows = load i64, ptr %rows.at
  %shaped = icmp eq i64 %rows, 1
  %given = select i1 %shaped, ptr %shape, ptr null
  br i1 %one, label %only, label %collect
only:
  %value = call ptr @one_result(ptr %first, ptr %slots, ptr %given)
  ret ptr %value
collect:
  %list = call ptr @PyList_New(i64 %number)
  %is.list = icmp ne ptr %list, null
  br label %next
next:
  %i = phi i64 [ 0, %collect ], [ %i.next, %step ]
  %result = phi ptr [ %first, %collect ], [ %result.next, %step ]
  %slot = phi ptr [ %slots, %collect ], [ %slot.next, %step ]
  %good = phi i1 [ %own, %collect ], [ %good.next, %step ]
  %more = icmp slt i64 %i, %number
  br i1 %more, label %turn, label %done
turn:
  %may = and i1 %good, %is.list
  br i1 %may, label %make, label %drop
make:
  %array = call ptr @one_result(ptr %result, ptr %slot, ptr null)
  %made = icmp ne ptr %array, null
  br i1 %made, label %keep, label %step
keep:
  call i32 @PyList_SetItem(ptr %list, i64 %i, ptr %array)
  br label %step
drop:
  call void @drop_result(ptr %result, ptr %slot)
  br label %step
step:
  %good.next = phi i1 [ false, %make ], [ true, %keep ], [ %good, %drop ]
  %i.next = add i64 %i, 1
  %words = call i64 @words_of(ptr %result)
  %result.next = getelementptr i64, ptr %result, i64 %words
  %taken = call i64 @slots_of(ptr %result)
  %slot.next = getelementptr i64, ptr %slot, i64 %taken
  br label %next
done:
  br i1 %own, label %finish.it, label %again
again:
  call void @Py_DecRef(ptr %list)
  %in.vain = call ptr @ran_in_vain()
  ret ptr %in.vain
finish.it:
  %all = and i1 %good, %is.list
  br i1 %all, label %call, label %raised
call:
  %tree = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %finish, ptr %list, ptr null)
  call void @Py_DecRef(ptr %list)
  ret ptr %tree
raised:
  call void @Py_DecRef(ptr %list)
  ret ptr null
}

; Where a signature's results are described.
define internal ptr @results(ptr %signature) {
  %constants = call ptr @constants(ptr %signature)
  %number.at = getelementptr %Signature, ptr %signature, i64 0, i32 5
  %number = load i64, ptr %number.at
  %results = getelementptr i64, ptr %constants, i64 %number
  ret ptr %results
}

; How many words describe a result.
define internal i64 @words_of(ptr %result) {
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %extents = call i64 @llvm.smax.i64(i64 %rank, i64 0)
  %words = add i64 %extents, 3
  ret i64 %words
}

; How many slots a result takes: a scalar one, an array two and one for each extent that is not known.
define internal i64 @slots_of(ptr %result) {
entry:
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %is.scalar = icmp slt i64 %rank, 0
  %extents = getelementptr i64, ptr %result, i64 3
  %least = select i1 %is.scalar, i64 1, i64 2
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %turn ]
  %slots = phi i64 [ %least, %entry ], [ %slots.next, %turn ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %turn, label %done
turn:
  %extent.at = getelementptr i64, ptr %extents, i64 %i
  %extent = load i64, ptr %extent.at
  %open = icmp slt i64 %extent, 0
  %slot = zext i1 %open to i64
  %slots.next = add i64 %slots, %slot
  %i.next = add i64 %i, 1
  br label %next
done:
  ret i64 %slots
}

; Whether each array among the results is a buffer of its own, from its beginning on.
define internal i1 @are_own(ptr %first, i64 %number, ptr %slots) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fine ]
  %result = phi ptr [ %first, %entry ], [ %result.next, %fine ]
  %slot = phi ptr [ %slots, %entry ], [ %slot.next, %fine ]
  %more = icmp slt i64 %i, %number
  br i1 %more, label %look, label %yes
look:
  %own = call i1 @is_own(ptr %result, ptr %slot)
  br i1 %own, label %fine, label %no
fine:
  %i.next = add i64 %i, 1
  %words = call i64 @words_of(ptr %result)
  %result.next = getelementptr i64, ptr %result, i64 %words
  %taken = call i64 @slots_of(ptr %result)
  %slot.next = getelementptr i64, ptr %slot, i64 %taken
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a result is a scalar, or an array in a buffer of its own.
define internal i1 @is_own(ptr %result, ptr %slot) {
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %is.scalar = icmp slt i64 %rank, 0
  br i1 %is.scalar, label %yes, label %array
array:
  %data = load ptr, ptr %slot
  %owner.at = getelementptr i64, ptr %slot, i64 1
  %owner = load ptr, ptr %owner.at
  %same = icmp eq ptr %data, %owner
  %some = icmp ne ptr %data, null
  %own = and i1 %same, %some
  ret i1 %own
yes:
  ret i1 true
}

; Frees the buffer of a result, or the part of one that it holds.
define internal void @drop_result(ptr %result, ptr %slot) {
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %is.scalar = icmp slt i64 %rank, 0
  br i1 %is.scalar, label %out, label %array
array:
  %owner.at = getelementptr i64, ptr %slot, i64 1
  %owner = load ptr, ptr %owner.at
  call void @fw_drop(ptr %owner)
  br label %out
out:
  ret void
}

; An array of ours for a result, with a given shape (the rank, then extents) if there is one; null
; where there is no memory for it.
define internal ptr @one_result(ptr %result, ptr %slot, ptr %shape) {
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %is.scalar = icmp slt i64 %rank, 0
  br i1 %is.scalar, label %scalar, label %array
scalar:
  %number = call ptr @scalar_array(ptr %result, ptr %slot)
  br label %wrap
array:
  %values = call ptr @buffer_array(ptr %result, ptr %slot, ptr %shape)
  br label %wrap
wrap:
  %inside = phi ptr [ %number, %scalar ], [ %values, %array ]
  %failed = icmp eq ptr %inside, null
  br i1 %failed, label %none, label %make
make:
  %class = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 1)
  %object = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  %refused = icmp eq ptr %object, null
  br i1 %refused, label %free, label %fill
free:
  call void @Py_DecRef(ptr %inside)
  br label %none
fill:
  %distance = load i64, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 3)
  %at = getelementptr i8, ptr %object, i64 %distance
  store ptr %inside, ptr %at
  ret ptr %object
none:
  ret ptr null
}

; NumPy's array of rank 0 with a scalar, read-only.
define internal ptr @scalar_array(ptr %result, ptr %slot) {
  %array = call ptr @new_array(ptr %result, i64 0, ptr null, ptr null)
  %refused = icmp eq ptr %array, null
  br i1 %refused, label %none, label %fill
fill:
  %fields = call ptr @fields(ptr %array)
  %data = load ptr, ptr %fields
  %bytes.at = getelementptr i64, ptr %result, i64 2
  %bytes = load i64, ptr %bytes.at
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %slot, i64 %bytes, i1 false)
  %flags.at = getelementptr %Array, ptr %fields, i64 0, i32 6
  %flags = load i32, ptr %flags.at
  %still = and i32 %flags, -1025                 ; not writeable (1024)
  store i32 %still, ptr %flags.at
  ret ptr %array
none:
  ret ptr null
}

; NumPy's read-only array over a buffer, which is freed when its last view dies.
define internal ptr @buffer_array(ptr %result, ptr %slot, ptr %shape) {
entry:
  %room = alloca [64 x i64]
  %data = load ptr, ptr %slot
  %capsule = call ptr @PyCapsule_New(ptr %data, ptr @result_name, ptr @free_result)
  %refused = icmp eq ptr %capsule, null
  br i1 %refused, label %drop, label %measure
drop:
  call void @fw_drop(ptr %data)
  ret ptr null
measure:
  %as.given = icmp ne ptr %shape, null
  br i1 %as.given, label %given, label %own
given:
  %given.rank = load i64, ptr %shape
  %given.extents = getelementptr i64, ptr %shape, i64 1
  br label %make
own:
  %own.rank.at = getelementptr i64, ptr %result, i64 1
  %own.rank = load i64, ptr %own.rank.at
  call void @extents_of(ptr %result, ptr %slot, ptr %room)
  br label %make
make:
  %rank = phi i64 [ %given.rank, %given ], [ %own.rank, %own ]
  %extents = phi ptr [ %given.extents, %given ], [ %room, %own ]
  %array = call ptr @new_array(ptr %result, i64 %rank, ptr %extents, ptr %data)
  %none = icmp eq ptr %array, null
  br i1 %none, label %free, label %hold
free:
  call void @Py_DecRef(ptr %capsule)
  ret ptr null
hold:
  %fields = call ptr @fields(ptr %array)
  %base.at = getelementptr %Array, ptr %fields, i64 0, i32 4
  store ptr %capsule, ptr %base.at
  ret ptr %array
}

; The extents of a result: those that are known, others from the slots after its data and owner.
define internal void @extents_of(ptr %result, ptr %slot, ptr %room) {
entry:
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %known = getelementptr i64, ptr %result, i64 3
  %open.first = getelementptr i64, ptr %slot, i64 2
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %put ]
  %open = phi ptr [ %open.first, %entry ], [ %open.next, %put ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %look, label %done
look:
  %known.at = getelementptr i64, ptr %known, i64 %i
  %extent.known = load i64, ptr %known.at
  %is.open = icmp slt i64 %extent.known, 0
  br i1 %is.open, label %read, label %put
read:
  %extent.read = load i64, ptr %open
  br label %put
put:
  %extent = phi i64 [ %extent.known, %look ], [ %extent.read, %read ]
  %at = getelementptr i64, ptr %room, i64 %i
  store i64 %extent, ptr %at
  %step = zext i1 %is.open to i64
  %open.next = getelementptr i64, ptr %open, i64 %step
  %i.next = add i64 %i, 1
  br label %next
done:
  ret void
}

; NumPy's array with the dtype of a result: over data, read-only, or with memory of NumPy's own.
define internal ptr @new_array(ptr %result, i64 %rank, ptr %extents, ptr %data) {
  %class = load ptr, ptr @fw_facts
  %dtype = load ptr, ptr %result
  %new = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 15)
  %rank.short = trunc i64 %rank to i32
  %over = icmp ne ptr %data, null
  %flags = select i1 %over, i32 257, i32 0      ; C-contiguous (1) and aligned (256)
  call void @Py_IncRef(ptr %dtype)               ; NumPy takes the reference
  %array = call ptr %new(ptr %class, ptr %dtype, i32 %rank.short, ptr %extents, ptr null, ptr %data,
                         i32 %flags, ptr null)
  ret ptr %array
}

; What a capsule does at its end: one reference to its buffer is given up.
define internal void @free_result(ptr %capsule) {
  %data = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @result_name)
  call void @fw_drop(ptr %data)
  ret void
}
