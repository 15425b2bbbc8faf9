"""The demo: a year of New York's flights, and who wants to hear of them."""
