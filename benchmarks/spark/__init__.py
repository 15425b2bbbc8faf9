"""What matching costs on Spark, beside what Spark costs by itself: `python -m benchmarks.spark`."""
