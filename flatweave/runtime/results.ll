; Results of calls without Python in between, as arrays of ours. Part of calls.ll.

; The function's result; the signature's number where an array is neither in a separate buffer nor in
; memory of an argument, null where Python has raised something. Buffers that no array holds are
; freed.
define internal ptr @result_of(ptr %signature, ptr %slots, ptr %shape, ptr %held) {
entry:
  %number.at = getelementptr %Signature, ptr %signature, i64 0, i32 6
  %number = load i64, ptr %number.at
  %finish.at = getelementptr %Signature, ptr %signature, i64 0, i32 7
  %finish = load ptr, ptr %finish.at
  %first = call ptr @results(ptr %signature)
  %own = call i1 @are_known(ptr %signature, ptr %first, i64 %number, ptr %slots, ptr %held)
  %alone = icmp eq ptr %finish, null
  %one = and i1 %own, %alone
  %rows.at = getelementptr %Signature, ptr %signature, i64 0, i32 2
  %rows = load i64, ptr %rows.at
  %shaped = icmp eq i64 %rows, 1
  %given = select i1 %shaped, ptr %shape, ptr null
  br i1 %one, label %only, label %collect
only:
  %value = call ptr @one_result(ptr %signature, ptr %first, ptr %slots, ptr %given, ptr %held)
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
  %array = call ptr @one_result(ptr %signature, ptr %result, ptr %slot, ptr null, ptr %held)
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
  %in.vain = call ptr @ran_in_vain(ptr %signature)
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
  %words = add i64 %extents, 4
  ret i64 %words
}

; How many slots a result takes: a scalar one, an array two and one for each extent that is not known.
define internal i64 @slots_of(ptr %result) {
entry:
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %is.scalar = icmp slt i64 %rank, 0
  %extents = getelementptr i64, ptr %result, i64 4
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

; Whether the memory of each array among the results is known.
define internal i1 @are_known(ptr %signature, ptr %first, i64 %number, ptr %slots, ptr %held) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fine ]
  %result = phi ptr [ %first, %entry ], [ %result.next, %fine ]
  %slot = phi ptr [ %slots, %entry ], [ %slot.next, %fine ]
  %more = icmp slt i64 %i, %number
  br i1 %more, label %look, label %yes
look:
  %known = call i1 @is_known(ptr %signature, ptr %result, ptr %slot, ptr %held)
  br i1 %known, label %fine, label %no
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

; Whether a result is a scalar, an array in a separate buffer, one without elements, or a part of an
; argument.
define internal i1 @is_known(ptr %signature, ptr %result, ptr %slot, ptr %held) {
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %is.scalar = icmp slt i64 %rank, 0
  br i1 %is.scalar, label %yes, label %array
array:
  %own = call i1 @is_own(ptr %slot)
  br i1 %own, label %yes, label %part
part:
  %owner.at = getelementptr i64, ptr %slot, i64 1
  %owner = load ptr, ptr %owner.at
  %no.owner = icmp eq ptr %owner, null
  br i1 %no.owner, label %search, label %no
search:
  %bytes = call i64 @bytes_of(ptr %result, ptr %slot)
  %is.empty = icmp eq i64 %bytes, 0
  br i1 %is.empty, label %yes, label %ask
ask:
  %holder = call ptr @holder_of(ptr %signature, ptr %slot, i64 %bytes, ptr %held)
  %found = icmp ne ptr %holder, null
  ret i1 %found
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether an array begins where its buffer does, which it shares with nobody or counts.
define internal i1 @is_own(ptr %slot) {
  %data = load ptr, ptr %slot
  %owner.at = getelementptr i64, ptr %slot, i64 1
  %owner = load ptr, ptr %owner.at
  %same = icmp eq ptr %data, %owner
  %some = icmp ne ptr %data, null
  %own = and i1 %same, %some
  ret i1 %own
}

; The bytes of an array among the results.
define internal i64 @bytes_of(ptr %result, ptr %slot) {
  %room = alloca [64 x i64]
  call void @extents_of(ptr %result, ptr %slot, ptr %room)
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %bytes.at = getelementptr i64, ptr %result, i64 2
  %each = load i64, ptr %bytes.at
  %bytes = call i64 @times(i64 %each, ptr %room, i64 %rank)
  ret i64 %bytes
}

; A number times all extents.
define internal i64 @times(i64 %number, ptr %extents, i64 %rank) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %turn ]
  %product = phi i64 [ %number, %entry ], [ %product.next, %turn ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %turn, label %done
turn:
  %at = getelementptr i64, ptr %extents, i64 %i
  %extent = load i64, ptr %at
  %product.next = mul i64 %product, %extent
  %i.next = add i64 %i, 1
  br label %next
done:
  ret i64 %product
}

