# SPDX-License-Identifier: Apache-2.0
"""How bodies looked before."""

from placement.http import conversions
from placement.http.reply import NO_CONTENT, Reply
from placement.schemas.not_sent import NOT_SENT


def test_what_an_older_client_cannot_say_is_unchecked() -> None:
    upgrade = conversions.unknown_before('consumer_generation', 'consumer_type')

    assert upgrade({'allocations': {}}) == {
        'allocations': {},
        'consumer_generation': NOT_SENT,
        'consumer_type': NOT_SENT,
    }


def test_what_a_client_says_stays_even_if_it_is_nothing() -> None:
    upgrade = conversions.unknown_before('consumer_generation')

    assert upgrade({'consumer_generation': None}) == {'consumer_generation': None}


def test_every_consumer_of_a_body_is_upgraded() -> None:
    upgrade = conversions.for_each_consumer(conversions.unknown_before('x'))

    assert upgrade({'a': {}, 'b': {'y': 1}}) == {
        'a': {'x': NOT_SENT},
        'b': {'x': NOT_SENT, 'y': 1},
    }


def test_every_consumer_of_a_reshape_is_upgraded_and_inventories_are_not() -> None:
    upgrade = conversions.for_each_reshaped_consumer(conversions.unknown_before('x'))

    assert upgrade({'inventories': {'p': {}}, 'allocations': {'a': {}}}) == {
        'inventories': {'p': {}},
        'allocations': {'a': {'x': NOT_SENT}},
    }


def test_of_two_entries_for_one_provider_the_last_counts() -> None:
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


def test_bare_aggregates_get_a_name_and_no_generation() -> None:
    assert conversions.name_aggregates(['a']) == {
        'aggregates': ['a'],
        'resource_provider_generation': NOT_SENT,
    }


def test_members_are_dropped_and_others_stay() -> None:
    reply = Reply({'a': 1, 'b': 2}, status=200, location='/x')

    dropped = conversions.without('b', 'c')(reply)

    assert dropped == Reply({'a': 1}, status=200, location='/x')
    assert reply.body == {'a': 1, 'b': 2}


def test_an_answer_without_body_stays_as_it_is() -> None:
    assert conversions.without('a')(NO_CONTENT) is NO_CONTENT
    assert conversions.without_link('a')(NO_CONTENT) is NO_CONTENT


def test_elements_of_lists_and_objects_are_changed_one_by_one() -> None:
    change = conversions.within('things', conversions.without('a'))

    assert change(Reply({'things': [{'a': 1, 'b': 2}], 'n': 0})).body == {
        'things': [{'b': 2}],
        'n': 0,
    }
    assert change(Reply({'things': {'x': {'a': 1, 'b': 2}}})).body == {'things': {'x': {'b': 2}}}
    assert change(Reply({'things': []})).body == {'things': []}


def test_one_link_is_dropped() -> None:
    links = [{'rel': 'self', 'href': '/'}, {'rel': 'traits', 'href': '/traits'}]

    dropped = conversions.without_link('traits')(Reply({'uuid': 'u', 'links': links}))

    assert dropped.body == {'uuid': 'u', 'links': links[:1]}
    assert len(links) == 2


def test_a_creation_was_told_by_status_and_location_alone() -> None:
    reply = conversions.created_without_body(Reply({'uuid': 'u'}, location='/u'))

    assert (reply.status, reply.location, reply.body) == (201, '/u', None)
    assert not reply.is_cacheable


def test_usages_of_every_type_are_summed_up() -> None:
    by_type = {
        'INSTANCE': {'consumer_count': 2, 'VCPU': 3},
        'unknown': {'consumer_count': 1, 'VCPU': 4, 'DISK_GB': 5},
    }

    assert conversions.usages_of_all_types({'usages': by_type}) == {
        'usages': {'VCPU': 7, 'DISK_GB': 5}
    }
    assert conversions.usages_of_all_types({'usages': {}}) == {'usages': {}}


def test_candidates_used_to_list_their_providers() -> None:
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


def test_an_answer_with_a_body_is_cacheable_unless_it_says_otherwise() -> None:
    assert Reply({}).is_cacheable
    assert not Reply({}, has_cache_headers=False).is_cacheable
    assert not NO_CONTENT.is_cacheable
    assert Reply(status=204, has_cache_headers=True).is_cacheable
