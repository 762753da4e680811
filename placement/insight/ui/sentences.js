// SPDX-License-Identifier: Apache-2.0
// What is wrong with a cloud, in sentences that lead to where it is seen.

import {groupsOf, sumsOf} from './cloud.js';
import {address} from './route.js';
import {store} from './store.js';
import {amount, minute, number, percent, plural} from './words.js';

/** @typedef {import('./cloud.js').Root} Root */
/** A finding: how bad it is, what it is, and more about it.
 * @typedef {{kind: 'bad' | 'warn', key: string, title: string, words: string, href: string}} Sentence */

// From which part on a class of a zone is full, and how many names are listed.
const FULL = 0.97;
const NAMES = 3;

/** @param {string[]} names */
function listed(names) {
  const others = names.length - NAMES;
  return names.slice(0, NAMES).join(', ') + (others > 0 ? ` and ${number(others)} more` : '');
}

/** Everything that memory tells. @returns {Sentence[]} */
export function ofCloud() {
  const {roots} = store.cloud;
  return [...overCapacity(roots), ...fullZones(roots), ...disabledHosts(roots)];
}

/** @param {Root[]} roots @returns {Sentence[]} */
function overCapacity(roots) {
  const over = roots.flatMap((root) => root.worst ?? []);
  if (over.length === 0) return [];
  const inventories = roots.reduce((sum, root) => sum + root.over, 0);
  const words = over.map(({provider, name, used, capacity}) => `${provider}: ${amount(name, used - capacity)} ${name} too much`);
  return [{
    kind: 'bad', key: 'over', title: `${plural(inventories, 'inventory', 'inventories')} over capacity`, words: listed(words),
    href: address('map', '', [['show', 'over']]),
  }];
}

/** @param {Root[]} roots @returns {Sentence[]} */
function fullZones(roots) {
  return groupsOf(roots, store.labels).flatMap(({key, label, roots: members}) => {
    const enabled = sumsOf(members.filter((root) => !root.isDisabled && !root.isSharing));
    const full = enabled.filter(({capacity, used, roots: having}) => having * 2 > members.length && capacity > 0 && used / capacity >= FULL);
    if (full.length === 0) return [];
    const hidden = full.reduce((sum, {name}) => sum + members.filter((root) => root.isDisabled && root.free(name) > 0).length, 0);
    const words = full.map(({name, used, capacity}) => `${name} at ${percent(used / capacity)}`).join(', ');
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
  const behind = sumsOf(disabled).filter((sum) => sum.disabled > 0).slice(0, 2).map((sum) => `${amount(sum.name, sum.disabled)} ${sum.name}`);
  return [{
    kind: 'warn', key: 'disabled', title: `${plural(disabled.length, 'host')} disabled`,
    words: `${listed(disabled.map((root) => root.name))}${behind.length ? `; ${behind.join(' and ')} free behind them` : ''}`,
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
  const held = [...sums].slice(0, 2).map(([name, used]) => `${amount(name, used)} ${name}`).join(' and ');
  const oldest = consumers.map((one) => one.created_at).filter(Boolean).sort()[0];
  return [{
    kind: 'warn', key: 'migrations', title: `${plural(consumers.length, 'migration holds', 'migrations hold')} resources`,
    words: `${held}${oldest ? `; the oldest since ${minute(oldest)} UTC` : ''}`, href: address('holders', '', [['type', 'MIGRATION']]),
  }];
}

/** @param {any} answer of unmet demand @returns {Sentence[]} */
export function ofDemand({unmet_demand: demand, sums}) {
  const times = Object.values(sums).reduce((sum, one) => sum + Number(one), 0);
  if (times === 0) return [];
  const never = demand.filter((/** @type {any} */ one) => one.verdict === 'infeasible').length;
  return [{
    kind: 'warn', key: 'demand', title: `${plural(times, 'search', 'searches')} found nothing`,
    words: `in the last 24 hours; ${plural(demand.length, 'kind')} of request${never ? `, ${number(never)} that no host can ever serve` : ''}`, href: address('why'),
  }];
}
