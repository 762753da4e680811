# SPDX-License-Identifier: Apache-2.0
"""The usage of a project, and the number of its consumers, are of one moment."""

from typing import Any

import sqlalchemy as sa

from placement.microversions import NEWEST

from .fixtures import applications, clouds


def test_a_claim_while_usages_are_read_is_in_both_numbers_or_in_none(
    service: applications.Service,
) -> None:
    url, claimed = service.database.url, list[int]()
    with applications.serving(url) as reader, applications.serving(url) as writer:
        clouds.build((clouds.Provider('host', {'VCPU': 9}),), writer)

        def claim(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
            if 'allocations' in text and not claimed:
                claimed.append(clouds.put_claim(writer, 'consumer').status)

        sa.event.listen(reader.database.engine, 'after_cursor_execute', claim)
        path = '/usages?project_id=project'
        during = reader.send('GET', path, version=NEWEST).json['usages']
        after = reader.send('GET', path, version=NEWEST).json['usages']

    assert claimed == [204]
    assert after == {'INSTANCE': {'VCPU': 1, 'consumer_count': 1}}
    assert during in ({}, after)
