"""`octavo doctor`: what this machine trains on, found out in child processes, since drivers crash and hang.

The parent imports no torch: it has an answer even where importing torch is what fails.
"""
