"""The admin API on the Unix socket, and its typed client.

`wire` holds the shapes that both sides speak, `client` speaks them to a running daemon; `peers` accepts the
connections, `api` turns HTTP into calls of `service`, and `service` does what is asked and records who asked.
"""
