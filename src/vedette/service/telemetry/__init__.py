"""What does the service tell of itself? Logs, metrics, traces."""
