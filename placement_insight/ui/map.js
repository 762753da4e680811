// SPDX-License-Identifier: Apache-2.0
// The view of all hosts: a heat map of usage, of the fits of a request, or of the share of a project,
// and a table with the same content.

import {Refused, all} from './api.js';
import {countWords, groupsOf, lengthened, partInUse, shortened, sumsOf} from './cloud.js';
import {byFit, byHolder, byUse, fitByRoot, fitPath, groupWords, heldByRoot, overWords, rootTip, rootWords} from './colouring.js';
import {asCommand, quoted} from './copies.js';
import {classHeading, field, h, say, select, wide} from './dom.js';
import {asNova, flavorFields, queryOf} from './flavors.js';
import {legend, newMap} from './heat_map.js';
import {address, change, hostAddress} from './route.js';
import {store} from './store.js';
import {MORE_ROWS, ROWS, saveButton, sortedTable} from './table.js';
import {View} from './view.js';
import {amount, classLabel, classWord, inOneUnit, number, percent, plural} from './words.js';

/** @typedef {import('./cloud.js').Root} Root */
/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./colouring.js').Colouring} Colouring */

// Number of resource classes with a sum in view.
const CLASSES = 6;
// Milliseconds after the last letter of a trait until the service is asked for it.
const TYPED = 300;
// The key of the group of sharing providers.
const SHARED = 'shared';
// Fewer hosts leave the room to the table.
const FEW = 100;
// Maximum number of selected hosts in the address.
const SELECTED = 100;
/** @type {Record<string, [string, (root: Root, name: string) => boolean]>} */
const SHOWN = {
  all: ['All', () => true],
  over: ['Over capacity', (root) => root.isOver],
  disabled: ['Disabled', (root) => root.isDisabled],
  full: ['90 % used and above', (root, name) => (root.usedPart(name) ?? 0) >= 0.9],
  empty: ['Empty', (root, name) => (root.usedPart(name) ?? (name ? 1 : 0)) === 0],
};

export class MapView extends View {
  constructor() {
    super();
    this.shownRows = ROWS;
    // The address has the beginnings of their uuids.
    this.isResolved = false;
    /** @type {Set<string>} */
    this.selected = new Set();
    this.map = newMap();
  }

  follow() {
    super.follow();
    this.shownRows = ROWS;
  }

  content() {
    const {cloud} = store;
    const off = store.off('providers');
    if (off) return [h('h1', {}, 'Map'), h('p', {class: 'refusal'}, off)];
    if (cloud.isComplete && !this.isResolved) {
      this.isResolved = true;
      this.selected = new Set(lengthened(this.route.get('hosts'), cloud));
    }
    const roots = this.filtered();
    const colouring = this.colouring();
    if (cloud.isComplete && cloud.roots.length === 0) {
      return [h('h1', {}, 'Map'), h('p', {}, 'There are no resource providers in this cloud yet. Hosts appear here when nova-compute has started on them.')];
    }
    this.showMap(roots, colouring);
    const chosen = roots.filter((root) => this.selected.has(root.uuid));
    return [
      h('h1', {}, 'Map'), this.controls(), this.legend(roots, colouring),
      h('div', {class: roots.length < FEW ? 'beside few' : 'beside'}, this.map, this.list(chosen.length ? chosen : roots, chosen.length > 0, colouring)),
      this.copies(),
    ];
  }

  copies() {
    const [query, project, zone, trait] = [queryOf(this.route.get('fit')), ...['project', 'zone', 'trait'].map((name) => this.route.get(name))];
    return asCommand(query ? `openstack placement capacity list --query ${quoted(asNova(query))}`
      : project ? `openstack placement consumer list --project ${quoted(project)}`
        : ['openstack resource provider list', zone && `--member-of ${quoted(zone)}`, trait && `--required ${quoted(trait)}`].filter(Boolean).join(' '));
  }

  /** @returns {Root[]} */
  filtered() {
    const having = this.having();
    if (having?.value === null) return [];
    const words = this.route.get('q').toLowerCase().split(/\s+/).filter(Boolean);
    const [, isShown] = SHOWN[this.route.get('show', 'all')] ?? ['', () => true];
    const [name, zone] = [this.route.get('class'), this.route.get('zone')];
    return store.cloud.roots.filter((root) => words.every((word) => root.searched.includes(word)) && isShown(root, name)
      && (having?.value.has(root.uuid) ?? true) && (zone === '' || root.aggregates.includes(zone)));
  }

  /** The roots of trees with a provider that has the trait in the address; null without a trait. */
  having() {
    const trait = this.route.get('trait');
    return trait === '' ? null : this.ask(`insight/providers?required=${encodeURIComponent(trait)}`, {read: rootsOf});
  }

