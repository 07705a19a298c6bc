"""What a target can do, in numbers: registers, warps, memory. One `Machine` for each."""
