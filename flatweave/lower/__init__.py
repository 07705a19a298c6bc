"""Array IR becomes kernels and the host program around them."""
