"""What a run prints and writes for people and for other tools."""
