"""One module per paper: writes the data and a plot for each figure, and says how it compares."""
