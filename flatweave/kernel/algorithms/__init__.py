"""What is written in the language itself: filters, folds, networks, work of warps."""
