"""How a warp visits the positions of its block: in whole steps, row by row, a row per lane."""
