"""A radix sort: the host's part, and what blocks or lanes do in each pass over a digit."""
