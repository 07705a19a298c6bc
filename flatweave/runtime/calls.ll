; Calls of programs from Python with no Python in between: a module with results.ll, compiled when
; a process enters its first call. It calls support.ll.
;
; `fw_call` is the C function (METH_FASTCALL and METH_KEYWORDS) of the callables that runtime/calls.py
; makes. Their `self` is a tuple: bytes with a table of signatures, then what the table refers to.
; It gives the result of the program whose signature the arguments have. It gives NotImplemented
; where there is none, or where a call has to be made in Python; and the number of the signature where
; its program ran in vain: it failed, or a result is memory of an argument. Then Python repeats it.
;
; A table is words: how many signatures there are, then the signatures:
;    0 its words    1 arguments and what they hold    2 whether arrays are given as rows: 1, the result has their
;    shape; 2, it has not    3 fw_main    4 table of kernels    5 constants after the arguments
;    6 results    7 what makes the function's result of a list of arrays, or 0 for the only array
;    8 arguments by name, the last ones    9 the number of the signature
;    10 the calls of libraries that the program makes    11 arguments of the call
;    12 where it is counted how many calls are made here before Python makes one, or 0
; then seven words for each argument, a structure before what it holds:
;    0 number of array, float, int, bool, object, tuple, list, other structure, number of NumPy, view
;    1 dtype, or the object that it is, which the program does not take, or the class of a structure
;    or number    2 rank, or how many parts a structure has, or 1 for an object if another one of its
;    class and value will do    3 bytes of an element, or where in a structure its parts are:
;    16 bits each, in bytes    4 its name, where it is given by name
;    5 bits of the axes that have extent 1, the others having another one: those are not given to the
;    program; -1 for any extents; of a view where its layout is    6 kind of element: 1 bool,
;    2 complex, 0 any other
; A layout is words: 0 how many axes move in memory    1 the distance of elements along the last of
; these, in elements    2 bits of the axes that are reversed    3 bits of those that have extent 1
;    4 the axis whose extent is that of memory's first axis, or -1    5 .. the axes that move, the
; outermost first. An array that is not C-contiguous and has fewer elements than a view is copied.
; then the constants, and for each result:
;    0 dtype    1 rank, -1 for a scalar    2 bytes of an element    3 whether two elements, those of
;    the last axis, are a complex number    4 .. extents, -1 where the program says

; What is known of the interpreter, of NumPy and of our classes, filled in by runtime/calls.py:
%Facts = type {
  ptr,   ;  0 numpy.ndarray
  ptr,   ;  1 HostArray
  ptr,   ;  2 HostComplex
  i64,   ;  3 where in an array of ours its values are, in bytes
  i64,   ;  4 where in NumPy's array the address of its data is; its other fields follow
  ptr,   ;  5 the context variable of switches
  ptr,   ;  6 the switches that tables are for
  ptr,   ;  7 a list that is empty where nobody watches calls
  ptr,   ;  8 a list that is empty where nothing is traced
  ptr,   ;  9 float
  ptr,   ; 10 int
  ptr,   ; 11 True
  ptr,   ; 12 False
  ptr,   ; 13 NotImplemented
  ptr,   ; 14 PyArray_NewFromDescr
  ptr,   ; 15 readable memory, for arrays without elements
  ptr,   ; 16 the number of threads to use
  ptr,   ; 17 Exception
  i64,   ; 18 the main thread
  ptr,   ; 19 PyArray_NewCopy
  ptr,   ; 20 how many elements a view has, at least
  ptr    ; 21 HostView
}
@fw_facts = global %Facts zeroinitializer
@result_name = internal constant [17 x i8] c"flatweave.result\00"
@looked = internal global i64 0             ; when a call of fw_call last ran signal handlers (ns)

%Signature = type { i64, i64, i64, ptr, ptr, i64, i64, ptr, i64, i64, ptr, i64, ptr }
%Argument = type { i64, ptr, i64, i64, ptr, i64, i64 }
%Array = type { ptr, i32, ptr, ptr, ptr, ptr, i32 }  ; data rank extents strides base dtype flags

declare i64 @PyList_Size(ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyBytes_AsString(ptr)
declare i32 @PyContextVar_Get(ptr, ptr, ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare double @PyFloat_AsDouble(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @PyErr_GivenExceptionMatches(ptr, ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @fw_drop(ptr)
declare i64 @fw_run(ptr, ptr, ptr, i64, i64)
declare i64 @fw_this_thread()
@fw_workers = external global i64

; ---------------------------------------------------------------- which program

define ptr @fw_call(ptr %self, ptr %args, i64 %by.place, ptr %names) {
  %objects = alloca [32 x ptr]                  ; the arguments and what they hold
  %named = call i64 @size_of(ptr %names)
  %count = add i64 %by.place, %named
  %plain = call i1 @is_plain()
  br i1 %plain, label %find, label %elsewhere
find:
  %bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %table = call ptr @PyBytes_AsString(ptr %bytes)
  %signature = call ptr @signature_of(ptr %table, ptr %args, i64 %count, ptr %names, i64 %named,
                                    ptr %objects)
  %none = icmp eq ptr %signature, null
  br i1 %none, label %elsewhere, label %count.down
count.down:
  %turn = call i1 @is_turn(ptr %signature)
  br i1 %turn, label %run, label %elsewhere
run:
  %result = call ptr @call_program(ptr %signature, ptr %objects)
  ret ptr %result
elsewhere:
  %not = call ptr @not_here()
  ret ptr %not
}

; Whether a call is made here; counts it where calls are counted.
define internal i1 @is_turn(ptr %signature) {
  %left.at = getelementptr %Signature, ptr %signature, i64 0, i32 12
  %left = load ptr, ptr %left.at
  %uncounted = icmp eq ptr %left, null
  br i1 %uncounted, label %yes, label %count
count:
  %calls = load i64, ptr %left
  %some = icmp sgt i64 %calls, 0
  br i1 %some, label %take, label %no
take:
  %fewer = sub i64 %calls, 1
  store i64 %fewer, ptr %left
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; How many names there are.
define internal i64 @size_of(ptr %names) {
  %none = icmp eq ptr %names, null
  br i1 %none, label %no, label %ask
no:
  ret i64 0
ask:
  %size = call i64 @PyTuple_Size(ptr %names)
  ret i64 %size
}

; NotImplemented.
define internal ptr @not_here() {
  %object = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 13)
  call void @Py_IncRef(ptr %object)
  ret ptr %object
}

; Whether calls run as they do where nothing is said: under the process's switches, outside of every
; trace, watched by nobody, and with the workers that there should be.
define internal i1 @is_plain() {
  %found = alloca ptr
  %watchers.list = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 7)
  %watchers = call i64 @PyList_Size(ptr %watchers.list)
  %traces.list = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 8)
  %traces = call i64 @PyList_Size(ptr %traces.list)
  %some = or i64 %watchers, %traces
  %free = icmp eq i64 %some, 0
  br i1 %free, label %ask, label %no
ask:
  %variable = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 5)
  store ptr null, ptr %found
  %failed = call i32 @PyContextVar_Get(ptr %variable, ptr null, ptr %found)
  %now = load ptr, ptr %found
  call void @Py_DecRef(ptr %now)
  %switches = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 6)
  %same = icmp eq ptr %now, %switches
  br i1 %same, label %count, label %no
count:
  %threads = call i64 @threads()
  %workers = load atomic i64, ptr @fw_workers monotonic, align 8
  %there = add i64 %workers, 1
  %enough = icmp sge i64 %there, %threads
  ret i1 %enough
no:
  ret i1 false
}

