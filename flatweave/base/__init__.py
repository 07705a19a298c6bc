"""What every stage stands on and what knows nothing of arrays: errors, places, switches, text."""
