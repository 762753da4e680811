// SPDX-License-Identifier: Apache-2.0
// The cloud as the page keeps it: one record for each root, with sums over its tree.

import {byName} from './words.js';

/**
 * @typedef {{total: number, reserved: number, min_unit: number, max_unit: number, step_size: number, allocation_ratio: number}} Inventory
 * @typedef {{uuid: string, name: string, generation: number, parent_provider_uuid: string | null, root_provider_uuid: string,
 *   inventories: Record<string, Inventory>, usages: Record<string, number>, traits: string[], aggregates: string[]}} Provider
 * @typedef {{capacity: number, used: number, free: number}} Sum
 * @typedef {{provider: string, name: string, used: number, capacity: number}} Over
 * @typedef {{name: string, capacity: number, used: number, disabled: number, roots: number}} ClassSum
 * @typedef {{key: string, label: string, roots: Root[]}} Group
 */

export const DISABLED = 'COMPUTE_STATUS_DISABLED';
export const SHARING = 'MISC_SHARES_VIA_AGGREGATE';

/** The amount of an inventory that can be allocated, as the service rounds it.
 * @param {Inventory} inventory
 */
export function capacityOf(inventory) {
  return Math.trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio);
}

/** The part of a sum that is used; null where there is none of the class.
 * @param {{capacity: number, used: number} | undefined} sum
 */
export function partOf(sum) {
  if (sum === undefined) return null;
  if (sum.capacity <= 0) return sum.used > 0 ? Infinity : null;
  return sum.used / sum.capacity;
}

/** A tree in sums, as the service has it.
 * @typedef {{root: {uuid: string, name: string}, providers: number, disabled: number, over_capacity: number, sharing: boolean,
 *   resources: Record<string, Sum>, traits: string[], aggregates: string[],
 *   fullest: {provider: {uuid: string, name: string}, resource_class: string, capacity: number, used: number} | null}} Tree
 */

/** The traits of roots: most have those of others.
 * @type {Map<string, Set<string>>} */
const traitSets = new Map();

/** @param {string[]} traits */
function traitSet(traits) {
  const key = traits.join();
  const set = traitSets.get(key) ?? new Set(traits);
  traitSets.set(key, set);
  return set;
}

/** The root of a tree, with the sums over it. */
export class Root {
  /** @param {Tree} tree */
  constructor({root, providers, disabled, over_capacity, sharing, resources, traits, aggregates, fullest}) {
    this.uuid = root.uuid;
    this.name = root.name;
    this.searched = `${root.name} ${root.uuid}`.toLowerCase();
    this.providers = providers;
    this.traits = traitSet(traits);
    this.aggregates = aggregates;
    this.classes = new Map(Object.entries(resources));
    this.isDisabled = disabled > 0;
    // A provider that shares with hosts is none.
    this.isSharing = sharing && !this.traits.has('COMPUTE_NODE');
    /** How many inventories are over their capacity. */
    this.over = over_capacity;
    /** The inventory that is furthest over its capacity.
     * @type {Over | null} */
    this.worst = over_capacity && fullest
      ? {provider: fullest.provider.name, name: fullest.resource_class, used: fullest.used, capacity: fullest.capacity} : null;
    /** The part of the class that is used most.
     * @type {number | null} */
    this.most = null;
    for (const sum of this.classes.values()) {
      const part = partOf(sum);
      if (part !== null && (this.most === null || part > this.most)) this.most = part;
    }
  }

  get isOver() {
    return this.over > 0;
  }

  /** The part of a class that is used; of the class that is used most without a name.
   * @param {string} name
   */
  usedPart(name) {
    return name === '' ? this.most : partOf(this.classes.get(name));
  }

  /** The free amount of a class.
   * @param {string} name
   */
  free(name) {
    return this.classes.get(name)?.free ?? 0;
  }
}

