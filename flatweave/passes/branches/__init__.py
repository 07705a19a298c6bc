"""What moves into the branches of a program."""
