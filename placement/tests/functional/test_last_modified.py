# SPDX-License-Identifier: Apache-2.0
"""Last-Modified, which reads have since 1.15, for records with different times.

Without records it is the current time, as in every gabbi test.
"""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.microversions import NEWEST

from .fixtures import applications, clouds
from .fixtures.client import Client

CLOUD: clouds.Cloud = (
    clouds.Provider('updated', {'VCPU': 8, 'DISK_GB': 8}, ('HW_CPU_X86_AVX', 'HW_CPU_X86_SSE')),
    clouds.Provider('created', parent='updated'),
)
UPDATED, CREATED = (f'/resource_providers/{clouds.uuid_of(each.name)}' for each in CLOUD)
CONSUMERS = ('dddddddd-0000-4000-8000-000000000001', 'dddddddd-0000-4000-8000-000000000002')

#: (table, condition, created, updated); everything else is older.
TIMES = (
    ('resource_providers', "name = 'updated'", '2001-01-01 00:00:00', '2011-01-01 00:00:00'),
    ('resource_providers', "name = 'created'", '2012-01-01 00:00:00', None),
    ('inventories', 'resource_class_id = 0', '2001-01-01 00:00:00', '2013-01-01 00:00:00'),
    ('inventories', 'resource_class_id = 2', '2014-01-01 00:00:00', None),
    ('traits', '1 = 1', '2001-01-01 00:00:00', None),
    ('traits', "name = 'HW_CPU_X86_AVX'", '2002-01-01 00:00:00', None),
    ('traits', "name = 'HW_CPU_X86_SSE'", '2003-01-01 00:00:00', None),
    ('traits', "name = 'HW_CPU_X86_VMX'", '2004-01-01 00:00:00', None),
    ('resource_classes', '1 = 1', '2001-01-01 00:00:00', None),
    ('resource_classes', "name = 'VCPU'", '2005-01-01 00:00:00', '2006-01-01 00:00:00'),
    ('resource_classes', "name = 'FPGA'", '2007-01-01 00:00:00', None),
    ('allocations', f"consumer_id = '{CONSUMERS[0]}'", '2008-01-01 00:00:00', None),
    ('allocations', f"consumer_id = '{CONSUMERS[1]}'", '2009-01-01 00:00:00', None),
)


@pytest.fixture(scope='module')
def client() -> Iterator[Client]:
    service = applications.Service()
    client = Client(service.application)
    clouds.build(CLOUD, client)
    for consumer in CONSUMERS:
        body = clouds.claim({clouds.uuid_of('updated'): {'VCPU': 1}})
        answer = client.send('PUT', f'/allocations/{consumer}', body, NEWEST)
        assert answer.status == 204, answer.text
    with service.engine.begin() as connection:
        for table, condition, created, updated in TIMES:
            statement = f'UPDATE {table} SET created_at = :created, updated_at = :updated'
            values = {'created': created, 'updated': updated}
            connection.execute(sa.text(f'{statement} WHERE {condition}'), values)
    yield client
    service.stop()


@pytest.mark.parametrize(
    ('path', 'year'),
    [
        (UPDATED, 2011),
        (CREATED, 2012),
        ('/resource_providers', 2012),
        ('/resource_providers?name=updated', 2011),
        (f'{UPDATED}/inventories', 2014),
        (f'{UPDATED}/inventories/VCPU', 2013),
        (f'{UPDATED}/inventories/DISK_GB', 2014),
        (f'{UPDATED}/traits', 2003),
        ('/traits/HW_CPU_X86_AVX', 2002),
        ('/traits', 2004),
        ('/traits?name=in:HW_CPU_X86_AVX,HW_CPU_X86_SSE', 2003),
        ('/resource_classes/VCPU', 2006),
        ('/resource_classes/FPGA', 2007),
        ('/resource_classes', 2007),
        (f'/allocations/{CONSUMERS[0]}', 2008),
        (f'/allocations/{CONSUMERS[1]}', 2009),
        (f'{UPDATED}/allocations', 2009),
    ],
)
def test_last_modified_is_the_latest_time_of_the_records(
    client: Client, path: str, year: int
) -> None:
    answer = client.send('GET', path, version='1.15')
    assert answer.status in (200, 204), answer.text
    assert answer.headers['last-modified'].endswith(f'01 Jan {year} 00:00:00 GMT')
