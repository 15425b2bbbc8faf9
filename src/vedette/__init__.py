"""Vedette."""
