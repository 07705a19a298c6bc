"""How blocks and warps pass on what lies before them: look-back, two passes, segments."""
