// SPDX-License-Identifier: Apache-2.0
// The cloud in the memory of the page: one record for each root, with the sums of its tree.

import {byClass, byName, plural} from './words.js';

/**
 * @typedef {{total: number, reserved: number, min_unit: number, max_unit: number, step_size: number, allocation_ratio: number}} Inventory
 * @typedef {{uuid: string, name: string, generation: number, parent_provider_uuid: string | null, root_provider_uuid: string,
 *   inventories: Record<string, Inventory>, usages: Record<string, number>, traits: string[], aggregates: string[]}} Provider
 * @typedef {{capacity: number, used: number, free: number}} Sum
 * @typedef {{provider: string, name: string, used: number, capacity: number}} Over
 * A sum over roots, with the free amount, and the part of it on disabled ones.
 * @typedef {{name: string, capacity: number, used: number, free: number, disabled: number, roots: number}} ClassSum
 * Roots of a zone; `within` is the key of the smallest zone that contains it.
 * @typedef {{key: string, label: string, roots: Root[], within: string}} Group
 */

export const DISABLED = 'COMPUTE_STATUS_DISABLED';
export const SHARING = 'MISC_SHARES_VIA_AGGREGATE';
// Maximum number of zones; all smaller ones are merged.
const MAX_ZONES = 48;

/** The capacity of an inventory, as the service rounds it.
 * @param {Inventory} inventory
 */
export function capacityOf(inventory) {
  return Math.trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio);
}

/** The used part of a sum; null without the class.
 * @param {{capacity: number, used: number} | undefined} sum
 */
export function partOf(sum) {
  if (sum === undefined) return null;
  if (sum.capacity <= 0) return sum.used > 0 ? Infinity : null;
  return sum.used / sum.capacity;
}

/** The used part of a sum over roots, without free amounts on disabled ones, which cannot be used.
 * @param {ClassSum} sum
 */
export function partInUse({capacity, used, disabled}) {
  return partOf({capacity: capacity - disabled, used});
}

/** The sums of a tree, as the service sends them.
 * @typedef {{root: {uuid: string, name: string}, providers: number, disabled: number, over_capacity: number, sharing: boolean,
 *   resources: Record<string, Sum>, traits: string[], aggregates: string[],
 *   fullest: {provider: {uuid: string, name: string}, resource_class: string, capacity: number, used: number} | null}} Tree
 */

/** The sets of traits of roots, interned: most roots share theirs.
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
    // A sharing provider is no host.
    this.isSharing = sharing && !this.traits.has('COMPUTE_NODE');
    /** Number of inventories over capacity. */
    this.over = over_capacity;
    /** The inventory that is furthest over its capacity.
     * @type {Over | null} */
    this.worst = over_capacity && fullest
      ? {provider: fullest.provider.name, name: fullest.resource_class, used: fullest.used, capacity: fullest.capacity} : null;
    /** The fullest class, and its used part; null without inventories.
     * @type {{name: string, part: number} | null} */
    this.fullest = null;
    for (const [name, sum] of this.classes) {
      const part = partOf(sum);
      if (part !== null && (this.fullest === null || part > this.fullest.part)) this.fullest = {name, part};
    }
  }

  get isOver() {
    return this.over > 0;
  }

  /** The used part of a class in the whole tree; without a name, that of the fullest class.
   * @param {string} name
   */
  usedPart(name) {
    return name === '' ? this.fullest?.part ?? null : partOf(this.classes.get(name));
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
    // Milliseconds: the time of this state, and that of the last change.
    this.readAt = Date.now();
    this.changedAt = 0;
    /** @type {string | null} */
    this.token = null;
  }

  /** True if nova requires its owner trait: all agents have set it on their providers. */
  get areOwned() {
    const computes = this.roots.filter((root) => root.traits.has('COMPUTE_NODE'));
    return computes.length > 0 && computes.every((root) => root.traits.has('OWNER_NOVA'));
  }

  /** Replace and remove trees; to be followed by `summarise`.
   * @param {Tree[]} trees
   * @param {string[]} deleted uuids
   */
  put(trees, deleted = []) {
    for (const uuid of deleted) this.byUuid.delete(uuid);
    for (const tree of trees) this.byUuid.set(tree.root.uuid, new Root(tree));
  }

  /** Sort the roots and sum them up, once for each page, so that filters need not. */
  summarise() {
    // Sorting 10,000 takes longer than a frame, and usually only amounts have changed.
    const now = this.roots.flatMap(({uuid, name}) => {
      const root = this.byUuid.get(uuid);
      return root?.name === name ? [root] : [];
    });
    this.roots = now.length === this.byUuid.size ? now
      : [...this.byUuid.values()].sort((a, b) => byName(a.name, b.name));
    this.hosts = this.roots.filter((root) => !root.isSharing).length;
    this.over = this.roots.filter((root) => root.isOver).length;
    this.disabled = this.roots.filter((root) => root.isDisabled && !root.isSharing).length;
    this.sums = sumsOf(this.roots);
  }
}

