// SPDX-License-Identifier: Apache-2.0
// The cloud as the page keeps it: one record for each root, with sums over its tree.

import {pages} from './api.js';

/** What can be allocated of an inventory, as the service rounds it. */
export function capacityOf(inventory) {
  return Math.trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio);
}

export const DISABLED = 'COMPUTE_STATUS_DISABLED';
export const SHARING = 'MISC_SHARES_VIA_AGGREGATE';

class Root {
  constructor(uuid) {
    this.uuid = uuid;
    this.name = uuid;
    this.aggregates = [];
    this.members = 0;
    this.classes = new Map();
    // The inventory that is furthest over its capacity.
    this.worst = null;
    this.isDisabled = false;
    // What shares with hosts, and is none.
    this.isSharing = false;
    this.most = undefined;
    this.searched = uuid;
  }

  get isOver() {
    return this.worst !== null;
  }

  add(provider) {
    this.members += 1;
    if (provider.traits.includes(DISABLED)) this.isDisabled = true;
    this.most = undefined;
    if (provider.uuid === this.uuid) {
      this.name = provider.name;
      this.aggregates = provider.aggregates;
      this.isSharing = provider.traits.includes(SHARING) && !provider.traits.includes('COMPUTE_NODE');
      this.searched = `${provider.name} ${provider.uuid}`.toLowerCase();
    }
    for (const [name, inventory] of Object.entries(provider.inventories)) {
      const capacity = capacityOf(inventory);
      const used = provider.usages[name] ?? 0;
      const sum = this.classes.get(name) ?? {capacity: 0, used: 0};
      sum.capacity += capacity;
      sum.used += used;
      this.classes.set(name, sum);
      const over = {provider: provider.name, name, used, capacity};
      if (used > capacity && (this.worst === null || partOf(over) > partOf(this.worst))) this.worst = over;
    }
  }

  /** The part of a class that is used; of the class that is used most without a name. */
  usedPart(name) {
    if (name !== '') return partOf(this.classes.get(name));
    if (this.most === undefined) {
      this.most = null;
      for (const sum of this.classes.values()) {
        const part = partOf(sum);
        if (part !== null && (this.most === null || part > this.most)) this.most = part;
      }
    }
    return this.most;
  }
}

function partOf(sum) {
  if (sum === undefined) return null;
  if (sum.capacity <= 0) return sum.used > 0 ? Infinity : null;
  return sum.used / sum.capacity;
}

/** All roots, in the order of their names, read page by page; `onpage` is called after each. */
export class Cloud {
  constructor() {
    this.byUuid = new Map();
    this.roots = [];
    this.sums = [];
    this.labels = new Map();
    this.hosts = 0;
    this.over = 0;
    this.disabled = 0;
    this.isComplete = false;
    this.readAt = new Date();
  }

  async read(onpage, signal) {
    const path = 'insight/providers?include=inventories,usages,aggregates,traits';
    for await (const page of pages(path, 'providers', signal)) {
      for (const provider of page) this.root(provider.root_provider_uuid).add(provider);
      this.summarise();
      onpage();
    }
    this.isComplete = true;
    onpage();
  }

  root(uuid) {
    let found = this.byUuid.get(uuid);
    if (found === undefined) {
      found = new Root(uuid);
      this.byUuid.set(uuid, found);
    }
    return found;
  }

  /** What is told of all roots, once for each page: filters must not wait for it. */
  summarise() {
    this.roots = [...this.byUuid.values()];
    this.roots.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    this.hosts = this.roots.filter((root) => !root.isSharing).length;
    this.over = this.roots.filter((root) => root.isOver).length;
    this.disabled = this.roots.filter((root) => root.isDisabled).length;
    this.sums = sumsOf(this.roots);
    this.labels = new Map([...membersOf(this.roots)].map(([uuid, members]) => [uuid, labelOf(uuid, members)]));
  }
}

/** Sums of roots by class, those that most roots have first. */
function sumsOf(roots) {
  const found = new Map();
  for (const root of roots) {
    for (const [name, {capacity, used}] of root.classes) {
      const sum = found.get(name) ?? {name, capacity: 0, used: 0, disabled: 0, roots: 0};
      sum.capacity += capacity;
      if (root.isDisabled) sum.disabled += Math.max(0, capacity - used);
      sum.used += used;
      sum.roots += 1;
      found.set(name, sum);
    }
  }
  return [...found.values()].sort((a, b) => b.roots - a.roots || (a.name < b.name ? -1 : 1));
}

/** Roots in groups: by aggregate, each in all of its own. `labels` are names of the aggregates. */
export function groupsOf(roots, by, labels) {
  if (by === 'none') return [{key: '', label: 'All', roots}];
  const groups = [...membersOf(roots)].map(([key, members]) => ({key, label: labels.get(key), roots: members}));
  return groups.sort((a, b) => (a.key === '') - (b.key === '') || (a.label < b.label ? -1 : 1));
}

function membersOf(roots) {
  const found = new Map();
  for (const root of roots) {
    for (const uuid of root.aggregates.length ? root.aggregates : ['']) {
      if (!found.has(uuid)) found.set(uuid, []);
      found.get(uuid).push(root);
    }
  }
  return found;
}

function labelOf(uuid, members) {
  if (uuid === '') return 'In no aggregate';
  const prefix = commonPrefix(members.map((one) => one.name));
  return prefix ? `${prefix}…  aggregate ${uuid.slice(0, 8)}` : `Aggregate ${uuid}`;
}

/** What all names begin with, up to the last separator. */
function commonPrefix(names) {
  let prefix = names[0];
  for (const name of names) {
    let length = 0;
    while (length < prefix.length && prefix[length] === name[length]) length += 1;
    prefix = prefix.slice(0, length);
  }
  return prefix.replace(/[^-._]*$/, '').replace(/[-._]+$/, '');
}
