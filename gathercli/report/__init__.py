"""Results and refusals to words and pictures; the only part that knows rich."""
