# SPDX-License-Identifier: Apache-2.0
"""Options of the HTTP API."""

from oslo_config import cfg

GROUP = cfg.OptGroup('api', title='HTTP API', help='How the HTTP API treats its callers.')

_KEYSTONE = """
Tokens are validated by the OpenStack identity service, as configured in
``[keystone_authtoken]``.
"""

_NOAUTH2 = """
The token itself names the caller, as ``user`` or ``user:project``; nobody checks it. Only for
tests and for trying the service out.
"""

OPTIONS = [
    cfg.StrOpt(
        'auth_strategy',
        default='keystone',
        choices=[('keystone', _KEYSTONE), ('noauth2', _NOAUTH2)],
        deprecated_group='DEFAULT',
        help="""
How callers are authenticated.

With ``noauth2`` whoever can connect is an administrator if they say so: never use it on an
address that others can reach.
""",
    ),
    cfg.ListOpt(
        'noauth2_allowed_hosts',
        default=[],
        help="""
Names of hosts that requests may be for under ``noauth2``, besides ``localhost`` and loopback
addresses.

A request whose ``Host`` header names another is refused with status 403: a page in a browser on
the same machine could otherwise use the service, under a name of its own that it lets lead to
the loopback address. ``*`` allows every host.
""",
    ),
]
