"""The machine language: kernels over grid, block, warp and lanes, and the host program around them."""
