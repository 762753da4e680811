// SPDX-License-Identifier: Apache-2.0
// The first view: problems, the usage of zones and what still fits there, and the largest holders.

import {all} from './api.js';
import {groupsOf, partInUse, shortened, sumsOf} from './cloud.js';
import {byFit, byUse, fitByRoot, fitPath, groupWords, rootTip, rootWords} from './colouring.js';
import {asCommand, quoted} from './copies.js';
import {classHeading, h, moment, say, wide} from './dom.js';
import {VERDICTS, verdictWords} from './explanation.js';
import {EXAMPLE, asNova, flavorFields, queryOf, range} from './flavors.js';
import {legend, newMap} from './heat_map.js';
import {promiseAddress, promisesFor} from './promises.js';
import {address, change, hostAddress, projectAddress} from './route.js';
import {ofCloud, ofDemand, ofMigrations, ofPromises} from './sentences.js';
import {store} from './store.js';
import {View} from './view.js';
import {amount, byClass, classWord, number, percent, plural, readable} from './words.js';

/** @typedef {import('./cloud.js').Group} Group */
/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./sentences.js').Sentence} Sentence */

// Maximum number of columns for resource classes and flavors, and of rows for zones, holders and
// kinds of requests.
const CLASSES = 6;
const FLAVORS = 4;
const ZONES = 12;
const HOLDERS = 8;
const DEMANDS = 5;
const DAY = 86_400_000;
// The key of the row of the whole cloud, and the answer to a question before the cloud is read.
const WHOLE = 'all';
const UNASKED = {value: null, error: null, at: 0, isAsked: false};
const USAGES = 'insight/usages?by=project';
const MIGRATIONS = 'insight/consumers?type=MIGRATION';

/** @param {string} path @param {AbortSignal} signal */
const allUsages = (path, signal) => all(path, 'usages', signal);
/** @param {string} path @param {AbortSignal} signal */
const allConsumers = (path, signal) => all(path, 'consumers', signal);

export class OverviewView extends View {
  constructor() {
    super();
    this.zones = ZONES;
    this.map = newMap();
    this.map.classList.add('flat');
  }

  content() {
    const {cloud} = store;
    const off = store.off('providers');
    if (off) return [h('h1', {}, 'Overview'), h('p', {class: 'refusal'}, off), this.demand()];
    if (cloud.isComplete && cloud.roots.length === 0) {
      return [h('h1', {}, 'Overview'), h('p', {}, 'There are no resource providers in this cloud yet. Hosts appear here when nova-compute has started on them.')];
    }
    const isPartial = !cloud.isComplete && !store.failure && h('p', {class: 'quiet', role: 'status'}, cloud.roots.length
      ? `${plural(cloud.hosts, 'host')} so far …` : 'Reading the cloud …');
    return [
      h('div', {class: 'title'}, h('h1', {}, 'Overview'),
        !store.off('capacity') && h('div', {class: 'controls'}, flavorFields(this.fit(), (fit) => change({fit})))),
      isPartial,
      // Partial sums would look like those of the cloud.
      cloud.isComplete && [this.sentences(), this.zoneTable()],
      cloud.roots.length > 0 && h('div', {class: 'columns'}, this.fitMap(), cloud.isComplete && this.holders()),
      cloud.isComplete && this.demand(),
      this.copies(),
    ];
  }

  copies() {
    const query = queryOf(this.fit());
    return asCommand(...(query ? [`openstack placement capacity show --query ${quoted(asNova(query))}`] : []),
      'openstack placement usage list --by project', 'openstack placement consumer list --type MIGRATION', 'openstack placement unmet demand list');
  }

  sentences() {
    const migrations = this.ask(MIGRATIONS, {seconds: 60, read: allConsumers});
    const demand = store.off('unmet_demand') ? null : this.demandAnswer();
    const promises = promisesFor(this) ?? [];
    const found = [...ofCloud(), ...ofPromises(promises), ...(migrations.value ? ofMigrations(migrations.value) : []), ...(demand?.value ? ofDemand(demand.value) : [])]
      .sort((one, other) => Number(one.kind === 'warn') - Number(other.kind === 'warn'));
    const isKnown = migrations.value !== null && demand?.value !== null;
    return [h('section', {class: 'sentences', 'aria-label': 'Problems'},
      found.map(({kind, key, title, words, href}) => h('a', {class: `sentence ${kind}`, href, key}, h('strong', {}, title), h('span', {}, words))),
      found.length === 0 && isKnown ? h('p', {class: 'sentence good'}, h('strong', {}, 'Nothing is wrong'),
        h('span', {}, 'No inventory is over capacity, no zone is full, no host is disabled, and no migration holds resources.',
          demand && ' Every search of the last 24 hours found candidates.')) : null),
    promises.length > 0 && promises.every(({state}) => state === 'kept') && h('p', {id: 'kept'}, h('a', {href: promiseAddress()},
      promises.length === 1 ? 'The promise of room is kept' : `All ${plural(promises.length, 'promise')} of room are kept`), '.')];
  }

