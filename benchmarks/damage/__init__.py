"""Single bits flipped in what Vedette stores: each has to be reported, and none may change an answer."""
