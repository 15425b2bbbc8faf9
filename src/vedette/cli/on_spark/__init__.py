"""Commands over files with `--engine spark`; loaded only for that option."""