  /** The request whose fit the map shows. */
  fit() {
    return this.route.get('fit', [...store.names.flavors.keys()][0] ?? EXAMPLE);
  }

  /** The flavors that have a column, the chosen one among them. */
  flavors() {
    const names = [...store.names.flavors.keys()].slice(0, FLAVORS);
    const fit = this.fit();
    return names.includes(fit) || queryOf(fit) === '' ? names : [...names.slice(0, FLAVORS - 1), fit];
  }

  zoneTable() {
    const {cloud, zones} = store;
    // A pool counts for the zones that it shares with, and is no host.
    const groups = groupsOf(cloud.roots, zones);
    // The classes that most roots have.
    const classes = [...cloud.sums].sort((a, b) => b.roots - a.roots).slice(0, CLASSES).map(({name}) => name).sort(byClass);
    const isCounted = !store.off('capacity');
    const flavors = isCounted ? this.flavors() : [];
    /** @type {Group} */
    const whole = {key: WHOLE, label: 'Whole cloud', roots: cloud.roots, within: ''};
    return h('section', {'aria-labelledby': 'zones'},
      h('div', {class: 'title'}, h('h2', {id: 'zones'}, 'Zones'),
        h('span', {class: 'quiet'}, 'Free amounts and fits count enabled hosts only.')),
      h('div', {class: 'scroll zones', tabindex: 0, role: 'region', 'aria-label': 'Zones as a table'}, h('table', {},
        h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Zone'), h('th', {scope: 'col', class: 'right'}, 'Hosts'),
          flavors.map((name) => h('th', {scope: 'col', class: 'right', key: `fit ${name}`}, `${name} fit`)),
          classes.map((name) => h('th', {scope: 'col', key: name}, classHeading(name))))),
        h('tbody', {}, [whole, ...groups.slice(0, this.zones)].map((group) => this.zone(group, classes, flavors))))),
      groups.length > this.zones && h('button', {type: 'button', class: 'more', onclick: () => { this.zones += 100; this.update(); }},
        `Show more of ${plural(groups.length, 'zone')}`));
  }

  /** @param {Group} group @param {string[]} classes @param {string[]} flavors */
  zone({key, label, roots, within}, classes, flavors) {
    const sums = new Map(sumsOf(roots).map((sum) => [sum.name, sum]));
    return h('tr', {key, class: key === WHOLE ? 'whole' : within && 'within'},
      h('th', {scope: 'row'}, key ? h('a', {href: address('map', '', key === WHOLE ? [] : [['zone', key]])}, label) : label),
      h('td', {class: 'right'}, number(roots.filter((root) => !root.isSharing).length)),
      flavors.map((name) => h('td', {key: `fit ${name}`, class: 'right fit'}, this.fits(name, key))),
      classes.map((name) => h('td', {key: name}, bar(sums.get(name)))));
  }

  /** The number of fits of a flavor in a zone. @param {string} flavor @param {string} zone @returns {Child} */
  fits(flavor, zone) {
    const {value, error} = this.ask(`insight/capacity?${asNova(queryOf(flavor))}&by=aggregate&page_limit=1000`, {seconds: 60});
    if (value === null) return error ? h('span', {class: 'alarm'}, error.message) : '…';
    // There is no count for several aggregates together.
    if (zone === '' && store.zones.get('') !== 'In no aggregate') return h('span', {class: 'quiet'}, 'not counted');
    const row = zone === WHOLE ? value : value.aggregates?.find((/** @type {any} */ one) => (one.aggregate?.uuid ?? '') === zone);
    // A flavor that never fits is no alarm.
    if (row === undefined || row.if_empty.at_most === 0) return '–';
    return h('strong', {class: row.now.at_most === 0 ? 'alarm' : null}, range(row.now));
  }

  fitMap() {
    const query = store.off('capacity') ? '' : queryOf(this.fit());
    const answer = query === '' ? null : store.cloud.isComplete ? this.ask(fitPath(query), {seconds: 60, read: fitByRoot}) : UNASKED;
    // The colours keep their meaning until the answer is there.
    const colouring = answer && !answer.error ? byFit(answer) : byUse('');
    this.map.show(groupsOf(store.cloud.roots.filter((root) => !root.isSharing), store.zones).map((group) => ({...group, words: groupWords(group.roots, colouring)})), new Set(), {
      look: colouring.look,
      describe: (root) => rootTip(root, colouring),
      words: (root) => rootWords(root, colouring),
      open: (root) => { location.hash = hostAddress(root.uuid); },
      select: (roots) => { location.hash = address('map', '', [['hosts', shortened(roots.slice(0, 100).map(({uuid}) => uuid), store.cloud)]]); },
      enter: (zone) => { location.hash = address('map', '', [['zone', zone]]); },
      announce: say,
    });
    return h('section', {'aria-labelledby': 'hosts-map'},
      h('div', {class: 'title'}, h('h2', {id: 'hosts-map'}, answer && !answer.error ? `Where does ${this.fit()} fit?` : 'How full is every host?'),
        h('a', {href: address('map', '', answer ? [['fit', this.fit()]] : [])}, 'Map')),
      answer?.error && h('p', {class: 'refusal', role: 'alert'}, answer.error.message),
      this.map, h('div', {class: 'legend'}, legend(colouring.marks)));
  }

  holders() {
    const answer = this.ask(USAGES, {seconds: 60, read: allUsages});
    const name = ['VCPU', 'PCPU', ...store.cloud.sums.map((sum) => sum.name)].find((one) => store.cloud.sums.some((sum) => sum.name === one && sum.used > 0)) ?? '';
    return h('section', {class: 'card', 'aria-labelledby': 'holders'},
      h('div', {class: 'title'}, h('h2', {id: 'holders'}, 'Largest holders'), name && h('span', {class: 'quiet'}, `${classWord(name)}, consumers`)),
      this.shown(answer, (/** @type {any[]} */ usages) => {
        const most = usages.map((one) => ({...one, held: one.resources[name] ?? 0})).sort((a, b) => b.held - a.held);
        return most.length ? h('ul', {class: 'holders'}, most.slice(0, HOLDERS).map((one) => h('li', {key: one.project_id},
          h('a', {href: projectAddress(one.project_id)}, store.names.projects.get(one.project_id) ?? one.project_id),
          h('span', {class: 'track'}, h('span', wide('fill', most[0].held ? one.held / most[0].held : 0))),
          h('span', {class: 'right'}, `${amount(name, one.held)} · ${number(one.consumer_count)}`))))
          : h('p', {class: 'quiet'}, 'There are no allocations.');
      }));
  }

  demandAnswer() {
    const since = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - DAY).toISOString().slice(0, 19);
    return this.ask(`insight/unmet_demand?since=${since}Z&page_limit=1000`, {seconds: 20});
  }

  demand() {
    const off = store.off('unmet_demand');
    return h('section', {class: 'card unmet-demand', 'aria-labelledby': 'unmet-demand'},
      h('div', {class: 'title'}, h('h2', {id: 'unmet-demand'}, 'Unmet demand'), h('span', {class: 'quiet'}, 'last 24 hours')),
      off ? h('p', {class: 'quiet'}, off) : this.shown(this.demandAnswer(), ({unmet_demand: found, unknown_names: unknown}) => (found.length
        ? [unknownNames(unknown), h('ul', {class: 'unmet'}, found.slice(0, DEMANDS).map((/** @type {any} */ one) => h('li', {key: one.query},
          h('span', {class: `badge ${VERDICTS[/** @type {import('./explanation.js').Verdict} */ (one.verdict)][0]}`}, `${verdictWords(one.verdict)} × ${number(one.times)}`),
          h('a', {href: `#/why?${one.query}`}, one.query),
          h('p', {class: 'quiet'}, readable(one.reason), ' Last ', moment(one.last_at), one.request_ids.length > 0 && `, ${one.request_ids.at(-1)}`, '.'))))]
        : h('p', {class: 'quiet'}, 'No unmet demand.'))));
  }
}

/** The classes and traits in searches that do not exist.
 * @param {{kind: string, name: string, times: number}[]} names
 * @returns {Child}
 */
function unknownNames(names) {
  return names.length ? h('p', {class: 'unknown-names'}, 'Unknown names in searches: ',
    names.map(({kind, name, times}) => `${kind === 'trait' ? 'trait' : 'class'} ${name} (${plural(times, 'search', 'searches')})`).join(', ')) : null;
}

/** A sum of a class as a bar: the used part, and hatched the part that is free on disabled hosts.
 * @param {import('./cloud.js').ClassSum | undefined} sum
 * @returns {Child}
 */
function bar(sum) {
  if (sum === undefined || sum.capacity === 0) return '–';
  const {name, capacity, used, free, disabled} = sum;
  const part = partInUse(sum) ?? 0;
  return [
    h('span', {class: 'figures'}, h('strong', {}, percent(part)), h('span', {class: 'quiet'}, ` ${amount(name, free - disabled)} free`)),
    h('span', {class: 'bar', 'aria-hidden': 'true'}, h('span', wide(part >= 0.97 ? 'over' : 'used', used / capacity)),
      h('span', wide('free', 1 - (used + disabled) / capacity)), h('span', wide('reserved', disabled / capacity)))];
}
