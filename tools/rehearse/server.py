# SPDX-License-Identifier: Apache-2.0
"""Serves whichever `placement` the Python that runs this file has, on a socket of the loopback.

It takes nothing but the standard library, since the environment is the operator's. The number of
the socket is its only argument.
"""

import resource
import socket
import sys
import warnings
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

# A search that does not end must not exhaust the memory of the machine.
MAX_MEMORY = 8 << 30


class Quiet(WSGIRequestHandler):
    """Answers without a log of its own."""

    def log_message(self, *_):  # type: ignore[no-untyped-def]
        """Log nothing: both services log what they answer."""


def main() -> None:
    """Answer one request after the other until the process is killed."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    warnings.simplefilter('ignore')
    from placement.wsgi import init_application

    server = WSGIServer(('127.0.0.1', 0), Quiet, bind_and_activate=False)
    server.socket = socket.socket(fileno=int(sys.argv[1]))
    server.server_name, server.server_port = '127.0.0.1', server.socket.getsockname()[1]
    server.setup_environ()
    server.set_app(init_application())
    server.serve_forever()


if __name__ == '__main__':
    main()
