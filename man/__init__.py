"""The pages of the manual, and what writes them."""
