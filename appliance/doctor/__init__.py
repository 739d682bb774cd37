"""What `synapse doctor` does: facts are gathered at the edge, and pure checks say what they mean (operations.md)."""
