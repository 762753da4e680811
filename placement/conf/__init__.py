# SPDX-License-Identifier: Apache-2.0
"""Configuration: the options, and the sources of their values.

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

#: Name of the distribution: upstream's, because both have the import package `placement` and must
#: not be installed together.
DISTRIBUTION = 'openstack-placement'


def register_opts(conf: ConfigOpts) -> None:
    """Register the options of the service, of its extensions and of libraries with ``conf``."""
    for group, options in opts.groups():
        # A copy: a group holds values of its options, and oslo.config does not copy groups deeply,
        # so two configurations would share these values.
        conf.register_opts(options, group=copy.deepcopy(group))
    libraries.register(conf)


def load(
    arguments: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    register: Callable[[ConfigOpts], None] = register_opts,
    search: bool = True,
) -> ConfigOpts:
    """The service's own configuration object, filled from files and the environment.

    If ``OS_PLACEMENT_CONFIG_DIR`` is set, ``placement.conf`` in that directory is the only file
    read; otherwise oslo.config searches its usual places, unless ``search`` is False. Variables of
    the form ``OS_<GROUP>__<OPTION>`` take precedence over files (oslo.config reads these by
    itself). Tools that need no database ``register`` fewer options.

    :raises RequiredOptError: ``[placement_database] connection`` is not set
    :raises Error: a file is missing or malformed, or an option has an invalid value
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
    # Read every value now: otherwise oslo.config reports an invalid one only on first use.
    for value in conf.values():
        if isinstance(value, Mapping):
            dict(value)
    return conf


def load_for_policy_tools() -> ConfigOpts:
    """A configuration object without database options, for the tools of oslo.policy."""
    conf = load(register=libraries.register)
    libraries.tell_policy_file(conf.find_file(conf.oslo_policy.policy_file))
    return conf


def warn_of_mistakes(conf: ConfigOpts) -> None:
    """Log the unknown groups and options of the files, which have no effect."""
    for mistake in files.mistakes(conf):
        LOG.warning('Unknown in the configuration, and without effect: %s.', mistake)


def files_of_web_application(environ: Mapping[str, str]) -> list[str] | None:
    """The single file that the environment names, or None to search the usual places.

    The commands ignore the variable.
    """
    directory = environ.get('OS_PLACEMENT_CONFIG_DIR', '').strip()
    return [os.path.join(directory, 'placement.conf')] if directory else None