define internal i64 @threads() {
  %at = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 16)
  %threads = load i64, ptr %at
  ret i64 %threads
}

; The signature in a table that arguments have, or null; `objects` are then the arguments and what
; they hold.
define internal ptr @signature_of(ptr %table, ptr %args, i64 %count, ptr %names, i64 %named,
                                  ptr %objects) {
entry:
  %number = load i64, ptr %table
  %first = getelementptr i64, ptr %table, i64 1
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %other ]
  %signature = phi ptr [ %first, %entry ], [ %following, %other ]
  %more = icmp slt i64 %i, %number
  br i1 %more, label %look, label %none
look:
  %count.at = getelementptr %Signature, ptr %signature, i64 0, i32 11
  %wanted = load i64, ptr %count.at
  %named.at = getelementptr %Signature, ptr %signature, i64 0, i32 8
  %named.wanted = load i64, ptr %named.at
  %all = icmp eq i64 %wanted, %count
  %by.name = icmp eq i64 %named.wanted, %named
  %as.many = and i1 %all, %by.name
  br i1 %as.many, label %compare, label %other
compare:
  %by.place = sub i64 %count, %named
  %fits = call i1 @fits(ptr %signature, ptr %args, i64 %count, ptr %names, i64 %by.place, ptr %objects)
  br i1 %fits, label %measure, label %other
measure:
  %alike = call i1 @have_one_shape(ptr %signature, ptr %objects)
  br i1 %alike, label %out, label %other
other:
  %words = load i64, ptr %signature
  %following = getelementptr i64, ptr %signature, i64 %words
  %i.next = add i64 %i, 1
  br label %next
out:
  ret ptr %signature
none:
  ret ptr null
}

