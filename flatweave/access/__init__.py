"""Where elements read and write: one analysis for passes, lowering and emission."""
