// SPDX-License-Identifier: Apache-2.0
// The view of promises of room: their states, and the changes that took their room.

import {get} from './api.js';
import {asCommand, quoted} from './copies.js';
import {h, moment, table} from './dom.js';
import {range} from './flavors.js';
import {callerOf, doneWords, requestLink} from './history.js';
import {address, change, hostAddress} from './route.js';
import {store} from './store.js';
import {sortedTable} from './table.js';
import {View} from './view.js';
import {amounts, number, plural} from './words.js';

/**
 * @typedef {import('./dom.js').Child} Child
 * @typedef {import('./history.js').Change} Change
 * @typedef {Pick<Change, 'at' | 'request_id' | 'global_request_id' | 'caller' | 'action' | 'project_id'> & {roots: {uuid: string, name: string | null}[],
 *   taken: number | null, room: {before: number, after: number} | null}} Taker
 * @typedef {{summary: string | null, takers: Taker[], followed_to: string | null}} Takers
 * @typedef {'broken' | 'tight' | 'unknown' | 'kept'} State
 * @typedef {{name: string, request: string, count: number, state: State, room: import('./flavors.js').Count, slack: number,
 *   keep: boolean, held_hosts: number | null, refusal: string | null, notes: string[], set_at: string, set_by: {user_id: string | null, project_id: string | null}}} Promised
 */

/** The states, the worst first, with their looks.
 * @type {Record<State, string>} */
const STATES = {broken: 'bad', tight: 'warn', unknown: 'warn', kept: 'good'};
const ORDER = Object.keys(STATES);
const PROMISES = 'insight/promises';

/** The promises, the worst first. @param {Promised[]} promises */
function worstFirst(promises) {
  return promises.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state) || one.slack - other.slack);
}

/** The address of a promise. @param {string} name */
export const promiseAddress = (name = '') => address('promises', name);

/** The question about all promises, for other views; null where it is off. @param {View} view @returns {Promised[] | null} */
export function promisesFor(view) {
  // Without permission there are none.
  return store.off('promises') ? null : view.ask(PROMISES, {seconds: 20}).value?.promises ?? null;
}

/** The room for a promise, as words. @param {Promised} promise */
export function roomWords({count, room, slack, held_hosts: held}) {
  const words = `room for ${range(room)} of ${number(count)}`;
  const kept = held === null ? '' : `; withheld from other requests: ${plural(held, 'host')}`;
  return `${words}, ${slack < 0 ? `${number(-slack)} short` : `${number(slack)} to spare`}${kept}`;
}

/** The number of promises in each state, as a sentence. @param {Promised[]} promises */
function stateWords(promises) {
  const count = (/** @type {State} */ state) => promises.filter((one) => one.state === state).length;
  const are = (/** @type {number} */ some) => `${number(some)} ${some === 1 ? 'is' : 'are'}`;
  const [broken, tight, unknown] = [count('broken'), count('tight'), count('unknown')];
  const kept = promises.length - broken - unknown;
  const of = (/** @type {number} */ some) => `${number(some)} of ${plural(promises.length, 'promise')} ${some === 1 ? 'is' : 'are'}`;
  const first = broken ? `${of(broken)} broken`
    : kept < promises.length ? `${of(kept)} kept`
      : promises.length === 1 ? 'The promise is kept' : `All ${plural(promises.length, 'promise')} are kept`;
  return `${first}${tight ? `, ${are(tight)} kept with little to spare` : ''}${unknown ? `, ${are(unknown)} not decided` : ''}.`;
}

/** The amounts of all groups of a request together, and its required traits, as words. @param {string} query */
function requestWords(query) {
  /** @type {Record<string, number>} */
  const sums = {};
  const traits = [];
  for (const [name, value] of new URLSearchParams(query)) {
    const parts = value.split(',');
    if (name.startsWith('required')) traits.push(...parts.filter((part) => !part.startsWith('!')));
    if (!name.startsWith('resources')) continue;
    for (const [resourceClass = '', asked] of parts.map((part) => part.split(':'))) sums[resourceClass] = (sums[resourceClass] ?? 0) + Number(asked);
  }
  return [amounts(sums), ...traits].join(', ');
}

export class PromisesView extends View {
  content() {
    const off = store.off('promises');
    if (store.questions.size === 0) return [h('h1', {}, 'Promises'), h('p', {class: 'quiet'}, 'Asking …')];
    if (off) return [h('h1', {}, 'Promises'), h('p', {class: 'refusal'}, off)];
    return [h('h1', {}, 'Promises'), this.shown(this.ask(PROMISES, {seconds: 20, read: get}), ({promises}) => this.promises(worstFirst(promises)))];
  }

