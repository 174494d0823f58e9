"""Starting, watching and stopping the processes of placements."""
