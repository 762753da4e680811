// SPDX-License-Identifier: Apache-2.0
// The view of what has changed: minute by minute, by action and caller.

import {get, pages} from './api.js';
import {field, h, select} from './dom.js';
import {callerOf, historyRows, subjectLink} from './history.js';
import {UUID, change, hostAddress} from './route.js';
import {store} from './store.js';
import {MORE_ROWS, ROWS, saveButton, sortedTable} from './table.js';
import {View} from './view.js';
import {byName, minute, number, plural} from './words.js';

/**
 * @typedef {import('./history.js').Change} Change
 * @typedef {import('./told.js').Told} Told
 * @typedef {import('./dom.js').Child} Child
 * @typedef {{minute: string, action: string, caller: string, changes: Change[]}} Row
 */

// So many rows of the history are read at most.
const MAX_ROWS = 5000;
const HOURS = /** @type {[string, string][]} */ ([['1', 'last hour'], ['6', 'last 6 hours'], ['24', 'last day'], ['168', 'last week']]);
// How many providers and consumers are named in a row.
const NAMED = 4;

/** @param {string} path @param {AbortSignal} signal */
async function newest(path, signal) {
  /** @type {Change[]} */
  const rows = [];
  for await (const page of pages(path, signal)) {
    rows.push(...page.history);
    if (rows.length >= MAX_ROWS) break;
  }
  return rows;
}

/** A provider that changed, or was deleted: of that the service knows the uuid alone.
 * @typedef {{uuid: string, name: string, root_provider_uuid: string | null}} Changed
 */

/** The providers that have changed since a moment, those first that were deleted; null where the service does not know them all.
 * @param {string} path @param {AbortSignal} signal
 */
async function changedSince(path, signal) {
  /** @type {Map<string, Changed>} */
  const deleted = new Map();
  /** @type {Map<string, Changed>} */
  const changed = new Map();
  for await (const page of pages(path, signal)) {
    if (!page.complete) return {rows: null};
    // A later page may have it again.
    for (const one of page.providers) {
      deleted.delete(one.uuid);
      changed.set(one.uuid, one);
    }
    for (const uuid of page.deleted) {
      changed.delete(uuid);
      deleted.set(uuid, {uuid, name: uuid, root_provider_uuid: null});
    }
    if (deleted.size + changed.size >= MAX_ROWS) break;
  }
  return {rows: [...deleted.values(), ...[...changed.values()].sort((a, b) => byName(a.name, b.name))]};
}

/** Tell if a text is the uuid of a provider. @param {string} text */
async function isProvider(text) {
  return UUID.test(text) && (await get(`insight/providers?uuid=${text}`)).providers.length > 0;
}

export class ChangesView extends View {
  constructor() {
    super();
    this.openedAt = Date.now();
    this.shownRows = ROWS;
  }

  content() {
    const off = store.off('history');
    if (store.questions.size === 0) return [h('h1', {}, 'Changes'), h('p', {class: 'quiet'}, 'Asking …')];
    return [h('h1', {}, 'Changes'), off ? [
      h('p', {class: 'refusal'}, `${off} An operator who switches it on will see here who changed what. Until then, this is what has changed since this page was opened:`),
      this.told(),
      this.hourBefore(),
    ] : this.history()];
  }

  /** The providers that changed in the hour before this view was opened, of which the feed of changes knows no more.
   * @returns {Child}
   */
  hourBefore() {
    const since = new Date(this.openedAt - 3600_000).toISOString().slice(0, 19);
    const answer = this.ask(`insight/changes?since=${since}Z`, {seconds: 3600, read: changedSince});
    return this.shown(answer, (/** @type {{rows: Changed[] | null}} */ {rows}) => {
      if (rows === null) return h('p', {id: 'hour'}, 'The service does not know all that changed in the hour before.');
      const most = rows.length >= MAX_ROWS ? 'at least ' : '';
      const title = `In the hour before, ${most}${plural(rows.length, 'provider')} changed`;
      /** @type {import('./table.js').Column<Changed>[]} */
      const columns = [
        {name: 'Provider', value: ({name}) => name, cell: ({uuid, name}) => h('a', {href: hostAddress(uuid)}, name)},
        {name: 'Host', value: ({root_provider_uuid: root}) => (root === null ? 'deleted' : store.cloud.byUuid.get(root)?.name ?? '')},
      ];
      return h('section', {'aria-labelledby': 'hour'},
        h('div', {class: 'title'}, h('h2', {id: 'hour'}, title), saveButton('changed.csv', columns, () => rows)),
        rows.length > 0 && this.table('Providers that changed in the hour before', columns, rows, (one) => one.uuid, ''));
    });
  }

  /** @returns {Child} */
  told() {
    if (store.told.length === 0) return h('p', {class: 'quiet', id: 'told'}, 'Nothing yet.');
    /** @type {import('./table.js').Column<Told>[]} */
    const columns = [
      {name: 'Time', value: ({at}) => -at, cell: ({at}) => new Date(at).toTimeString().slice(0, 8)},
      {name: 'Host', value: ({name}) => name, cell: ({uuid, name}) => h('a', {href: hostAddress(uuid)}, name)},
      {name: 'What', value: ({words}) => words},
    ];
    return h('section', {'aria-labelledby': 'told'},
      h('div', {class: 'title'}, h('h2', {id: 'told'}, plural(store.told.length, 'change')), saveButton('changes.csv', columns, () => store.told)),
      this.table('Changes since the page was opened', columns, store.told, (one) => `${one.at} ${one.uuid}`, 'Time'));
  }

