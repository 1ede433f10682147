"""Where every cell came from, and what every version makes of a call."""
