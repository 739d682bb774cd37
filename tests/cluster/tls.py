"""TLS between two contexts without a network: what each side comes to, and what it would say."""

import ssl
from dataclasses import dataclass


@dataclass
class Pair:
    server: ssl.SSLObject
    client: ssl.SSLObject

    @property
    def session(self) -> ssl.SSLSession | None:
        return self.client.session


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> Pair:
    """Both sides after a whole handshake and one byte each way. Raises `ssl.SSLError` of whichever refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    pair = Pair(
        server.wrap_bio(to_server, to_client, server_side=True),
        client.wrap_bio(to_client, to_server, server_hostname=None),
    )
    waiting = [pair.client.do_handshake, pair.server.do_handshake]
    for _ in range(8):
        for step in tuple(waiting):
            try:
                step()
                waiting.remove(step)
            except ssl.SSLWantReadError:
                pass
        if not waiting:
            break
    assert not waiting
    pair.server.write(b"s")
    assert pair.client.read(1) == b"s"
    pair.client.write(b"c")
    assert pair.server.read(1) == b"c"
    return pair
