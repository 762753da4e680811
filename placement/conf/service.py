# SPDX-License-Identifier: Apache-2.0
"""Options of the API: `[DEFAULT]`, `[api]`, `[placement]` and `[workarounds]`."""

import os

from oslo_config import cfg

_PARENT_OF_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))

DEFAULT_GROUP = None

# fmt: off
DEFAULT_OPTIONS = [
    cfg.StrOpt('tempdir', help="""
Directory for temporary files.

This option has no effect: the service writes no temporary files. It is accepted so that
existing configuration files stay valid.
"""),
    cfg.StrOpt('pybasedir', default=_PARENT_OF_PACKAGE,
        sample_default='<directory that holds the placement package>', help="""
Directory that holds the ``placement`` Python package.

Only useful as ``$pybasedir`` inside the values of other options.
"""),
    cfg.StrOpt('state_path', default='$pybasedir', help="""
Directory for persistent state.

Only useful as ``$state_path`` inside the values of other options, for instance in the
``connection`` of an SQLite database.
"""),
    cfg.BoolOpt('log_options', default=True, help="""
Log the value of every option when the service starts.

They are logged at level DEBUG, secrets masked, so this shows only when ``debug`` is on.
"""),
]
# fmt: on


API_GROUP = cfg.OptGroup('api', title='HTTP API', help='How the HTTP API treats its callers.')

_KEYSTONE = """
Tokens are validated by the OpenStack identity service, as configured in
``[keystone_authtoken]``.
"""

_NOAUTH2 = """
The token itself names the caller, as ``user`` or ``user:project``, without any check. Only for
tests and for trying the service out.
"""

# fmt: off
API_OPTIONS = [
    cfg.StrOpt('auth_strategy', default='keystone',
        choices=[('keystone', _KEYSTONE), ('noauth2', _NOAUTH2)], deprecated_group='DEFAULT',
        help="""
Strategy of authentication.

With ``noauth2`` every client can claim to be an administrator: never use it on an address that
others can reach.
"""),
    cfg.ListOpt('noauth2_allowed_hosts', default=[], help="""
Allowed values of the ``Host`` header under ``noauth2``, in addition to ``localhost`` and loopback
addresses.

A request for any other host is refused with status 403. Otherwise a page in a browser on the same
machine could use the service, under a name of its own that resolves to the loopback address.
``*`` allows every host.
"""),
]
# fmt: on


DEFAULT_CONSUMER_ID = '00000000-0000-0000-0000-000000000000'

PLACEMENT_GROUP = cfg.OptGroup(
    'placement', title='Placement', help='Candidate search and the writing of allocations.'
)

_DEPTH_FIRST = """
All candidates of one root provider come before the first of the next one. With a limit they may
all be on the same few hosts.
"""

_BREADTH_FIRST = """
Candidates of all root providers take turns, so that a limited answer has as many hosts as
possible.
"""

_PACKED = """
Devices that are already in use come first, the fullest that has room before the others, so that
unused devices stay whole. Choose it if some servers need a whole device, or several parts of one.
"""

_SPREAD = """
Unused devices come first, then those with most room, so that servers share devices as little as
possible. Choose it if devices are rarely full and their load should be even.
"""

_BY_ID = """
Devices come in the order in which they were created, whatever their usage, as in earlier releases.
Choose it if the order must not change with the usage.
"""

_NETWORK_CLASSES = [
    'NET_BW_EGR_KILOBIT_PER_SEC',
    'NET_BW_IGR_KILOBIT_PER_SEC',
    'NET_PACKET_RATE_KILOPACKET_PER_SEC',
    'NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC',
    'NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC',
]

