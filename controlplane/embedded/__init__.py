"""Launchers for the PostgreSQL and Valkey that come as wheels, and the supervisor behind `manage.py up`."""