/** The shortest unique beginnings of uuids, of at least eight digits, for short addresses.
 * @param {string[]} uuids
 * @param {Cloud} cloud
 */
export function shortened(uuids, {roots}) {
  let length = 8;
  const isTaken = () => new Set(roots.map(({uuid}) => uuid.slice(0, length))).size < roots.length;
  while (length < 36 && isTaken()) length += 1;
  return uuids.map((uuid) => uuid.slice(0, length)).join();
}

/** The last result of `lengthened`, which views call repeatedly.
 * @type {{text: string, roots: Root[], uuids: string[]}} */
let lengthenedLast = {text: '', roots: [], uuids: []};

/** The uuids of the roots with these beginnings, in their order; an unknown one stays as it is.
 * @param {string} text
 * @param {Cloud} cloud
 */
export function lengthened(text, {roots}) {
  if (text !== lengthenedLast.text || roots !== lengthenedLast.roots) {
    const uuids = text.split(',').filter(Boolean).map((one) => roots.find(({uuid}) => uuid.startsWith(one))?.uuid ?? one);
    lengthenedLast = {text, roots, uuids};
  }
  return lengthenedLast.uuids;
}

/** Sums of roots by class.
 * @param {Root[]} roots
 * @returns {ClassSum[]}
 */
export function sumsOf(roots) {
  /** @type {Map<string, ClassSum>} */
  const sums = new Map();
  for (const root of roots) {
    for (const [name, {capacity, used, free}] of root.classes) {
      const sum = sums.get(name) ?? {name, capacity: 0, used: 0, free: 0, disabled: 0, roots: 0};
      sum.capacity += capacity;
      if (root.isDisabled) sum.disabled += free;
      sum.used += used;
      sum.free += free;
      sum.roots += 1;
      sums.set(name, sum);
    }
  }
  return [...sums.values()].sort((a, b) => byClass(a.name, b.name));
}

/** The numbers of hosts and of sharing providers among roots, as words. @param {Root[]} roots */
export function countWords(roots) {
  const sharing = roots.filter((root) => root.isSharing).length;
  const hosts = roots.length > sharing || sharing === 0 ? [plural(roots.length - sharing, 'host')] : [];
  return [...hosts, ...(sharing ? [plural(sharing, 'sharing provider')] : [])].join(', ');
}

/** Roots in groups by zone, each root in all of its zones; a zone that a larger one contains follows that one.
 * @param {Root[]} roots
 * @param {Map<string, string>} zones labels by the uuid of the aggregate; '' for roots in no zone
 * @returns {Group[]}
 */
export function groupsOf(roots, zones) {
  const groups = [...membersOf(roots, zones)].map(([key, members]) => ({key, label: zones.get(key) ?? key, roots: members, within: ''}));
  groups.sort((a, b) => Number(a.key === '') - Number(b.key === '') || byName(a.label, b.label));
  for (const group of groups) {
    const [larger] = groups.filter((other) => other.roots.length > group.roots.length && other.key && group.key
      && group.roots.every((root) => root.aggregates.includes(other.key))).sort((a, b) => a.roots.length - b.roots.length);
    group.within = larger?.key ?? '';
  }
  /** @param {string} key @returns {Group[]} */
  const below = (key) => groups.filter(({within}) => within === key).flatMap((group) => [group, ...(group.key ? below(group.key) : [])]);
  return below('');
}

/** The aggregates that are shown as zones, with labels: those with names if any has one; of very many, those that are
 * availability zones, and the largest. Hosts in none of them are under ''.
 * @param {Root[]} roots
 * @param {{aggregates: Map<string, string>, zones: Map<string, string>}} names
 * @param {Map<string, string>} labels of all aggregates
 * @returns {Map<string, string>}
 */
export function zonesOf(roots, {aggregates, zones}, labels) {
  const members = [...membersOf(roots)].filter(([uuid]) => uuid);
  const named = members.filter(([uuid]) => aggregates.has(uuid));
  const chosen = (named.length ? named : members).sort(([one, ones], [other, others]) =>
    Number(zones.has(other)) - Number(zones.has(one)) || others.length - ones.length).slice(0, MAX_ZONES);
  const isAll = chosen.length === members.length;
  return new Map([...chosen.map(([uuid]) => /** @type {[string, string]} */ ([uuid, labels.get(uuid) ?? uuid])),
    ['', isAll ? 'In no aggregate' : 'Others']]);
}

/** @param {Root[]} roots @param {Map<string, string>} [zones] the aggregates to group by */
function membersOf(roots, zones) {
  /** @type {Map<string, Root[]>} */
  const members = new Map();
  for (const root of roots) {
    const uuids = zones ? root.aggregates.filter((uuid) => zones.has(uuid)) : root.aggregates;
    for (const uuid of uuids.length ? uuids : ['']) {
      const others = members.get(uuid);
      if (others === undefined) members.set(uuid, [root]);
      else others.push(root);
    }
  }
  return members;
}

/** The labels of aggregates: their names, otherwise those of their hosts.
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

/** The common beginning of names, up to the last separator.
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
