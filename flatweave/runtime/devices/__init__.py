"""Devices with memory of their own: what all share, and a driver for each kind."""
