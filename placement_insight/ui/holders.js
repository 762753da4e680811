// SPDX-License-Identifier: Apache-2.0
// The view of holders: projects, users, types and ages, and the consumers of one of them.

import {all, pages} from './api.js';
import {asCommand, copyable, quoted} from './copies.js';
import {consumerWords, projectLink, projectName, serverName} from './consumers.js';
import {field, h, select, wide} from './dom.js';
import {address, change, hostAddress} from './route.js';
import {store} from './store.js';
import {MORE_ROWS, ROWS, saveButton, sortedTable} from './table.js';
import {View} from './view.js';
import {amount, amounts, byClass, classLabel, minute, number, plural} from './words.js';

/**
 * @typedef {import('./consumers.js').Consumer} Consumer
 * @typedef {import('./dom.js').Child} Child
 * @typedef {{id: string, name: string, count: number, resources: Record<string, number>}} Sum
 */

const CONSUMERS = /** @type {[string, string]} */ (['', 'Consumers']);
const BY = /** @type {[string, string][]} */ ([['project', 'Projects'], ['user', 'Users'], ['type', 'Types']]);
/** @type {Record<string, string>} */
const MEMBERS = {project: 'project_id', user: 'user_id', type: 'consumer_type'};
const AGES = /** @type {[string, string][]} */ ([
  ['', 'of any age'], ['new1', 'created in the last hour'], ['new24', 'created in the last day'], ['old7', 'older than a week'],
  ['old30', 'older than a month'], ['old90', 'older than 3 months'], ['old365', 'older than a year'],
]);
// Maximum number of consumers that are read, and of classes with a column.
const MAX_CONSUMERS = 5000;
const CLASSES = 6;

/** @param {string} path @param {AbortSignal} signal */
const allUsages = (path, signal) => all(path, 'usages', signal);

/** @param {string} path @param {AbortSignal} signal @returns {Promise<Consumer[]>} */
async function someConsumers(path, signal) {
  const rows = [];
  for await (const page of pages(path, signal)) {
    rows.push(...page.consumers);
    if (rows.length >= MAX_CONSUMERS) break;
  }
  return rows;
}

export class HoldersView extends View {
  constructor() {
    super();
    this.openedAt = Date.now();
    this.shownRows = ROWS;
  }

  content() {
    const off = store.off('usages');
    if (off) return [h('h1', {}, 'Holders'), h('p', {class: 'refusal'}, off)];
    const chosen = this.chosen();
    return [
      h('div', {class: 'title'}, h('h1', {}, chosen.length ? this.words(chosen) : 'Holders'), this.route.get('project') && copyable(this.route.get('project'))),
      this.controls(),
      chosen.length ? this.consumers(chosen) : this.sums(),
      this.copies(chosen),
    ];
  }

  /** @param {[string, string][]} chosen */
  copies(chosen) {
    if (chosen.length === 0) return asCommand(`openstack placement usage list --by ${quoted(this.route.get('by', 'project'))}`);
    const options = chosen.map(([name, value]) => (name !== 'age' ? `--${name} ${quoted(value)}`
      : value.startsWith('old') ? `--older-than ${Number(value.slice(3))}d` : `--newer-than ${Number(value.slice(3))}h`));
    return asCommand(`openstack placement consumer list ${options.join(' ')}`);
  }

  /** The filters in the address: names of parameters and values.
   * @returns {[string, string][]}
   */
  chosen() {
    return ['project', 'user', 'type', 'age'].flatMap((name) => {
      const value = this.route.get(name);
      return value ? [/** @type {[string, string]} */ ([name, value])] : [];
    });
  }

  /** @param {[string, string][]} chosen */
  words(chosen) {
    return `Consumers ${chosen.map(([name, value]) => (name === 'age' ? AGES.find(([one]) => one === value)?.[1] ?? value
      : `of ${name} ${name === 'project' ? projectName(value) : value}`)).join(', ')}`;
  }

  /** @returns {Child} */
  controls() {
    const isChosen = this.chosen().length > 0;
    return h('div', {class: 'controls'},
      field('Who', select(isChosen ? [CONSUMERS, ...BY] : BY, isChosen ? '' : this.route.get('by', 'project'), (by) => change({by, project: '', user: '', type: '', age: '', sort: ''})), 'by'),
      field('Consumers', select(AGES, this.route.get('age'), (age) => change({age})), 'age'),
      isChosen && h('a', {class: 'button', href: address('holders', '', [['by', this.route.get('by', 'project')]])}, 'All holders'));
  }

  /** @returns {Child} */
  sums() {
    const by = this.route.get('by', 'project');
    const member = MEMBERS[by] ?? 'project_id';
    const answer = this.ask(`insight/usages?by=${by in MEMBERS ? by : 'project'}`, {read: allUsages});
    return this.shown(answer, (usages) => {
      /** @type {Sum[]} */
      const rows = usages.map((/** @type {any} */ one) => ({
        id: one[member], name: by === 'project' ? projectName(one[member]) : one[member], count: one.consumer_count, resources: one.resources,
      }));
      if (rows.length === 0) return h('p', {}, 'There are no allocations.');
      const columns = this.columns(rows, by);
      return [
        h('div', {class: 'title'}, h('h2', {id: 'sums'}, plural(rows.length, by)), saveButton(`${by}s.csv`, columns, () => rows)),
        this.table(`Sums by ${by}`, columns, rows, ({id}) => id, columns[2] ? `-${columns[2].name}` : 'Consumers'),
      ];
    });
  }

