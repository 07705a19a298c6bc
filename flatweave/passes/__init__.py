"""Array IR becomes better array IR, one verb a file."""
