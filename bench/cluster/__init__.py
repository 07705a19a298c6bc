"""Clusters: what faults cost, and what distribution costs."""
