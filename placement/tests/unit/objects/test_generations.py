# SPDX-License-Identifier: Apache-2.0
"""The log of generation conflicts (specification: configuration, "Logging")."""

import logging
from collections.abc import Callable

import pytest

from placement import errors
from placement.objects import aggregate
from placement.objects.allocation import AllocationList
from placement.tests.unit.objects.cloud import Cloud, uuid_of

HOST, SERVER, OTHER = uuid_of('host'), uuid_of('server'), uuid_of('other')
CLAIM = {'host': {'VCPU': 1}}
PROVIDER = f'resource provider {HOST} has generation 2, the request was for 1'


def reshape(cloud: Cloud, generation: int, consumer_generation: int) -> None:
    AllocationList.reshape(
        cloud.context,
        {HOST: (generation, cloud.inventories(VCPU=8))},
        [cloud.claim('server', CLAIM, consumer_generation)],
    )


@pytest.mark.parametrize(
    ('write', 'line'),
    [
        (lambda cloud: aggregate.replace(cloud.context, cloud.provider('host'), [], 1), PROVIDER),
        (lambda cloud: reshape(cloud, 1, 1), PROVIDER),
        (
            lambda cloud: reshape(cloud, 2, 7),
            f'consumer {SERVER} has generation 1, the request was for 7',
        ),
        (
            lambda cloud: cloud.take('server', CLAIM, generation=None),
            f'consumer {SERVER} has generation 1, the request was for null',
        ),
        (
            lambda cloud: cloud.take('other', CLAIM, generation=3),
            f'consumer {OTHER} has generation null, the request was for 3',
        ),
    ],
)
def test_conflict_is_logged_with_both_generations(
    cloud: Cloud, caplog: pytest.LogCaptureFixture, write: Callable[[Cloud], None], line: str
) -> None:
    caplog.set_level(logging.INFO)
    cloud.add('host', VCPU=8)
    cloud.take('server', CLAIM)
    with pytest.raises(errors.Conflict):
        write(cloud)

    logged = [record for record in caplog.records if record.name.endswith('objects.generations')]
    assert [(record.levelname, record.getMessage()) for record in logged] == [
        ('INFO', f'Generation conflict: {line}.')
    ]
    reshape(cloud, 2, 1)
    assert caplog.text.count('Generation conflict') == 1
