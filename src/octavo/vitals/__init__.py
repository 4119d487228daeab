"""Signals watched while a run trains, the verdicts drawn from them, and the scan of saved weights."""
