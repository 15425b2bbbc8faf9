"""Parts of the engine on their own."""
