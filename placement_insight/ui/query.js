// SPDX-License-Identifier: Apache-2.0
// Queries of GET /allocation_candidates as text, and the same without a condition.

import {queryText} from './route.js';

/**
 * A condition of a request as the service sends it.
 * @typedef {{words: string, reason: string, names: string[], suffix: string | null, asked: number | null, largest: number | null, most_free: number | null}} Condition
 * @typedef {[string, string][]} Parameters
 */

/** How to give up a condition, by its reason.
 * @type {Record<string, (query: Parameters, suffix: string, name: string) => Parameters>} */
const GIVING_UP = {
  'required trait': (query, suffix, name) => withoutListed(query, `required${suffix}`, name),
  'forbidden trait': (query, suffix, name) => withoutListed(query, `required${suffix}`, `!${name}`),
  aggregate: (query, suffix, name) => withoutAggregate(query, `member_of${suffix}`, name),
  tree: (query, suffix) => without(query, `in_tree${suffix}`),
  root_required: (query, _, name) => withoutListed(query, 'root_required', name),
  isolate: (query) => [...without(query, 'group_policy'), ['group_policy', 'none']],
  subtree: (query, _, name) => query.filter(([key, value]) => key !== 'same_subtree' || sorted(value) !== sorted(name)),
  'class missing': (query, suffix, name) => withAmount(query, suffix, name, null),
};

/** The query without some conditions, or with the largest amount that fits; null if unknown.
 * @param {string} query
 * @param {Condition[]} conditions
 * @param {number | null} [largest]
 */
export function relaxed(query, conditions, largest) {
  let parameters = /** @type {Parameters} */ ([...new URLSearchParams(query)]);
  for (const {reason, names, suffix, asked} of conditions) {
    const before = queryText(parameters);
    if (asked !== null) {
      parameters = withAmount(parameters, suffix ?? '', names[0] ?? '', largest ?? null);
    } else {
      parameters = GIVING_UP[reason]?.(parameters, suffix ?? '', names[0] ?? '') ?? parameters;
    }
    if (queryText(parameters) === before) return null;
  }
  parameters = askable(parameters);
  // A request without amounts is invalid.
  return parameters.some(([key]) => key.startsWith('resources')) ? queryText(parameters) : null;
}

/** @param {Parameters} parameters @param {string} name @returns {Parameters} */
function without(parameters, name) {
  return parameters.filter(([key]) => key !== name);
}

/** The parameters without groups that have lost their amounts, which are invalid.
 * @param {Parameters} parameters @returns {Parameters} */
function askable(parameters) {
  const suffixes = parameters.map(([key]) => suffixOf(key));
  const asking = new Set(parameters.filter(([key]) => key.startsWith('resources')).map(([key]) => suffixOf(key)));
  const held = new Set(parameters.flatMap(([key, value]) => (key === 'same_subtree' ? value.split(',') : [])));
  const isLeft = (/** @type {string} */ suffix) => asking.has(suffix) || (held.has(suffix) && suffixes.includes(suffix));
  return parameters.flatMap(([key, value]) => {
    const suffix = suffixOf(key);
    if (suffix !== null) return isLeft(suffix) ? [/** @type {[string, string]} */ ([key, value])] : [];
    const left = key === 'same_subtree' ? value.split(',').filter(isLeft).join() : value;
    return left ? [/** @type {[string, string]} */ ([key, left])] : [];
  });
}

/** The suffix of a parameter of a group, null for others. @param {string} key */
function suffixOf(key) {
  return /^(?:resources|required|member_of|in_tree)(.*)$/.exec(key)?.[1] ?? null;
}

/** @param {string} names */
function sorted(names) {
  return names.split(',').sort().join();
}

/** True if a value has these alternatives. @param {string} value @param {string} name */
function isSame(value, name) {
  return value.startsWith('in:') && value.slice(3).split(',').sort().join(' or ') === name;
}

/** @param {Parameters} parameters @param {string} key @param {string} name @returns {Parameters} */
function withoutListed(parameters, key, name) {
  return parameters.flatMap(([one, value]) => {
    if (one !== key) return [[one, value]];
    if (isSame(value, name)) return [];
    if (value.startsWith('in:')) return [[one, value]];
    const left = value.split(',').filter((item) => item !== name);
    return left.length ? [[one, left.join()]] : [];
  });
}

/** @param {Parameters} parameters @param {string} key @param {string} name @returns {Parameters} */
function withoutAggregate(parameters, key, name) {
  return parameters.flatMap(([one, value]) => {
    if (one !== key) return [[one, value]];
    if (value === name || isSame(value, name)) return [];
    if (name.startsWith('!') && value.startsWith('!in:')) {
      const left = value.slice(4).split(',').filter((uuid) => uuid !== name.slice(1));
      return left.length ? [[one, `!in:${left.join()}`]] : [];
    }
    return [[one, value]];
  });
}

/** @param {Parameters} parameters @param {string} suffix @param {string} resourceClass @param {number | null} largest @returns {Parameters} */
function withAmount(parameters, suffix, resourceClass, largest) {
  const key = `resources${suffix}`;
  /** @type {Parameters} */
  const changed = parameters.flatMap(([one, value]) => {
    if (one !== key) return [/** @type {[string, string]} */ ([one, value])];
    const left = value.split(',').flatMap((item) => {
      if (item.split(':')[0] !== resourceClass) return [item];
      return largest !== null && largest > 0 ? [`${resourceClass}:${largest}`] : [];
    });
    return left.length ? [/** @type {[string, string]} */ ([one, left.join()])] : [];
  });
  if (changed.some(([one]) => one === key)) return changed;
  // A group without amounts may have no conditions either.
  const ofGroup = ['required', 'member_of', 'in_tree'].map((name) => name + suffix);
  return changed.filter(([one]) => !ofGroup.includes(one));
}
