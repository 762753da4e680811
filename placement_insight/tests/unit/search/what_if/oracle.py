# SPDX-License-Identifier: Apache-2.0
"""Steps on the rows of a cloud, one row after the other, to hold a scenario against.

It shares no code with scenarios but the steps themselves. Specification: insight, "Scenarios".
"""

import uuid
from collections import Counter

from placement.search.model.provider import InventoryRow, ProviderRow
from placement.tests.unit.search.oracle import SHARING, Cloud
from placement_insight.search.what_if.scenario import FIRST_COPY_ID, Held, StepRefused, Where
from placement_insight.search.what_if.steps import Add, Change, Claim, Release, Remove

DISABLED = 'COMPUTE_STATUS_DISABLED'


class Rows:
    """The rows of a cloud after the steps so far."""

    def __init__(self, rows: list[ProviderRow]) -> None:
        self.rows = {row.id: row for row in rows}
        self.copies = Counter[str]()
        self.next_id = FIRST_COPY_ID
        self.claimed: list[Held] = []
        self.gone: set[str] = set()

    def change(self, step: Change) -> None:
        named = self.named(step.where)
        standing = {row.id for top in named for row in [top, *self.tree(top)]}
        for name, values in step.inventories.items():
            having = [i for i in standing if name in self.rows[i].inventories]
            if not having:
                raise StepRefused
            for i in having:
                row = self.rows[i]
                inventory = InventoryRow(*row.inventories[name])._replace(**values)
                if inventory.reserved > inventory.total:
                    raise StepRefused
                self.rows[i] = row._replace(inventories={**row.inventories, name: inventory})
        for row in named:
            self.rows[row.id] = self.rows[row.id]._replace(
                traits=set(row.traits) - set(step.traits['remove']) | set(step.traits['add']),
                aggregates=set(row.aggregates)
                .difference(step.aggregates['remove'])
                .union(step.aggregates['add']),
            )

    def add(self, step: Add) -> None:
        model = Cloud(self.rows.values()).root(self.find(step.like))
        members = [model, *sorted(self.tree(model), key=lambda row: row.id)]
        for _ in range(step.count):
            self.copies[model.uuid] += 1
            number = self.copies[model.uuid]
            ids: dict[int | None, int] = {
                row.id: new_id for new_id, row in enumerate(members, self.next_id)
            }
            self.next_id += len(members)
            for row in members:
                wanted = step.member_of if row is model else None
                self.rows[ids[row.id]] = ProviderRow(
                    ids[row.id],
                    str(uuid.uuid5(uuid.NAMESPACE_OID, f'{row.uuid}+{number}')),
                    None if row is model else ids[row.parent_id],
                    ids[model.id],
                    {n: InventoryRow(*i)._replace(used=0) for n, i in row.inventories.items()},
                    set(row.traits) - {DISABLED},
                    row.aggregates if wanted is None else wanted,
                )

    def remove(self, step: Remove) -> None:
        cloud, named = Cloud(self.rows.values()), {row.id for row in self.named(step.where)}
        for row in list(self.rows.values()):
            if named & {above.id for above in cloud.ancestors(row)}:
                del self.rows[row.id]

    def release(self, step: Release) -> tuple[int, int]:
        held = [
            of_one
            for name, of_one in step.held.items()
            if name not in self.gone and any(i in self.rows for i in of_one)
        ]
        count = step.asked - len(held)
        self.gone |= set(step.held)
        if step.provider is not None:
            provider = self.find(step.provider).id
            if step.with_claimed:
                held += [one for one in self.claimed if provider in one]
                self.claimed = [one for one in self.claimed if provider not in one]
        for of_one in held:
            self.use(of_one, -1)
        return len(held), count

    def use(self, held: Held, sign: int = 1) -> None:
        for i, amounts in held.items():
            if i not in self.rows:
                continue
            row = self.rows[i]
            self.rows[i] = row._replace(
                inventories={
                    name: inventory._replace(
                        used=max(0, inventory.used + sign * amounts.get(name, 0))
                    )
                    for name, inventory in row.inventories.items()
                }
            )

    def claim(self, step: Claim, claimed: list[Held]) -> None:
        self.claimed += claimed
        for held in claimed:
            self.use(held)

    def find(self, uuid_or_name: str) -> ProviderRow:
        for row in self.rows.values():
            if row.uuid == uuid_or_name:
                return row
        raise StepRefused

    def named(self, where: Where) -> list[ProviderRow]:
        if not isinstance(where, dict):
            return list({row.id: row for row in map(self.find, where)}.values())
        found = [
            row
            for row in self.rows.values()
            if row.parent_id is None and where['member_of'] in row.aggregates
            if SHARING not in row.traits
        ]
        if not found:
            raise StepRefused
        return found

    def tree(self, top: ProviderRow) -> list[ProviderRow]:
        """All beneath a root, nothing beneath any other."""
        if top.parent_id is not None:
            return []
        return [row for row in self.rows.values() if row.root_id == top.id and row.id != top.id]
