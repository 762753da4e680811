# SPDX-License-Identifier: Apache-2.0
"""Expectations of gabbi tests beyond gabbi's own keys, and checks of every answer.

=======================  ======================================================================
``response_error``       ``detail``: one or more pieces of the error's text, ``code``: its code,
                         ``members``: the names of all that it holds
``response_lists``       JSON path -> the values found there, in any order
``response_candidates``  one entry per allocation candidate, ``cn1 + ss1`` or with the amounts,
                         ``cn1 VCPU=1 + ss1 DISK_GB=10``; ``none`` when there is none
``response_summaries``   the providers of the provider summaries, by name
``response_mappings``    one entry per allocation candidate, ``_NET: pf0, _CPU: numa1``
=======================  ======================================================================
"""

import datetime
import email.utils
import functools
import http
import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from gabbi import exception
from gabbi.handlers import base, jsonhandler
from jsonpath_ng import ext as jsonpath

from .fixtures import clouds

REQUEST_ID = re.compile(r'^req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$')
VERSION = re.compile(r'^placement 1\.(\d+)$')


@functools.cache
def _parsed(path: str) -> Any:
    return jsonpath.parse(path)


@functools.cache
def _names() -> dict[str, str]:
    """The name of everything in the clouds of the fixtures, by uuid."""
    return {found: name for cloud in clouds.CLOUDS for name, found in clouds.uuids(cloud).items()}


def minor_version(test: Any) -> int | None:
    """The minor version in force, or None when the answer names none."""
    match = VERSION.match(test.response.get('openstack-api-version', ''))
    return int(match.group(1)) if match else None


class FastJSONHandler(jsonhandler.JSONHandler):
    """Gabbi's own handler of JSON paths, with each path parsed once in a process."""

    @staticmethod
    def extract_json_path_value(data: Any, path: str) -> Any:
        matches = [match.value for match in _parsed(path).find(data)]
        if not matches:
            raise ValueError(f"JSONPath '{path}' failed to match on data: '{data}'")
        return matches if len(matches) > 1 else matches[0]


class HouseRules(base.ResponseHandler):
    """The rules for every answer of the service, in any gabbi test."""

    test_key_suffix = 'house_rules'
    test_key_value: ClassVar[dict[str, Any]] = {}

    def __call__(self, test: Any) -> None:
        self.no_server_error(test)
        self.has_request_id(test)
        self.names_the_version_asked_for(test)
        self.has_a_content_type_when_there_is_content(test)
        self.was_modified_today_if_it_says_so(test)
        self.describes_its_errors(test)

    def no_server_error(self, test: Any) -> None:
        test.assertLess(int(test.response['status']), 500, test.output)

    def has_request_id(self, test: Any) -> None:
        test.assertRegex(test.response.get('x-openstack-request-id', ''), REQUEST_ID)

    def names_the_version_asked_for(self, test: Any) -> None:
        minor = minor_version(test)
        if minor is None:
            return
        asked = VERSION.match(test.test_data['request_headers'].get('openstack-api-version', ''))
        if asked:
            test.assertEqual(int(asked.group(1)), minor)
        if int(test.response['status']) < 400:
            test.assertIn('openstack-api-version', test.response.get('vary', '').lower())

    def has_a_content_type_when_there_is_content(self, test: Any) -> None:
        if test.test_data['method'] == 'HEAD':
            return
        if not test.output:
            test.assertNotIn('content-type', test.response)
        elif int(test.response['status']) < 400:
            test.assertEqual('application/json', test.response.get('content-type'))

    def was_modified_today_if_it_says_so(self, test: Any) -> None:
        value = test.response.get('last-modified')
        if value is not None:
            test.assertRegex(value, r'^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$')
            age = datetime.datetime.now(datetime.UTC) - email.utils.parsedate_to_datetime(value)
            test.assertLess(abs(age), datetime.timedelta(days=1))

    def describes_its_errors(self, test: Any) -> None:
        status = int(test.response['status'])
        if status < 400 or status == 401 or not isinstance(test.response_data, dict):
            return
        (error,) = test.response_data['errors']
        test.assertEqual(status, error['status'])
        test.assertEqual(http.HTTPStatus(status).phrase, error['title'])
        test.assertEqual(test.response['x-openstack-request-id'], error['request_id'])
        test.assertIsInstance(error['detail'], str)
        minor = minor_version(test)
        test.assertEqual(minor is not None and minor >= 23, 'code' in error, error)