; The array among the arguments that has so many bytes at the data of a result, or null.
define internal ptr @holder_of(ptr %signature, ptr %slot, i64 %bytes, ptr %held) {
entry:
  %count.at = getelementptr %Signature, ptr %signature, i64 0, i32 1
  %count = load i64, ptr %count.at
  %first = getelementptr %Signature, ptr %signature, i64 1
  %begin = load i64, ptr %slot
  %end = add i64 %begin, %bytes
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %other ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %none
look:
  %values.at = getelementptr ptr, ptr %held, i64 %i
  %values = load ptr, ptr %values.at
  %is.array = icmp ne ptr %values, null
  br i1 %is.array, label %measure, label %other
measure:
  %fields = call ptr @fields(ptr %values)
  %from = load i64, ptr %fields
  %extents.at = getelementptr %Array, ptr %fields, i64 0, i32 2
  %extents = load ptr, ptr %extents.at
  %argument = getelementptr %Argument, ptr %first, i64 %i
  %rank.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %rank = load i64, ptr %rank.at
  %each.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %each = load i64, ptr %each.at
  %size = call i64 @times(i64 %each, ptr %extents, i64 %rank)
  %to = add i64 %from, %size
  %after = icmp uge i64 %begin, %from
  %before = icmp ule i64 %end, %to
  %inside = and i1 %after, %before
  br i1 %inside, label %found, label %other
other:
  %i.next = add i64 %i, 1
  br label %next
found:
  ret ptr %values
none:
  ret ptr null
}

; Whether NumPy writes neither to an array nor to any that it is a view of.
define internal i1 @is_frozen(ptr %array) {
entry:
  %class = load ptr, ptr @fw_facts
  br label %next
next:
  %object = phi ptr [ %array, %entry ], [ %base, %still ]
  %none = icmp eq ptr %object, null
  br i1 %none, label %yes, label %ask
ask:
  %type = call ptr @type_of(ptr %object)
  %derived = call i32 @PyType_IsSubtype(ptr %type, ptr %class)
  %is.array = icmp ne i32 %derived, 0
  br i1 %is.array, label %look, label %yes
look:
  %fields = call ptr @fields(ptr %object)
  %flags.at = getelementptr %Array, ptr %fields, i64 0, i32 6
  %flags = load i32, ptr %flags.at
  %writeable = and i32 %flags, 1024
  %is.still = icmp eq i32 %writeable, 0
  br i1 %is.still, label %still, label %no
still:
  %base.at = getelementptr %Array, ptr %fields, i64 0, i32 4
  %base = load ptr, ptr %base.at
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

declare i32 @PyType_IsSubtype(ptr, ptr)

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
define internal ptr @one_result(ptr %signature, ptr %result, ptr %slot, ptr %shape, ptr %held) {
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %is.scalar = icmp slt i64 %rank, 0
  br i1 %is.scalar, label %scalar, label %ask
scalar:
  %number = call ptr @scalar_array(ptr %result, ptr %slot)
  br label %wrap
ask:
  %own = call i1 @is_own(ptr %slot)
  br i1 %own, label %array, label %part
array:
  %values = call ptr @buffer_array(ptr %result, ptr %slot, ptr %shape)
  br label %wrap
part:
  %piece = call ptr @part_array(ptr %signature, ptr %result, ptr %slot, ptr %shape, ptr %held)
  br label %wrap
wrap:
  %inside = phi ptr [ %number, %scalar ], [ %values, %array ], [ %piece, %part ]
  %failed = icmp eq ptr %inside, null
  br i1 %failed, label %none, label %make
make:
  %plain = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 1)
  %complex = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 2)
  %pairs = call i64 @pairs_in(ptr %result)
  %is.plain = icmp eq i64 %pairs, 0
  %class = select i1 %is.plain, ptr %plain, ptr %complex
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
  %bytes.at = getelementptr i64, ptr %result, i64 2
  %bytes = load i64, ptr %bytes.at
  %array = call ptr @copied_array(ptr %result, i64 0, ptr null, ptr %slot, i64 %bytes)
  ret ptr %array
}

; NumPy's array with a copy of so many bytes, read-only.
define internal ptr @copied_array(ptr %result, i64 %rank, ptr %extents, ptr %from, i64 %bytes) {
  %array = call ptr @new_array(ptr %result, i64 %rank, ptr %extents, ptr null)
  %refused = icmp eq ptr %array, null
  br i1 %refused, label %none, label %fill
fill:
  %fields = call ptr @fields(ptr %array)
  %data = load ptr, ptr %fields
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %from, i64 %bytes, i1 false)
  %flags.at = getelementptr %Array, ptr %fields, i64 0, i32 6
  %flags = load i32, ptr %flags.at
  %still = and i32 %flags, -1025                 ; not writeable (1024)
  store i32 %still, ptr %flags.at
  ret ptr %array
