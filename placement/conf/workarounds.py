# SPDX-License-Identifier: Apache-2.0
"""Options that once switched on a work-around, accepted for existing configuration files."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'workarounds', title='Workarounds', help='Options kept for existing configuration files.'
)

OPTIONS = [
    cfg.BoolOpt(
        'optimize_for_wide_provider_trees',
        default=False,
        help="""
Drop combinations of providers early that cannot become an allocation candidate.

This option has no effect: the search always does so, whatever its value.
""",
    ),
]
