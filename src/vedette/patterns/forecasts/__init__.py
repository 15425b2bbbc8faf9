"""Forecasts: the probability that a pattern which has begun will complete, and how good such forecasts have been."""
