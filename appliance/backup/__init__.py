"""What `synapse backup` writes and `synapse restore` reads: an installation's state in one file (docs/backup.md)."""
