"""What a machine is and how it does, read from /proc, /sys and /etc below a root that tests can choose."""
