"""The demo: a year of New York's flights, and subscribers to them."""
