"""What `bench/faults.py` and `bench/vitals_cost.py` are made of."""