# fmt: off
PLACEMENT_OPTIONS = [
    cfg.BoolOpt('randomize_allocation_candidates', default=False, help="""
Return the hosts of allocation candidates in random order.

Hosts are drawn, and so are the sharing providers that can serve one; the candidates of one host
are in the order of ``order_within_tree``. A request with a ``limit`` then gets the candidates of a
random sample of all hosts. Enable it if several schedulers run at the same time in a cloud with
more hosts than their limit: otherwise they claim the same hosts at the same moment, and most of
these claims are refused. A random answer costs no more than an ordered one. When off, equal
requests get equal answers as long as nothing changes.
"""),
    cfg.StrOpt('order_within_tree', default='packed',
        choices=[('packed', _PACKED), ('spread', _SPREAD), ('by_id', _BY_ID)], help="""
Order of the candidates of one host.

nova claims the first candidate of the host that it chooses, so this option selects the GPU,
network function or NUMA node that a server gets. It never changes which hosts can serve a request,
and changes the set of candidates only if a limit cuts it. If a host can serve a request in more
than 64 ways, the groups of the request are ordered one after the other, and the first candidate is
not always the one that the order prefers.
"""),
    cfg.ListOpt('spread_classes', default=_NETWORK_CLASSES, help="""
Resource classes whose load is balanced between the devices of a host.

``packed`` and ``spread`` ignore these classes when they distinguish used devices from unused ones,
and compare them last: of otherwise equal candidates, those that leave the largest part of these
classes free come first. ``by_id`` does not read this option. The default is the bandwidth and
packet rate of networks, which many ports share. Add a class if its usage should not make a device
count as used; leave the list empty to treat all classes in the same way.
"""),
    cfg.StrOpt('incomplete_consumer_project_id', default=DEFAULT_CONSUMER_ID, help="""
Project of consumers whose allocations are written by requests without one.

The first microversions of the API (below 1.8) did not require the project and the user of a
consumer. ``placement-manage db online_data_migrations`` gives the same project to allocations
without a consumer record.
"""),
    cfg.StrOpt('incomplete_consumer_user_id', default=DEFAULT_CONSUMER_ID, help="""
User of consumers whose allocations are written by requests without one.

See ``incomplete_consumer_project_id``.
"""),
    cfg.IntOpt('allocation_conflict_retry_count', default=10, help="""
Maximum number of attempts at an allocation write before the client gets a 409.

A write is retried as a whole if the database aborted it because of a concurrent one.
"""),
    cfg.IntOpt('max_request_body_size', default=16 << 20, min=64 << 10, help="""
Maximum request body size in bytes.

A larger body is refused with status 413 before it is read, and before the caller is authenticated.
The largest bodies of real clients, for a reshape, have a few megabytes.
"""),
    cfg.FloatOpt('slow_request_seconds', default=5.0, min=0, help="""
Seconds after which a request is slow and a warning is logged; ``0`` disables the warning.

They count from the arrival of the request at the application until its response begins. Requests
take milliseconds, and searches a second at most. Slower requests have mostly waited for a lock,
for the database or for a processor.
"""),
    cfg.IntOpt('max_allocation_candidates', default=-1, help="""
Maximum number of allocation candidates that one search generates; ``-1`` means unlimited.

It applies before the ``limit`` of the request. Set it if provider trees are so wide that a request
can be satisfied in very many ways.
"""),
    cfg.IntOpt('search_budget', default=1_500_000, min=0, help="""
Maximum number of steps of one search for allocation candidates; ``0`` means unlimited.

A step examines a resource provider, or tries it for a request group. A current processor takes
the default number in one or two seconds. Searches of a thousand hosts need a few thousand; only
requests whose groups can be combined in very many ways, few of which fit, come near the default.
The same request against the same data is cut at the same point, on any machine.

When the budget is spent, the candidates found so far are returned. If there are none, the empty
answer has the header ``openstack-placement-search: incomplete``, and a warning is logged
(``log_searches``).
"""),
    cfg.StrOpt('log_searches', default='empty',
        choices=[('empty', 'Searches without candidates.'), ('all', 'Every search.'),
                 ('none', 'No search.')],
        help="""
Searches for allocation candidates that are logged in a line each.

The line has the ids of the request and of the client's request behind it, the query, the
microversion, the numbers of candidates and of hosts, the limit that cut the search short, and for
an empty answer the condition that emptied it. Its level is INFO, or WARNING if ``search_budget``
was spent without a candidate.
"""),
    cfg.StrOpt('allocation_candidates_generation_strategy', default='breadth-first',
        choices=[('depth-first', _DEPTH_FIRST), ('breadth-first', _BREADTH_FIRST)], help="""
Order in which root providers are visited while candidates are generated.

It matters when ``max_allocation_candidates`` or the ``limit`` of a request cuts the search
short.
"""),
    cfg.StrOpt('candidate_snapshot', default='cached',
        choices=[
            ('cached', 'A worker keeps a snapshot, and reads only later changes.'),
            ('per_request', 'Every search reads everything, however long that takes.')],
        help="""
Source of the data of candidate searches.

Both give the same answers. Choose ``per_request`` only to rule out the cache when something
seems wrong, or while a service that bypasses the change feed writes to the same database.
"""),
    cfg.ListOpt('extensions', sample_default='<all that are installed>', help="""
Names of the enabled extensions; by default all that are installed.

``insight`` serves the paths below ``/insight``, and the page. An empty value disables it: the
service has the API only, and answers 404 there. The service does not start if an enabled extension
cannot be loaded.
"""),
    cfg.BoolOpt('check_changes', default=False, advanced=True, help="""
For tests of the service itself: refuse to commit a transaction that has written a table that
searches or the history read, without recording a change of it. Such a transaction is a defect, and
its request gets a 500.
"""),
    cfg.IntOpt('change_feed_max_ids', default=100_000, min=40_000, help="""
Maximum number of ids that the change feed keeps for clients that follow the changes.

The feed keeps the changes of the last hour for ``GET /insight/changes``, and the last 20,000 ids
in any case. If an hour has more changes than this allows, the oldest 20,000 ids are removed
earlier. A change of one resource provider takes one id, and three on a Galera cluster of three
nodes. On such a cluster each search counts the entries, so a longer feed makes searches slower.
"""),
    cfg.IntOpt('candidate_snapshot_audit_interval', default=300, min=0, help="""
Seconds after which a worker compares its snapshot with the database.

A difference means that a writer bypassed the change feed, such as another service during an
upgrade. The worker then logs a warning and loads everything again.
"""),
]
# fmt: on


WORKAROUNDS_GROUP = cfg.OptGroup(
    'workarounds', title='Workarounds', help='Options kept for existing configuration files.'
)

# fmt: off
WORKAROUNDS_OPTIONS = [
    cfg.BoolOpt('optimize_for_wide_provider_trees', default=False, help="""
Drop combinations of providers early that cannot become an allocation candidate.

This option has no effect: the search always does so, whatever its value.
"""),
]
# fmt: on
