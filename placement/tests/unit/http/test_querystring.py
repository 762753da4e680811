# SPDX-License-Identifier: Apache-2.0
"""The syntax of query values, where no gabbi test of `GET /resource_providers` sends them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from placement import errors, microversions
from placement.http import querystring
from placement.http.microversion import Api
from placement.http.querystring import Wanted

A = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'
B = '0f5d1b52-9d5c-4d0f-8e5f-52a3a1e0a9b2'
V21, V31, V39 = (microversions.APIS[1, minor] for minor in (21, 31, 39))
MOST = querystring.MAX_CONDITIONS


def traits(count: int) -> list[str]:
    return [f'CUSTOM_{number}' for number in range(count)]


@pytest.mark.parametrize(
    ('value', 'amounts'),
    [
        ('VCPU:2,MEMORY_MB:1024,VCPU:3', {'VCPU': 3, 'MEMORY_MB': 1024}),
        (' VCPU:2,:2', {' VCPU': 2, '': 2}),
        ('VCPU:99999999999999999999', {'VCPU': 99999999999999999999}),
        (','.join(f'{name}:1' for name in traits(MOST)), dict.fromkeys(traits(MOST), 1)),
    ],
)
def test_resources_are_amounts_by_class(value: str, amounts: dict[str, int]) -> None:
    assert querystring.parse_resources(value) == amounts


@pytest.mark.parametrize(
    ('values', 'required', 'forbidden'),
    [
        ([], [], ''),
        ([A, f'in:{A},{B}'], [{A}, {A, B}], ''),
        ([f'!{A}', f'!{B}', A], [{A}], [A, B]),
        ([A.upper(), A.replace('-', '')], [{A.upper()}, {A.replace('-', '')}], ''),
        ([A] * MOST, [{A}] * MOST, ''),
    ],
)
def test_aggregates_are_required_and_forbidden(
    values: list[str], required: list[set[str]], forbidden: list[str]
) -> None:
    found = querystring.parse_member_of(V39, 'member_of', values)

    assert found == Wanted(tuple(map(frozenset, required)), frozenset(forbidden))


@pytest.mark.parametrize(
    ('values', 'required', 'forbidden'),
    [
        ([], [], ''),
        ([' T , U '], [{'T'}, {'U'}], ''),
        (['!!T'], [], 'T'),
        (['T,!T'], [{'T'}], 'T'),
        (['in: T , U', 'V', '!W'], [{'T', 'U'}, {'V'}], 'W'),
        (traits(MOST), [{name} for name in traits(MOST)], ''),
        ([','.join(traits(MOST))], [{name} for name in traits(MOST)], ''),
        # Names of one list, and forbidden names, are one condition.
        ([f'in:{",".join(traits(2 * MOST))}'], [set(traits(2 * MOST))], ''),
        ([f'!{name}' for name in traits(2 * MOST)], [], traits(2 * MOST)),
    ],
)
def test_traits_are_required_and_forbidden(
    values: list[str], required: list[set[str]], forbidden: list[str] | str
) -> None:
    found = querystring.parse_required(V39, values)

    assert found == Wanted(tuple(map(frozenset, required)), frozenset(forbidden))


def resources(value: str) -> Callable[[], object]:
    return lambda: querystring.parse_resources(value)


def member_of(*values: str, api: Api = V39) -> Callable[[], object]:
    return lambda: querystring.parse_member_of(api, 'member_of_A', values)


def required(*values: str, api: Api = V39) -> Callable[[], object]:
    return lambda: querystring.parse_required(api, values)


@pytest.mark.parametrize(
    ('parse', 'words'),
    [
        (resources(',VCPU:1'), 'MEMORY_MB:1024. Got: .'),
        (resources('VCPU:1,DISK_GB'), 'MEMORY_MB:1024. Got: DISK_GB.'),
        (resources('VCPU:'), 'resource VCPU expected positive integer amount. Got: .'),
        (resources('VCPU:' + '9' * 5000), 'expected positive integer amount'),
        (member_of(f'!{A},{B}'), f'valid microversion. Got: !{A},{B}'),
        (member_of('!foo'), 'to contain valid UUID(s). Got: foo'),
        (member_of('in:'), 'to contain valid UUID(s). Got: '),
        (member_of('!'), 'to contain valid UUID(s). Got: '),
        # An invalid value is refused before a rule of a later version.
        *((member_of(value, api=V31), "'member_of'")
          for value in ('!', '!foo', '!in:', f'!{A},{A}', f'!!{A}')),
        (required('T, ,U'), 'HW_CPU_X86_VMX,!CUSTOM_MAGIC. Got an empty trait in: T, ,U'),
        (required('!'), 'HW_CPU_X86_VMX,!CUSTOM_MAGIC. Got an empty trait in: !'),
        (required('', api=V21), 'HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: '),
        (required('T,!U', api=V21), 'HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: T,!U'),
        (required('in:T,U', api=V21), 'only supported since microversion 1.39. Got: in:T,U'),
        (required('in:'), 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: in:'),
        (resources(','.join(f'{n}:1' for n in traits(MOST + 1))),
         'resources has 257 conditions, more than 256'),
        (required(*traits(MOST + 1)), 'required has 257 conditions, more than 256'),
        (required(','.join(traits(MOST + 1))), 'required has 257 conditions, more than 256'),
        (member_of(*[A] * (MOST + 1)), 'member_of_A has 257 conditions, more than 256'),
    ],
)  # fmt: skip
def test_malformed_values_are_refused(parse: Callable[[], object], words: str) -> None:
    with pytest.raises(errors.BadRequest) as raised:
        parse()

    assert words in str(raised.value)
