// SPDX-License-Identifier: Apache-2.0
// Rows of the history of changes, as tables show them.

import {pages} from './api.js';
import {h, table} from './dom.js';
import {address, hostAddress} from './route.js';
import {store} from './store.js';
import {amount, amounts, byClass, classWord, inOneUnit, minute, number, plural} from './words.js';

/**
 * @typedef {{at: string, request_id: string, global_request_id: string | null,
 *   caller: {user_id: string | null, user_name: string | null, project_id: string | null}, action: string, kind: string,
 *   uuid: string | null, project_id: string | null, user_id: string | null, state: Record<string, any> | null}} Change
 * @typedef {import('./dom.js').Child} Child
 */

// Maximum number of rows of the history that are read.
export const MAX_ROWS = 5000;

/** The newest rows of the history. @param {string} path @param {AbortSignal} signal */
export async function newest(path, signal) {
  /** @type {Change[]} */
  const rows = [];
  for await (const page of pages(path, signal)) {
    rows.push(...page.history);
    if (rows.length >= MAX_ROWS) break;
  }
  return rows;
}

/** @param {Pick<Change, 'caller'>} change */
export function callerOf({caller}) {
  return caller.user_name ?? caller.user_id ?? 'unknown';
}

/** The subject of a change, as a link to it.
 * @param {Change} change
 * @returns {Child}
 */
export function subjectLink({kind, uuid, state}) {
  if (kind === 'provider' && uuid) {
    return h('a', {href: hostAddress(uuid)}, state?.['name'] ?? store.nameOf(uuid));
  }
  if (kind === 'consumer' && uuid) {
    return h('a', {href: address('changes', '', [['consumer', uuid]])}, store.names.servers.get(uuid) ?? uuid);
  }
  return state?.['name'] ?? kind;
}

/** The words for actions, by their names in the API.
 * @type {Record<string, string>} */
const DONE = {
  'resource_providers.create': 'created', 'resource_providers.update': 'renamed or moved', 'resource_providers.delete': 'deleted',
  'aggregates.set': 'aggregates set', 'provider_traits.set': 'traits set', 'provider_traits.clear': 'traits removed',
  'allocations.set': 'resources claimed', 'allocations.set_many': 'resources claimed or moved', 'allocations.delete': 'resources released',
  'reshaper.reshape': 'reshaped', 'resource_classes.create': 'resource class created', 'resource_classes.put': 'resource class created',
  'resource_classes.delete': 'resource class deleted', 'traits.put': 'trait created', 'traits.delete': 'trait deleted',
};

/** An action in words. @param {string} action */
export function doneWords(action) {
  return DONE[action] ?? (action.startsWith('inventories.') ? 'inventory changed' : action);
}

/** The outcome of a change in short, compared with the state before it if an older row has that.
 * @param {Change} change @param {State | undefined} before
 */
export function outcome({kind, state, action}, before) {
  if (state === null) return kind === 'consumer' ? 'holds nothing any more' : 'is gone';
  const {inventories, traits, aggregates, allocations} = state;
  const held = Object.values(allocations ?? {}).map((one) => amounts(one.resources ?? one)).filter(Boolean);
  return [
    action === 'resource_providers.update' && before?.['name'] && before['name'] !== state['name'] && `was called ${before['name']}`,
    inventories && ofInventories(inventories, before?.['inventories']),
    traits && ofNames('trait', traits, before?.['traits']),
    aggregates && ofNames('aggregate', aggregates, before?.['aggregates']),
    allocations && (held.length ? `${kind === 'consumer' ? 'holds' : 'allocates'} ${held.slice(0, 3).join('; ')}${held.length > 3 ? ' …' : ''}`
      : kind === 'consumer' ? 'holds nothing' : 'allocates nothing'),
  ].filter(Boolean).join(', ');
}

/** @typedef {Record<string, any>} State members of a provider or consumer, as they are after a change */

/** @param {Record<string, any>} after @param {Record<string, any> | undefined} before */
function ofInventories(after, before) {
  const names = Object.keys({...before, ...after}).sort(byClass);
  if (before === undefined) return names.length ? `has ${names.map((name) => `${amount(name, after[name].total)} ${classWord(name)}`).join(', ')}` : 'has no inventory';
  return names.flatMap((name) => {
    const [was, is] = [before[name], after[name]];
    if (was === undefined) return [`${amount(name, is.total)} ${classWord(name)} added`];
    if (is === undefined) return [`${classWord(name)} removed`];
    const totals = was.total === is.total ? [] : [`${classWord(name)} ${inOneUnit(name, [was.total, is.total]).join(' to ')}`];
    const others = ['reserved', 'allocation_ratio', 'min_unit', 'max_unit', 'step_size'].filter((member) => was[member] !== is[member] && !(totals.length && member === 'max_unit'))
      .map((member) => `${classWord(name)} ${member.replace('_', ' ')} ${number(was[member])} to ${number(is[member])}`);
    return [...totals, ...others];
  }).join(', ') || 'the same inventory';
}

/** @param {string} kind @param {string[]} after @param {string[] | undefined} before */
function ofNames(kind, after, before) {
  if (before === undefined) return plural(after.length, kind);
  const [had, has] = [new Set(before), new Set(after)];
  return [...after.filter((one) => !had.has(one)).map((one) => `${kind} ${store.labels.get(one) ?? one} added`),
    ...before.filter((one) => !has.has(one)).map((one) => `${kind} ${store.labels.get(one) ?? one} removed`)].join(', ') || `the same ${kind}s`;
}

/** The state before each change, from older rows. @param {Change[]} changes the newest first @returns {Map<Change, State>} */
export function statesBefore(changes) {
  /** @type {Map<string, State>} */
  const known = new Map();
  const before = new Map();
  for (const change of changes.toReversed()) {
    const key = `${change.kind} ${change.uuid}`;
    before.set(change, known.get(key) ?? {});
    known.set(key, {...known.get(key), ...change.state});
  }
  return before;
}

/** A link to all changes of a request: that of the client, or without one that to this service.
 * @param {Pick<Change, 'request_id' | 'global_request_id'>} change @param {Child} [words] the start of the id by default
 */
export function requestLink({request_id: own, global_request_id: client}, words) {
  const href = address('changes', '', client ? [['request', client]] : [['request', own], ['of', 'service']]);
  return h('a', {href}, words ?? h('code', {}, (client ?? own).slice(0, 12), '…'));
}

/** @param {Change[]} changes @returns {Child} */
export function historyRows(changes) {
  const before = statesBefore(changes);
  return table('Changes', ['Time (UTC)', 'What', 'Who', 'Concerns', 'Afterwards', 'Request'], changes.map((one, index) => h('tr', {
    key: `${one.request_id} ${one.kind} ${one.uuid ?? index}`,
  },
  h('th', {scope: 'row', class: 'when'}, minute(one.at), one.at.slice(16, 19)),
  h('td', {title: one.action}, doneWords(one.action)),
  h('td', {}, callerOf(one)),
  h('td', {}, subjectLink(one)),
  h('td', {}, outcome(one, before.get(one))),
  h('td', {}, requestLink(one)))));
}
