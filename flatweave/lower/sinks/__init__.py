"""The uses of the elements of a sweep: stored, selected, combined, combined by segment."""
