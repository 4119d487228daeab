"""The loop: schedules, admission of runs to lanes, the memory plan, checkpoints."""
