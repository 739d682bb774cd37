"""TLS of the gateway's listener: where its certificate comes from, and how handshakes get the newest one.

`automatic` issues certificates from a CA of this installation (`authority`) for this machine's names (`names`); `files`
takes those of the administrator. Knows nothing of HTTP, and nothing of the TLS between gateway and machines, which is
`cluster.identity`.
"""
