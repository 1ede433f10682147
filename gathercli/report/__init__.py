"""Results and refusals to words, tables and colours for a terminal."""
