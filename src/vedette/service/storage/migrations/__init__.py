"""Alembic's migrations of the tables."""
