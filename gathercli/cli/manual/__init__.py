"""The manual: its prose, its pages, and what writes them."""
