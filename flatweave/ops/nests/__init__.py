"""Nests whose rows vary in length: what they give, and the versions of them."""
