"""Memory of each level: what is stored, updated at once, and waited for."""
