// SPDX-License-Identifier: Apache-2.0
// Changes of trees since the page was opened, as words.

import {amount, classWord, plural} from './words.js';

/**
 * A tree that changed: `at` as `Date.now()`, the newest first.
 * @typedef {{at: number, uuid: string, name: string, words: string}} Observed
 * @typedef {import('./cloud.js').Root} Root
 */

// Maximum number of changes that are kept.
export const MAX_OBSERVED = 2000;

/** The difference between two states of a tree, as words.
 * @param {Root | undefined} before
 * @param {Root | undefined} after
 */
export function difference(before, after) {
  if (after === undefined) return 'was deleted';
  if (before === undefined) return 'was created';
  const words = [];
  if (before.name !== after.name) words.push(`was called ${before.name}`);
  const added = after.providers - before.providers;
  if (added) words.push(`${plural(Math.abs(added), 'provider')} ${added > 0 ? 'added' : 'removed'}`);
  words.push(...ofAmounts(before, after));
  words.push(...ofNames('trait', [...before.traits], [...after.traits]), ...ofNames('aggregate', before.aggregates, after.aggregates));
  return words.join(', ') || 'was written without a change of amounts';
}

/** @param {Root} before @param {Root} after */
function ofAmounts(before, after) {
  const had = new Map(before.classes);
  const words = [...after.classes].flatMap(([name, {capacity, used}]) => {
    const was = had.get(name);
    had.delete(name);
    if (was === undefined) return [`${amount(name, capacity)} ${classWord(name)} added`];
    return [
      ...(was.used === used ? [] : [`${classWord(name)} in use ${amount(name, was.used)} → ${amount(name, used)}`]),
      ...(was.capacity === capacity ? [] : [`${classWord(name)} capacity ${amount(name, was.capacity)} → ${amount(name, capacity)}`]),
    ];
  });
  return [...words, ...[...had.keys()].map((name) => `${classWord(name)} removed`)];
}

/** @param {string} kind @param {string[]} before @param {string[]} after */
function ofNames(kind, before, after) {
  const [had, has] = [new Set(before), new Set(after)];
  return [
    ...after.filter((one) => !had.has(one)).map((one) => `${kind} ${one} added`),
    ...before.filter((one) => !has.has(one)).map((one) => `${kind} ${one} removed`),
  ];
}
