// SPDX-License-Identifier: Apache-2.0
// What has changed of providers since the page was opened, in words.

import {amount} from './words.js';

/**
 * A provider that changed: `at` as `Date.now()`, the newest first.
 * @typedef {{at: number, uuid: string, name: string, root: string, words: string}} Told
 * @typedef {import('./cloud.js').Member} Member
 */

// So many are kept.
export const MAX_TOLD = 2000;

/** How a provider differs from what it was.
 * @param {Member | undefined} before
 * @param {Member | undefined} after
 */
export function difference(before, after) {
  if (after === undefined) return 'was deleted';
  if (before === undefined) return 'was created';
  const words = [];
  if (before.name !== after.name) words.push(`was called ${before.name}`);
  if (before.root !== after.root) words.push('is in another tree');
  words.push(...ofAmounts(before, after));
  words.push(...ofNames('trait', [...before.traits], [...after.traits]), ...ofNames('aggregate', before.aggregates, after.aggregates));
  return words.join(', ') || 'was written, the amounts are the same';
}

/** @param {Member} before @param {Member} after */
function ofAmounts(before, after) {
  const had = new Map(before.classes.map(([name, capacity, used]) => [name, {capacity, used}]));
  const words = after.classes.flatMap(([name, capacity, used]) => {
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
