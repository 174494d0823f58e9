"""Readings over time: raw for hours, by the minute for days, by the hour for a year, in partitions that are dropped."""
