"""Runs programs with and without Roost, side by side, and says how they compare."""
