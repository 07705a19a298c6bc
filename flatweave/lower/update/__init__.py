"""How one element is combined into memory that other threads write too."""
