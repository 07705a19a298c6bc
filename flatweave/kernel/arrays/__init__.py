"""Pull and push arrays, and the loops in which they are computed."""
