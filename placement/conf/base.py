# SPDX-License-Identifier: Apache-2.0
"""Options of the default group: directories and what is logged at start."""

import os

from oslo_config import cfg

_PARENT_OF_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))

GROUP = None

OPTIONS = [
    cfg.StrOpt(
        'tempdir',
        help="""
Directory for temporary files.

This option has no effect: the service writes no temporary files. It is accepted so that
existing configuration files stay valid.
""",
    ),
    cfg.StrOpt(
        'pybasedir',
        default=_PARENT_OF_PACKAGE,
        sample_default='<directory that holds the placement package>',
        help="""
Directory that holds the ``placement`` Python package.

Only useful as ``$pybasedir`` inside the values of other options.
""",
    ),
    cfg.StrOpt(
        'state_path',
        default='$pybasedir',
        help="""
Directory for state that outlives the process.

Only useful as ``$state_path`` inside the values of other options, for instance in the
``connection`` of an SQLite database.
""",
    ),
    cfg.BoolOpt(
        'log_options',
        default=True,
        help="""
Log the value of every option when the service starts.

They are logged at level DEBUG, secrets masked, so this shows only when ``debug`` is on.
""",
    ),
]
