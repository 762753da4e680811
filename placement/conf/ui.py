# SPDX-License-Identifier: Apache-2.0
"""Options of the page at `/ui`."""

from oslo_config import cfg

GROUP = cfg.OptGroup('ui', title='Page', help='The page for people, at ``/ui``.')

OPTIONS = [
    cfg.BoolOpt(
        'enabled',
        default=False,
        help="""
Serve a page that shows the cloud in a browser, at ``/ui``.

The files of the page are sent without a token, and show nothing of the cloud. The page asks
whoever opens it for a token, and with that reads what is below ``/insight``. It writes nothing.
""",
    ),
]
