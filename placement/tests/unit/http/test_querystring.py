# SPDX-License-Identifier: Apache-2.0
"""The syntax of query values (specification: resource_providers, "GET /resource_providers")."""

from collections.abc import Callable

import pytest

from placement import errors, microversions
from placement.http import querystring
from placement.http.microversion import Api
from placement.http.querystring import Wanted

A = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'
B = '0f5d1b52-9d5c-4d0f-8e5f-52a3a1e0a9b2'

# Just before and since: forbidden traits, repetition, forbidden aggregates, any of several traits.
V21, V22, V23, V24, V31, V32, V38, V39 = (
    microversions.APIS[1, minor] for minor in (21, 22, 23, 24, 31, 32, 38, 39)
)


def any_of(*names: str) -> frozenset[str]:
    return frozenset(names)


# resources


@pytest.mark.parametrize(
    ('value', 'amounts'),
    [
        ('VCPU:2', {'VCPU': 2}),
        ('VCPU:2,MEMORY_MB:1024', {'VCPU': 2, 'MEMORY_MB': 1024}),
        ('VCPU:2,VCPU:3', {'VCPU': 3}),
        (' VCPU:2', {' VCPU': 2}),
        (':2', {'': 2}),
        ('VCPU:99999999999999999999', {'VCPU': 99999999999999999999}),
    ],
)
def test_parse_resources_returns_amounts_by_class(value: str, amounts: dict[str, int]) -> None:
    assert querystring.parse_resources(value) == amounts


FORM = (
    'Badly formed resources parameter. Expected resources query string parameter in form: '
    '?resources=VCPU:2,MEMORY_MB:1024. Got: '
)


@pytest.mark.parametrize(
    ('value', 'words'),
    [
        ('', FORM + 'empty string.'),
        ('  ', FORM + 'empty string.'),
        ('VCPU', FORM + 'VCPU.'),
        ('VCPU:1:2', FORM + 'VCPU:1:2.'),
        ('VCPU:1,', FORM + '.'),
        (',VCPU:1', FORM + '.'),
        ('VCPU:1,DISK_GB', FORM + 'DISK_GB.'),
        ('VCPU:', 'Requested resource VCPU expected positive integer amount. Got: .'),
        ('VCPU:x', 'Requested resource VCPU expected positive integer amount. Got: x.'),
        ('VCPU:1.5', 'Requested resource VCPU expected positive integer amount. Got: 1.5.'),
        ('VCPU:0', 'Requested resource VCPU requires amount >= 1. Got: 0.'),
        ('VCPU:-2', 'Requested resource VCPU requires amount >= 1. Got: -2.'),
    ],
)
def test_malformed_resources_are_refused(value: str, words: str) -> None:
    with pytest.raises(errors.BadRequest) as raised:
        querystring.parse_resources(value)

    assert str(raised.value) == words


def test_amount_with_too_many_digits_is_refused() -> None:
    with pytest.raises(errors.BadRequest, match='expected positive integer amount'):
        querystring.parse_resources('VCPU:' + '9' * 5000)


# member_of


def member_of(api: Api, *values: str) -> Wanted:
    return querystring.parse_member_of(api, 'member_of', values)


@pytest.mark.parametrize(
    ('values', 'required', 'forbidden'),
    [
        ([], (), any_of()),
        ([A], (any_of(A),), any_of()),
        ([f'in:{A}'], (any_of(A),), any_of()),
        ([f'in:{A},{B}'], (any_of(A, B),), any_of()),
        ([A, f'in:{A},{B}'], (any_of(A), any_of(A, B)), any_of()),
        ([f'!{A}'], (), any_of(A)),
        ([f'!in:{A},{B}'], (), any_of(A, B)),
        ([f'!{A}', f'!{B}', A], (any_of(A),), any_of(A, B)),
        ([A.upper()], (any_of(A.upper()),), any_of()),
        ([A.replace('-', '')], (any_of(A.replace('-', '')),), any_of()),
    ],
)
def test_parse_member_of_returns_required_and_forbidden_aggregates(
    values: list[str], required: tuple[frozenset[str], ...], forbidden: frozenset[str]
) -> None:
    assert member_of(V39, *values) == Wanted(required, forbidden)


MULTIPLE = (
    "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using "
    'the valid microversion. Got: '
)
EXPECTED_UUID = (
    "Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). "
    'Got: '
)


@pytest.mark.parametrize(
    ('value', 'words'),
    [
        (f'{A},{B}', f'{MULTIPLE}{A},{B}'),
        (f'!{A},{B}', f'{MULTIPLE}!{A},{B}'),
        ('', EXPECTED_UUID),
        ('foo', f'{EXPECTED_UUID}foo'),
        ('!foo', f'{EXPECTED_UUID}foo'),
        ('in:', EXPECTED_UUID),
        (f'in:{A},', EXPECTED_UUID),
        (f'in:{A},foo', f'{EXPECTED_UUID}foo'),
        (f'in:{A},!{B}', f'{EXPECTED_UUID}!{B}'),
        ('!', EXPECTED_UUID),
    ],
)
def test_malformed_member_of_is_refused(value: str, words: str) -> None:
    with pytest.raises(errors.BadRequest) as raised:
        member_of(V39, value)

    assert str(raised.value) == words


@pytest.mark.parametrize('value', ['!', '!foo', '!in:', f'!{A},{A}', f'!!{A}'])
def test_invalid_value_is_refused_before_a_rule_of_a_later_version(value: str) -> None:
    with pytest.raises(errors.BadRequest, match="'member_of'"):
        member_of(V31, value)


