# SPDX-License-Identifier: Apache-2.0
"""What is read from a document, and that a document which is wrong is noticed."""

import pytest

from placement.tests.unit import samples

PAGE = """
=====
Title
=====

.. Before the samples:

   POST /resource_providers
   {"name": "a",
    "uuid": "b"}

   DELETE /traits/CUSTOM_A

Words::

    PUT /traits/CUSTOM_B
    OpenStack-API-Version: placement 1.6

and::

    HTTP/1.1 201 Created
    Location: http://placement.example/traits/CUSTOM_B
"""

README = """
Words::

    $ make serve

More::

    $ printf '%s\\n' 'X-Auth-Token: admin' \\
          'Content-Type: application/json' > headers
    $ curl -s -H @headers http://127.0.0.1:8778/traits?name=in:A \\
          | python3 -m json.tool
    {
        "traits": []
    }
    $ curl -s -X PUT -w '%{http_code}\\n' http://127.0.0.1:8778/a -d '{"a":
          1}'
    204
"""


def test_samples_pair_requests_with_answers() -> None:
    create, delete, put = samples.samples_of_page(PAGE)
    assert (create.method, create.path) == ('POST', '/resource_providers')
    assert create.body == '{"name": "a",\n "uuid": "b"}'
    assert create.headers == {'OpenStack-API-Version': samples.NEWEST}
    assert (delete.method, delete.body, delete.status) == ('DELETE', '', None)
    assert put.headers == {'OpenStack-API-Version': 'placement 1.6'}
    assert put.status == 201
    assert put.answer_headers == {'Location': 'http://placement.example/traits/CUSTOM_B'}
    assert put.answer == ''


def test_malformed_page_is_reported() -> None:
    assert samples.parse_page(PAGE)[1] == ''
    assert 'Unknown interpreted text role' in samples.parse_page(':nothing:`here`')[1]
    assert 'Title underline too short' in samples.parse_page('Longer title\n======')[1]


def test_a_session_gives_commands_with_what_they_print() -> None:
    (written, nothing), (listing, shown), (_, status) = samples.session_of_readme(README)
    assert samples.headers_of_printf(written) == {
        'X-Auth-Token': 'admin',
        'Content-Type': 'application/json',
    }
    assert nothing == ''
    assert listing.startswith('curl -s -H @headers')
    assert shown == '{\n    "traits": []\n}'
    assert status == '204'


def test_a_curl_command_gives_what_it_sends() -> None:
    _, (listing, _), (put, _) = samples.session_of_readme(README)
    sample, prints = samples.sample_of_curl(listing, {'X-Auth-Token': 'admin'})
    assert (sample.method, sample.path) == ('GET', '/traits?name=in:A')
    assert sample.headers == {'X-Auth-Token': 'admin'}
    assert prints == ['json']
    sample, prints = samples.sample_of_curl(put, {})
    assert (sample.method, sample.path, prints) == ('PUT', '/a', ['status'])
    assert sample.body == '{"a":\n      1}'


def test_unsupported_command_is_refused() -> None:
    with pytest.raises(ValueError, match='cannot follow'):
        samples.sample_of_curl('curl --proxy http://127.0.0.1:8778/', {})
    with pytest.raises(ValueError, match='cannot follow'):
        samples.sample_of_curl('curl http://example.org/', {})


def test_terminal_output_is_normalised() -> None:
    assert samples.printed(200, '{"a": [1]}', ['json']) == '{\n    "a": [\n        1\n    ]\n}'
    assert samples.printed(204, '', ['status']) == '204'


@pytest.mark.parametrize(
    ('documented', 'answered'),
    [
        ({'a': 1}, {'a': 2}),
        ({'a': 1}, {'a': 1, 'b': 2}),
        ({'a': 1, 'b': 2}, {'a': 1}),
        ({'a': 1}, {'a': 1.0}),
        ({'a': 1}, {'a': True}),
        ({'a': None}, {'a': []}),
        ([1, 2], [1]),
        ([1], [1, 2]),
        ([1, 1], [1, 2]),
        ([1, '...'], [2, 3]),
        ({'a': '...'}, {'a': 7}),
        ({'a': {}}, None),
        (None, {'a': {}}),
    ],
)
def test_differing_answer_is_reported(documented: object, answered: object) -> None:
    assert samples.differences(documented, answered)


@pytest.mark.parametrize(
    ('documented', 'answered'),
    [
        ({'a': 1, 'b': None}, {'b': None, 'a': 1}),
        ([1, 2], [2, 1]),
        ([1, '...'], [3, 2, 1]),
        ({'a': '...'}, {'a': '1.7'}),
        (
            'req-3b1c9a52-1f5c-4f3a-8a53-1a6c2d0e9f01',
            'req-7f0d3fd1-0d2b-4d2c-9c6c-5d0e5f0b7a10',
        ),
        ('Fri, 20 Nov 2026 11:40:00 GMT', 'Sat, 21 Nov 2026 11:40:00 GMT'),
    ],
)
def test_an_answer_may_differ_in_order_ids_and_dates(documented: object, answered: object) -> None:
    assert samples.differences(documented, answered) == []


NAMES = {'u1': 'host', 'u2': 'node'}
ANSWER = {
    'allocation_requests': [
        {
            'allocations': {
                'u1': {'resources': {'MEMORY_MB': 5, 'DISK_GB': 1}},
                'u2': {'resources': {'VCPU': 2}},
            },
            'mappings': {'': ['u1'], '_A': ['u2']},
        }
    ]
}


@pytest.mark.parametrize(
    'line',
    [
        'host MEMORY_MB:5,DISK_GB:1 + node VCPU:2',
        'node VCPU:2 + host DISK_GB:1,MEMORY_MB:5',
        'node VCPU:2 + host DISK_GB:1,MEMORY_MB:5 (_A on node)',
    ],
)
def test_candidates_match_in_any_order_with_optional_groups(line: str) -> None:
    assert samples.candidates_differ((line,), ANSWER, NAMES) == ''


@pytest.mark.parametrize(
    'lines',
    [
        (),
        ('host MEMORY_MB:5 + node VCPU:2',),
        ('host MEMORY_MB:5,DISK_GB:1 + node VCPU:2 (_A on host)',),
        ('host MEMORY_MB:5,DISK_GB:1 + node VCPU:2',) * 2,
    ],
)
def test_differing_candidates_are_reported(lines: tuple[str, ...]) -> None:
    assert samples.candidates_differ(lines, ANSWER, NAMES) != ''


def test_a_block_of_candidates_belongs_to_the_search_before_it() -> None:
    page = 'Page\n====\n\n::\n\n    GET /a\n\n::\n\n    Candidates:\n    host VCPU:1\n'

    (sample,) = samples.samples_of_page(page)

    assert sample.candidates == ('host VCPU:1',)
    assert sample.status == 200
