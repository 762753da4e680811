# SPDX-License-Identifier: Apache-2.0
"""What the service refuses, and what to do about it, in words."""

from __future__ import annotations

import json
from typing import Any

import requests
from osc_lib import exceptions

from osc_placement_insight.layout import sentence

SWITCHED_OFF = 'This is switched off'
#: Begins what jsonschema says of a value after it has said what is wrong with it.
DETAILS_OF_SCHEMA = '  Failed validating'

ENDPOINT = '("openstack endpoint list --service placement", or --os-endpoint)'

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
    'This service has no {path}: the command needs openstack-placement 17.0 or later of this '
    f'project, which upstream is not. Or is this not the right endpoint {ENDPOINT}?'
)
OTHER_VERSION = 'The service has microversions up to {0}: --os-placement-api-version {0}.'
SEE_LOG = 'The log of the service says why.'


class Refused(exceptions.CommandError):
    """The service refused a request; the message says why, and what to do.

    `status` is that of HTTP, `code` that of the error (`placement.concurrent_update`), None where
    there is none.
    """

    def __init__(self, message: str, status: int, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def refused(response: requests.Response, path: str) -> Refused:
    """The error for an answer of 4xx or 5xx to a request for this path."""
    error = _first_error(response)
    sentences = [_reason(response, error), _advice(response.status_code, path, error)]
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
    return sentence(
        detail.rpartition('\n')[2].strip() or f'The service answers "{response.reason}"'
    )


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
