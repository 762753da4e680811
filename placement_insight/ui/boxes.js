// SPDX-License-Identifier: Apache-2.0
// The providers of a tree as nested boxes, and their inventories as bars cut into consumers.

import {DISABLED, capacityOf} from './cloud.js';
import {classHeading, h, wide} from './dom.js';
import {amount, byClass, byName, inOneUnit, number} from './words.js';

/**
 * The allocations of one consumer on a provider: amounts by class.
 * @typedef {{consumer: string, resources: Record<string, number>}} Piece
 * How holders are shown: which one is lit, the number of its colour, its name, and what a click on one does; which folded
 * siblings are shown one by one, by their key.
 * @typedef {{lit: string, hueOf: (consumer: string) => number, nameOf: (consumer: string) => string,
 *   onlight: (consumer: string) => void, pieces: Map<string, Piece[]>, unfolded: Set<string>, onunfold: (key: string) => void}} Holding
 * @typedef {import('./cloud.js').Provider} Provider
 * @typedef {import('./cloud.js').Inventory} Inventory
 * @typedef {import('./dom.js').Child} Child
 * @typedef {{total: number, capacity: number, reserved: number, used: number, over: number, pieces: {consumer: string, used: number}[]}} Bar
 */

// Minimum number of equal siblings that are shown as one.
const MIN_FOLDED = 4;
// Maximum number of pieces of a bar; the smallest are merged into one.
const MAX_PIECES = 200;
// Colours in style.css.
export const HUES = 8;

/** A provider with its subtree.
 * @param {Provider} provider
 * @param {Provider[]} tree
 * @param {Holding} holding
 * @param {string} above the name of the provider above
 * @returns {Child}
 */
export function box(provider, tree, holding, above = '') {
  // Rows by hand may put a provider below itself.
  const others = tree.filter((one) => one.uuid !== provider.uuid);
  const children = others.filter((one) => one.parent_provider_uuid === provider.uuid);
  children.sort((a, b) => byName(a.name, b.name));
  const isDisabled = provider.traits.includes(DISABLED);
  const bars = barsOf([provider], holding);
  const isOver = bars.some(([, bar]) => bar.over > 0);
  return h('article', {key: provider.uuid, class: `box${isOver ? ' has-over' : ''}${isDisabled ? ' disabled' : ''}`, 'aria-label': provider.name},
    h('div', {class: 'box-head'},
      h(above ? 'h3' : 'h2', {title: provider.name}, shortened(provider.name, above)),
      isDisabled && h('span', {class: 'badge warn'}, 'disabled'),
      traitsOf(provider)),
    bars.length > 0 && h('dl', {class: 'holdings'}, bars.map(([name, bar]) => holdings(name, bar, holding, inventoryWords(name, provider)))),
    bars.length === 0 && children.length === 0 && h('p', {class: 'quiet'}, 'No inventory of its own.'),
    children.length > 0 && h('div', {class: 'boxes'}, groupsOf(children, others).map((group) => (
      isFolded(group, others, holding) ? fold(group, holding, provider.name)
        : group.map((one) => box(one, others, holding, provider.name))))));
}

/** The name of a provider without that of its parent.
 * @param {string} name @param {string} above
 */
function shortened(name, above) {
  return above && name.startsWith(above) && name.length > above.length ? `…${name.slice(above.length)}` : name;
}

/** @param {Provider} provider @returns {Child} */
function traitsOf({traits}) {
  // The most telling traits come first: custom ones, before those of processors.
  const rest = traits.filter((one) => one !== DISABLED);
  const [first] = [...rest].sort((a, b) => Number(b.startsWith('CUSTOM_')) - Number(a.startsWith('CUSTOM_')));
  return first && [
    h('span', {class: 'chip'}, first),
    rest.length > 1 && h('span', {class: 'chip'}, `+ ${rest.length - 1} traits`),
  ];
}

/** Children in groups of equal ones, in the order of their names.
 * @param {Provider[]} children
 * @param {Provider[]} tree
 * @returns {Provider[][]}
 */
function groupsOf(children, tree) {
  /** @type {Map<string, Provider[]>} */
  const groups = new Map();
  for (const one of children) {
    const key = keyOf(one, tree);
    const equal = groups.get(key);
    if (equal) equal.push(one);
    else groups.set(key, [one]);
  }
  return [...groups.values()];
}

/** A key that is equal for providers that differ only in name and usage; those with
 * children, or over capacity, have a key of their own.
 * @param {Provider} provider @param {Provider[]} tree
 */
function keyOf(provider, tree) {
  const isAlone = tree.some((one) => one.parent_provider_uuid === provider.uuid)
    || Object.entries(provider.inventories).some(([name, one]) => (provider.usages[name] ?? 0) > capacityOf(one));
  return isAlone ? provider.uuid : JSON.stringify([provider.inventories, provider.traits]);
}

