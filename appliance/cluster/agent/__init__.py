"""The node agent, `synapse node serve`: it fronts the Ollama of its machine for the one gateway that it belongs to."""