; Whether all arrays but scalars have one shape, where a signature asks for that.
define internal i1 @have_one_shape(ptr %signature, ptr %args) {
entry:
  %count.at = getelementptr %Signature, ptr %signature, i64 0, i32 1
  %count = load i64, ptr %count.at
  %shape = alloca [65 x i64]
  store i64 -1, ptr %shape
  %rows.at = getelementptr %Signature, ptr %signature, i64 0, i32 2
  %rows = load i64, ptr %rows.at
  %any = icmp eq i64 %rows, 0
  %first = getelementptr %Signature, ptr %signature, i64 1
  br i1 %any, label %yes, label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fine ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %yes
look:
  %argument = getelementptr %Argument, ptr %first, i64 %i
  %what = load i64, ptr %argument
  %rank.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %rank = load i64, ptr %rank.at
  %is.array = icmp eq i64 %what, 0
  %has.axes = icmp sgt i64 %rank, 0
  %counts = and i1 %is.array, %has.axes
  br i1 %counts, label %compare, label %fine
compare:
  %object.at = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %object.at
  %values = call ptr @values_of(ptr %object)
  %fields = call ptr @fields(ptr %values)
  %extents.at = getelementptr %Array, ptr %fields, i64 0, i32 2
  %extents = load ptr, ptr %extents.at
  %size = call i64 @same_shape(ptr %shape, ptr %extents, i64 %rank)
  %same = icmp sge i64 %size, 0
  br i1 %same, label %fine, label %no
fine:
  %i.next = add i64 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether arguments have a signature.
define internal i1 @fits(ptr %signature, ptr %args, i64 %count, ptr %names, i64 %by.place,
                         ptr %objects) {
entry:
  %first = getelementptr %Signature, ptr %signature, i64 1
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %good ]
  %at = phi i64 [ 0, %entry ], [ %after, %good ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %yes
look:
  %object.at = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %object.at
  %argument = getelementptr %Argument, ptr %first, i64 %at
  %after = call i64 @fits_whole(ptr %first, i64 %at, ptr %object, ptr %objects)
  %fits = icmp sge i64 %after, 0
  br i1 %fits, label %ask, label %no
ask:
  %has.name = icmp sge i64 %i, %by.place
  br i1 %has.name, label %name, label %good
name:
  %place = sub i64 %i, %by.place
  %given = call ptr @PyTuple_GetItem(ptr %names, i64 %place)
  %name.at = getelementptr %Argument, ptr %argument, i64 0, i32 4
  %known = load ptr, ptr %name.at
  %alike = icmp eq ptr %given, %known
  br i1 %alike, label %good, label %no
good:
  %i.next = add i64 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; The number of the argument after one and all that it holds, which are put among the objects; -1
; where an object is another one.
define internal i64 @fits_whole(ptr %first, i64 %number, ptr %object, ptr %objects) {
entry:
  %own.at = getelementptr ptr, ptr %objects, i64 %number
  store ptr %object, ptr %own.at
  %after = add i64 %number, 1
  %argument = getelementptr %Argument, ptr %first, i64 %number
  %what = load i64, ptr %argument
  %above = sub i64 %what, 5
  %holds = icmp ult i64 %above, 3
  br i1 %holds, label %structure, label %alone
alone:
  %fits = call i1 @fits_one(ptr %argument, ptr %object)
  %found = select i1 %fits, i64 %after, i64 -1
  ret i64 %found
structure:
  %class.at = getelementptr %Argument, ptr %argument, i64 0, i32 1
  %class = load ptr, ptr %class.at
  %type = call ptr @type_of(ptr %object)
  %alike = icmp eq ptr %type, %class
  %parts.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %parts = load i64, ptr %parts.at
  %places.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %places = load i64, ptr %places.at
  br i1 %alike, label %choose, label %no
choose:
  %is.other = icmp eq i64 %what, 7
  br i1 %is.other, label %next, label %sized
sized:                                          ; as many as a tuple or list has
  %size.at = getelementptr i64, ptr %object, i64 2
  %size = load i64, ptr %size.at
  %items.at = getelementptr i64, ptr %object, i64 3
  %items = load ptr, ptr %items.at
  %is.list = icmp eq i64 %what, 6
  %items.from = select i1 %is.list, ptr %items, ptr %items.at
  %as.many = icmp eq i64 %size, %parts
  br i1 %as.many, label %next, label %no
next:
  %from = phi ptr [ %object, %choose ], [ %items.from, %sized ], [ %from, %turn ]
  %i = phi i64 [ 0, %choose ], [ 0, %sized ], [ %i.next, %turn ]
  %at = phi i64 [ %after, %choose ], [ %after, %sized ], [ %at.next, %turn ]
  %rest = phi i64 [ %places, %choose ], [ %places, %sized ], [ %rest.next, %turn ]
  %more = icmp slt i64 %i, %parts
  br i1 %more, label %look, label %done
look:
  %own.place = and i64 %rest, 65535
  %in.order = mul i64 %i, 8
  %distance = select i1 %is.other, i64 %own.place, i64 %in.order
  %part.at = getelementptr i8, ptr %from, i64 %distance
  %part = load ptr, ptr %part.at
  %is.there = icmp ne ptr %part, null
  br i1 %is.there, label %descend, label %no
descend:
  %at.next = call i64 @fits_whole(ptr %first, i64 %at, ptr %part, ptr %objects)
  %fits.too = icmp sge i64 %at.next, 0
  br i1 %fits.too, label %turn, label %no
turn:
  %rest.next = lshr i64 %rest, 16
  %i.next = add i64 %i, 1
  br label %next
done:
  ret i64 %at
no:
  ret i64 -1
}

define internal i1 @fits_one(ptr %argument, ptr %object) {
  %what = load i64, ptr %argument
  switch i64 %what, label %no [
    i64 0, label %array
    i64 1, label %float
    i64 2, label %int
    i64 3, label %bool
    i64 4, label %object.itself
    i64 8, label %scalar
    i64 9, label %array
  ]
scalar:
  %class.at = getelementptr %Argument, ptr %argument, i64 0, i32 1
  %class = load ptr, ptr %class.at
  %scalar.own = call ptr @type_of(ptr %object)
  %is.scalar = icmp eq ptr %scalar.own, %class
  ret i1 %is.scalar
object.itself:                                  ; or one of its class and value, if that will do
  %itself.at = getelementptr %Argument, ptr %argument, i64 0, i32 1
  %itself = load ptr, ptr %itself.at
  %is.it = icmp eq ptr %object, %itself
  br i1 %is.it, label %yes, label %compare.classes
compare.classes:
  %will.do.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %will.do.word = load i64, ptr %will.do.at
  %will.do = icmp ne i64 %will.do.word, 0
  %class.own = call ptr @type_of(ptr %object)
  %class.known = call ptr @type_of(ptr %itself)
  %of.class = icmp eq ptr %class.own, %class.known
  %may.equal = and i1 %will.do, %of.class
  br i1 %may.equal, label %compare.values, label %no
compare.values:                                 ; 2: Py_EQ
  %same.value = call i32 @PyObject_RichCompareBool(ptr %object, ptr %itself, i32 2)
  %is.equal = icmp eq i32 %same.value, 1
  ret i1 %is.equal
yes:
  ret i1 true
array:
  %values = call ptr @values_of(ptr %object)
  %other = icmp eq ptr %values, null
  br i1 %other, label %no, label %compare
compare:
  %fields = call ptr @fields(ptr %values)
  %dtype.at = getelementptr %Array, ptr %fields, i64 0, i32 5
  %dtype = load ptr, ptr %dtype.at
  %dtype.wanted.at = getelementptr %Argument, ptr %argument, i64 0, i32 1
  %dtype.wanted = load ptr, ptr %dtype.wanted.at
  %alike = icmp eq ptr %dtype, %dtype.wanted
  %rank.at = getelementptr %Array, ptr %fields, i64 0, i32 1
  %rank.short = load i32, ptr %rank.at
  %rank = sext i32 %rank.short to i64
  %rank.wanted.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %rank.wanted = load i64, ptr %rank.wanted.at
  %of.rank = icmp eq i64 %rank, %rank.wanted
  %both = and i1 %alike, %of.rank
  br i1 %both, label %choose, label %no
choose:
  %is.view = icmp eq i64 %what, 9
  br i1 %is.view, label %view, label %whole
view:
  %readable = call i1 @has_layout(ptr %argument, ptr %fields)
  ret i1 %readable
whole:
  %order = call i32 @order_of(ptr %fields)
  %in.order = icmp eq i32 %order, 257
  %large = call i1 @is_large(ptr %argument, ptr %fields)
  %small = xor i1 %large, true
  %can.be.given = or i1 %in.order, %small
  br i1 %can.be.given, label %measure, label %no
measure:
  %ones.at = getelementptr %Argument, ptr %argument, i64 0, i32 5
  %ones = load i64, ptr %ones.at
  %extents.at = getelementptr %Array, ptr %fields, i64 0, i32 2
  %extents = load ptr, ptr %extents.at
  %has.ones = call i1 @has_ones(i64 %ones, ptr %extents, i64 %rank)
  ret i1 %has.ones
float:
  %float.type = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 9)
  %float.own = call ptr @type_of(ptr %object)
  %is.float = icmp eq ptr %float.own, %float.type
  ret i1 %is.float
int:
  %int.type = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 10)
  %int.own = call ptr @type_of(ptr %object)
  %is.int = icmp eq ptr %int.own, %int.type
  ret i1 %is.int
bool:
  %true = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 11)
  %false = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 12)
  %is.true = icmp eq ptr %object, %true
  %is.false = icmp eq ptr %object, %false
  %is.bool = or i1 %is.true, %is.false
  ret i1 %is.bool
