"""How placements reach the machines: one module per kind of cluster."""
