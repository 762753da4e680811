# SPDX-License-Identifier: Apache-2.0
"""Configuration: every option, and where its value comes from.

Specification: configuration, "Where configuration comes from", "Options".
"""

import copy
import logging
import os
from collections.abc import Callable, Mapping, Sequence

# For the other packages, which import them from here.
from oslo_config.cfg import ConfigOpts as ConfigOpts
from oslo_config.cfg import Error as Error
from oslo_config.cfg import RequiredOptError as RequiredOptError

from placement.conf import files, libraries, opts

LOG = logging.getLogger(__name__)

PROJECT = 'placement'

#: What pip knows this service by: the name of upstream's distribution, because both have the
#: import package `placement` and must not be installed beside each other.
DISTRIBUTION = 'openstack-placement'


def register_opts(conf: ConfigOpts) -> None:
    """Register every option of the service, and of the libraries it uses, with ``conf``."""
    for group, options in opts.GROUPS:
        # A copy: a group holds the values that are set for its options, and is not itself copied
        # in depth by oslo.config, so that two configurations would share them.
        conf.register_opts(options, group=copy.deepcopy(group))
    libraries.register(conf)


def load(
    arguments: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    register: Callable[[ConfigOpts], None] = register_opts,
    search: bool = True,
) -> ConfigOpts:
    """The service's own configuration object, filled from files and the environment.

    When ``OS_PLACEMENT_CONFIG_DIR`` is set, ``placement.conf`` in that directory is the only
    file read; otherwise oslo.config looks in its usual places. Variables of the form
    ``OS_<GROUP>__<OPTION>`` win over files (oslo.config reads those by itself). Tools that can do
    without a database ``register`` fewer options. Without ``search`` the usual places are
    left out.

    :raises RequiredOptError: there is no ``[placement_database] connection``
    :raises Error: a file is missing or cannot be understood, or a value is none of its option
    """
    conf = ConfigOpts()
    register(conf)
    paths = files_of_web_application(os.environ if environ is None else environ)
    if paths is None and not search:
        paths = []
    with files.explained(conf):
        conf(
            list(arguments),
            project=PROJECT,
            default_config_files=paths,
            default_config_dirs=None if paths is None else [],
        )
    # Look at every value once: oslo.config would find a wrong one only when it is first used.
    for value in conf.values():
        if isinstance(value, Mapping):
            dict(value)
    return conf


def load_for_policy_tools() -> ConfigOpts:
    """A configuration object of our own that needs no database, for the tools of oslo.policy."""
    conf = load(register=libraries.register)
    libraries.tell_policy_file(conf.find_file(conf.oslo_policy.policy_file))
    return conf


def warn_of_mistakes(conf: ConfigOpts) -> None:
    """Log the unknown groups and options of the files, which have no effect."""
    for mistake in files.mistakes(conf):
        LOG.warning('Unknown in the configuration, and without effect: %s.', mistake)


def files_of_web_application(environ: Mapping[str, str]) -> list[str] | None:
    """The one file that the environment names, or None to search the usual places.

    The commands do not look at the variable.
    """
    directory = environ.get('OS_PLACEMENT_CONFIG_DIR', '').strip()
    return [os.path.join(directory, 'placement.conf')] if directory else None
