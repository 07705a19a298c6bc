"""What operators promise, tried on the data: by default on a few elements of a first call."""
