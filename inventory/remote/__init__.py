"""Nodes without an agent, looked at over SSH."""
