"""Finished runs as files that other programs read."""
