"""What becomes of the elements of a sweep: stored, kept, combined, combined by segment."""
