"""Programs for whoever works on the compiler, which are no part of the installed package."""
