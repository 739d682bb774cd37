"""The pages of the console, one a module."""