  /** @param {Promised[]} promises @returns {Child} */
  promises(promises) {
    const set = 'openstack placement promise set hana --flavor hana.xl --count 40';
    if (promises.length === 0) {
      return [h('p', {id: 'promises'}, 'There are no promises. A promise names a request and how many more of it must fit at any time; this view shows whether it is kept.'),
        asCommand(set)];
    }
    const named = promises.find(({name}) => name === this.route.object);
    const chosen = named ?? promises[0];
    return [
      h('p', {id: 'promises'}, stateWords(promises), ' A promise states how many more of a request must fit at any time. It reserves nothing; one set with --keep withholds its room from other searches.'),
      this.table(promises, chosen),
      chosen && this.promise(chosen),
      asCommand('openstack placement promise list', ...(chosen ? [`openstack placement promise show ${quoted(chosen.name)}`] : [])),
    ];
  }

  /** @param {Promised[]} promises @param {Promised | undefined} chosen @returns {Child} */
  table(promises, chosen) {
    /** @type {import('./table.js').Column<Promised>[]} */
    const columns = [
      {name: 'Name', value: ({name}) => name, cell: ({name}) => h('a', {href: promiseAddress(name), 'aria-current': name === chosen?.name ? 'true' : null}, name)},
      {name: 'State', value: ({state}) => ORDER.indexOf(state), cell: ({state}) => h('span', {class: `badge ${STATES[state]}`}, state)},
      {name: 'To spare', value: ({slack}) => slack, isNumber: true, cell: ({state, slack}) => h('span', {class: state === 'broken' ? 'alarm' : null}, number(slack))},
      {name: 'Promised', value: ({count}) => count, cell: ({count}) => number(count), isNumber: true},
      {name: 'Room', value: ({room}) => room.at_least, cell: ({room}) => range(room), isNumber: true},
      {name: 'Each asks for', value: ({request}) => requestWords(request), cell: ({request}) => h('a', {href: `#/why?${request}`, title: request}, requestWords(request) || request)},
      {name: 'Set', value: ({set_at: at}) => -Date.parse(at), isTime: true, cell: ({set_at: at, set_by: by}) => [moment(at), by.user_id && ` by ${by.user_id}`]},
    ];
    return sortedTable({
      label: 'Promises of room', columns, rows: promises, keyOf: ({name}) => name, sort: this.route.get('sort', 'State'), order: 'State', shown: promises.length,
      onsort: (sort) => change({sort}), onmore: () => {}, classOf: ({name}) => (name === chosen?.name ? 'chosen-row' : null),
    });
  }

  /** @param {Promised} promise @returns {Child} */
  promise(promise) {
    const {name, request, refusal, notes} = promise;
    return h('section', {'aria-labelledby': 'promise', key: name},
      h('div', {class: 'title'}, h('h2', {id: 'promise'}, name, ': ', roomWords(promise)),
        h('a', {href: address('map', '', [['fit', request]])}, 'Where it fits')),
      refusal && h('p', {class: 'refusal'}, refusal),
      notes.map((note) => h('p', {class: 'quiet'}, note)),
      refusal ? null : this.changes(promise));
  }

  /** The latest changes that took room. @param {Promised} promise @returns {Child} */
  changes({name}) {
    const title = h('h3', {id: 'takers'}, 'Latest changes that took room');
    const off = store.off('history');
    if (off) return [title, h('p', {class: 'quiet'}, off)];
    const asked = this.ask(`${PROMISES}/${encodeURIComponent(name)}/takers`, {seconds: 20, read: get});
    return this.shown(asked, (/** @type {Takers} */ {summary, takers, followed_to: from}) => [
      summary && h('p', {id: 'summary'}, summary),
      title,
      takers.length ? takersTable(takers)
        : h('p', {class: 'quiet', id: 'none'}, from ? ['The history has no change that took its room since ', moment(from), '.'] : 'The history has no changes.'),
    ]);
  }
}

/** @param {Taker[]} takers @returns {Child} */
function takersTable(takers) {
  const unknown = h('span', {class: 'quiet', title: 'The history does not tell.'}, 'unknown');
  return table('Changes that took room', ['When', 'Who', 'What', 'Concerns', 'Took', 'Room left'], takers.map((one) => h('tr', {key: one.request_id},
    h('th', {scope: 'row', class: 'when'}, moment(one.at)),
    h('td', {}, callerOf(one), one.project_id && ` for ${one.project_id}`),
    h('td', {title: one.action}, requestLink(one, doneWords(one.action))),
    h('td', {}, one.roots.map(({uuid, name}, index) => [index ? ', ' : '', name === null ? uuid : h('a', {href: hostAddress(uuid)}, name)])),
    h('td', {class: 'right'}, one.taken === null ? unknown : number(one.taken)),
    h('td', {class: 'right'}, one.room ? number(one.room.after) : unknown))), 4);
}
