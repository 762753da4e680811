# SPDX-License-Identifier: Apache-2.0
"""Which version a request asks for, and how changes become one `Api` each.

Specification: http, "Microversions".
"""

from collections.abc import Mapping
from typing import Any

import pytest

from placement import errors, microversions
from placement.http import microversion
from placement.http.microversion import Microversion, Rule
from placement.http.reply import Reply
from placement.schemas import common

# Negotiation: the table of specification: http, "Microversions".


def asked(header: str | None) -> str:
    return str(microversion.negotiated(microversions.APIS, header).version)


@pytest.mark.parametrize(
    ('header', 'version'),
    [
        (None, '1.0'),
        ('', '1.0'),
        *((f'placement 1.{minor}', f'1.{minor}') for _major, minor in microversions.APIS),
        ('placement latest', microversions.NEWEST),
        ('PLACEMENT 1.10', '1.10'),
        ('Placement latest', microversions.NEWEST),
        ('compute 2.5, placement 1.10', '1.10'),
        ('placement 1.10, compute 2.5', '1.10'),
        ('compute 2.5,placement 1.10', '1.10'),
        ('placement 1.10, placement 1.12', '1.12'),
        ('placement 1.12, placement 1.10', '1.10'),
        ('compute, placement 1.10', '1.10'),
        ('compute 2.5', '1.0'),
        ('placement', '1.0'),
        ('1.10', '1.0'),
        ('latest', '1.0'),
        ('placement 01.010', '1.10'),
        ('placement 1. 10', '1.10'),
        ('placement   1.10', '1.10'),
    ],
)
def test_header_selects_the_version(header: str | None, version: str) -> None:
    assert asked(header) == version


@pytest.mark.parametrize('version', ['0.5', '1.999', '2.0', '10.1', '0.0', '1.100'])
def test_unknown_version_is_406(version: str) -> None:
    with pytest.raises(errors.UnacceptableVersion) as raised:
        asked(f'placement {version}')

    assert raised.value.status == 406
    assert f'Unacceptable version header: {version}' in str(raised.value)
    assert raised.value.bounds == {
        'max_version': microversions.NEWEST,
        'min_version': microversions.OLDEST,
    }


@pytest.mark.parametrize(
    'version', ['1', '1.2.3', 'pony.horse', 'LATEST', 'Latest', '1.', '.1', '1,10', 'v1.10', 'x']
)
def test_malformed_version_is_refused(version: str) -> None:
    header = f'placement {version}'
    if version == '1,10':
        header = 'placement 1;10'
        version = '1;10'

    with pytest.raises(errors.InvalidVersion) as raised:
        asked(header)

    assert raised.value.status == 400
    assert f'invalid version string: {version}' in str(raised.value)


@pytest.mark.parametrize('header', ['placement ' + '9' * 5000 + '.1', 'placement 1.' + '1' * 5000])
def test_json_number_with_too_many_digits_is_refused(header: str) -> None:
    with pytest.raises(errors.PlacementError) as raised:
        asked(header)

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


def test_fold_compiles_a_schema_once() -> None:
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
