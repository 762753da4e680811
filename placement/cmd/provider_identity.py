# SPDX-License-Identifier: Apache-2.0
"""The command `placement-manage provider set-uuid`: arguments, confirmation and output.

Specification: commands, "provider set-uuid".
"""

import sys
import uuid
from typing import Any

from oslo_utils import uuidutils

from placement import errors
from placement.cmd import operator_command
from placement.conf import ConfigOpts
from placement.context import printable
from placement.db.schema import revisions
from placement.objects import provider_identity

NAME = 'provider'

# The action in the history.
ACTION = 'resource_providers.set_uuid'

CHANGED, REFUSED = 0, 1

EXPLANATION = """\
Resource provider {name} has the uuid {old}
and is to have {new}.

Nova has a remedy of its own, which needs no change of placement: nova-compute keeps its
identity in the file compute_id in its state_path, mostly /var/lib/nova/compute_id. If that file
was lost, write {old} into it before you start nova-compute.

Only if nova knows the host by the other uuid already, stop nova-compute on it, change the uuid
here, and start nova-compute with {new} in compute_id.
"""

QUESTION = 'Is nova-compute on this host stopped, and is the uuid to be changed? [y/N]'


class Refused(Exception):
    """The reason why nothing was changed."""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    actions = operator_command.add_group(subparsers, NAME, 'Resource providers.')
    words = 'Change the uuid of a resource provider, which keeps all else.'
    parser = operator_command.add_action(actions, 'set-uuid', set_uuid, words)
    parser.add_argument('old', metavar='OLD', help='The uuid that the provider has.')
    parser.add_argument('new', metavar='NEW', help='The uuid that it is to have.')
    parser.add_argument('--yes', action='store_true', help='Do not ask before the change.')


def set_uuid(conf: ConfigOpts) -> int:
    """Run `provider set-uuid`; the exit status."""
    # Imported here because it imports the whole service, which no other command needs.
    from placement import deploy

    command = conf.command
    try:
        new = _checked(command.old, command.new)
        with deploy.context_of_command(conf, ACTION) as context:
            name = printable(provider_identity.check(context, command.old, new).name)
            print(EXPLANATION.format(name=name, old=command.old, new=new), file=sys.stderr)
            if not command.yes:
                _confirm()
            provider = provider_identity.set_uuid(context, command.old, new)
    except errors.OutcomeUnknown as doubt:
        print(doubt, file=sys.stderr)
        return REFUSED
    except (Refused, errors.PlacementError, revisions.MissingSchemaError) as reason:
        print(f'Nothing was changed: {printable(str(reason))}', file=sys.stderr)
        return REFUSED
    print(
        f'Resource provider {name} has the uuid {provider.uuid} now, '
        f'and generation {provider.generation}.'
    )
    return CHANGED


def _checked(old: str, new: str) -> str:
    """The new uuid as it is stored: in lower case, with dashes.

    :raises Refused: the text is no uuid
    """
    for value in (old, new):
        if not uuidutils.is_uuid_like(value):
            raise Refused(f'{value!r} is not a uuid.')
    return str(uuid.UUID(new))


def _confirm() -> None:
    """Ask for confirmation on the terminal.

    :raises Refused: any answer but yes
    """
    if not sys.stdin.isatty():
        raise Refused('give --yes, because there is no terminal to ask at.')
    # On standard error, because scripts read standard output.
    print(QUESTION, end=' ', file=sys.stderr, flush=True)
    try:
        answer = input()
    except (EOFError, KeyboardInterrupt):
        print(file=sys.stderr)
        answer = ''
    if answer.strip().lower() not in ('y', 'yes'):
        raise Refused('you did not confirm.')
