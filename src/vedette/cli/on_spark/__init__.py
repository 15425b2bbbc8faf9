"""Commands over files with `--engine spark`: loaded only where that is asked for."""