/** All roots, in the order of their names. */
export class Cloud {
  constructor() {
    /** @type {Map<string, Root>} */
    this.byUuid = new Map();
    /** @type {Root[]} */
    this.roots = [];
    /** @type {ClassSum[]} */
    this.sums = [];
    this.hosts = 0;
    this.over = 0;
    this.disabled = 0;
    this.isComplete = false;
    // Milliseconds: when it was as it is here, and when anything last changed.
    this.readAt = Date.now();
    this.changedAt = 0;
    /** @type {string | null} */
    this.token = null;
  }

  /** Put trees in the place of what they were, and take some away; then `summarise`.
   * @param {Tree[]} trees
   * @param {string[]} deleted uuids
   */
  put(trees, deleted = []) {
    for (const uuid of deleted) this.byUuid.delete(uuid);
    for (const tree of trees) this.byUuid.set(tree.root.uuid, new Root(tree));
  }

  /** Put roots in order and sum them up, once for each page: filters must not wait for it. */
  summarise() {
    // To sort 10,000 takes longer than a frame, and mostly only amounts have changed.
    const now = this.roots.flatMap(({uuid, name}) => {
      const root = this.byUuid.get(uuid);
      return root?.name === name ? [root] : [];
    });
    this.roots = now.length === this.byUuid.size ? now
      : [...this.byUuid.values()].sort((a, b) => byName(a.name, b.name));
    this.hosts = this.roots.filter((root) => !root.isSharing).length;
    this.over = this.roots.filter((root) => root.isOver).length;
    this.disabled = this.roots.filter((root) => root.isDisabled).length;
    this.sums = sumsOf(this.roots);
  }
}

/** Sums of roots by class, those that most roots have first.
 * @param {Root[]} roots
 * @returns {ClassSum[]}
 */
export function sumsOf(roots) {
  /** @type {Map<string, ClassSum>} */
  const sums = new Map();
  for (const root of roots) {
    for (const [name, {capacity, used, free}] of root.classes) {
      const sum = sums.get(name) ?? {name, capacity: 0, used: 0, disabled: 0, roots: 0};
      sum.capacity += capacity;
      if (root.isDisabled) sum.disabled += free;
      sum.used += used;
      sum.roots += 1;
      sums.set(name, sum);
    }
  }
  return [...sums.values()].sort((a, b) => b.roots - a.roots || byName(a.name, b.name));
}

/** Roots in groups: by aggregate, each in all of its own. `names` are those of aggregates.
 * @param {Root[]} roots
 * @param {Map<string, string>} labels
 * @returns {Group[]}
 */
export function groupsOf(roots, labels) {
  const groups = [...membersOf(roots)].map(([key, members]) => ({key, label: labels.get(key) ?? key, roots: members}));
  return groups.sort((a, b) => Number(a.key === '') - Number(b.key === '') || byName(a.label, b.label));
}

/** @param {Root[]} roots */
function membersOf(roots) {
  /** @type {Map<string, Root[]>} */
  const members = new Map();
  for (const root of roots) {
    for (const uuid of root.aggregates.length ? root.aggregates : ['']) {
      const others = members.get(uuid);
      if (others === undefined) members.set(uuid, [root]);
      else others.push(root);
    }
  }
  return members;
}

/** What aggregates are called: by their names where they have some, otherwise by those of their hosts.
 * @param {Root[]} roots
 * @param {Map<string, string>} names by uuid
 * @returns {Map<string, string>}
 */
export function labelsOf(roots, names) {
  return new Map([...membersOf(roots)].map(([uuid, members]) => {
    if (uuid === '') return [uuid, 'In no aggregate'];
    const prefix = commonPrefix(members.map((one) => one.name));
    return [uuid, names.get(uuid) ?? (prefix ? `${prefix}…  aggregate ${uuid.slice(0, 8)}` : `Aggregate ${uuid}`)];
  }));
}

/** The beginning that all names have, up to the last separator.
 * @param {string[]} names
 */
function commonPrefix(names) {
  let [prefix = ''] = names;
  for (const name of names) {
    let length = 0;
    while (length < prefix.length && prefix[length] === name[length]) length += 1;
    prefix = prefix.slice(0, length);
  }
  return prefix.replace(/[^-._]*$/, '').replace(/[-._]+$/, '');
}
