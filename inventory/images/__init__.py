"""Container images: their names, sizes and ways onto nodes."""
