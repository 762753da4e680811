// SPDX-License-Identifier: Apache-2.0
// The problems of a cloud, as sentences that link to the views that show them.

import {countWords, groupsOf, partInUse, sumsOf} from './cloud.js';
import {moment} from './dom.js';
import {promiseAddress, roomWords} from './promises.js';
import {address} from './route.js';
import {store} from './store.js';
import {amount, byClass, classWord, number, percent, plural} from './words.js';

/** @typedef {import('./cloud.js').Root} Root */
/** A finding: its severity, title, details and link.
 * @typedef {{kind: 'bad' | 'warn', key: string, title: string, words: import('./dom.js').Child, href: string}} Sentence */

// The used part from which a class of a zone is full, and the maximum number of names in a list.
const FULL = 0.97;
const NAMES = 3;

/** @param {string[]} names */
function listed(names, between = ', ') {
  const others = names.length - NAMES;
  return names.slice(0, NAMES).join(between) + (others > 0 ? ` and ${number(others)} more` : '');
}

/** The findings in the data that has been read. @returns {Sentence[]} */
export function ofCloud() {
  const {roots} = store.cloud;
  return [...overCapacity(roots), ...fullZones(roots), ...disabledHosts(roots)];
}

/** @param {Root[]} roots @returns {Sentence[]} */
function overCapacity(roots) {
  const over = roots.flatMap((root) => root.worst ?? []);
  if (over.length === 0) return [];
  const inventories = roots.reduce((sum, root) => sum + root.over, 0);
  const words = over.map(({provider, name, used, capacity}) => `${provider} by ${amount(name, used - capacity)} ${classWord(name)}`);
  return [{
    kind: 'bad', key: 'over', title: `${plural(inventories, 'inventory', 'inventories')} over capacity`, words: listed(words),
    href: address('map', '', [['show', 'over']]),
  }];
}

/** @param {Root[]} roots @returns {Sentence[]} */
function fullZones(roots) {
  return groupsOf(roots, store.zones).flatMap(({key, label, roots: members}) => {
    // The same sums as in the table of zones.
    const full = sumsOf(members).filter((sum) => sum.roots * 2 > members.length && (partInUse(sum) ?? 0) >= FULL);
    if (full.length === 0) return [];
    const hidden = full.reduce((sum, {name}) => sum + members.filter((root) => root.isDisabled && root.free(name) > 0).length, 0);
    const words = full.map((sum) => `${classWord(sum.name)} at ${percent(partInUse(sum) ?? 0)}`).join(', ');
    return [/** @type {Sentence} */ ({
      kind: 'bad', key: `full ${key}`, title: `${label} is full`,
      words: `${words}${hidden ? `; only ${hidden === 1 ? 'a disabled host has' : 'disabled hosts have'} room` : ''}`,
      href: address('map', '', [['zone', key], ['class', full[0]?.name ?? '']]),
    })];
  });
}

/** @param {Root[]} roots @returns {Sentence[]} */
function disabledHosts(roots) {
  const disabled = roots.filter((root) => root.isDisabled);
  if (disabled.length === 0) return [];
  const free = sumsOf(disabled).filter((sum) => sum.disabled > 0).slice(0, 2).map((sum) => `${amount(sum.name, sum.disabled)} ${classWord(sum.name)}`);
  return [{
    kind: 'warn', key: 'disabled', title: `${countWords(disabled)} disabled`,
    words: `${listed(disabled.map((root) => root.name))}${free.length ? `; ${free.join(' and ')} free on ${disabled.length === 1 ? 'it' : 'them'}` : ''}`,
    href: address('map', '', [['show', 'disabled']]),
  }];
}

/** @param {any[]} consumers migrations @returns {Sentence[]} */
export function ofMigrations(consumers) {
  if (consumers.length === 0) return [];
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const {allocations} of consumers) {
    for (const {resources} of Object.values(allocations)) {
      for (const [name, used] of Object.entries(resources)) sums.set(name, (sums.get(name) ?? 0) + Number(used));
    }
  }
  const held = [...sums].sort((a, b) => byClass(a[0], b[0])).slice(0, 2).map(([name, used]) => `${amount(name, used)} ${classWord(name)}`).join(' and ');
  const oldest = consumers.map((one) => one.created_at).filter(Boolean).sort()[0];
  return [{
    kind: 'warn', key: 'migrations', title: `${plural(consumers.length, 'migration holds', 'migrations hold')} resources`,
    words: [held, oldest && ['; the oldest was created ', moment(oldest)]], href: address('holders', '', [['type', 'MIGRATION']]),
  }];
}

/** @param {import('./promises.js').Promised[]} promises @returns {Sentence[]} */
export function ofPromises(promises) {
  const of = (/** @type {string} */ state) => promises.filter((one) => one.state === state);
  const [broken, tight] = [of('broken'), of('tight')];
  const worst = [...broken, ...tight];
  if (worst.length === 0) return [];
  return [{
    kind: broken.length ? 'bad' : 'warn', key: 'promises', href: promiseAddress(worst[0]?.name),
    title: broken.length ? plural(broken.length, 'promise is broken', 'promises are broken') : plural(tight.length, 'promise has little to spare', 'promises have little to spare'),
    words: listed(worst.map((one) => `${one.name}: ${roomWords(one)}`), '; '),
  }];
}

/** @param {any} answer of unmet demand @returns {Sentence[]} */
export function ofDemand({unmet_demand: demand, sums, unknown_names: unknown}) {
  const times = Object.values(sums).reduce((sum, one) => sum + Number(one), 0);
  if (times === 0) return [];
  const never = demand.filter((/** @type {any} */ one) => one.verdict === 'infeasible').length;
  const names = unknown.map((/** @type {any} */ one) => one.name).slice(0, 3).join(', ');
  return [{
    kind: 'warn', key: 'demand', title: `${plural(times, 'search', 'searches')} found no candidates`,
    words: `in the last 24 hours; ${plural(demand.length, 'distinct request')}${never ? `, ${number(never)} of which never ${never === 1 ? 'fits' : 'fit'}` : ''}${names ? `; ${names} ${unknown.length === 1 ? 'does' : 'do'} not exist` : ''}`, href: address('why'),
  }];
}
