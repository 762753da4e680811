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
Directory for state that outlives the process.

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
The token itself names the caller, as ``user`` or ``user:project``; nobody checks it. Only for
tests and for trying the service out.
"""

# fmt: off
API_OPTIONS = [
    cfg.StrOpt('auth_strategy', default='keystone',
        choices=[('keystone', _KEYSTONE), ('noauth2', _NOAUTH2)], deprecated_group='DEFAULT',
        help="""
How callers are authenticated.

With ``noauth2`` whoever can connect is an administrator if they say so: never use it on an
address that others can reach.
"""),
    cfg.ListOpt('noauth2_allowed_hosts', default=[], help="""
Names of hosts that requests may be for under ``noauth2``, besides ``localhost`` and loopback
addresses.

A request whose ``Host`` header names another is refused with status 403: a page in a browser on
the same machine could otherwise use the service, under a name of its own that it lets lead to
the loopback address. ``*`` allows every host.
"""),
]
# fmt: on


DEFAULT_CONSUMER_ID = '00000000-0000-0000-0000-000000000000'

PLACEMENT_GROUP = cfg.OptGroup(
    'placement', title='Placement', help='Candidate search and the writing of allocations.'
)

_DEPTH_FIRST = """
All candidates of one root provider come before the first of the next one. With a bound they may
all be of the same few hosts.
"""

_BREADTH_FIRST = """
Candidates of all root providers take turns, so that a bounded answer names as many hosts as it
can.
"""

# fmt: off
PLACEMENT_OPTIONS = [
    cfg.BoolOpt('randomize_allocation_candidates', default=False, help="""
Return allocation candidates in random order.

When a request has a ``limit``, its candidates are then a random sample of all that there are. Set
it where several schedulers run side by side in a cloud of more hosts than they ask for: of claims
that eight schedulers send at the same moment for hosts that one of them fills, 88 % are refused
without it and 1 % with it. A random answer costs no more than an ordered one. When off, equal
requests get equal answers for as long as nothing changes.
"""),
    cfg.StrOpt('incomplete_consumer_project_id', default=DEFAULT_CONSUMER_ID, help="""
Project of consumers whose allocations are written by requests that name none.

The first microversions of the API (below 1.8) did not ask for the project and the user of a
consumer. ``placement-manage db online_data_migrations`` gives the same project to allocations
that have no consumer record at all.
"""),
    cfg.StrOpt('incomplete_consumer_user_id', default=DEFAULT_CONSUMER_ID, help="""
User of consumers whose allocations are written by requests that name none.

See ``incomplete_consumer_project_id``.
"""),
    cfg.IntOpt('allocation_conflict_retry_count', default=10, help="""
How often a write of allocations is attempted before the client is told of a conflict.

A write is repeated, as a whole, when the database gave it up because of another one that ran
at the same time. Clients see status 409 when every attempt failed.
"""),
    cfg.IntOpt('max_request_body_size', default=16 << 20, min=64 << 10, help="""
Most bytes that the body of a request may have.

A larger one is refused with status 413 before it is read, and before anybody asks who is
sending it. The largest bodies of real clients, those of a reshape, have a few megabytes.
"""),
    cfg.FloatOpt('slow_request_seconds', default=5.0, min=0, help="""
Seconds after which a request is slow: a warning is logged besides its line; ``0`` logs none.

They count from the arrival of the request at the application until its response begins. Requests
take milliseconds, and searches a second at most; what takes longer has mostly waited, for a lock,
for the database or for a processor.
"""),
    cfg.IntOpt('max_allocation_candidates', default=-1, help="""
Most allocation candidates that one search may generate; ``-1`` means no bound.

The bound counts before the ``limit`` of the request is applied. Set it where trees of
providers are so wide that a request can be satisfied in very many ways.
"""),
    cfg.IntOpt('search_budget', default=1_500_000, min=0, help="""
How many steps one search for allocation candidates may take; ``0`` means any number.

A step examines a resource provider, or tries it for a request group. A current processor takes
the default number in one or two seconds. Searches of a thousand hosts need a few thousand; only
requests whose groups can be combined in very many ways, few of which fit, come near the default.
The same request against the same data is cut at the same point, on any machine.

When the budget is spent, what was found until then is returned. When nothing was found, the answer
is empty, has the header ``openstack-placement-search: incomplete``, and a warning is logged
(``log_searches``).
"""),
    cfg.StrOpt('log_searches', default='empty',
        choices=[('empty', 'Searches that found nothing.'), ('all', 'Every search.'),
                 ('none', 'No search.')],
        help="""
Which searches for allocation candidates have a line in the log.

It has the ids of the request and of the request of the client that it is part of, the query, the
microversion, how many candidates were found on how many hosts, what cut the search short, and of
an empty answer the condition that emptied it. Its level is INFO, or WARNING where nothing was
found until ``search_budget`` was spent.
"""),
    cfg.StrOpt('allocation_candidates_generation_strategy', default='breadth-first',
        choices=[('depth-first', _DEPTH_FIRST), ('breadth-first', _BREADTH_FIRST)], help="""
Order in which root providers are visited while candidates are generated.

It matters when ``max_allocation_candidates`` or the ``limit`` of a request cuts the search
short.
"""),
    cfg.StrOpt('candidate_snapshot', default='cached',
        choices=[
            ('cached', 'A worker keeps what it has read and reads only what has changed since.'),
            ('per_request', 'Every search reads everything, as long as that may take.')],
        help="""
Where candidate searches look.

Both give the same answers. Choose ``per_request`` only to rule out the cache when something
seems wrong, or while a service that bypasses the change feed writes to the same database.
"""),
    cfg.IntOpt('change_feed_max_ids', default=100_000, min=40_000, help="""
Most ids that the change feed may span for the sake of clients that follow the changes.

The feed keeps the changes of the last hour for ``GET /insight/changes``, and the last 20,000 ids
in any case. Where more is written in an hour than this allows, the oldest 20,000 ids are removed
earlier. A change of one resource provider takes one id, and three on a Galera cluster of three
nodes. On such a cluster each search counts the entries, which takes 0.1 ms for each 1,000.
"""),
    cfg.IntOpt('candidate_snapshot_audit_interval', default=300, min=0, help="""
Seconds after which a worker compares what it keeps with the database.

A difference means that a writer bypassed the change feed, such as another service during an
upgrade. The worker then logs a warning and reads everything anew.
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
