"""How probable it is that a pattern which has begun will complete, and how good such forecasts have been."""
