"""What the service does in a second, and what it survives. Loopback only, each part bounded in time."""
