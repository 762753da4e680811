# SPDX-License-Identifier: Apache-2.0
"""A request context in the log (specification: http, "Request ids")."""

from typing import Any

from placement.context import RequestContext

HOSTILE = 'ana\n2026-01-01 INFO forged\r\x1b[2J\x85\u2028'
QUOTED = 'ana%0A2026-01-01 INFO forged%0D%1B[2J%C2%85%E2%80%A8'


def test_attributes_of_the_caller_are_quoted_in_the_log() -> None:
    names = 'user_id', 'user_name', 'project_id', 'project_name', 'user_domain_name'
    identity: dict[str, Any] = {name: f'{name}{HOSTILE}' for name in names}
    context = RequestContext(roles=['reader', HOSTILE], **identity)
    values = context.get_logging_values()

    assert {f'{name}{QUOTED}' for name in names} <= {*map(str, values.values())}
    assert values['roles'] == ['reader', QUOTED]
    assert not any('\n' in str(value) for value in values.values())
    assert context.user_id == identity['user_id']


def test_other_values_in_the_log_are_not_changed() -> None:
    context = RequestContext(user_id='ana', project_id='p-1', auth_token='secret')
    values = context.get_logging_values()

    assert (values['user'], values['project_id']) == ('ana', 'p-1')
    assert values['user_identity'] == 'ana p-1 - - -'
    assert values['auth_token'] == '***'
    assert values['request_id'] == context.request_id
