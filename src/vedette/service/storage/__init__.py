"""The database of the service: one model for SQLite and PostgreSQL, written by one thread in groups."""
