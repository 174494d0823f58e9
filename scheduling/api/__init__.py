"""REST endpoints that need placements or decisions."""
