"""Benchmarks: each is a command that prints one JSON object. They measure; they are not tests."""