  /** @template T @param {string} label @param {import('./table.js').Column<T>[]} columns @param {T[]} rows
   * @param {(row: T) => string} keyOf @param {string} sort
   * @returns {Child}
   */
  table(label, columns, rows, keyOf, sort) {
    return sortedTable({
      label, columns, rows, keyOf, sort: this.route.get('sort', sort), shown: this.shownRows,
      onsort: (chosen) => change({sort: chosen}), onmore: () => { this.shownRows += MORE_ROWS; this.update(); },
    });
  }

  /** @returns {Child} */
  history() {
    const [name, id] = this.about();
    const answer = this.ask(this.path(name, id), {seconds: 3, read: newest});
    return [
      this.controls(name, id),
      this.shown(answer, (/** @type {Change[]} */ rows) => {
        if (rows.length === 0) return h('p', {id: 'minutes'}, id ? 'Nothing has changed of this.' : 'Nothing has changed in this time.');
        const cut = rows.length >= MAX_ROWS ? `The last ${number(rows.length)} rows. ` : '';
        return id ? [h('h2', {id: 'minutes'}, plural(rows.length, 'row')), cut, historyRows(rows.slice(0, 500))] : [cut, this.minutes(rows)];
      }),
    ];
  }

  /** What the changes are asked for of: the name of a parameter, and an id.
   * @returns {[string, string]}
   */
  about() {
    for (const name of ['provider', 'consumer', 'request']) {
      const id = this.route.get(name);
      if (id) return [name, id];
    }
    return ['', ''];
  }

  /** @param {string} name @param {string} id */
  path(name, id) {
    if (name === 'request') return `insight/history?${this.route.get('of') === 'service' ? 'request_id' : 'global_request_id'}=${id}`;
    if (name) return `insight/history?${name}=${id}`;
    const since = new Date(this.openedAt - Number(this.route.get('hours', '1')) * 3600_000);
    return `insight/history?since=${since.toISOString().slice(0, 19)}Z`;
  }

  /** @param {string} name @param {string} id @returns {Child} */
  controls(name, id) {
    return h('div', {class: 'controls'},
      field('Time', select(HOURS, this.route.get('hours', '1'), (hours) => change({hours, provider: '', consumer: '', request: ''})), 'hours'),
      field('Of a host, a server or a request', h('input', {
        type: 'search', value: id, placeholder: 'name, uuid or req-…', autocomplete: 'off', spellcheck: 'false',
        onchange: async (/** @type {Event} */ event) => {
          const text = /** @type {HTMLInputElement} */ (event.target).value.trim();
          const known = store.cloud.roots.find((one) => one.name === text)?.uuid;
          const of = text.startsWith('req-') ? 'request' : known || await isProvider(text) ? 'provider' : 'consumer';
          change({provider: '', consumer: '', request: '', of: '', ...(known || UUID.test(text) || of === 'request' ? {[of]: known ?? text} : {})});
        },
      }), 'of'),
      name === 'request' && h('label', {class: 'check'}, h('input', {
        type: 'checkbox', checked: this.route.get('of') === 'service',
        onchange: (/** @type {Event} */ event) => change({of: /** @type {HTMLInputElement} */ (event.target).checked ? 'service' : ''}),
      }), 'an id of this service, not of the client'));
  }

  /** @param {Change[]} changes @returns {Child} */
  minutes(changes) {
    /** @type {Map<string, Row>} */
    const rows = new Map();
    for (const one of changes) {
      const key = `${minute(one.at)} ${one.action} ${callerOf(one)}`;
      const row = rows.get(key) ?? {minute: minute(one.at), action: one.action, caller: callerOf(one), changes: []};
      row.changes.push(one);
      rows.set(key, row);
    }
    /** @type {import('./table.js').Column<Row>[]} */
    const columns = [
      {name: 'Minute (UTC)', value: (row) => row.minute},
      {name: 'Action', value: ({action}) => action},
      {name: 'Caller', value: ({caller}) => caller},
      {name: 'Requests', value: (row) => new Set(row.changes.map((one) => one.request_id)).size, isNumber: true},
      {name: 'Of', value: (row) => row.changes.length, cell: ({changes: of}) => [
        of.slice(0, NAMED).map((one, index) => [index ? ', ' : '', subjectLink(one)]), of.length > NAMED && ` and ${number(of.length - NAMED)} more`]},
    ];
    const found = [...rows.values()];
    return [
      h('h2', {id: 'minutes'}, plural(changes.length, 'row'), ' of ', plural(found.length, 'kind of change', 'kinds of change')),
      this.table('Changes by minute, action and caller', columns, found, (row) => `${row.minute} ${row.action} ${row.caller}`, '-Minute (UTC)'),
      saveButton('changes.csv', columns, () => found),
    ];
  }
}
