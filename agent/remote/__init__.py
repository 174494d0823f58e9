"""Reading a node without an agent: what its commands printed over SSH becomes the report that an agent would send."""
