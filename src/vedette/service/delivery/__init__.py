"""How do notifications get to people? By streams that they read, and by requests that are made to them."""