  /** The meaning of the colours. @returns {Colouring} */
  colouring() {
    const query = queryOf(this.route.get('fit'));
    if (query) return byFit(this.ask(fitPath(query), {read: fitByRoot}));
    const [project, name] = [this.route.get('project'), this.route.get('class')];
    if (!project) return byUse(name);
    return byHolder(this.ask(`insight/consumers?project_id=${encodeURIComponent(project)}`, {read: heldByRoot}), name);
  }

  controls() {
    const {cloud} = store;
    /** @param {string} name */
    const set = (name) => (/** @type {string} */ value) => change({[name]: value});
    const classes = cloud.sums.map((sum) => /** @type {[string, string]} */ ([sum.name, classLabel(sum.name)]));
    const zones = store.zoneOptions(this.route.get('zone'));
    const project = this.route.get('project');
    return h('div', {class: 'controls', role: 'search'},
      field('Name or uuid', typed('compute-17', this.route.get('q'), (text) => change({q: text}, true)), 'search'),
      field('Resource class', select([['', 'Fullest of each host'], ...classes], this.route.get('class'), set('class')), 'class'),
      field('Zone', select([['', 'All, by aggregate'], ...zones], this.route.get('zone'), set('zone')), 'zone'),
      field('Show', select(Object.entries(SHOWN).map(([key, [words]]) => [key, words]), this.route.get('show', 'all'),
        (value) => change({show: value === 'all' ? '' : value})), 'shown'),
      field('With trait', typed('HW_CPU_X86_AVX512F', this.route.get('trait'), tellTrait), 'trait'),
      flavorFields(this.route.get('fit'), (fit) => change({fit, project: ''})),
      project && h('p', {class: 'chosen'}, `held by ${store.names.projects.get(project) ?? project} `,
        h('button', {type: 'button', class: 'small', onclick: () => change({project: ''})}, 'Clear')));
  }

  /** @param {Root[]} roots @param {Colouring} colouring */
  legend(roots, {marks, answer}) {
    const {cloud} = store;
    const over = this.route.get('show') !== 'over' && cloud.over;
    return [
      h('div', {class: 'legend'},
        h('p', {class: 'count', role: 'status'}, h('span', {}, this.counted(roots)), over ? h('button', {
          type: 'button', class: 'attention', onclick: () => change({show: 'over'}),
        }, `${countWords(cloud.roots.filter((root) => root.isOver))} over capacity`) : null),
        legend(marks)),
      answer && this.shown(answer, () => null),
    ];
  }

  /** The number of roots, as words.
   * @param {Root[]} roots
   */
  counted(roots) {
    const {cloud} = store;
    if (this.having()?.value === null) return 'Asking for the trait …';
    if (!cloud.isComplete) return cloud.roots.length ? `${countWords(roots)} so far …` : store.failure ? '' : 'Reading the cloud …';
    if (roots.length < cloud.roots.length) return countWords(roots).replace(/^([\d,]+) hosts?/, `$1 of ${plural(cloud.hosts, 'host')}`);
    return `${countWords(roots)}${cloud.disabled ? `, ${number(cloud.disabled)} disabled` : ''}`;
  }

  /** @param {Root[]} roots @param {Colouring} colouring */
  showMap(roots, colouring) {
    const zone = this.route.get('zone');
    const hosts = roots.filter((root) => !root.isSharing);
    const shared = roots.filter((root) => root.isSharing);
    const groups = [
      ...(zone ? [{key: zone, label: store.labels.get(zone) ?? zone, roots: hosts}] : groupsOf(hosts, store.zones)),
      ...(shared.length ? [{key: SHARED, label: 'Shared with hosts', roots: shared}] : []),
    ].map((group) => ({...group, words: groupWords(group.roots, colouring)}));
    this.map.show(groups, this.selected, {
      look: colouring.look,
      describe: (root) => rootTip(root, colouring),
      words: (root) => rootWords(root, colouring),
      open: (root) => { location.hash = hostAddress(root.uuid); },
      select: (chosen) => this.select(chosen),
      enter: (key) => { if (key !== SHARED) change({zone: zone ? '' : key}); },
      announce: say,
    });
  }

  /** @param {Root[]} roots */
  select(roots) {
    this.selected = new Set(roots.map((root) => root.uuid));
    say(`${countWords(roots)} selected`);
    this.isResolved = true;
    change({hosts: roots.length <= SELECTED ? shortened([...this.selected], store.cloud) : ''}, true);
    this.update();
  }

