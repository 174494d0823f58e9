"""The Headrace node agent: says what is on a node and runs what the control plane wants there."""
