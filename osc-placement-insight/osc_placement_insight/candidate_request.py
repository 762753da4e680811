# SPDX-License-Identifier: Apache-2.0
"""The request of a command: a query for allocation candidates, from options or another source."""

from __future__ import annotations

import argparse
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from osc_lib import exceptions

from osc_placement_insight import compute, flavor_list, flavors, owner
from osc_placement_insight.flavors import Flavor
from osc_placement_insight.service import Service

#: The values by option, by the suffix of the group.
Groups = dict[str, dict[str, list[str]]]

UNMET_DEMAND = '/insight/unmet_demand'
FLAVORS = compute.Purpose('This command', '--resource and --query need no nova.')
OPTIONS = '--resource, --flavor, --request or --query'


class CandidateRequest(NamedTuple):
    """A query, the microversion that it was made at if that is known, and what to say about it."""

    query: list[tuple[str, str]]
    version: str | None = None
    notes: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The query string."""
        return urllib.parse.urlencode(self.query, safe=':,!')


class BeginGroup(argparse.Action):
    """Begins a request group, whose suffix is the value."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        _groups(namespace)[values] = {}


class AddToGroup(argparse.Action):
    """Adds a value to the request group that began last, or to that without a suffix."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        groups = _groups(namespace)
        suffix = next(reversed(groups), '')
        groups.setdefault(suffix, {}).setdefault(self.dest, []).append(values)


def _groups(namespace: argparse.Namespace) -> Groups:
    """The request groups by suffix, in the order of the options."""
    if not hasattr(namespace, 'groups'):
        namespace.groups = {}
    groups: Groups = namespace.groups
    return groups


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `openstack allocation candidate list`, and other sources of a query."""
    asked = parser.add_argument_group('what is asked for, in one of these ways')
    asked.add_argument(
        '--flavor',
        metavar='<flavor>',
        help='what nova asks for when it schedules a server of this flavor (name or ID)',
    )
    asked.add_argument(
        '--boot-from-volume',
        action='store_true',
        help='with --flavor: the server has no root disk on its host',
    )
    asked.add_argument(
        '--request',
        metavar='<req-...>',
        help='an unsuccessful search of this request of nova',
    )
    asked.add_argument(
        '--query',
        metavar='<query>',
        help='a query string of GET /allocation_candidates, as logs and other commands show it',
    )
    _add_options_of_groups(asked)


def _add_options_of_groups(group: Any) -> None:
    """Add the options of `openstack allocation candidate list`, with the same meaning."""
    group.add_argument(
        '--resource',
        metavar='<resource_class>=<value>',
        dest='resources',
        action=AddToGroup,
        help='an amount of a resource class; may be repeated',
    )
    group.add_argument(
        '--required',
        metavar='<trait>[,<trait>...]',
        action=AddToGroup,
        help='a required trait, or several of which one is required; may be repeated',
    )
    group.add_argument(
        '--forbidden',
        metavar='<trait>',
        action=AddToGroup,
        help='a forbidden trait; may be repeated',
    )
    group.add_argument(
        '--member-of',
        metavar='<aggregate>[,<aggregate>...]',
        action=AddToGroup,
        help='aggregates (UUIDs, or names such as az1) in one of which the providers have to be; '
        'may be repeated',
    )
    group.add_argument('--aggregate-uuid', action=AddToGroup, help=argparse.SUPPRESS)
    group.add_argument(
        '--group',
        metavar='<suffix>',
        action=BeginGroup,
        help='begin a group of the options that follow, which one provider has to serve',
    )
    group.add_argument(
        '--group-policy',
        metavar='<policy>',
        choices=['none', 'isolate'],
        default='none',
        help='isolate: a provider serves one group at most; none (the default): as many as it can',
    )
    group.add_argument('--limit', metavar='<limit>', help='makes no difference here')


def from_options(
    parsed_args: argparse.Namespace,
    service: Service,
    manager: Any,
    uuid_of: Callable[[str], str],
) -> CandidateRequest:
    """The request that the options describe; flavors come from nova, past searches from placement.

    `uuid_of` finds an aggregate by its name.

    :raises osc_lib.exceptions.CommandError: the options describe no request, or name an unknown
        object
    """
    named = [parsed_args.flavor, parsed_args.request, parsed_args.query]
    groups = _groups(parsed_args)
    if len([source for source in (*named, groups) if source]) != 1:
        raise exceptions.CommandError(f'Say what is asked for, in one way: {OPTIONS}.')
    if parsed_args.flavor:
        flavor, is_owned = find_flavor(manager, parsed_args.flavor), owner.is_required(service)
        return of_flavor(flavor, parsed_args.boot_from_volume, is_owned)
    if parsed_args.request:
        return of_request(service, parsed_args.request)
    if parsed_args.query:
        return CandidateRequest(parse_query(parsed_args.query))
    return CandidateRequest([*_of_groups(groups, parsed_args, uuid_of)])


