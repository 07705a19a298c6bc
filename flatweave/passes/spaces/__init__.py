"""The spaces that sweeps go over, written otherwise: what is computed stays as it is."""
