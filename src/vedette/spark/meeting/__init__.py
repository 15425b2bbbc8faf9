"""Meeting on Spark: publications and subscriptions that are both constraints, as DataFrames."""
