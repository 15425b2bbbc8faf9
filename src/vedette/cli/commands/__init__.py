"""Commands with their arguments and options; what they do is in the modules beside this folder."""
