"""What the service remembers: one model, in SQLite or PostgreSQL, written by one thread in groups."""
