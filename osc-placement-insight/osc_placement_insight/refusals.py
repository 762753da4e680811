# SPDX-License-Identifier: Apache-2.0
"""Error messages for refusals of the service, with remedies."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import requests
from osc_lib import exceptions

from osc_placement_insight.layout import sentence

SWITCHED_OFF = 'This is switched off'
#: Begins what jsonschema says of a value after it has said what is wrong with it.
DETAILS_OF_SCHEMA = '  Failed validating'

ENDPOINT = '("openstack endpoint list --service placement", or --os-endpoint)'

#: What the service says of names that do not exist, by their kind.
KINDS = {
    'traits': re.compile(r'No such trait(?:\(s\))?:? ([^.]+)'),
    'resource_classes': re.compile(r'No such resource class ([^.]+)'),
}
#: Lists the names of a kind.
Known = Callable[[str], Iterable[str]]
#: How many names are told for one that does not exist.
NEAR = 3

#: What jsonschema says of a value that does not match, and what is expected by a part of that.
MISMATCH = re.compile(
    r"(?P<value>'[^']*') does not match (?P<expected>any of the regexes: .*|'\^.*\$')"
)
EXPECTED = {
    'any of the regexes': 'is no parameter of this request',
    '^req-': 'is no id of a request, which is req- and a UUID',
    'A-Z0-9_': 'may have the letters A to Z, digits and _ alone',
}

ADVICE = {
    401: (
        'Check your credentials. A service that authenticates nobody wants a token nevertheless: '
        '--os-auth-type admin_token --os-token admin --os-endpoint <url>.'
    ),
    403: (
        'Administrators and services have this right; an operator can give it to another role, in '
        'the policy file of the service.'
    ),
    503: 'The service is busy or being restarted; try again in a while.',
}
SWITCH_ON = 'The operator of the service can set this option to true.'
OTHER_SERVICE = (
    'This service has no {path}: the command needs openstack-placement 2026.12 or later of this '
    f'project, which upstream is not. Or is this not the right endpoint {ENDPOINT}?'
)
OTHER_VERSION = 'The service has microversions up to {0}: --os-placement-api-version {0}.'
SEE_LOG = 'The log of the service says why.'


class Refused(exceptions.CommandError):
    """The service refused a request; the message has the reason and a remedy.

    `status` is the HTTP status, `code` the code of the error, such as
    `placement.concurrent_update`, or None.
    """

    def __init__(self, message: str, status: int, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def refused(response: requests.Response, path: str, known: Known = lambda kind: ()) -> Refused:
    """The error for an answer of 4xx or 5xx to a request for this path.

    `known` lists the names there are of a kind of `KINDS`, to tell those that were meant.
    """
    error = _first_error(response)
    reason = _reason(response, error)
    sentences = [reason, _meant(reason, known), _advice(response.status_code, path, error)]
    message = ' '.join(filter(None, sentences)) + _trace(response, error)
    return Refused(message, response.status_code, error.get('code'))


def _first_error(response: requests.Response) -> dict[str, Any]:
    """The first error of an answer, empty where it has none: a proxy may have given it."""
    try:
        (error, *_others) = json.loads(response.content)['errors']
    except (ValueError, KeyError, TypeError):
        return {}
    return error if isinstance(error, dict) else {}


def _reason(response: requests.Response, error: dict[str, Any]) -> str:
    """The last line of the detail, as a sentence; those before it explain the status."""
    detail = error.get('detail', '').partition(DETAILS_OF_SCHEMA)[0].rstrip()
    words = detail.rpartition('\n')[2].strip() or f'The service answers "{response.reason}"'
    return sentence(MISMATCH.sub(_mismatch, words))


def _mismatch(match: re.Match[str]) -> str:
    """A value that does not match a regular expression, in words."""
    for part, words in EXPECTED.items():
        if part in match['expected']:
            return f'{match["value"]} {words}'
    return f'{match["value"]} is not written as it has to be'


def _meant(reason: str, known: Known) -> str:
    """A hint with known names that are similar to the missing ones; may be empty."""
    for kind, pattern in KINDS.items():
        if match := pattern.search(reason):
            names = sorted(known(kind))
            meant = [near for name in match[1].split(', ') for near in _near(name.upper(), names)]
            return f'Did you mean {" or ".join(dict.fromkeys(meant))}?' if meant else ''
    return ''


def _near(name: str, names: Sequence[str]) -> list[str]:
    """The names most like one, those first that begin with it."""
    beginning = [one for one in names if one.startswith(name)]
    return (beginning or difflib.get_close_matches(name, names, NEAR))[:NEAR]


def _advice(status: int, path: str, error: dict[str, Any]) -> str:
    if status == 404:
        return _advice_about_missing(path, error)
    if status == 406 and 'max_version' in error:
        return OTHER_VERSION.format(error['max_version'])
    if status >= 500:
        return ADVICE.get(status, SEE_LOG)
    return ADVICE.get(status, '')


def _advice_about_missing(path: str, error: dict[str, Any]) -> str:
    if SWITCHED_OFF in error.get('detail', ''):
        return SWITCH_ON
    return OTHER_SERVICE.format(path=path) if path.startswith('/insight') else ''


def _trace(response: requests.Response, error: dict[str, Any]) -> str:
    """Under what the log of the service has the request."""
    identity = error.get('request_id') or response.headers.get('X-Openstack-Request-Id')
    return f' (HTTP {response.status_code}{f", {identity}" if identity else ""})'