none:
  ret ptr null
}

; NumPy's read-only array of what is memory of an argument: a view where nobody can write to that,
; else a copy.
define internal ptr @part_array(ptr %signature, ptr %result, ptr %slot, ptr %shape, ptr %held) {
  %room = alloca [65 x i64]
  %measured = call ptr @shape_of(ptr %result, ptr %slot, ptr %shape, ptr %room)
  %rank = load i64, ptr %measured
  %extents = getelementptr i64, ptr %measured, i64 1
  %data = load ptr, ptr %slot
  %bytes = call i64 @bytes_of(ptr %result, ptr %slot)
  %holder = call ptr @holder_of(ptr %signature, ptr %slot, i64 %bytes, ptr %held)
  %none = icmp eq ptr %holder, null
  br i1 %none, label %copy, label %ask
ask:
  %frozen = call i1 @is_frozen(ptr %holder)
  br i1 %frozen, label %view, label %copy
copy:
  %copied = call ptr @copied_array(ptr %result, i64 %rank, ptr %extents, ptr %data, i64 %bytes)
  ret ptr %copied
view:
  %array = call ptr @new_array(ptr %result, i64 %rank, ptr %extents, ptr %data)
  %refused = icmp eq ptr %array, null
  br i1 %refused, label %out, label %hold
hold:
  call void @Py_IncRef(ptr %holder)
  call void @set_base(ptr %array, ptr %holder)
  br label %out
out:
  ret ptr %array
}

; NumPy's read-only array over a buffer, which is freed when its last view dies.
define internal ptr @buffer_array(ptr %result, ptr %slot, ptr %shape) {
  %room = alloca [65 x i64]
  %measured = call ptr @shape_of(ptr %result, ptr %slot, ptr %shape, ptr %room)
  %rank = load i64, ptr %measured
  %extents = getelementptr i64, ptr %measured, i64 1
  %data = load ptr, ptr %slot
  %capsule = call ptr @PyCapsule_New(ptr %data, ptr @result_name, ptr @free_result)
  %refused = icmp eq ptr %capsule, null
  br i1 %refused, label %drop, label %make
drop:
  call void @fw_drop(ptr %data)
  ret ptr null
make:
  %array = call ptr @new_array(ptr %result, i64 %rank, ptr %extents, ptr %data)
  %none = icmp eq ptr %array, null
  br i1 %none, label %free, label %hold
free:
  call void @Py_DecRef(ptr %capsule)
  ret ptr null
hold:
  call void @set_base(ptr %array, ptr %capsule)
  ret ptr %array
}

; Lets a new array over another object's memory keep that alive; it takes the reference.
define internal void @set_base(ptr %array, ptr %base) {
  %fields = call ptr @fields(ptr %array)
  %base.at = getelementptr %Array, ptr %fields, i64 0, i32 4
  store ptr %base, ptr %base.at
  ret void
}

; The rank of a result, then its extents: the given ones, or those in the slots.
define internal ptr @shape_of(ptr %result, ptr %slot, ptr %shape, ptr %room) {
  %given = icmp ne ptr %shape, null
  br i1 %given, label %as.given, label %own
as.given:
  ret ptr %shape
own:
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  store i64 %rank, ptr %room
  %extents = getelementptr i64, ptr %room, i64 1
  call void @extents_of(ptr %result, ptr %slot, ptr %extents)
  ret ptr %room
}

; The extents of a result: those that are known, others from the slots after its data and owner.
define internal void @extents_of(ptr %result, ptr %slot, ptr %room) {
entry:
  %rank.at = getelementptr i64, ptr %result, i64 1
  %rank = load i64, ptr %rank.at
  %known = getelementptr i64, ptr %result, i64 4
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

; Whether a result is complex: 1 for an array of pairs of floats, the last axis, or 0.
define internal i64 @pairs_in(ptr %result) {
  %pairs.at = getelementptr i64, ptr %result, i64 3
  %pairs = load i64, ptr %pairs.at
  ret i64 %pairs
}

; NumPy's array with the dtype of a result: over data, read-only, or with memory of NumPy's own.
; A complex one has an axis less than the array of floats.
define internal ptr @new_array(ptr %result, i64 %rank, ptr %extents, ptr %data) {
  %class = load ptr, ptr @fw_facts
  %dtype = load ptr, ptr %result
  %new = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 14)
  %pairs = call i64 @pairs_in(ptr %result)
  %axes = sub i64 %rank, %pairs
  %rank.short = trunc i64 %axes to i32
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
