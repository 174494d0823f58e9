"""The Headrace node agent: says what is on a node and runs what the control plane wants there."""

__version__ = "0.1.0"
