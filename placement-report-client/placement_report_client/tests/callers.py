# SPDX-License-Identifier: Apache-2.0
"""Callers of a running service, each through a client and a connection of its own."""

import uuid
from collections.abc import Callable
from typing import Any, Self

import placement_report_client as client
from placement.tests.functional import client_services
from placement.tests.functional.client_services import deliver, lose_answer

QUICK = client.RetryPolicy(first_delay=0.001, max_delay=0.01)


def new_uuid() -> str:
    return str(uuid.uuid4())


def new_name(prefix: str = 'CUSTOM') -> str:
    return f'{prefix}_{uuid.uuid4().hex.upper()}'


def new_consumer() -> client.Consumer:
    return client.Consumer(new_uuid(), 'project', 'user')


def a_host(vcpu: int = 8, **options: Any) -> client.Provider:
    """A host in an aggregate of its own, by which it is told from those of other tests."""
    sizes = {'VCPU': client.Inventory(vcpu), 'MEMORY_MB': client.Inventory(4096)}
    members = {'inventories': sizes, 'traits': (), 'aggregates': [new_uuid()], **options}
    return client.Provider(new_uuid(), new_name('host'), **members)


class Caller:
    """Somebody who calls a service through a client and a connection of their own."""

    def __init__(self, url: str) -> None:
        self.recorder = client_services.adapter_for(url)
        self.report = client.ReportClient(self.recorder, QUICK)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.recorder.session.session.close()

    def host(self, vcpu: int = 8, **options: Any) -> client.Provider:
        """Make a host."""
        host = a_host(vcpu, **options)
        self.report.ensure_tree(host)
        return host

    def candidates(self, host: client.Provider, vcpu: int = 2) -> client.Candidates:
        """Search for candidates on a host."""
        group = client.RequestGroup({'VCPU': vcpu}, in_tree=host.uuid)
        return self.report.find_candidates(client.CandidateRequest({'': group}, limit=10))

    def claim(self, host: client.Provider, vcpu: int = 2) -> client.Consumer:
        """Claim so many VCPUs of a host for a new consumer."""
        consumer = new_consumer()
        self.report.claim_any(consumer, self.candidates(host, vcpu))
        return consumer

    def used(self, host: client.Provider) -> int:
        """Return the VCPUs that are taken of a host."""
        answer = self.recorder.get(f'/resource_providers/{host.uuid}/usages')
        return int(answer.json()['usages']['VCPU'])

    def amounts(self, consumer: str) -> client.allocations.Amounts | None:
        """Return what a consumer holds."""
        found = self.report.find_allocations(consumer)
        return None if found is None else found.amounts

    def requests(self, action: Callable[[], object]) -> list[str]:
        """Return the requests that an action sends."""
        before = len(self.recorder.sent)
        action()
        return self.recorder.sent_since(before)

    def writes(self, action: Callable[[], object]) -> list[str]:
        """Return those of the requests that are to change something."""
        return [line for line in self.requests(action) if not line.startswith('GET ')]

    def lose_answer_after(self, delivered: int) -> None:
        """Lose the answer that comes after so many others."""
        self.recorder.afterwards = [*[deliver] * delivered, lose_answer]
