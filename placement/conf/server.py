# SPDX-License-Identifier: Apache-2.0
"""Options of the web server that the service brings along."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'server',
    title='Web server',
    help="""
The web server behind ``placement-serve`` and ``placement-api``.

Other web servers have bounds of their own, and do not read this group.
""",
)

OPTIONS = [
    cfg.IntOpt(
        'max_connections',
        default=5000,
        min=10,
        help="""
Most connections that are open at a time.

At this number, a new connection ends the one that has waited longest for its client: between
two requests, or for the rest of one. It is lowered to what the operating system allows the
process to open.
""",
    ),
    cfg.IntOpt(
        'max_header_size',
        default=32768,
        min=1024,
        help="""
Most bytes that request line and headers may have together.

Longer ones are refused with status 431. The longest queries of nova have about 16 KB.
""",
    ),
    cfg.IntOpt(
        'header_timeout',
        default=20,
        min=1,
        help="""
Seconds that a client has to send request line and headers.
""",
    ),
    cfg.IntOpt(
        'body_timeout',
        default=60,
        min=1,
        help="""
Seconds that a client has to send the body of a request.

Later it is refused with status 408. How large a body may be is said by
``max_request_body_size`` in ``[placement]``.
""",
    ),
    cfg.IntOpt(
        'keep_alive_timeout',
        default=120,
        min=1,
        help="""
Seconds for which a connection is kept between two requests.

Behind a load balancer this has to be longer than the time after which that one closes unused
connections, so that it never sends a request on a connection that is just being closed.
""",
    ),
    cfg.IntOpt(
        'answer_timeout',
        default=60,
        min=1,
        help="""
Seconds that a client has to read an answer, besides one second for each 64 KiB of it.
""",
    ),
    cfg.IntOpt(
        'stop_timeout',
        default=20,
        min=0,
        help="""
Seconds after SIGTERM or Ctrl-C in which requests that have been accepted are still answered.
""",
    ),
]
