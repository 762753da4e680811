# SPDX-License-Identifier: Apache-2.0
"""Each error of the service is told with what to do about it."""

import pytest

from osc_placement_insight.refusals import ADVICE
from osc_placement_insight.service import ATTEMPTS
from osc_placement_insight.tests import client
from osc_placement_insight.tests.client import Answering
from osc_placement_insight.tests.conftest import Service

LIST = ('placement', 'unmet', 'demand', 'list')
SURVIVAL = ('placement', 'survival', 'show', '--without-nova')
SOMEWHERE = client.administrator_at('http://placement.example')

ENDPOINT = 'right endpoint ("openstack endpoint list --service placement", or --os-endpoint)?'
NOT_FOUND = b'{"errors": [{"status": 404, "detail": "It could not be found.\\n\\n   "}]}'
IS_UPSTREAM = (
    'It could not be found. This service has no {}: the command needs openstack-placement 2026.12 '
    f'or later of this project, which upstream is not. Or is this not the {ENDPOINT} (HTTP 404)'
)
NOT_PLACEMENT = (
    'http://placement.example/insight/unmet_demand does not answer as the Placement service does. '
    f'Is this the {ENDPOINT}'
)


#: Commands, and what they ask a service for that has nothing below /insight.
ASKED = {
    'allocation candidate explain --resource VCPU=1': '/allocation_candidates',
    'placement tree show compute1': '/providers',
    'placement ui': '',
}


@pytest.mark.parametrize(('command', 'path'), ASKED.items())
def test_a_command_says_that_it_needs_this_service(
    monkeypatch: pytest.MonkeyPatch, command: str, path: str
) -> None:
    Answering('404 Not Found', NOT_FOUND).replaces_others(monkeypatch)

    assert SOMEWHERE(*command.split()).refusal() == IS_UPSTREAM.format(f'/insight{path}')


@pytest.mark.parametrize(
    ('status', 'content', 'words'),
    [
        ('200 OK', b'<html>Welcome</html>', NOT_PLACEMENT),
        (
            '502 Bad Gateway',
            b'<html>Bad Gateway</html>',
            'The service answers "Bad Gateway". The log of the service says why. (HTTP 502)',
        ),
        (
            '401 Unauthorized',
            b'{"message": "no", "code": "401 Unauthorized"}',
            f'The service answers "Unauthorized". {ADVICE[401]} (HTTP 401)',
        ),
        (
            '406 Not Acceptable',
            b'{"errors": [{"detail": "Invalid microversion", "max_version": "1.28"}]}',
            (
                'Invalid microversion. The service has microversions up to 1.28: '
                '--os-placement-api-version 1.28. (HTTP 406)'
            ),
        ),
    ],
)
def test_what_is_answered_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, status: str, content: bytes, words: str
) -> None:
    Answering(status, content).replaces_others(monkeypatch)

    assert SOMEWHERE(*LIST).refusal() == words


@pytest.mark.parametrize('command', [LIST, SURVIVAL], ids=['GET', 'POST'])
def test_a_busy_service_is_asked_again_several_times(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    content = b'{"errors": [{"detail": "Another question."}]}'
    busy = Answering('503 Service Unavailable', content, Retry_After='0')
    busy.replaces_others(monkeypatch)

    assert SOMEWHERE(*command).refusal() == (
        'Another question. The service is busy or being restarted; try again in a while. '
        '(HTTP 503)'
    )
    assert len(busy.sent) == ATTEMPTS


def test_what_is_switched_off_names_the_option() -> None:
    options = {('insight', 'unmet_demand'): False, ('history', 'enabled'): False}
    with Service(options) as service:
        openstack = client.administrator_at(service.endpoint)
        refusal = openstack(*LIST).refusal()
        of_history = openstack('placement', 'history', 'list').refusal()

    assert of_history.startswith('This is switched off: [history] enabled is false.')
    assert refusal.startswith(
        'This is switched off: [insight] unmet_demand is false. The operator of the service can '
        'set this option to true. (HTTP 404, req-'
    )


def test_what_policy_refuses_names_the_rule(service: Service) -> None:
    nobody = client.administrator_at(service.endpoint, OS_TOKEN='a:b')
    refusal = nobody(*LIST).refusal()

    assert refusal.startswith(
        'Policy does not allow placement:insight:unmet_demand to be performed. Administrators '
    )
