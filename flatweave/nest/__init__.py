"""The loops of a sweep and their schedule, before any kernel is written."""
