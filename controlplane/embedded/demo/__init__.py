"""The simulated cluster of `make demo`: its people, and a steady flow of jobs that only seem to run."""
