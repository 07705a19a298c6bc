"""The machine language: kernels over grid, block, warp and lanes, and the host around them."""