def parse_query(text: str) -> list[tuple[str, str]]:
    """The parameters of a query string, which may follow a path.

    :raises osc_lib.exceptions.CommandError: it has none
    """
    parameters = urllib.parse.parse_qsl(text.rpartition('?')[2], keep_blank_values=True)
    if not parameters:
        raise exceptions.CommandError(
            f'A query has parameters, such as resources=VCPU:1,MEMORY_MB:1024. Got: {text}'
        )
    return parameters


def of_request(service: Service, identity: str) -> CandidateRequest:
    """The last unmet search of a request of nova or another client.

    :raises osc_lib.exceptions.CommandError: the service keeps none of its searches
    """
    page = service.ask(UNMET_DEMAND, [('global_request_id', identity)])
    searches = page['unmet_demand']
    if not searches:
        raise exceptions.CommandError(
            f'The service keeps no unsuccessful search of {identity}. It knows those of other '
            'workers some seconds later, and keeps the last 10,000. Otherwise Placement had hosts '
            'to offer: see in the log of nova-scheduler which filter refused them, or in that of '
            'nova-compute why the build failed. The id is that of the request to nova: '
            '"openstack server event list <server>".'
        )
    last = searches[0]
    notes = [f'{identity} asked: {last["query"]}']
    if len(searches) > 1:
        notes.append(
            f'This is the last of its {len(searches)} unsuccessful searches; list all with '
            f'"openstack placement unmet demand list --request {identity}".'
        )
    return CandidateRequest(parse_query(last['query']), last['microversion'], notes)


def of_flavor(flavor: Flavor, boot_from_volume: bool, is_owned: bool) -> CandidateRequest:
    """The request of nova for a server of a flavor, and the parts that the flavor lacks."""
    query, untranslated = flavors.translate(flavor, boot_from_volume, is_owned)
    asked = CandidateRequest(query)
    notes = [f'Flavor {flavor.name} asks: {asked.text}']
    notes += [f'Not translated: {spec} ({why})' for spec, why in untranslated.items()]
    return asked._replace(notes=notes)


def find_flavor(manager: Any, name: str) -> Flavor:
    """A flavor by its name or ID, with its extra specs, as nova shows it to the user.

    :raises osc_lib.exceptions.CommandError: nova has none of that name, or cannot be asked
    """
    found = flavor_list.find_flavor(compute.of_manager(manager, FLAVORS), name)
    if found is None:
        raise exceptions.CommandError(
            f'nova has no flavor {name}, or hides it from your project. List them with '
            '"openstack flavor list --all".'
        )
    return found


def list_flavors(manager: Any) -> list[Flavor]:
    """All flavors that nova shows to the user, with their extra specs, by name.

    :raises osc_lib.exceptions.CommandError: nova cannot be asked
    """
    return sorted(flavor_list.list_flavors(compute.of_manager(manager, FLAVORS)))


def _of_groups(
    groups: Groups, parsed_args: argparse.Namespace, uuid_of: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """The parameters of the options of `openstack allocation candidate list`."""
    if any(groups):
        yield 'group_policy', parsed_args.group_policy
    if parsed_args.limit:
        yield 'limit', parsed_args.limit
    for suffix, group in groups.items():
        yield from _of_group(suffix, group, uuid_of)


def _of_group(
    suffix: str, group: Mapping[str, list[str]], uuid_of: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    if group.get('resources'):
        yield f'resources{suffix}', ','.join(map(_amount, group['resources']))
    required = group.get('required', [])
    traits = [trait for trait in required if ',' not in trait]
    traits += [f'!{trait}' for trait in group.get('forbidden', [])]
    if traits:
        yield f'required{suffix}', ','.join(traits)
    yield from ((f'required{suffix}', f'in:{one}') for one in required if ',' in one)
    if group.get('aggregate_uuid'):
        yield f'member_of{suffix}', 'in:' + ','.join(group['aggregate_uuid'])
    for one in group.get('member_of', []):
        yield f'member_of{suffix}', 'in:' + ','.join(map(uuid_of, one.split(',')))


def _amount(option: str) -> str:
    name, equals, amount = option.partition('=')
    if not (name and equals and amount):
        raise exceptions.CommandError(
            f'--resource wants <resource_class>=<value>, such as VCPU=4. Got: {option}'
        )
    return f'{name}:{amount}'
