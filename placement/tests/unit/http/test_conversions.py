# SPDX-License-Identifier: Apache-2.0
"""How bodies looked before."""

from placement.http import conversions
from placement.http.reply import NO_CONTENT, Reply
from placement.schemas.not_sent import NOT_SENT


def test_upgrade_adds_members_that_were_not_sent() -> None:
    upgrade = conversions.unknown_before('consumer_generation', 'consumer_type')

    assert upgrade({'allocations': {}}) == {
        'allocations': {},
        'consumer_generation': NOT_SENT,
        'consumer_type': NOT_SENT,
    }


def test_upgrade_keeps_what_the_client_sent_even_null() -> None:
    upgrade = conversions.unknown_before('consumer_generation')

    assert upgrade({'consumer_generation': None}) == {'consumer_generation': None}


def test_upgrade_changes_every_consumer_of_a_body() -> None:
    upgrade = conversions.for_each_consumer(conversions.unknown_before('x'))

    assert upgrade({'a': {}, 'b': {'y': 1}}) == {
        'a': {'x': NOT_SENT},
        'b': {'x': NOT_SENT, 'y': 1},
    }


def test_upgrade_of_a_reshape_changes_its_consumers_only() -> None:
    upgrade = conversions.for_each_reshaped_consumer(conversions.unknown_before('x'))

    assert upgrade({'inventories': {'p': {}}, 'allocations': {'a': {}}}) == {
        'inventories': {'p': {}},
        'allocations': {'a': {'x': NOT_SENT}},
    }


def test_upgrade_keeps_the_last_of_two_entries_for_one_provider() -> None:
    entries = [('p', 1), ('q', 2), ('p', 3)]
    body = {
        'allocations': [
            {'resource_provider': {'uuid': uuid}, 'resources': {'VCPU': amount}}
            for uuid, amount in entries
        ],
        'project_id': 'x',
    }

    assert conversions.key_by_provider(body) == {
        'allocations': {'p': {'resources': {'VCPU': 3}}, 'q': {'resources': {'VCPU': 2}}},
        'project_id': 'x',
    }


def test_upgrade_of_bare_aggregates_adds_a_name_and_no_generation() -> None:
    assert conversions.name_aggregates(['a']) == {
        'aggregates': ['a'],
        'resource_provider_generation': NOT_SENT,
    }


def test_without_drops_the_named_members_only() -> None:
    reply = Reply({'a': 1, 'b': 2}, status=200, location='/x')

    dropped = conversions.without('b', 'c')(reply)

    assert dropped == Reply({'a': 1}, status=200, location='/x')
    assert reply.body == {'a': 1, 'b': 2}


def test_downgrade_does_not_change_a_reply_without_body() -> None:
    assert conversions.without('a')(NO_CONTENT) is NO_CONTENT
    assert conversions.without_link('a')(NO_CONTENT) is NO_CONTENT


def test_within_downgrades_every_element() -> None:
    change = conversions.within('things', conversions.without('a'))

    assert change(Reply({'things': [{'a': 1, 'b': 2}], 'n': 0})).body == {
        'things': [{'b': 2}],
        'n': 0,
    }
    assert change(Reply({'things': {'x': {'a': 1, 'b': 2}}})).body == {'things': {'x': {'b': 2}}}
    assert change(Reply({'things': []})).body == {'things': []}


def test_without_link_drops_one_link() -> None:
    links = [{'rel': 'self', 'href': '/'}, {'rel': 'traits', 'href': '/traits'}]

    dropped = conversions.without_link('traits')(Reply({'uuid': 'u', 'links': links}))

    assert dropped.body == {'uuid': 'u', 'links': links[:1]}
    assert len(links) == 2


def test_downgrade_of_a_creation_keeps_status_and_location_only() -> None:
    reply = conversions.created_without_body(Reply({'uuid': 'u'}, location='/u'))

    assert (reply.status, reply.location, reply.body) == (201, '/u', None)
    assert not reply.is_cacheable


def test_downgrade_sums_usages_of_all_types() -> None:
    by_type = {
        'INSTANCE': {'consumer_count': 2, 'VCPU': 3},
        'unknown': {'consumer_count': 1, 'VCPU': 4, 'DISK_GB': 5},
    }

    assert conversions.usages_of_all_types({'usages': by_type}) == {
        'usages': {'VCPU': 7, 'DISK_GB': 5}
    }
    assert conversions.usages_of_all_types({'usages': {}}) == {'usages': {}}


def test_downgrade_of_candidates_lists_their_providers() -> None:
    body = {
        'allocation_requests': [
            {'allocations': {'p': {'resources': {'VCPU': 1}}, 'q': {'resources': {'PCPU': 2}}}}
        ],
        'provider_summaries': {},
    }

    assert conversions.candidates_as_list(body) == {
        'allocation_requests': [
            {
                'allocations': [
                    {'resource_provider': {'uuid': 'p'}, 'resources': {'VCPU': 1}},
                    {'resource_provider': {'uuid': 'q'}, 'resources': {'PCPU': 2}},
                ]
            }
        ],
        'provider_summaries': {},
    }


def test_response_with_a_body_has_cache_headers_by_default() -> None:
    assert Reply({}).is_cacheable
    assert not Reply({}, has_cache_headers=False).is_cacheable
    assert not NO_CONTENT.is_cacheable
    assert Reply(status=204, has_cache_headers=True).is_cacheable
