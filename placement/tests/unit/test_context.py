# SPDX-License-Identifier: Apache-2.0
"""A request context in the log (specification: http, "Request ids")."""

from typing import Any

import pytest

from placement.context import RequestContext

HOSTILE = 'ana\n2026-01-01 INFO forged\r\x1b[2J\x85\u2028'
QUOTED = 'ana%0A2026-01-01 INFO forged%0D%1B[2J%C2%85%E2%80%A8'


@pytest.mark.parametrize(
    'name', ['user_id', 'user_name', 'project_id', 'project_name', 'user_domain_name']
)
def test_identity_in_the_log_is_quoted(name: str) -> None:
    identity: dict[str, Any] = {name: HOSTILE}
    context = RequestContext(**identity)

    assert QUOTED in context.get_logging_values().values()
    assert not any('\n' in str(value) for value in context.get_logging_values().values())
    assert getattr(context, name) == HOSTILE


def test_roles_in_the_log_are_quoted() -> None:
    context = RequestContext(roles=['reader', HOSTILE])

    assert context.get_logging_values()['roles'] == ['reader', QUOTED]


def test_other_values_in_the_log_are_not_changed() -> None:
    context = RequestContext(user_id='ana', project_id='p-1', auth_token='secret')
    values = context.get_logging_values()

    assert (values['user'], values['project_id']) == ('ana', 'p-1')
    assert values['user_identity'] == 'ana p-1 - - -'
    assert values['auth_token'] == '***'
    assert values['request_id'] == context.request_id
