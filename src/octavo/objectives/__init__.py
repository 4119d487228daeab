"""What is learned, one file an objective: examples in; inputs, targets and a loss a sequence out."""
