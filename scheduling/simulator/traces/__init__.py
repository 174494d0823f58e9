"""Readers of traces: each turns one file format into plain records, or says where and why it cannot."""
