"""What the speed benches share: the workload, the ways to train it, a process for each."""
