"""The parts of the experiment on Aguilera 1999."""
