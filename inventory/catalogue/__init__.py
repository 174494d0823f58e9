"""What makers say about device models; found by exact name, unknown models work."""

from inventory.catalogue.lookup import CatalogueEntry, entries, find

__all__ = ["CatalogueEntry", "entries", "find"]