  /** The table, and the sums above it.
   * @param {Root[]} roots @param {boolean} isSelection @param {Colouring} colouring
   * @returns {Child}
   */
  list(roots, isSelection, colouring) {
    const name = this.route.get('class');
    /** @type {import('./table.js').Column<Root>[]} */
    const columns = [
      {name: 'Host', value: (root) => root.name, cell: (root) => [
        h('a', {href: hostAddress(root.uuid)}, root.name), root.isDisabled ? ' (disabled)' : root.isSharing ? ' (shared)' : '',
        root.isOver ? h('div', {class: 'alarm'}, overWords(root)) : null]},
      {name: colouring.words, isNumber: true, value: colouring.value, cell: colouring.cell},
      ...store.cloud.sums.filter((sum) => (name ? sum.name === name : true)).slice(0, name ? 1 : 3).map((sum) => ({
        name: `Free ${sum.name}`, label: `Free ${classWord(sum.name)}`, title: sum.name, isNumber: true, value: (/** @type {Root} */ root) => root.free(sum.name),
        cell: (/** @type {Root} */ root) => (root.classes.has(sum.name) ? amount(sum.name, root.free(sum.name)) : '–')})),
    ];
    const isRanked = this.route.get('show') || this.route.get('fit') || this.route.get('project');
    return h('section', {class: 'hosts', 'aria-label': 'Hosts'},
      h('div', {class: 'title'}, h('h2', {}, isSelection ? `${countWords(roots)} selected` : 'Hosts'),
        isSelection ? h('button', {type: 'button', class: 'small', onclick: () => this.select([])}, 'Select none') : null,
        isSelection && roots.length <= SELECTED && h('a', {class: 'button', href: address('what-if', '', [['hosts', shortened([...this.selected], store.cloud)]])}, 'What if?'),
        saveButton('hosts.csv', columns, () => roots)),
      this.sums(roots),
      sortedTable({
        label: 'Hosts as a table', columns, rows: roots, order: 'Host', keyOf: (root) => root.uuid, shown: this.shownRows,
        sort: this.route.get('sort', isRanked ? `-${colouring.words}` : 'Host'), onsort: (sort) => change({sort}),
        onmore: () => { this.shownRows += MORE_ROWS; this.update(); },
      }));
  }

  /** Sums of roots by class.
   * @param {Root[]} roots
   */
  sums(roots) {
    // Partial sums would look like those of the cloud.
    if (!store.cloud.isComplete) return null;
    const tiles = sumsOf(roots).map((sum) => {
      const part = partInUse(sum) ?? NaN;
      return h('li', {class: 'tile', key: sum.name},
        h('span', {class: 'tile-name'}, classHeading(sum.name)), h('strong', {}, percent(part)),
        h('span', {class: 'track'}, h('span', wide(part > 1 ? 'fill over' : 'fill', part || 0))),
        h('span', {class: 'quiet'}, inOneUnit(sum.name, [sum.used, sum.capacity - sum.disabled]).join(' of ')),
        sum.disabled ? h('span', {class: 'quiet'}, `${amount(sum.name, sum.disabled)} more free on disabled hosts`) : null);
    });
    return [
      h('ul', {class: 'tiles', 'aria-label': 'Sums of these hosts'}, tiles.slice(0, CLASSES)),
      tiles.length > CLASSES ? h('details', {}, h('summary', {}, `${number(tiles.length - CLASSES)} more resource classes`),
        h('ul', {class: 'tiles', 'aria-label': 'Sums of the others'}, tiles.slice(CLASSES))) : null,
    ];
  }
}

/** The roots of the providers of a list; empty if the service does not know the trait.
 * @param {string} path @param {AbortSignal} signal
 * @returns {Promise<Set<string>>}
 */
async function rootsOf(path, signal) {
  try {
    return new Set((await all(path, 'providers', signal)).map((one) => one.root_provider_uuid));
  } catch (error) {
    if (error instanceof Refused && error.status === 400) return new Set();
    throw error;
  }
}

/** @type {ReturnType<typeof setTimeout>} */
let pausing;

/** Put a trait into the address when nothing more was typed for some milliseconds. @param {string} text */
function tellTrait(text) {
  clearTimeout(pausing);
  pausing = setTimeout(() => change({trait: text.trim()}, true), TYPED);
}

/** @param {string} placeholder @param {string} value @param {(text: string) => void} ontext */
function typed(placeholder, value, ontext) {
  return h('input', {
    type: 'search', value, placeholder, autocomplete: 'off', spellcheck: 'false',
    oninput: (/** @type {Event} */ event) => ontext(/** @type {HTMLInputElement} */ (event.target).value),
  });
}
