# SPDX-License-Identifier: Apache-2.0
"""Sample data that clients write to a service: sets with providers and consumers of their own."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from placement.microversions import NEWEST
from placement.tests.functional.fixtures import clouds
from placement.tests.functional.fixtures.client import Sender

#: Projects and users that consumers belong to, the last of them by clients that named none.
OWNERS = (
    ('project-a', 'user-a'),
    ('project-b', 'user-b'),
    ('projet \u00e9t\u00e9', 'user-a'),
    ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000'),
)


@dataclasses.dataclass
class SampleData:
    """One set of providers and consumers; names and uuids in it are derived from `name`."""

    client: Sender
    name: str

    def write_providers(self) -> None:
        """Two hosts with NUMA nodes, a sharing provider, and unusual providers."""
        for kind, named in (('traits', 'TRAIT'), ('resource_classes', 'CLASS')):
            self.send('PUT', f'/{kind}/CUSTOM_{named}_{self.name.upper()}')
        self.send('PUT', '/traits/CUSTOM_SSD')
        self.send('PUT', '/resource_classes/CUSTOM_IRON')
        clouds.build(self._renamed(clouds.NUMA_WITH_SHARED_STORAGE), self.client)
        odd: dict[str, int | Mapping[str, Any]] = {
            f'CUSTOM_CLASS_{self.name.upper()}': {'total': 7, 'reserved': 7},
            'CUSTOM_IRON': {'total': 2147483647, 'max_unit': 2147483647},
            'VCPU': {
                'total': 10, 'reserved': 2, 'min_unit': 2, 'max_unit': 8, 'step_size': 2,
                'allocation_ratio': 1.5,
            },
        }  # fmt: skip
        cloud = (
            clouds.Provider(
                self.of('h\u00f4te \u2603'), odd, ('CUSTOM_SSD', 'HW_CPU_X86_AVX'), ('aggB',)
            ),
            clouds.Provider(self.of('empty')),
            clouds.Provider(self.of('moved'), parent=self.of('empty')),
            clouds.Provider(self.of('gone'), {'VCPU': 1}),
        )
        clouds.build(cloud, self.client)
        moved = {'name': self.of('moved and renamed'), 'parent_provider_uuid': self.uuid('cn1')}
        self.send('PUT', self.path('moved'), moved)
        self.send('DELETE', self.path('gone'))

    def write_consumers(self) -> None:
        """Consumers of several owners and types, some changed, some deleted."""
        for number, (project, user) in enumerate(OWNERS[:3]):
            self.claim(f'c{number}', {'numa1_1': {'VCPU': number + 1}}, project, user)
        both = {'numa2_1': {'VCPU': 2}, 'cn2': {'MEMORY_MB': 256}, 'ss1': {'DISK_GB': 5}}
        self.claim('whole', both, *OWNERS[0], consumer_type='MIGRATION')
        self.claim('whole', both, *OWNERS[1], generation=1, consumer_type='INSTANCE')
        self.claim('ended', {'numa2_2': {'VCPU': 1}}, *OWNERS[0])
        self.send('DELETE', f'/allocations/{self.uuid("ended")}')
        old = [{'resource_provider': {'uuid': self.uuid('numa2_2')}, 'resources': {'VCPU': 3}}]
        path = f'/allocations/{self.uuid("old")}'
        self.send('PUT', path, {'allocations': old}, version='1.0')
        claim = {
            'allocations': {self.uuid('numa2_2'): {'resources': {'VCPU': 1}}},
            'project_id': OWNERS[1][0],
            'user_id': OWNERS[1][1],
        }
        path = f'/allocations/{self.uuid("without-type")}'
        self.send('PUT', path, {**claim, 'consumer_generation': None}, version='1.28')

    def change(self) -> None:
        """Change what the other service has written, by every kind of write."""
        path = self.path('h\u00f4te \u2603')
        inventories = self.send('GET', f'{path}/inventories')
        del inventories['inventories']['CUSTOM_IRON']
        inventories['inventories']['VCPU']['total'] = 11
        member = 'resource_provider_generation'
        generation = self.send('PUT', f'{path}/inventories', inventories)[member]
        for name, values in (
            ('traits', ['HW_CPU_X86_AVX2']),
            ('aggregates', [clouds.uuid_of('another')]),
        ):
            self.send('PUT', f'{path}/{name}', {name: values, member: generation})
            generation += 1
        whole = self.send('GET', f'/allocations/{self.uuid("whole")}')
        allocations = {
            provider: {'resources': allocation['resources']}
            for provider, allocation in whole['allocations'].items()
        }
        keeps = {name: whole[name] for name in ('project_id', 'user_id', 'consumer_type')}
        generation = whole['consumer_generation']
        released = {**keeps, 'allocations': {}, 'consumer_generation': generation}
        inherited = {**keeps, 'allocations': allocations, 'consumer_generation': None}
        bodies = {self.uuid('whole'): released, self.uuid('heir'): inherited}
        self.send('POST', '/allocations', bodies)
        self.send('DELETE', f'/allocations/{self.uuid("old")}')
        self.claim('c0', {'numa1_2': {'VCPU': 4}}, *OWNERS[2], generation=1)

    def claim(
        self,
        consumer: str,
        wanted: dict[str, dict[str, int]],
        project: str,
        user: str,
        generation: int | None = None,
        consumer_type: str = 'INSTANCE',
    ) -> None:
        """Write the allocations of one consumer."""
        held = {self.uuid(provider): resources for provider, resources in wanted.items()}
        body = clouds.claim(held, generation, project, user) | {'consumer_type': consumer_type}
        self.send('PUT', f'/allocations/{self.uuid(consumer)}', body)

    def send(self, method: str, path: str, body: Any = None, version: str = NEWEST) -> Any:
        """The body of the answer, which is never a refusal."""
        answer = self.client.send(method, path, body, version=version)
        assert answer.status < 300, f'{method} {path}: {answer.status} {answer.text}'
        return answer.json if answer.body else None

    def of(self, name: str) -> str:
        """The name of a provider or consumer of this set."""
        return f'{self.name} {name}'

    def uuid(self, name: str) -> str:
        """The uuid of a provider or consumer of this set."""
        return clouds.uuid_of(self.of(name))

    def path(self, name: str) -> str:
        """The path of a provider of this set."""
        return f'/resource_providers/{self.uuid(name)}'

    def _renamed(self, cloud: clouds.Cloud) -> clouds.Cloud:
        return tuple(
            dataclasses.replace(
                provider,
                name=self.of(provider.name),
                parent=provider.parent and self.of(provider.parent),
            )
            for provider in cloud
        )
