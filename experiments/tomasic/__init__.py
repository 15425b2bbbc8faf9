"""The parts of the experiment on Tomasic 2006."""