class ErrorHandler(base.ResponseHandler):
    """The text and the code of an error in JSON."""

    test_key_suffix = 'error'
    test_key_value: ClassVar[dict[str, Any]] = {}

    def __call__(self, test: Any) -> None:
        expected = test.test_data[self._key]
        if not expected:
            return
        unknown = set(expected) - {'detail', 'code', 'members'}
        test.assertFalse(unknown, f'response_error does not know {unknown}')
        test.assertIsInstance(test.response_data, dict, test.output)
        (error,) = test.response_data['errors']
        if 'detail' in expected:
            self.has_detail(test, error, expected['detail'])
        if 'members' in expected:
            test.assertEqual(sorted(expected['members']), sorted(error))
        minor = minor_version(test)
        if minor is not None and minor >= 23:
            test.assertEqual(expected.get('code', 'placement.undefined_code'), error['code'])
        else:
            test.assertNotIn('code', expected, 'codes are not shown here')

    def has_detail(self, test: Any, error: dict[str, Any], fragments: Any) -> None:
        detail = ' '.join(error['detail'].split())
        fragments = [fragments] if isinstance(fragments, str) else fragments
        test.assertTrue(fragments and all(fragments), 'an empty detail says nothing')
        for fragment in fragments:
            wanted = ' '.join(str(test.replace_template(fragment)).split())
            test.assertIn(wanted, detail)


class ListsHandler(base.ResponseHandler):
    """Compares lists without regard to their order."""

    test_key_suffix = 'lists'
    test_key_value: ClassVar[dict[str, Any]] = {}

    def action(self, test: Any, item: str, value: Any = None) -> None:
        path = test.replace_template(item)
        found = [match.value for match in _parsed(path).find(test.response_data)]
        if len(found) == 1 and isinstance(found[0], list):
            found = found[0]
        expected = [test.replace_template(entry) for entry in value]
        test.assertEqual(sorted(map(_text, expected)), sorted(map(_text, found)), path)


class _Words(base.ResponseHandler):
    """Compares entries of an answer, with provider names, in any order of entries and parts."""

    test_key_value: ClassVar[list[str]] = []
    separator = ', '

    def __call__(self, test: Any) -> None:
        expected = test.test_data[self._key]
        if expected:
            wanted = [] if expected == ['none'] else expected
            found = self.found(test.response_data, any('=' in entry for entry in wanted))
            test.assertEqual(sorted(map(self._sorted, wanted)), sorted(map(self._sorted, found)))

    def _sorted(self, entry: str) -> str:
        return self.separator.join(sorted(entry.split(self.separator)))

    def found(self, answer: Any, with_amounts: bool) -> list[str]:
        """Return the entries of an answer."""
        raise NotImplementedError


class CandidatesHandler(_Words):
    """Compares allocation candidates, by provider name."""

    test_key_suffix = 'candidates'
    separator = ' + '

    def found(self, answer: Any, with_amounts: bool) -> list[str]:
        requests = answer['allocation_requests']
        return [_candidate(request['allocations'], with_amounts) for request in requests]


class SummariesHandler(_Words):
    """Compares the providers of the summaries, by name."""

    test_key_suffix = 'summaries'

    def found(self, answer: Any, with_amounts: bool) -> list[str]:
        return [_names()[found] for found in answer['provider_summaries']]


class MappingsHandler(_Words):
    """Compares the mappings of each candidate: which provider serves which group."""

    test_key_suffix = 'mappings'

    def found(self, answer: Any, with_amounts: bool) -> list[str]:
        return [_mapping(request['mappings']) for request in answer['allocation_requests']]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _candidate(allocations: Any, detailed: bool) -> str:
    if isinstance(allocations, list):  # the shape before 1.12
        allocations = {
            entry['resource_provider']['uuid']: {'resources': entry['resources']}
            for entry in allocations
        }
    parts = []
    for provider, allocation in allocations.items():
        amounts = [f'{name}={amount}' for name, amount in sorted(allocation['resources'].items())]
        parts.append(' '.join([_names()[provider], *(amounts if detailed else [])]))
    return ' + '.join(parts)


def _mapping(mappings: dict[str, list[str]]) -> str:
    return ', '.join(
        f'{suffix}: {" ".join(sorted(_names()[found] for found in providers))}'
        for suffix, providers in mappings.items()
    )


CONTENT_HANDLERS = [FastJSONHandler]
RESPONSE_HANDLERS: list[type[Any]] = [
    HouseRules,
    ErrorHandler,
    ListsHandler,
    CandidatesHandler,
    SummariesHandler,
    MappingsHandler,
]
KEYS = [f'response_{handler.test_key_suffix}' for handler in RESPONSE_HANDLERS]


def check_every_test_expects_something(suite: Mapping[str, Any]) -> None:
    """Raise for one of our keys with an empty value.

    A handler cannot distinguish it from a missing key, and accepts every answer.
    """
    for request in (suite.get('defaults', {}), *suite['tests']):
        for key in KEYS:
            if key in request and not request[key]:
                name = request.get('name', 'defaults')
                raise exception.GabbiFormatError(
                    f"{key} in '{name}' is empty and says nothing; of nothing say 'none', "
                    'or leave it out'
                )