  /** @param {Sum[]} rows @param {string} by @returns {import('./table.js').Column<Sum>[]} */
  columns(rows, by) {
    /** @type {Map<string, number>} */
    const most = new Map();
    for (const {resources} of rows) {
      for (const [name, used] of Object.entries(resources)) most.set(name, Math.max(most.get(name) ?? 0, used));
    }
    const holders = (/** @type {string} */ name) => rows.filter((one) => one.resources[name]).length;
    const classes = [...most.keys()].sort((a, b) => holders(b) - holders(a) || byClass(a, b)).slice(0, CLASSES).sort(byClass);
    return [
      {name: BY.find(([one]) => one === by)?.[1] ?? 'Project', value: ({name}) => name, cell: ({id, name}) => h('a', {href: this.route.with({[by]: id, sort: ''})}, name)},
      {name: 'Consumers', value: ({count}) => count, cell: ({count}) => number(count), isNumber: true},
      ...classes.map((name) => ({
        name, label: classLabel(name), title: name, isNumber: true, value: (/** @type {Sum} */ {resources}) => resources[name] ?? 0,
        cell: (/** @type {Sum} */ {resources}) => (resources[name] ? h('div', {class: 'share'}, amount(name, resources[name]),
          h('span', {class: 'track', 'aria-hidden': 'true'}, h('span', wide('fill', resources[name] / (most.get(name) ?? 1))))) : '–'),
      })),
    ];
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

  /** @param {[string, string][]} chosen @returns {Child} */
  consumers(chosen) {
    const query = chosen.map(([name, value]) => {
      if (name !== 'age') return `${name === 'type' ? 'type' : MEMBERS[name]}=${encodeURIComponent(value)}`;
      const hours = value.startsWith('old') ? Number(value.slice(3)) * 24 : Number(value.slice(3));
      const time = new Date(this.openedAt - hours * 3600_000).toISOString().slice(0, 19);
      return `${value.startsWith('old') ? 'older_than' : 'newer_than'}=${time}Z`;
    }).join('&');
    return this.shown(this.ask(`insight/consumers?${query}`, {read: someConsumers}), (/** @type {Consumer[]} */ rows) => {
      if (rows.length === 0) return h('p', {id: 'held'}, 'There are none.');
      const columns = this.consumerColumns();
      return [
        this.tiles(rows),
        h('div', {class: 'title'}, h('h2', {id: 'held'}, rows.length >= MAX_CONSUMERS ? `The first ${number(rows.length)} consumers` : plural(rows.length, 'consumer')),
          saveButton('consumers.csv', columns, () => rows)),
        this.table('Consumers', columns, rows, ({uuid}) => uuid, 'Since (UTC)'),
      ];
    });
  }

  /** The sums of the allocations of these consumers. @param {Consumer[]} rows @returns {Child} */
  tiles(rows) {
    /** @type {Map<string, number>} */
    const sums = new Map();
    const roots = new Set();
    for (const {allocations} of rows) {
      for (const [uuid, {resources}] of Object.entries(allocations)) {
        const root = store.rootOf(uuid);
        // A sharing provider is no host.
        if (!store.cloud.byUuid.get(root)?.isSharing) roots.add(root);
        for (const [name, used] of Object.entries(resources)) sums.set(name, (sums.get(name) ?? 0) + used);
      }
    }
    return h('ul', {class: 'tiles'},
      tile('Hosts', number(roots.size)),
      [...sums].sort((a, b) => byClass(a[0], b[0])).slice(0, CLASSES).map(([name, used]) => tile(classLabel(name), amount(name, used))));
  }

  /** @returns {import('./table.js').Column<Consumer>[]} */
  consumerColumns() {
    return [
      {name: 'Consumer', value: ({uuid}) => serverName(uuid) || uuid, cell: ({uuid}) => consumerWords(uuid)},
      {name: 'Where', value: (one) => this.places(one).map(({name}) => name).join(' '), cell: (one) => this.places(one).map(({uuid, name}) =>
        h('a', {class: 'amount', key: uuid, href: `${hostAddress(uuid)}?consumer=${one.uuid}`}, name))},
      {name: 'Project', value: (one) => projectName(one.project_id), cell: (one) => projectLink(one.project_id)},
      {name: 'User', value: (one) => one.user_id, cell: (one) => h('a', {href: address('holders', '', [['user', one.user_id]])}, one.user_id)},
      {name: 'Type', value: (one) => one.consumer_type, cell: (one) => h('a', {href: address('holders', '', [['type', one.consumer_type]])}, one.consumer_type)},
      {name: 'Since (UTC)', isTime: true, value: (one) => minute(one.created_at)},
      {name: 'Holds', value: (one) => amounts(heldBy(one)), cell: (one) => amounts(heldBy(one))},
    ];
  }

  /** The hosts with allocations of a consumer. @param {Consumer} consumer */
  places({allocations}) {
    const roots = new Set(Object.keys(allocations).map((uuid) => store.rootOf(uuid)));
    return [...roots].map((uuid) => ({uuid, name: store.cloud.byUuid.get(uuid)?.name ?? uuid}));
  }
}

/** @param {Consumer} consumer */
function heldBy({allocations}) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const {resources} of Object.values(allocations)) {
    for (const [name, used] of Object.entries(resources)) sums[name] = (sums[name] ?? 0) + used;
  }
  return sums;
}

/** @param {string} name @param {string} words */
function tile(name, words) {
  return h('li', {class: 'tile', key: name}, h('span', {class: 'tile-name'}, name), h('strong', {}, words));
}
