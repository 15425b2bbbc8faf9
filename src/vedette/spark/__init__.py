"""Matching on Spark: DataFrame in, DataFrame out; and pipelines from a file. Thin hosts of the packages below."""
