"""Programs for whoever works on the compiler."""
