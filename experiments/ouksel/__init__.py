"""The parts of the experiment on Ouksel 2006."""