no:
  ret i1 false
}

; The flags of an array that say whether it is C-contiguous (1) and aligned (256).
define internal i32 @order_of(ptr %fields) {
  %flags.at = getelementptr %Array, ptr %fields, i64 0, i32 6
  %flags = load i32, ptr %flags.at
  %order = and i32 %flags, 257
  ret i32 %order
}

; Whether an array has as many elements as a view.
define internal i1 @is_large(ptr %argument, ptr %fields) {
  %extents.at = getelementptr %Array, ptr %fields, i64 0, i32 2
  %extents = load ptr, ptr %extents.at
  %rank.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %rank = load i64, ptr %rank.at
  %size = call i64 @times(i64 1, ptr %extents, i64 %rank)
  %least.at = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 20)
  %least = load i64, ptr %least.at
  %large = icmp sge i64 %size, %least
  ret i1 %large
}

; Whether the axes with these bits have extent 1, and no others; -1: whatever they have.
define internal i1 @has_ones(i64 %ones, ptr %extents, i64 %rank) {
entry:
  %any = icmp eq i64 %ones, -1
  br i1 %any, label %yes, label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fine ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %look, label %yes
look:
  %extent.at = getelementptr i64, ptr %extents, i64 %i
  %extent = load i64, ptr %extent.at
  %is.one = icmp eq i64 %extent, 1
  %should = call i1 @has_bit(i64 %ones, i64 %i)
  %alike = icmp eq i1 %is.one, %should
  br i1 %alike, label %fine, label %no
fine:
  %i.next = add i64 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether the bit of an axis is set; none is in -1.
define internal i1 @has_bit(i64 %ones, i64 %axis) {
  %known = icmp sge i64 %ones, 0
  %shifted = lshr i64 %ones, %axis
  %bit = trunc i64 %shifted to i1
  %set = and i1 %known, %bit
  ret i1 %set
}

; Whether an array that is not C-contiguous is a view with the layout of an argument.
define internal i1 @has_layout(ptr %argument, ptr %fields) {
entry:
  %layout = call ptr @layout_of(ptr %argument)
  %count = load i64, ptr %layout
  %apart.at = getelementptr i64, ptr %layout, i64 1
  %apart = load i64, ptr %apart.at
  %reverse.at = getelementptr i64, ptr %layout, i64 2
  %reverse = load i64, ptr %reverse.at
  %ones.at = getelementptr i64, ptr %layout, i64 3
  %ones = load i64, ptr %ones.at
  %rank.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %rank = load i64, ptr %rank.at
  %bytes.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %bytes = load i64, ptr %bytes.at
  %extents.at = getelementptr %Array, ptr %fields, i64 0, i32 2
  %extents = load ptr, ptr %extents.at
  %strides.at = getelementptr %Array, ptr %fields, i64 0, i32 3
  %strides = load ptr, ptr %strides.at
  %order = call i32 @order_of(ptr %fields)
  %is.view = icmp eq i32 %order, 256
  %large = call i1 @is_large(ptr %argument, ptr %fields)
  %may = and i1 %is.view, %large
  br i1 %may, label %next, label %no
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fine ]
  %moving = phi i64 [ 0, %entry ], [ %moving.next, %fine ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %look, label %compare
look:
  %extent.at = getelementptr i64, ptr %extents, i64 %i
  %extent = load i64, ptr %extent.at
  %is.one = icmp eq i64 %extent, 1
  %should.be = call i1 @has_bit(i64 %ones, i64 %i)
  %as.long = icmp eq i1 %is.one, %should.be
  br i1 %as.long, label %ask, label %no
ask:
  br i1 %is.one, label %fine, label %move
move:
  %stride.at = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride.at
  %moves = icmp ne i64 %stride, 0
  %back = icmp slt i64 %stride, 0
  %should.go.back = call i1 @has_bit(i64 %reverse, i64 %i)
  %same.way = icmp eq i1 %back, %should.go.back
  %rest = srem i64 %stride, %bytes
  %whole = icmp eq i64 %rest, 0
  %good = and i1 %same.way, %whole
  br i1 %good, label %fine, label %no
fine:
  %counts = phi i1 [ false, %ask ], [ %moves, %move ]
  %step = zext i1 %counts to i64
  %moving.next = add i64 %moving, %step
  %i.next = add i64 %i, 1
  br label %next
compare:
  %as.many = icmp eq i64 %moving, %count
  br i1 %as.many, label %axis, label %no
axis:
  %k = phi i64 [ 0, %compare ], [ %k.next, %turn ]
  %k.more = icmp slt i64 %k, %count
  br i1 %k.more, label %turn, label %last
turn:
  %found = call i64 @memory_extent(ptr %argument, ptr %extents, ptr %strides, i64 %k)
  %regular = icmp sge i64 %found, 0
  %k.next = add i64 %k, 1
  br i1 %regular, label %axis, label %no
last:
  %last.k = sub i64 %count, 1
  %last.apart = call i64 @apart_along(ptr %argument, ptr %strides, i64 %last.k)
  %as.close = icmp eq i64 %last.apart, %apart
  ret i1 %as.close
no:
  ret i1 false
}

define internal ptr @layout_of(ptr %argument) {
  %at = getelementptr %Argument, ptr %argument, i64 0, i32 5
  %layout = load ptr, ptr %at
  ret ptr %layout
}

; The number of a view's axis that moves in memory as the axis k of memory.
define internal i64 @moving_axis(ptr %argument, i64 %k) {
  %layout = call ptr @layout_of(ptr %argument)
  %first = getelementptr i64, ptr %layout, i64 5
  %at = getelementptr i64, ptr %first, i64 %k
  %axis = load i64, ptr %at
  ret i64 %axis
}

; The distance of elements along it, in elements.
define internal i64 @apart_along(ptr %argument, ptr %strides, i64 %k) {
  %axis = call i64 @moving_axis(ptr %argument, i64 %k)
  %stride.at = getelementptr i64, ptr %strides, i64 %axis
  %stride = load i64, ptr %stride.at
  %length = call i64 @llvm.abs.i64(i64 %stride, i1 false)
  %bytes.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %bytes = load i64, ptr %bytes.at
  %apart = sdiv i64 %length, %bytes
  ret i64 %apart
}

declare i64 @llvm.abs.i64(i64, i1)

; The extent of the axis k of memory; -1 where the view is not regular, as `view_of` has it.
define internal i64 @memory_extent(ptr %argument, ptr %extents, ptr %strides, i64 %k) {
  %layout = call ptr @layout_of(ptr %argument)
  %count = load i64, ptr %layout
  %axis = call i64 @moving_axis(ptr %argument, i64 %k)
  %extent.at = getelementptr i64, ptr %extents, i64 %axis
  %extent = load i64, ptr %extent.at
  %steps = sub i64 %extent, 1
  %apart = call i64 @apart_along(ptr %argument, ptr %strides, i64 %k)
  %moves = icmp ne i64 %apart, 0
  br i1 %moves, label %choose, label %no
choose:
  %is.first = icmp eq i64 %k, 0
  br i1 %is.first, label %first, label %inner
first:
  %alone = icmp eq i64 %count, 1
  %reach = mul i64 %steps, %apart
  %length = add i64 %reach, 1
  %found = select i1 %alone, i64 %length, i64 %extent
  ret i64 %found
inner:
  %k.before = sub i64 %k, 1
  %before = call i64 @apart_along(ptr %argument, ptr %strides, i64 %k.before)
  %k.next = add i64 %k, 1
  %is.last = icmp eq i64 %k.next, %count
  %unit = select i1 %is.last, i64 1, i64 %apart
  %in.units = sdiv i64 %before, %unit
  %rest = srem i64 %before, %unit
  %step = sdiv i64 %apart, %unit
  %last = mul i64 %steps, %step
  %whole = icmp eq i64 %rest, 0
  %inside = icmp slt i64 %last, %in.units
  %regular = and i1 %whole, %inside
  br i1 %regular, label %yes, label %no
yes:
  ret i64 %in.units
no:
  ret i64 -1
}

; The class of an object, which is the word after its references.
define internal ptr @type_of(ptr %object) {
  %at = getelementptr i64, ptr %object, i64 1
  %type = load ptr, ptr %at
  ret ptr %type
}

; NumPy's array: the object itself, or the values of an array of ours; null for anything else, also
; for objects of derived classes.
define internal ptr @values_of(ptr %object) {
  %type = call ptr @type_of(ptr %object)
  %numpy = load ptr, ptr @fw_facts
  %is.numpy = icmp eq ptr %type, %numpy
  br i1 %is.numpy, label %itself, label %ours
itself:
  ret ptr %object
ours:
  %host = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 1)
  %complex = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 2)
  %is.host = icmp eq ptr %type, %host
  %view = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 21)
  %is.complex = icmp eq ptr %type, %complex
  %is.view = icmp eq ptr %type, %view
  %is.real = or i1 %is.host, %is.view
  %is.ours = or i1 %is.real, %is.complex
  br i1 %is.ours, label %inside, label %none
