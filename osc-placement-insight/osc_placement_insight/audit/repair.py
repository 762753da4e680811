# SPDX-License-Identifier: Apache-2.0
"""The repair: from a report the least changes, each made only if nothing has changed since.

A change of allocations names the generation of the consumer that the report read, so placement
itself refuses it where anybody has written since. Nova is asked before, because it may have moved,
created or deleted a server without having written yet.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from osc_lib import exceptions

from osc_placement_insight.audit import kinds, nova_state, of_placement, placement_state
from osc_placement_insight.audit.finding import Finding, InNova, Repair
from osc_placement_insight.audit.journal import BEGUN, DONE, SKIPPED, Journal
from osc_placement_insight.audit.model import EVACUATED, Allocations, Consumer, Migration
from osc_placement_insight.compute import Compute, tell_nobody
from osc_placement_insight.refusals import Refused
from osc_placement_insight.service import Service

#: Writes have the last microversion that leaves the type of a consumer as it is: nova gives none.
MICROVERSION = '1.37'
PROPOSED = 'proposed'
WAS_DONE = 'it was so already'
CHANGED = 'the consumer has changed since the report'

_NAMES = {of_placement.UNUSED_TRAIT: '/traits', of_placement.UNUSED_CLASS: '/resource_classes'}


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """The result for one finding: proposed, done or skipped, and the reason."""

    finding: Finding
    event: str
    reason: str = ''


def proposals(findings: Iterable[Finding], named: Collection[str] = ()) -> list[Finding]:
    """The findings that a repair would change.

    `named` selects kinds; without it, all kinds that are repaired by default.
    """
    return [finding for finding in findings if _is_chosen(finding, named) and can_repair(finding)]


def _is_chosen(finding: Finding, named: Collection[str]) -> bool:
    if named:
        return finding.kind in named
    return kinds.KINDS[finding.kind].repair is Repair.ALWAYS


def can_repair(finding: Finding) -> bool:
    """True if it is known what a finding's subject should be instead."""
    return finding.wanted is not None or finding.kind in _NAMES


def change(finding: Finding) -> str:
    """The message about the change that repairs a finding."""
    if finding.kind in _NAMES:
        return f'delete {finding.subject}'
    held = {} if finding.consumer is None else finding.consumer.allocations
    wanted = finding.wanted or {}
    removed = [f'remove {_amounts(finding, held, uuid)}' for uuid in held if uuid not in wanted]
    added = [f'allocate {_amounts(finding, wanted, uuid)}' for uuid in wanted if uuid not in held]
    return '; '.join([*removed, *added]) or 'remove the consumer'


def _amounts(finding: Finding, allocations: Allocations, provider: str) -> str:
    amounts = (f'{name} {amount}' for name, amount in allocations[provider].items())
    return f'{", ".join(amounts)} of {finding.provider_names.get(provider, provider)}'