# required


@pytest.mark.parametrize(
    ('values', 'required', 'forbidden'),
    [
        ([], (), any_of()),
        (['T'], (any_of('T'),), any_of()),
        (['T,U'], (any_of('T'), any_of('U')), any_of()),
        ([' T , U '], (any_of('T'), any_of('U')), any_of()),
        (['!T'], (), any_of('T')),
        (['!!T'], (), any_of('T')),
        (['T,!U'], (any_of('T'),), any_of('U')),
        (['T,!T'], (any_of('T'),), any_of('T')),
        (['in:T,U'], (any_of('T', 'U'),), any_of()),
        (['in: T , U'], (any_of('T', 'U'),), any_of()),
        (['in:T,U', 'V', '!W'], (any_of('T', 'U'), any_of('V')), any_of('W')),
    ],
)
def test_parse_required_returns_required_and_forbidden_traits(
    values: list[str], required: tuple[frozenset[str], ...], forbidden: frozenset[str]
) -> None:
    assert querystring.parse_required(V39, values) == Wanted(required, forbidden)


OF_THE_FORM = "Invalid query string parameters: Expected 'required' parameter value of the form: "
FORBIDDING = OF_THE_FORM + 'HW_CPU_X86_VMX,!CUSTOM_MAGIC. '
PLAIN = OF_THE_FORM + 'HW_CPU_X86_VMX,CUSTOM_MAGIC. '
ANY_FORM = "Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' "


@pytest.mark.parametrize(
    ('api', 'value', 'words'),
    [
        (V39, '', FORBIDDING + 'Got an empty trait in: '),
        (V39, 'T,', FORBIDDING + 'Got an empty trait in: T,'),
        (V39, 'T,,U', FORBIDDING + 'Got an empty trait in: T,,U'),
        (V39, 'T, ,U', FORBIDDING + 'Got an empty trait in: T, ,U'),
        (V39, '!', FORBIDDING + 'Got an empty trait in: !'),
        (V22, 'T,', FORBIDDING + 'Got an empty trait in: T,'),
        (V21, '', PLAIN + 'Got an empty trait in: '),
        (V21, 'T,', PLAIN + 'Got an empty trait in: T,'),
        (V21, '!T', PLAIN + 'Got: !T'),
        (V21, 'T,!U', PLAIN + 'Got: T,!U'),
        (V38, 'in:T,U', ANY_FORM + 'only supported since microversion 1.39. Got: in:T,U'),
        (V21, 'in:T,U', ANY_FORM + 'only supported since microversion 1.39. Got: in:T,U'),
        (V39, 'in:', OF_THE_FORM + 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: in:'),
        (
            V39,
            'in:T,',
            OF_THE_FORM + 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: in:T,',
        ),
        (V39, 'in:T,!U', ANY_FORM + 'does not support forbidden traits. Got: in:T,!U'),
    ],
)
def test_malformed_required_is_refused(api: Api, value: str, words: str) -> None:
    with pytest.raises(errors.BadRequest) as raised:
        querystring.parse_required(api, [value])

    assert str(raised.value) == words


def test_wanted_names_are_all_required_and_forbidden_names() -> None:
    wanted = querystring.parse_required(V39, ['in:T,U', 'V,!W'])

    assert wanted.names() == {'T', 'U', 'V', 'W'}
    assert querystring.NOTHING_WANTED.names() == set()


# Bounds


MOST = querystring.MAX_CONDITIONS


def traits(count: int) -> list[str]:
    return [f'CUSTOM_{number}' for number in range(count)]


def test_parameters_may_have_as_many_conditions_as_the_bound() -> None:
    resources = ','.join(f'{name}:1' for name in traits(MOST))

    assert len(querystring.parse_resources(resources)) == MOST
    assert len(querystring.parse_required(V39, traits(MOST)).required) == MOST
    assert len(querystring.parse_required(V39, [','.join(traits(MOST))]).required) == MOST
    assert len(querystring.parse_member_of(V39, 'member_of', [A] * MOST).required) == MOST


def test_names_of_one_list_and_forbidden_names_are_one_condition() -> None:
    many = traits(2 * MOST)

    (any_trait,) = querystring.parse_required(V39, [f'in:{",".join(many)}']).required
    assert any_trait == frozenset(many)
    forbidden = querystring.parse_required(V39, [f'!{name}' for name in many]).forbidden
    assert forbidden == frozenset(many)


@pytest.mark.parametrize(
    ('parse', 'words'),
    [
        (
            lambda: querystring.parse_resources(','.join(f'{n}:1' for n in traits(MOST + 1))),
            'resources has 257 conditions, more than 256',
        ),
        (
            lambda: querystring.parse_required(V39, traits(MOST + 1)),
            'required has 257 conditions, more than 256',
        ),
        (
            lambda: querystring.parse_required(V39, [','.join(traits(MOST + 1))]),
            'required has 257 conditions, more than 256',
        ),
        (
            lambda: querystring.parse_member_of(V39, 'member_of_A', [A] * (MOST + 1)),
            'member_of_A has 257 conditions, more than 256',
        ),
    ],
)
def test_parameter_with_more_conditions_than_the_bound_is_refused(
    parse: Callable[[], object], words: str
) -> None:
    with pytest.raises(errors.InvalidQuery) as raised:
        parse()

    assert str(raised.value) == f'Invalid query string parameters: {words}'
