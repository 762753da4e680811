// SPDX-License-Identifier: Apache-2.0
// The meaning of the colours of a map: used parts, fits of a request, or the share of a project.

import {all} from './api.js';
import {countWords, partInUse, sumsOf} from './cloud.js';
import {stepOf} from './colours.js';
import {classHeading, h, wide} from './dom.js';
import {asNova, range} from './flavors.js';
import {store} from './store.js';
import {byClass, classLabel, classWord, inOneUnit, number, percent, plural} from './words.js';

/** @typedef {import('./cloud.js').Root} Root */
/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./flavors.js').Count} Count */
/** @typedef {import('./store.js').Answer} Answer */
/** The colours with their meaning, the look and the value of each root, and a sum in words.
 * @typedef {{words: string, answer: Answer | null, marks: [number, string][], look: (root: Root) => import('./heat_map.js').Look,
 *   value: (root: Root) => number, cell: (root: Root) => Child, sum: (roots: Root[]) => string}} Colouring */

/** The numbers from which each colour is used, from dark to light. */
const FITS = [0, 1, 5, 15, 30, 60];

/** By the used part of a class; without a name, that of the fullest class.
 * @param {string} name
 * @returns {Colouring}
 */
export function byUse(name) {
  return {
    words: name ? `${classLabel(name)} used` : 'Used', answer: null,
    marks: [[0, 'below 25 % used'], [1, '25'], [2, '50'], [3, '75'], [4, '90'], [5, '97'], [6, '100 %']],
    look: (root) => {
      const part = root.usedPart(name);
      return {step: part === null ? null : stepOf(part), isOver: root.isOver, isDisabled: root.isDisabled, isInexact: false};
    },
    value: (root) => root.usedPart(name) ?? -1,
    cell: (root) => `${percent(root.usedPart(name) ?? NaN)}${name || !root.fullest ? '' : ` ${classWord(root.fullest.name)}`}`,
    sum: (roots) => {
      const [fullest] = sumsOf(roots).filter((sum) => name === '' || sum.name === name)
        .map((sum) => ({name: sum.name, part: partInUse(sum) ?? 0})).sort((a, b) => b.part - a.part);
      return fullest ? `${classWord(fullest.name)} ${percent(fullest.part)} used` : '';
    },
  };
}

/** The path of the question how many of a request fit each tree. @param {string} query */
export function fitPath(query) {
  return `insight/capacity?${asNova(query)}&by=root`;
}

/** The counts of each tree by the uuid of its root.
 * @param {string} path @param {AbortSignal} signal
 * @returns {Promise<Map<string, Count>>}
 */
export async function fitByRoot(path, signal) {
  const trees = await all(path, 'trees', signal);
  return new Map(trees.map(({root, now}) => [root.uuid, now]));
}

/** By the number of fits of a request: the darker, the fewer.
 * @param {Answer} answer of `fitByRoot`
 * @returns {Colouring}
 */
export function byFit(answer) {
  /** @type {Map<string, Count> | null} */
  const counts = answer.value;
  const none = {at_least: 0, at_most: 0};
  /** @param {Root} root */
  const of = (root) => counts?.get(root.uuid) ?? none;
  /** @param {number} index in FITS */
  const step = (index) => 6 - index - Number(index > 0);
  return {
    words: 'Fit now', answer,
    marks: FITS.map((from, index) => [step(index), from === 0 ? 'none fits' : `${number(from)}${index === FITS.length - 1 ? ' and more' : ''}`]),
    look: (root) => {
      const {at_least, at_most} = of(root);
      return {
        step: counts === null ? null : step(FITS.findLastIndex((from) => at_most >= from)),
        isOver: root.isOver, isDisabled: root.isDisabled, isInexact: at_least !== at_most,
      };
    },
    value: (root) => of(root).at_most,
    cell: (root) => (counts === null ? '…' : range(of(root))),
    // Counts of hosts that share a pool do not add up.
    sum: (roots) => (counts === null ? '' : `${plural(roots.filter((root) => !root.isSharing && of(root).at_most > 0).length, 'host')} with room`),
  };
}

