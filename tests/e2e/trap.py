"""A TLS server with a certificate of its own, for a host that poses as a machine: writes what it is sent to a file.

Usage: python -m tests.e2e.trap FILE PORT…
"""

import socket
import ssl
import sys
import threading
from pathlib import Path

from appliance.cluster.identity import Identity, server_context


def serve(port: int, context: ssl.SSLContext, file: Path, lock: threading.Lock) -> None:
    with socket.create_server(("0.0.0.0", port)) as listening:
        while True:
            connection, _ = listening.accept()
            with lock, Path(f"{file}.calls").open("ab") as calls:
                calls.write(b".")
            threading.Thread(target=hear, args=(connection, context, file, lock), daemon=True).start()


def hear(connection: socket.socket, context: ssl.SSLContext, file: Path, lock: threading.Lock) -> None:
    connection.settimeout(5)
    try:
        with context.wrap_socket(connection, server_side=True) as secured:
            while piece := secured.recv(65536):
                with lock, file.open("ab") as out:
                    out.write(piece)
    except OSError:
        return


def main() -> None:
    file, ports = Path(sys.argv[1]), [int(port) for port in sys.argv[2:]]
    Path(f"{file}.calls").write_bytes(b"")
    context, lock = server_context(Identity.create(), None), threading.Lock()
    threads = [threading.Thread(target=serve, args=(port, context, file, lock), daemon=True) for port in ports]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