/** @param {Provider[]} group @param {Provider[]} tree @param {Holding} holding */
function isFolded(group, tree, {unfolded}) {
  const [first] = group;
  return group.length >= MIN_FOLDED && first !== undefined && !unfolded.has(keyOf(first, tree) + first.parent_provider_uuid);
}

/** Equal siblings as one box.
 * @param {Provider[]} group @param {Holding} holding @param {string} above
 * @returns {Child}
 */
function fold(group, holding, above) {
  const [first] = group;
  if (first === undefined) return null;
  const inUse = group.filter((one) => Object.values(one.usages).some((used) => used > 0)).length;
  const names = shortened(first.name.replace(/\d+$/, ''), above);
  const key = keyOf(first, group) + first.parent_provider_uuid;
  return h('article', {key, class: 'box folded', 'aria-label': `${group.length} equal providers, beginning with ${first.name}`},
    h('div', {class: 'box-head'},
      h('h3', {}, `${number(group.length)} × ${names}`),
      h('span', {class: 'quiet'}, `${number(inUse)} in use`),
      traitsOf(first),
      h('button', {type: 'button', class: 'small', onclick: () => holding.onunfold(key)}, 'Show each')),
    h('dl', {class: 'holdings'}, barsOf(group, holding).map(([name, bar]) => holdings(name, bar, holding, ''))));
}

/** The bars of providers together, by class.
 * @param {Provider[]} providers
 * @param {Holding} holding
 * @returns {[string, Bar][]}
 */
function barsOf(providers, {pieces}) {
  /** @type {Map<string, Bar>} */
  const bars = new Map();
  for (const provider of providers) {
    for (const [name, inventory] of Object.entries(provider.inventories)) {
      const bar = bars.get(name) ?? {total: 0, capacity: 0, reserved: 0, used: 0, over: 0, pieces: []};
      bars.set(name, bar);
      const capacity = capacityOf(inventory);
      const used = provider.usages[name] ?? 0;
      bar.total += inventory.total;
      bar.capacity += capacity;
      bar.reserved += Math.trunc(inventory.reserved * inventory.allocation_ratio);
      bar.used += used;
      bar.over += Math.max(0, used - capacity);
      for (const {consumer, resources} of pieces.get(provider.uuid) ?? []) {
        if (resources[name]) bar.pieces.push({consumer, used: resources[name]});
      }
    }
  }
  return [...bars].sort(([one], [other]) => byClass(one, other));
}

/** One bar, cut into consumers, with its numbers.
 * @param {string} name @param {Bar} bar @param {Holding} holding @param {string} more
 * @returns {Child}
 */
function holdings(name, bar, holding, more) {
  const {capacity, reserved, used, over} = bar;
  const whole = Math.max(capacity + reserved, used, 1);
  const [taken, all, rest] = inOneUnit(name, [used, capacity, Math.abs(capacity - used)]);
  const words = over ? `${rest} over ${all}` : `${taken} of ${all}, ${rest} free`;
  const shown = [...bar.pieces].sort((a, b) => b.used - a.used).slice(0, MAX_PIECES);
  const others = used - shown.reduce((sum, one) => sum + one.used, 0);
  return h('div', {class: over ? 'holding is-over' : 'holding', key: name},
    h('dt', {}, classHeading(name)),
    h('dd', {},
      h('span', {class: 'cut', 'aria-hidden': 'true', title: more || null},
        shown.map((one) => piece(name, one, whole, holding)),
        others > 0 && h('span', wide('piece', others / whole)),
        h('span', wide('reserved', Math.min(reserved, Math.max(0, whole - Math.max(capacity, used))) / whole)),
        over > 0 && h('span', {class: 'limit', style: {left: `${capacity / whole * 100}%`}})),
      h('span', {class: 'words'}, words, more && h('span', {class: 'unseen'}, `, ${more}`))));
}

/** @param {string} name @param {{consumer: string, used: number}} held @param {number} whole @param {Holding} holding
 * @returns {Child}
 */
function piece(name, {consumer, used}, whole, {lit, hueOf, nameOf, onlight}) {
  const state = lit === '' ? '' : lit === consumer ? ' lit' : ' faded';
  return h('span', {
    ...wide(`piece hue${hueOf(consumer)}${state}`, used / whole), key: consumer,
    title: `${nameOf(consumer)}: ${amount(name, used)}`, onclick: () => onlight(lit === consumer ? '' : consumer),
  });
}

/** The further members of an inventory.
 * @param {string} name @param {Provider} provider
 */
function inventoryWords(name, provider) {
  const inventory = provider.inventories[name];
  if (inventory === undefined) return '';
  const {reserved, allocation_ratio: ratio, total, min_unit: least, max_unit: most, step_size: step} = inventory;
  return [
    reserved > 0 && `${amount(name, reserved)} reserved`,
    ratio !== 1 && `${amount(name, total)} × ${ratio}`,
    least > 1 && `at least ${number(least)}`,
    most < total && `at most ${number(most)} each`,
    step > 1 && `in steps of ${number(step)}`,
  ].filter(Boolean).join(', ');
}