/** The allocations of a project on each root, by class.
 * @param {string} path @param {AbortSignal} signal
 */
export async function heldByRoot(path, signal) {
  /** @type {Map<string, Map<string, number>>} */
  const held = new Map();
  const roots = await store.allRoots();
  for (const {allocations} of await all(path, 'consumers', signal)) {
    for (const [uuid, {resources}] of Object.entries(allocations)) {
      const root = roots.get(uuid) ?? uuid;
      const sums = held.get(root) ?? new Map();
      held.set(root, sums);
      for (const [name, value] of Object.entries(resources)) sums.set(name, (sums.get(name) ?? 0) + Number(value));
    }
  }
  return held;
}

/** By the part that a project holds of a class; without a name, of the class with the largest part.
 * @param {Answer} answer of `heldByRoot`
 * @param {string} name
 * @returns {Colouring}
 */
export function byHolder(answer, name) {
  /** @type {Map<string, Map<string, number>> | null} */
  const held = answer.value;
  /** @param {Root} root */
  const part = (root) => Math.max(0, ...[...held?.get(root.uuid) ?? []].filter(([one]) => name === '' || one === name)
    .map(([one, value]) => value / Math.max(1, root.classes.get(one)?.capacity ?? 0)));
  return {
    words: 'Held', answer, marks: [[0, 'below 25 % held'], [1, '25'], [2, '50'], [3, '75'], [4, '90'], [5, '97'], [6, '100 %']],
    look: (root) => ({step: held?.has(root.uuid) ? stepOf(part(root)) : null, isOver: false, isDisabled: root.isDisabled, isInexact: false}),
    value: part,
    cell: (root) => (held?.has(root.uuid) ? percent(part(root)) : '–'),
    sum: (roots) => `${countWords(roots.filter((root) => held?.has(root.uuid)))} with its allocations`,
  };
}

/** The words next to the name of a group. @param {Root[]} roots @param {Colouring} colouring */
export function groupWords(roots, {sum}) {
  return [countWords(roots), sum(roots)].filter(Boolean).join(' · ');
}

/** The inventory of a root that is furthest over capacity, as a sentence. @param {Root} root */
export function overWords({worst, over}) {
  if (worst === null) return '';
  const {provider, name, used, capacity} = worst;
  const others = over > 1 ? `, and ${plural(over - 1, 'other inventory', 'other inventories')}` : '';
  return `over capacity: ${classWord(name)} ${inOneUnit(name, [used, capacity]).join(' of ')} on ${provider}${others}`;
}

/** A root in a sentence. @param {Root} root @param {Colouring} colouring */
export function rootWords(root, {look, words, value, cell}) {
  const isOver = look(root).isOver ? `${overWords(root)}, ` : '';
  return `${root.name}: ${root.isDisabled ? 'disabled, ' : ''}${isOver}${words.toLowerCase()} ${value(root) < 0 ? '–' : String(cell(root))}`;
}

/** The tip of a root, next to its cell. @param {Root} root @param {Colouring} colouring @returns {Child} */
export function rootTip(root, {words, cell}) {
  return [h('strong', {}, root.name), h('div', {}, `${words}: `, cell(root)),
    [...root.classes].sort((a, b) => byClass(a[0], b[0])).slice(0, 8).map(([name, {used, capacity}]) =>
      h('div', {class: 'tip-row'}, classHeading(name),
        h('span', {class: 'track'}, h('span', wide(used > capacity ? 'fill over' : 'fill', capacity ? used / capacity : 1))),
        h('span', {}, inOneUnit(name, [used, capacity]).join(' of ')))),
    root.isDisabled ? h('div', {}, 'disabled: nova places no servers here') : null,
    root.isOver ? h('div', {class: 'alarm'}, overWords(root)) : null];
}