inside:
  %distance = load i64, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 3)
  %at = getelementptr i8, ptr %object, i64 %distance
  %values = load ptr, ptr %at
  ret ptr %values
none:
  ret ptr null
}

; The fields of NumPy's array after the head that every object has.
define internal ptr @fields(ptr %values) {
  %distance = load i64, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 4)
  %fields = getelementptr i8, ptr %values, i64 %distance
  ret ptr %fields
}

; ---------------------------------------------------------------- its arguments

; Calls the program of a signature. Arrays are held until it is over: another thread may donate them.
define internal ptr @call_program(ptr %signature, ptr %args) {
  %slots = alloca [256 x i64]
  %held = alloca [32 x ptr]
  %shape = alloca [65 x i64]                    ; the rank, -1 for unknown, then extents
  store i64 -1, ptr %shape
  %count.at = getelementptr %Signature, ptr %signature, i64 0, i32 1
  %count = load i64, ptr %count.at
  %rest = call ptr @fill(ptr %signature, ptr %args, ptr %slots, ptr %held, ptr %shape)
  %misfit = icmp eq ptr %rest, null
  br i1 %misfit, label %elsewhere, label %run
elsewhere:
  call void @let_go(ptr %held, i64 %count)
  %not = call ptr @not_here()
  ret ptr %not
run:
  %results = call ptr @add_constants(ptr %signature, ptr %rest)
  %bad = call i64 @run_program(ptr %signature, ptr %slots)
  switch i64 %bad, label %again [
    i64 0, label %good
    i64 1, label %out
  ]
good:
  %result = call ptr @result_of(ptr %signature, ptr %results, ptr %shape, ptr %held)
  br label %out
again:
  %in.vain = call ptr @ran_in_vain(ptr %signature)
  br label %out
out:
  %found = phi ptr [ null, %run ], [ %result, %good ], [ %in.vain, %again ]
  call void @let_go(ptr %held, i64 %count)
  ret ptr %found
}

