"""Reads and draws what `roost sim` writes."""
