"""The HTTP edge: one module a public route family, and what they share. Decides nothing about a call."""
