"""Files of jobs: calls in JSON, and how they are bound."""
