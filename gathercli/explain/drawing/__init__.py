"""Drawn pictures: geometry, and its SVG; nothing here knows a terminal."""
