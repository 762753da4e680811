// SPDX-License-Identifier: Apache-2.0
// The view of changes, minute by minute, with their users.

import {get, pages} from './api.js';
import {asCommand, copyable, quoted} from './copies.js';
import {field, h, select} from './dom.js';
import {MAX_ROWS, callerOf, doneWords, historyRows, newest, outcome, statesBefore, subjectLink} from './history.js';
import {UUID, change, hostAddress} from './route.js';
import {store} from './store.js';
import {MORE_ROWS, ROWS, saveButton, sortedTable} from './table.js';
import {View} from './view.js';
import {byName, clock, minute, number, plural} from './words.js';

/**
 * @typedef {import('./history.js').Change} Change
 * @typedef {import('./observed.js').Observed} Observed
 * @typedef {import('./dom.js').Child} Child
 * @typedef {{minute: string, action: string, caller: string, changes: Change[]}} Row
 */

const HOURS = /** @type {[string, string][]} */ ([['1', 'last hour'], ['6', 'last 6 hours'], ['24', 'last day'], ['168', 'last week']]);
// Maximum number of names in a row.
const NAMED = 4;

/** A provider that changed, or was deleted; of a deleted one the service knows only the uuid.
 * @typedef {{uuid: string, name: string, root_provider_uuid: string | null}} Changed
 */

/** The providers that have changed since a moment, deleted ones first; null where the service does not know them all.
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

/** True if a text is the uuid of a provider. @param {string} text */
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
    if (store.off('changes')) return [h('h1', {}, 'Changes'), h('p', {class: 'refusal'}, store.off('changes'))];
    return [h('h1', {}, 'Changes'), off ? [
      h('p', {class: 'refusal'}, `${off} When it is enabled, this view shows each change with its user. Until then, it shows the changes since this page was opened:`),
      this.observed(),
      this.hourBefore(),
      asCommand('openstack placement change list --since 1h'),
    ] : [this.history(), this.copies()]];
  }

  /** The providers that changed in the hour before this view was opened; the feed of changes has no more of them.
   * @returns {Child}
   */
  hourBefore() {
    const since = new Date(this.openedAt - 3600_000).toISOString().slice(0, 19);
    const answer = this.ask(`insight/changes?since=${since}Z`, {seconds: 3600, read: changedSince});
    return this.shown(answer, (/** @type {{rows: Changed[] | null}} */ {rows}) => {
      if (rows === null) return h('p', {id: 'hour'}, 'The service no longer has all changes of the hour before.');
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
  observed() {
    if (store.observed.length === 0) return h('p', {class: 'quiet', id: 'observed'}, 'Nothing yet.');
    /** @type {import('./table.js').Column<Observed>[]} */
    const columns = [
      {name: 'Time (UTC)', value: ({at}) => -at, isTime: true, cell: ({at}) => clock(at)},
      {name: 'Host', value: ({name}) => name, cell: ({uuid, name}) => h('a', {href: hostAddress(uuid)}, name)},
      {name: 'What', value: ({words}) => words},
    ];
    return h('section', {'aria-labelledby': 'observed'},
      h('div', {class: 'title'}, h('h2', {id: 'observed'}, plural(store.observed.length, 'change')), saveButton('changes.csv', columns, () => store.observed)),
      this.table('Changes since the page was opened', columns, store.observed, (one) => `${one.at} ${one.uuid}`, 'Time (UTC)'));
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
      id && h('p', {}, {provider: 'Provider ', consumer: 'Consumer ', request: 'Request '}[name], copyable(id)),
      this.controls(name, id),
      this.shown(answer, (/** @type {Change[]} */ rows) => {
        if (rows.length === 0) return h('p', {id: 'minutes'}, id ? 'No changes found for this id.' : 'No changes in this period.');
        const cut = rows.length >= MAX_ROWS ? `The last ${number(rows.length)} rows. ` : '';
        return id ? [h('h2', {id: 'minutes'}, plural(rows.length, 'row')), cut, historyRows(rows.slice(0, 500))] : [cut, this.minutes(rows)];
      }),
    ];
  }

  copies() {
    const [name, id] = this.about();
    const option = name === 'request' && this.route.get('of') === 'service' ? 'service-request' : name;
    return asCommand(`openstack placement history list ${id ? `--${option} ${quoted(id)}` : `--since ${quoted(`${this.route.get('hours', '1')}h`)}`}`);
  }

  /** The filter of the changes: the name of a parameter, and an id.
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
      }), 'request id of this service, not the global one'));
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
    const before = statesBefore(changes);
    /** @param {Row} row */
    const what = ({action, changes: of}) => {
      // A row of a single provider shows its state too.
      const [only, ...others] = of.filter(({kind}) => kind === 'provider');
      const words = only && others.length === 0 && of.length === 1 ? outcome(only, before.get(only)) : '';
      return [doneWords(action), words].filter(Boolean).join(': ');
    };
    /** @type {import('./table.js').Column<Row>[]} */
    const columns = [
      {name: 'Time (UTC)', isTime: true, value: (row) => row.minute},
      {name: 'What', value: what, cell: (row) => h('span', {title: row.action}, what(row))},
      {name: 'Who', value: ({caller}) => caller},
      {name: 'Requests', value: (row) => new Set(row.changes.map((one) => one.request_id)).size, isNumber: true},
      {name: 'Concerns', value: (row) => row.changes.length, cell: ({changes: of}) => [
        of.slice(0, NAMED).map((one, index) => [index ? ', ' : '', subjectLink(one)]), of.length > NAMED && ` and ${number(of.length - NAMED)} more`]},
    ];
    const found = [...rows.values()];
    return [
      h('h2', {id: 'minutes'}, plural(changes.length, 'row'), ' of ', plural(found.length, 'kind of change', 'kinds of change')),
      this.table('Changes by time, what and who', columns, found, (row) => `${row.minute} ${row.action} ${row.caller}`, '-Time (UTC)'),
      saveButton('changes.csv', columns, () => found),
    ];
  }
}
