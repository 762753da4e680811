// SPDX-License-Identifier: Apache-2.0
// Rows of the history of changes, as tables show them.

import {h, table} from './dom.js';
import {address, hostAddress} from './route.js';
import {store} from './store.js';
import {amounts, minute, plural} from './words.js';

/**
 * @typedef {{at: string, request_id: string, global_request_id: string | null,
 *   caller: {user_id: string | null, user_name: string | null, project_id: string | null}, action: string, kind: string,
 *   uuid: string | null, project_id: string | null, user_id: string | null, state: Record<string, any> | null}} Change
 * @typedef {import('./dom.js').Child} Child
 */

/** @param {Change} change */
export function callerOf({caller}) {
  return caller.user_name ?? caller.user_id ?? 'nobody';
}

/** What a change is about, as a link to it.
 * @param {Change} change
 * @returns {Child}
 */
export function subjectLink({kind, uuid, state}) {
  if (kind === 'provider' && uuid) {
    return h('a', {href: hostAddress(uuid)}, store.cloud.byUuid.get(uuid)?.name ?? state?.['name'] ?? uuid);
  }
  if (kind === 'consumer' && uuid) {
    return h('a', {href: address('changes', '', [['consumer', uuid]])}, store.names.servers.get(uuid) ?? uuid);
  }
  return state?.['name'] ?? kind;
}

/** What is there after a change, in short.
 * @param {Change} change
 * @returns {string}
 */
function outcome({kind, state}) {
  if (state === null) return 'is gone';
  const {inventories, traits, aggregates, allocations} = state;
  const held = Object.values(allocations ?? {}).map((one) => amounts(one.resources ?? one)).filter(Boolean);
  return [
    inventories && `has ${Object.entries(inventories).map(([name, one]) => amounts({[name]: /** @type {any} */ (one).total})).join(', ') || 'no inventory'}`,
    traits && plural(traits.length, 'trait'),
    aggregates && plural(aggregates.length, 'aggregate'),
    allocations && (held.length ? `${kind === 'consumer' ? 'holds' : 'gives'} ${held.slice(0, 3).join('; ')}${held.length > 3 ? ' …' : ''}`
      : kind === 'consumer' ? 'holds nothing' : 'gives nothing'),
  ].filter(Boolean).join(', ');
}

/** A link to all that a request has changed: that of a client, or that to this service where no client named one.
 * @param {Change} change
 */
function requestLink({request_id: own, global_request_id: client}) {
  const href = address('changes', '', client ? [['request', client]] : [['request', own], ['of', 'service']]);
  return h('a', {href}, h('code', {}, (client ?? own).slice(0, 12), '…'));
}

/** @param {Change[]} changes @returns {Child} */
export function historyRows(changes) {
  return table('Changes', ['Time (UTC)', 'Action', 'Caller', 'Of', 'Afterwards', 'Request'], changes.map((one, index) => h('tr', {
    key: `${one.request_id} ${one.kind} ${one.uuid ?? index}`,
  },
  h('th', {scope: 'row'}, minute(one.at), one.at.slice(16, 19)),
  h('td', {}, one.action),
  h('td', {}, callerOf(one)),
  h('td', {}, subjectLink(one)),
  h('td', {}, outcome(one)),
  h('td', {}, requestLink(one)))));
}
