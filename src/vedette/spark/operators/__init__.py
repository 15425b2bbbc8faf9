"""Filters and steps that call operators, on Spark: planned and batched by the workers, with shared statistics."""