; The number of a signature, for Python.
define internal ptr @ran_in_vain(ptr %signature) {
  %number.at = getelementptr %Signature, ptr %signature, i64 0, i32 9
  %number = load i64, ptr %number.at
  %object = call ptr @PyLong_FromLongLong(i64 %number)
  ret ptr %object
}

; Gives up the references to what is held; nulls are left out.
define internal void @let_go(ptr %held, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %turn ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %turn, label %done
turn:
  %at = getelementptr ptr, ptr %held, i64 %i
  %object = load ptr, ptr %at
  call void @Py_DecRef(ptr %object)
  %i.next = add i64 %i, 1
  br label %next
done:
  ret void
}

; Puts arguments into slots, and holds arrays; the slot after them, or null where one has no slot: an
; int that is too large, or an array of another shape where all must have one.
define internal ptr @fill(ptr %signature, ptr %args, ptr %slots, ptr %held, ptr %shape) {
entry:
  %count.at = getelementptr %Signature, ptr %signature, i64 0, i32 1
  %count = load i64, ptr %count.at
  %bytes = mul i64 %count, 8
  call void @llvm.memset.p0.i64(ptr %held, i8 0, i64 %bytes, i1 false)
  %rows.at = getelementptr %Signature, ptr %signature, i64 0, i32 2
  %rows = load i64, ptr %rows.at
  %first = getelementptr %Signature, ptr %signature, i64 1
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %filled ]
  %slot = phi ptr [ %slots, %entry ], [ %slot.after, %filled ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %done
look:
  %object.at = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %object.at
  %argument = getelementptr %Argument, ptr %first, i64 %i
  %what = load i64, ptr %argument
  %above = sub i64 %what, 4
  %has.none = icmp ult i64 %above, 4            ; one object, and structures
  br i1 %has.none, label %filled, label %ask
ask:
  %is.whole = icmp eq i64 %what, 0
  %is.view = icmp eq i64 %what, 9
  %is.array = or i1 %is.whole, %is.view
  br i1 %is.array, label %array, label %ask.more
ask.more:
  %is.scalar = icmp eq i64 %what, 8
  br i1 %is.scalar, label %scalar, label %number
scalar:
  %value.at = getelementptr i64, ptr %object, i64 2
  %width.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %width = load i64, ptr %width.at
  %kind.at = getelementptr %Argument, ptr %argument, i64 0, i32 6
  %kind = load i64, ptr %kind.at
  %is.bool = icmp eq i64 %kind, 1
  call void @fill_scalar(ptr %value.at, i64 %width, i1 %is.bool, ptr %slot)
  %after.scalar = getelementptr i64, ptr %slot, i64 1
  br label %filled.or.not
array:
  %values = call ptr @values_to_give(ptr %object, i1 %is.view)
  %held.at = getelementptr ptr, ptr %held, i64 %i
  store ptr %values, ptr %held.at
  %refused = icmp eq ptr %values, null
  br i1 %refused, label %none, label %give
give:
  br i1 %is.view, label %view, label %whole
view:
  %after.view = call ptr @fill_view(ptr %argument, ptr %values, ptr %slot)
  br label %filled.or.not
whole:
  %after.array = call ptr @fill_array(ptr %argument, ptr %values, ptr %slot, i64 %rows, ptr %shape)
  br label %filled.or.not
number:
  %after.number = call ptr @fill_number(i64 %what, ptr %object, ptr %slot)
  br label %filled.or.not
filled.or.not:
  %slot.next = phi ptr [ %after.array, %whole ], [ %after.view, %view ],
                        [ %after.number, %number ], [ %after.scalar, %scalar ]
  %misfit = icmp eq ptr %slot.next, null
  br i1 %misfit, label %none, label %filled
filled:
  %slot.after = phi ptr [ %slot, %look ], [ %slot.next, %filled.or.not ]
  %i.next = add i64 %i, 1
  br label %next
done:
  ret ptr %slot
none:
  ret ptr null
}

define internal ptr @fill_number(i64 %what, ptr %object, ptr %slot) {
  %overflow = alloca i32
  %after = getelementptr i64, ptr %slot, i64 1
  switch i64 %what, label %bool [
    i64 1, label %float
    i64 2, label %int
  ]
float:
  %value = call double @PyFloat_AsDouble(ptr %object)
  store double %value, ptr %slot
  ret ptr %after
int:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  store i64 %whole, ptr %slot
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  %found = select i1 %fits, ptr %after, ptr null
  ret ptr %found
bool:
  %true = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 11)
  %is.true = icmp eq ptr %object, %true
  %bit = zext i1 %is.true to i64
  store i64 %bit, ptr %slot
  ret ptr %after
}

; NumPy's array of an argument, to be held: a copy where a program cannot be given it as it is; null
; where there is no memory for one.
define internal ptr @values_to_give(ptr %object, i1 %is.view) {
  %values = call ptr @values_of(ptr %object)
  %fields = call ptr @fields(ptr %values)
  %order = call i32 @order_of(ptr %fields)
  %in.order = icmp eq i32 %order, 257
  %as.it.is = or i1 %in.order, %is.view
  br i1 %as.it.is, label %hold, label %copy
hold:
  call void @Py_IncRef(ptr %values)
  ret ptr %values
copy:
  %new = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 19)
  %copied = call ptr %new(ptr %values, i32 0)
  %refused = icmp eq ptr %copied, null
  br i1 %refused, label %clear, label %out
