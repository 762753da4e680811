// SPDX-License-Identifier: Apache-2.0
// The cloud as the page keeps it: one record for each root, with sums over its tree.

import {byName} from './words.js';

/**
 * @typedef {{total: number, reserved: number, min_unit: number, max_unit: number, step_size: number, allocation_ratio: number}} Inventory
 * @typedef {{uuid: string, name: string, generation: number, parent_provider_uuid: string | null, root_provider_uuid: string,
 *   inventories: Record<string, Inventory>, usages: Record<string, number>, traits: string[], aggregates: string[]}} Provider
 * @typedef {{capacity: number, used: number}} Sum
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
 * @param {Sum | undefined} sum
 */
export function partOf(sum) {
  if (sum === undefined) return null;
  if (sum.capacity <= 0) return sum.used > 0 ? Infinity : null;
  return sum.used / sum.capacity;
}

/** A provider as it is kept: most have the traits and aggregates of others.
 * @typedef {{uuid: string, name: string, root: string, traits: Set<string>, aggregates: string[], classes: [string, number, number][]}} Member
 */

/** @type {Map<string, Set<string>>} */
const traitSets = new Map();

/** @param {Provider} provider @returns {Member} */
function memberOf({uuid, name, root_provider_uuid: root, traits, aggregates, inventories, usages}) {
  const key = traits.join();
  const set = traitSets.get(key) ?? new Set(traits);
  traitSets.set(key, set);
  const classes = Object.entries(inventories).map(([one, inventory]) =>
    /** @type {[string, number, number]} */ ([one, capacityOf(inventory), usages[one] ?? 0]));
  return {uuid, name, root, traits: set, aggregates, classes};
}

export class Root {
  /** @param {string} uuid */
  constructor(uuid) {
    this.uuid = uuid;
    this.name = uuid;
    /** @type {string[]} */
    this.aggregates = [];
    /** @type {Map<string, Member>} */
    this.members = new Map();
    /** @type {Map<string, Sum>} */
    this.classes = new Map();
    /** The inventory that is furthest over its capacity.
     * @type {Over | null} */
    this.worst = null;
    /** How many inventories are over their capacity. */
    this.over = 0;
    this.isDisabled = false;
    // A provider that shares with hosts is none.
    this.isSharing = false;
    /** @type {number | null} */
    this.most = null;
    this.searched = uuid;
  }

  get isOver() {
    return this.worst !== null;
  }

  /** Sum its members anew. */
  sum() {
    this.classes = new Map();
    this.worst = null;
    this.over = 0;
    this.isDisabled = false;
    for (const member of this.members.values()) {
      if (member.traits.has(DISABLED)) this.isDisabled = true;
      if (member.uuid === this.uuid) this.take(member);
      for (const [name, capacity, used] of member.classes) this.add(member, name, capacity, used);
    }
    this.most = null;
    for (const sum of this.classes.values()) {
      const part = partOf(sum);
      if (part !== null && (this.most === null || part > this.most)) this.most = part;
    }
  }

  /** @param {Member} member the root itself */
  take(member) {
    this.name = member.name;
    this.aggregates = member.aggregates;
    this.isSharing = member.traits.has(SHARING) && !member.traits.has('COMPUTE_NODE');
    this.searched = `${member.name} ${member.uuid}`.toLowerCase();
  }

  /** @param {Member} member @param {string} name @param {number} capacity @param {number} used */
  add(member, name, capacity, used) {
    const sum = this.classes.get(name);
    if (sum === undefined) this.classes.set(name, {capacity, used});
    else {
      sum.capacity += capacity;
      sum.used += used;
    }
    if (used <= capacity) return;
    this.over += 1;
    const over = {provider: member.name, name, used, capacity};
    if (this.worst === null || (partOf(over) ?? 0) > (partOf(this.worst) ?? 0)) this.worst = over;
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
    const sum = this.classes.get(name);
    return sum === undefined ? 0 : Math.max(0, sum.capacity - sum.used);
  }

  /** @param {string} trait */
  hasTrait(trait) {
    return [...this.members.values()].some((member) => member.traits.has(trait));
  }
}

/** All roots, in the order of their names. */
export class Cloud {
  constructor() {
    /** @type {Map<string, Root>} */
    this.byUuid = new Map();
    /** The root of every provider.
     * @type {Map<string, string>} */
    this.rootOf = new Map();
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
    // Whether roots have come, gone or got another name since they were put in order.
    this.isMixed = false;
  }

  /** Put providers in the place of what they were, and take some away; then `summarise`.
   * @param {Provider[]} providers
   * @param {string[]} deleted uuids
   */
  put(providers, deleted = []) {
    /** @type {Set<Root>} */
    const changed = new Set();
    for (const uuid of deleted) this.remove(uuid, changed);
    for (const provider of providers) {
      if (this.rootOf.get(provider.uuid) !== provider.root_provider_uuid) this.remove(provider.uuid, changed);
      const root = this.root(provider.root_provider_uuid);
      root.members.set(provider.uuid, memberOf(provider));
      this.rootOf.set(provider.uuid, root.uuid);
      changed.add(root);
    }
    for (const root of changed) {
      const {name} = root;
      if (root.members.size) root.sum();
      else this.byUuid.delete(root.uuid);
      if (root.members.size === 0 || root.name !== name) this.isMixed = true;
    }
  }

  /** @param {string} uuid @param {Set<Root>} changed */
  remove(uuid, changed) {
    const root = this.byUuid.get(this.rootOf.get(uuid) ?? '');
    if (root === undefined) return;
    root.members.delete(uuid);
    this.rootOf.delete(uuid);
    changed.add(root);
  }

  /** @param {string} uuid */
  root(uuid) {
    const known = this.byUuid.get(uuid);
    if (known !== undefined) return known;
    const root = new Root(uuid);
    this.byUuid.set(uuid, root);
    return root;
  }

  /** Sum up all roots, once for each page: filters must not wait for it. */
  summarise() {
    if (this.isMixed || this.roots.length !== this.byUuid.size) {
      this.roots = [...this.byUuid.values()].sort((a, b) => byName(a.name, b.name));
      this.isMixed = false;
    }
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
    for (const [name, {capacity, used}] of root.classes) {
      const sum = sums.get(name) ?? {name, capacity: 0, used: 0, disabled: 0, roots: 0};
      sum.capacity += capacity;
      if (root.isDisabled) sum.disabled += Math.max(0, capacity - used);
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
