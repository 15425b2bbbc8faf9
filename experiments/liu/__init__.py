"""Liu 2007: workloads, planners and what they are held against."""
