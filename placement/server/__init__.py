# SPDX-License-Identifier: Apache-2.0
"""The HTTP server behind ``placement-serve`` and ``placement-api``.

One thread holds all connections in an event loop and a few others run the WSGI application. A
thread is given a request only when it is complete, headers and body, and gives back the whole
answer, so that no client can hold a thread by sending or reading slowly. Every wait on a client
has an end, and every buffer a bound; see `placement.server.limits`.

The package stands alone: it knows WSGI, and nothing of the service.
"""