class Repairer:
    """Applies the changes for findings, each recorded in a journal before and after.

    `service` sends writes at `MICROVERSION`. `compute` is None where the report was made without
    nova. Interrupted anywhere and started again with the same journal, it ends where it would
    have ended.
    """

    def __init__(self, service: Service, compute: Compute | None, journal: Journal) -> None:
        self._service = service
        self._compute = compute
        self._journal = journal

    def repair(self, findings: Iterable[Finding]) -> Iterator[Result]:
        """Repair findings, and yield the result of each.

        :raises osc_lib.exceptions.CommandError: a service does not answer, or refuses the caller
            instead of the change. Changes not attempted yet are recorded neither as done nor as
            skipped
        """
        for finding in findings:
            if finding.id not in self._journal.ended:
                self._attempt(finding)
            row = self._journal.ended[finding.id]
            yield Result(finding, row['event'], row.get('reason', ''))

    def _attempt(self, finding: Finding) -> None:
        """Repair one finding, and record its end in the journal."""
        step = self._delete_name if finding.kind in _NAMES else self._set_allocations
        event, reason = step(finding)
        self._journal.write(event, finding.id, reason=reason)

    def _set_allocations(self, finding: Finding) -> tuple[str, str]:
        now = placement_state.find_consumer(self._service, finding.subject)
        if now != finding.consumer:
            return (DONE, WAS_DONE) if _is_as_wanted(finding, now) else (SKIPPED, CHANGED)
        return self._changed_in_nova(finding) or self._write(finding)

    def _write(self, finding: Finding) -> tuple[str, str]:
        body = self._body(finding)
        held = {} if finding.consumer is None else finding.consumer.allocations
        self._journal.write(BEGUN, finding.id, was=held, request=body)
        return self._sent('PUT', f'/allocations/{finding.subject}', body)

    def _body(self, finding: Finding) -> dict[str, Any]:
        """The request that writes the correct allocations, guarded by the consumer generation."""
        wanted = finding.wanted or {}
        return {
            'allocations': {uuid: {'resources': dict(one)} for uuid, one in wanted.items()},
            'consumer_generation': None,
            **self._identity(finding),
        }

    def _identity(self, finding: Finding) -> dict[str, Any]:
        consumer: Consumer | None = finding.consumer
        if consumer is not None:
            return {
                'consumer_generation': consumer.generation,
                'project_id': consumer.project_id,
                'user_id': consumer.user_id,
            }
        assert finding.server is not None
        return {'project_id': finding.server.project_id, 'user_id': finding.server.user_id}

    def _delete_name(self, finding: Finding) -> tuple[str, str]:
        changed = self._changed_in_nova(finding)
        if changed:
            return changed
        path = f'{_NAMES[finding.kind]}/{finding.subject}'
        self._journal.write(BEGUN, finding.id, request=f'DELETE {path}')
        try:
            return self._sent('DELETE', path)
        except Refused as refused:
            if refused.status != 404:
                raise
            return DONE, WAS_DONE

    def _sent(self, method: str, path: str, body: Any = None) -> tuple[str, str]:
        """Send a change.

        A conflict means that the consumer has changed, or that there is no room; a bad request
        means that a provider was deleted.
        """
        try:
            self._service.send(method, path, body=body)
        except Refused as refused:
            if refused.status not in (400, 409):
                raise
            return SKIPPED, str(refused)
        return DONE, ''

    def _changed_in_nova(self, finding: Finding) -> tuple[str, str] | None:
        """The event and the reason to skip a finding, if its condition in nova does not hold."""
        reason = self._checks[kinds.KINDS[finding.kind].in_nova](finding)
        return (SKIPPED, reason) if reason else None

    @functools.cached_property
    def _checks(self) -> dict[InNova, Callable[[Finding], str]]:
        """The checks of the conditions in nova; each returns a reason to skip, or ''."""
        return {
            InNova.ANYTHING: lambda finding: '',
            InNova.SERVER_IS_GONE: self._unless_gone,
            InNova.SERVER_IS_THE_SAME: self._unless_the_same,
            InNova.NO_FLAVOR_NAMES_IT: self._unless_unnamed,
        }

    def _nova(self) -> Compute:
        if self._compute is None:
            raise exceptions.CommandError('The repair of this report needs nova.')
        return self._compute

    def _unless_gone(self, finding: Finding) -> str:
        found = nova_state.find_server(self._nova(), finding.subject)
        return '' if found is None else 'nova has the server'

    def _unless_the_same(self, finding: Finding) -> str:
        found = nova_state.find_server(self._nova(), finding.subject)
        if found != finding.server:
            return 'the server has changed in nova since the report'
        migrations = nova_state.migrations_of(self._nova(), finding.subject)
        return 'the server is being moved' if any(map(_is_moving, migrations)) else ''

    def _unless_unnamed(self, finding: Finding) -> str:
        if self._compute is None or finding.subject not in self._names_in_flavors:
            return ''
        return 'a flavor names it'

    @functools.cached_property
    def _names_in_flavors(self) -> frozenset[str]:
        return nova_state.names_in_flavors(self._nova(), tell_nobody)


def _is_moving(migration: Migration) -> bool:
    """True if a migration is still running; an evacuation that has ended is not."""
    return migration.is_open and migration.status != EVACUATED


def _is_as_wanted(finding: Finding, now: Consumer | None) -> bool:
    return (finding.wanted or {}) == ({} if now is None else now.allocations)
