# SPDX-License-Identifier: Apache-2.0
"""Options of the HTTP API."""

from oslo_config import cfg

GROUP = cfg.OptGroup('api', title='HTTP API', help='How the HTTP API treats its callers.')

_KEYSTONE = """
Tokens are validated by the OpenStack identity service, as configured in
``[keystone_authtoken]``.
"""

_NOAUTH2 = """
The token itself names the caller, as ``user`` or ``user:project``, and is believed. Only for
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
]
