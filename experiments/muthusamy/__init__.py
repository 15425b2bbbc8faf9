"""The parts of the experiment on Muthusamy 2010, one module a figure."""
