// SPDX-License-Identifier: Apache-2.0
// What has changed of trees since the page was opened, in words.

import {amount, plural} from './words.js';

/**
 * A tree that changed: `at` as `Date.now()`, the newest first.
 * @typedef {{at: number, uuid: string, name: string, words: string}} Told
 * @typedef {import('./cloud.js').Root} Root
 */

// So many are kept.
export const MAX_TOLD = 2000;

/** How a tree differs from what it was.
 * @param {Root | undefined} before
 * @param {Root | undefined} after
 */
export function difference(before, after) {
  if (after === undefined) return 'was deleted';
  if (before === undefined) return 'was created';
  const words = [];
  if (before.name !== after.name) words.push(`was called ${before.name}`);
  const added = after.providers - before.providers;
  if (added) words.push(`${plural(Math.abs(added), 'provider')} ${added > 0 ? 'more' : 'fewer'}`);
  words.push(...ofAmounts(before, after));
  words.push(...ofNames('trait', [...before.traits], [...after.traits]), ...ofNames('aggregate', before.aggregates, after.aggregates));
  return words.join(', ') || 'was written, the amounts are the same';
}

/** @param {Root} before @param {Root} after */
function ofAmounts(before, after) {
  const had = new Map(before.classes);
  const words = [...after.classes].flatMap(([name, {capacity, used}]) => {
    const was = had.get(name);
    had.delete(name);
    if (was === undefined) return [`${amount(name, capacity)} ${name} more`];
    return [
      ...(was.used === used ? [] : [`${name} in use ${amount(name, was.used)} → ${amount(name, used)}`]),
      ...(was.capacity === capacity ? [] : [`${name} capacity ${amount(name, was.capacity)} → ${amount(name, capacity)}`]),
    ];
  });
  return [...words, ...[...had.keys()].map((name) => `no ${name} any more`)];
}

/** @param {string} kind @param {string[]} before @param {string[]} after */
function ofNames(kind, before, after) {
  const [had, has] = [new Set(before), new Set(after)];
  return [
    ...after.filter((one) => !had.has(one)).map((one) => `${kind} ${one}`),
    ...before.filter((one) => !has.has(one)).map((one) => `no ${kind} ${one} any more`),
  ];
}
