"""Numbered SQL files; each runs once, in order, in one transaction. A released file never changes."""
