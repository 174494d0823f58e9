"""REST endpoints that need nothing of scheduling."""
