"""The manual: prose, pages, and the generator of files."""
