"""Shared by the runners of tests/real and tests/multi: processes, the roost command, the report."""
