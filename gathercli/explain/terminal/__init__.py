"""An explanation in a terminal."""
