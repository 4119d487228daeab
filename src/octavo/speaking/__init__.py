"""Finished runs that answer a person: who they are, how they choose words, what stands on the screen."""
