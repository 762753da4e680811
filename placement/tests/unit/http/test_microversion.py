# SPDX-License-Identifier: Apache-2.0
"""The version that a request asks for, and the `Api` of each version.

Specification: http, "Microversions".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from placement import errors, microversions
from placement.http import microversion
from placement.http.microversion import Microversion, Rule
from placement.http.reply import Reply
from placement.schemas import common

# Negotiation, where gabbits/negotiation.yaml sends no such header.


@pytest.mark.parametrize(
    ('header', 'version'),
    [
        ('', '1.0'),
        ('Placement latest', microversions.NEWEST),
        ('compute 2.5,placement 1.10', '1.10'),
        ('placement 1.12, placement 1.10', '1.10'),
        ('compute, placement 1.10', '1.10'),
        ('latest', '1.0'),
        ('placement   1.10', '1.10'),
    ],
)
def test_header_selects_the_version(header: str, version: str) -> None:
    assert str(microversion.negotiated(microversions.APIS, header).version) == version


@pytest.mark.parametrize(
    ('version', 'refusal'),
    [
        *((version, errors.UnacceptableVersion) for version in ('10.1', '0.0', '1.100')),
        *((version, errors.InvalidVersion) for version in ('Latest', '1.', '.1', '1;10', 'v1.10')),
        ('9' * 5000 + '.1', errors.PlacementError),
        ('1.' + '1' * 5000, errors.PlacementError),
    ],
)
def test_version_that_is_unknown_or_malformed_is_refused(
    version: str, refusal: type[errors.PlacementError]
) -> None:
    with pytest.raises(refusal) as raised:
        microversion.negotiated(microversions.APIS, f'placement {version}')

    assert raised.value.status in (400, 406)


# Folding


def handler(name: str) -> microversion.Handler:
    return lambda request: Reply(name)


def append(letter: str) -> Any:
    """An upgrade that leaves its mark."""
    return lambda body: body + letter


def append_to_body(letter: str) -> microversion.Downgrade:
    return lambda reply: reply.with_body(reply.body + letter)


OLD: common.Schema = {'type': 'string'}
NEW: common.Schema = {'type': 'integer'}

CHANGES = (
    Microversion(
        '1.0',
        'Songs.',
        serves={'song.sing': handler('first'), 'song.hum': handler('hum')},
        accepts={'song.sing': OLD},
        queries={'song.hum': OLD},
    ),
    Microversion(
        '1.1',
        'Other songs.',
        accepts={'song.sing': NEW},
        upgrades={'song.sing': append('b')},
        downgrades={'song.sing': append_to_body('b')},
        enables={Rule.REPARENTING},
    ),
    Microversion(
        '1.2',
        'Another singer.',
        serves={'song.sing': handler('second')},
        accepts={'song.sing': None},
        queries={'song.hum': NEW},
        upgrades={'song.sing': append('c')},
        downgrades={'song.sing': append_to_body('c')},
        enables={Rule.ERROR_CODES},
    ),
)
APIS = microversion.fold(CHANGES)


def test_fold_returns_one_api_for_each_change() -> None:
    assert list(APIS) == [(1, 0), (1, 1), (1, 2)]
    assert [str(api.version) for api in APIS.values()] == ['1.0', '1.1', '1.2']
    assert {(api.oldest, api.newest) for api in APIS.values()} == {('1.0', '1.2')}


def test_handler_serves_an_action_until_a_change_replaces_it() -> None:
    served = [api.handlers['song.sing'](None).body for api in APIS.values()]

    assert served == ['first', 'first', 'second']
    assert {api.handlers['song.hum'](None).body for api in APIS.values()} == {'hum'}


def test_schema_applies_until_a_change_replaces_or_removes_it() -> None:
    assert APIS[1, 0].bodies['song.sing'].schema is OLD
    assert APIS[1, 1].bodies['song.sing'].schema is NEW
    assert 'song.sing' not in APIS[1, 2].bodies
    assert [api.queries['song.hum'].schema for api in APIS.values()] == [OLD, OLD, NEW]
    # It is compiled once.
    assert APIS[1, 0].queries['song.hum'] is APIS[1, 1].queries['song.hum']


def test_api_upgrades_a_body_oldest_change_first() -> None:
    upgraded = [api.upgraded('song.sing', 'a') for api in APIS.values()]

    assert upgraded == ['abc', 'ac', 'a']
    assert APIS[1, 0].upgraded('song.hum', 'a') == 'a'


def test_api_downgrades_a_reply_newest_change_first() -> None:
    downgraded = [api.downgraded('song.sing', Reply('a')).body for api in APIS.values()]

    assert downgraded == ['acb', 'ac', 'a']
    assert APIS[1, 0].downgraded('song.hum', Reply('a')).body == 'a'


def test_api_allows_a_rule_from_its_change_on() -> None:
    assert [api.allows(Rule.REPARENTING) for api in APIS.values()] == [False, True, True]
    assert [api.allows(Rule.ERROR_CODES) for api in APIS.values()] == [False, False, True]
    assert APIS[1, 0].introduced == {Rule.REPARENTING: '1.1', Rule.ERROR_CODES: '1.2'}


@pytest.mark.parametrize('mapping', ['handlers', 'bodies', 'queries', 'upgrades', 'downgrades'])
def test_api_is_immutable(mapping: str) -> None:
    frozen: Mapping[str, Any] = getattr(APIS[1, 0], mapping)

    with pytest.raises(TypeError):
        frozen['song.sing'] = None  # type: ignore[index]