clear:                                          ; Python's call raises it again
  call void @PyErr_Clear()
  br label %out
out:
  ret ptr %copied
}

; What a program takes for a view into slots: the extents that memory has not, memory's own, and
; the address of memory's first element. The slot after them.
define internal ptr @fill_view(ptr %argument, ptr %values, ptr %slot) {
entry:
  %fields = call ptr @fields(ptr %values)
  %data = load i64, ptr %fields
  %extents.at = getelementptr %Array, ptr %fields, i64 0, i32 2
  %extents = load ptr, ptr %extents.at
  %strides.at = getelementptr %Array, ptr %fields, i64 0, i32 3
  %strides = load ptr, ptr %strides.at
  %rank.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %rank = load i64, ptr %rank.at
  %layout = call ptr @layout_of(ptr %argument)
  %count = load i64, ptr %layout
  %reverse.at = getelementptr i64, ptr %layout, i64 2
  %reverse = load i64, ptr %reverse.at
  %ones.at = getelementptr i64, ptr %layout, i64 3
  %ones = load i64, ptr %ones.at
  %own.at = getelementptr i64, ptr %layout, i64 4
  %own = load i64, ptr %own.at
  br label %axis
axis:
  %i = phi i64 [ 0, %entry ], [ %i.next, %store ]
  %at = phi ptr [ %slot, %entry ], [ %at.next, %store ]
  %address = phi i64 [ %data, %entry ], [ %address.next, %store ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %store, label %next
store:                                          ; the next extent goes over one that is not given
  %extent.at = getelementptr i64, ptr %extents, i64 %i
  %extent = load i64, ptr %extent.at
  store i64 %extent, ptr %at
  %is.own = icmp eq i64 %i, %own
  %is.one = call i1 @has_bit(i64 %ones, i64 %i)
  %left.out = or i1 %is.own, %is.one
  %slots = select i1 %left.out, i64 0, i64 1
  %at.next = getelementptr i64, ptr %at, i64 %slots
  %stride.at = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride.at
  %steps = sub i64 %extent, 1
  %reach = mul i64 %steps, %stride
  %back = call i1 @has_bit(i64 %reverse, i64 %i)
  %down = select i1 %back, i64 %reach, i64 0
  %address.next = add i64 %address, %down
  %i.next = add i64 %i, 1
  br label %axis
next:
  %k = phi i64 [ 0, %axis ], [ %k.next, %put ]
  %to = phi ptr [ %at, %axis ], [ %to.next, %put ]
  %k.more = icmp slt i64 %k, %count
  br i1 %k.more, label %put, label %done
put:
  %own.extent = call i64 @memory_extent(ptr %argument, ptr %extents, ptr %strides, i64 %k)
  store i64 %own.extent, ptr %to
  %to.next = getelementptr i64, ptr %to, i64 1
  %k.next = add i64 %k, 1
  br label %next
done:
  store i64 %address, ptr %to
  %after = getelementptr i64, ptr %to, i64 1
  ret ptr %after
}

; Extents and data of an array into slots, as those of one row where all arrays must have one shape;
; of a scalar its value. The slot after them, or null where the shape is another one.
define internal ptr @fill_array(ptr %argument, ptr %values, ptr %slot, i64 %rows, ptr %shape) {
entry:
  %fields = call ptr @fields(ptr %values)
  %data = load ptr, ptr %fields
  %extents.at = getelementptr %Array, ptr %fields, i64 0, i32 2
  %extents = load ptr, ptr %extents.at
  %rank.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %rank = load i64, ptr %rank.at
  %bytes.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %bytes = load i64, ptr %bytes.at
  %kind.at = getelementptr %Argument, ptr %argument, i64 0, i32 6
  %kind = load i64, ptr %kind.at
  %is.complex = icmp eq i64 %kind, 2
  %is.bool = icmp eq i64 %kind, 1
  %ones.at = getelementptr %Argument, ptr %argument, i64 0, i32 5
  %ones = load i64, ptr %ones.at
  %is.scalar = icmp eq i64 %rank, 0
  %is.real = xor i1 %is.complex, true
  %is.number = and i1 %is.scalar, %is.real
  br i1 %is.number, label %number, label %choose
number:
  call void @fill_scalar(ptr %data, i64 %bytes, i1 %is.bool, ptr %slot)
  %after.number = getelementptr i64, ptr %slot, i64 1
  ret ptr %after.number
choose:
  %each = icmp eq i64 %rows, 0
  %as.is = or i1 %each, %is.scalar
  br i1 %as.is, label %axes, label %one.row
axes:
  br label %axis
axis:
  %i = phi i64 [ 0, %axes ], [ %i.next, %store ]
  %size = phi i64 [ 1, %axes ], [ %size.next, %store ]
  %after.axes = phi ptr [ %slot, %axes ], [ %to.next, %store ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %store, label %axes.done
store:                                          ; the next extent goes over one that is not given
  %extent.at = getelementptr i64, ptr %extents, i64 %i
  %extent = load i64, ptr %extent.at
  store i64 %extent, ptr %after.axes
  %is.one = call i1 @has_bit(i64 %ones, i64 %i)
  %step = select i1 %is.one, i64 0, i64 1
  %to.next = getelementptr i64, ptr %after.axes, i64 %step
  %size.next = mul i64 %size, %extent
  %i.next = add i64 %i, 1
  br label %axis
axes.done:
  br i1 %is.complex, label %pair, label %put
pair:
  store i64 2, ptr %after.axes
  %after.pair = getelementptr i64, ptr %after.axes, i64 1
  br label %put
one.row:
  %elements = call i64 @same_shape(ptr %shape, ptr %extents, i64 %rank)
  %other = icmp slt i64 %elements, 0
  br i1 %other, label %misfit, label %row
row:
  store i64 %elements, ptr %slot
  %after.row = getelementptr i64, ptr %slot, i64 1
  br label %put
put:
  %place = phi ptr [ %after.axes, %axes.done ], [ %after.pair, %pair ], [ %after.row, %row ]
  %count = phi i64 [ %size, %axes.done ], [ %size, %pair ], [ %elements, %row ]
  %is.empty = icmp eq i64 %count, 0
  %nothing = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 15)
  %address = select i1 %is.empty, ptr %nothing, ptr %data
  store ptr %address, ptr %place
  %after = getelementptr i64, ptr %place, i64 1
  ret ptr %after
misfit:
  ret ptr null
}

; A scalar's bytes in the low bytes of a slot; of a bool, any byte but 0 is true.
define internal void @fill_scalar(ptr %data, i64 %bytes, i1 %is.bool, ptr %slot) {
  store i64 0, ptr %slot
  br i1 %is.bool, label %bool, label %copy
bool:
  %byte = load i8, ptr %data
  %is.true = icmp ne i8 %byte, 0
  %bit = zext i1 %is.true to i64
  store i64 %bit, ptr %slot
  ret void
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %data, i64 %bytes, i1 false)
  ret void
}

; How many elements arrays of this shape have; -1 where an array of another shape came before.
define internal i64 @same_shape(ptr %shape, ptr %extents, i64 %rank) {
entry:
  %known = load i64, ptr %shape
  %is.first = icmp slt i64 %known, 0
  %same.rank = icmp eq i64 %known, %rank
  %may = or i1 %is.first, %same.rank
  store i64 %rank, ptr %shape
  br i1 %may, label %next, label %no
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fine ]
  %size = phi i64 [ 1, %entry ], [ %size.next, %fine ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %look, label %done
look:
  %extent.at = getelementptr i64, ptr %extents, i64 %i
  %extent = load i64, ptr %extent.at
  %i.next = add i64 %i, 1
  %before.at = getelementptr i64, ptr %shape, i64 %i.next
  %before = load i64, ptr %before.at
  %alike = icmp eq i64 %extent, %before
  %good = or i1 %is.first, %alike
  store i64 %extent, ptr %before.at
  %size.next = mul i64 %size, %extent
  br i1 %good, label %fine, label %no
fine:
  br label %next
done:
  ret i64 %size
no:
  ret i64 -1
}

; Copies a signature's constants after its arguments; the slot after them.
define internal ptr @add_constants(ptr %signature, ptr %slot) {
  %constants = call ptr @constants(ptr %signature)
  %number.at = getelementptr %Signature, ptr %signature, i64 0, i32 5
  %number = load i64, ptr %number.at
  %bytes = mul i64 %number, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %constants, i64 %bytes, i1 false)
  %after = getelementptr i64, ptr %slot, i64 %number
  ret ptr %after
}

define internal ptr @constants(ptr %signature) {
  %count.at = getelementptr %Signature, ptr %signature, i64 0, i32 1
  %count = load i64, ptr %count.at
  %arguments = getelementptr %Signature, ptr %signature, i64 1
  %constants = getelementptr %Argument, ptr %arguments, i64 %count
  ret ptr %constants
}

; ---------------------------------------------------------------- its run

; Runs a program without the GIL: 0, or 1 for what Python has raised meanwhile, or -1.
define internal i64 @run_program(ptr %signature, ptr %slots) {
  %ctx = alloca [32 x i64]
  call void @llvm.memset.p0.i64(ptr %ctx, i8 0, i64 256, i1 false)
  %looked.at = getelementptr i64, ptr %ctx, i64 12
  %looked = load i64, ptr @looked
  store i64 %looked, ptr %looked.at
  %entry.at = getelementptr %Signature, ptr %signature, i64 0, i32 3
  %entry = load ptr, ptr %entry.at
  %kernels.from = getelementptr %Signature, ptr %signature, i64 0, i32 4
  %kernels = load ptr, ptr %kernels.from
  %kernels.at = getelementptr i64, ptr %ctx, i64 17
  store ptr %kernels, ptr %kernels.at
  %calls.from = getelementptr %Signature, ptr %signature, i64 0, i32 10
  %calls = load ptr, ptr %calls.from
  %calls.at = getelementptr i64, ptr %ctx, i64 21
  store ptr %calls, ptr %calls.at
  %threads = call i64 @threads()
  %self = call i64 @fw_this_thread()
  %main = load i64, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 18)
  %is.main = icmp eq i64 %self, %main
  %ident = select i1 %is.main, i64 %main, i64 0
  %state = call ptr @PyEval_SaveThread()
  %bad = call i64 @fw_run(ptr %ctx, ptr %entry, ptr %slots, i64 %threads, i64 %ident)
  call void @PyEval_RestoreThread(ptr %state)
  %last = load i64, ptr %looked.at
  store i64 %last, ptr @looked
  %good = icmp eq i64 %bad, 0
  br i1 %good, label %out, label %look
out:
  ret i64 0
look:
  %type.at = getelementptr i64, ptr %ctx, i64 13
  %type = load ptr, ptr %type.at
  %none = icmp eq ptr %type, null
  br i1 %none, label %failed, label %raised
raised:
  %value.at = getelementptr i64, ptr %ctx, i64 14
  %value = load ptr, ptr %value.at
  %trace.at = getelementptr i64, ptr %ctx, i64 15
  %trace = load ptr, ptr %trace.at
  %exception = load ptr, ptr getelementptr (%Facts, ptr @fw_facts, i64 0, i32 17)
  %matches = call i32 @PyErr_GivenExceptionMatches(ptr %type, ptr %exception)
  %ordinary = icmp ne i32 %matches, 0
  br i1 %ordinary, label %drop, label %raise
raise:                                          ; an interrupt
  call void @PyErr_Restore(ptr %type, ptr %value, ptr %trace)
  ret i64 1
drop:                                           ; Python's call raises it again, with its line
  call void @Py_DecRef(ptr %type)
  call void @Py_DecRef(ptr %value)
  call void @Py_DecRef(ptr %trace)
  ret i64 -1
failed:
  ret i64 -1
}
