// SPDX-License-Identifier: Apache-2.0
// The first view: what is wrong, how full the zones are and what still fits there, and who holds most.

import {all} from './api.js';
import {groupsOf, sumsOf} from './cloud.js';
import {byFit, byUse, fitByRoot, fitPath, rootTip, rootWords} from './colouring.js';
import {h, say, wide} from './dom.js';
import {VERDICTS} from './explanation.js';
import {EXAMPLE, asNova, flavorFields, queryOf, range} from './flavors.js';
import {legend, newMap} from './heat_map.js';
import {address, change, hostAddress, projectAddress} from './route.js';
import {ofCloud, ofDemand, ofMigrations} from './sentences.js';
import {store} from './store.js';
import {View} from './view.js';
import {amount, minute, number, percent, plural, readable} from './words.js';

/** @typedef {import('./cloud.js').Group} Group */
/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./sentences.js').Sentence} Sentence */

// How many resource classes and flavors have a column, how many zones, holders and kinds of
// requests are listed.
const CLASSES = 6;
const FLAVORS = 4;
const ZONES = 12;
const HOLDERS = 8;
const DEMANDS = 5;
const DAY = 86_400_000;
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
    const isPartial = !cloud.isComplete && h('p', {class: 'quiet', role: 'status'}, cloud.roots.length
      ? `${plural(cloud.hosts, 'host')} so far …` : 'Reading the cloud …');
    return [
      h('h1', {}, 'Overview'), isPartial,
      // Sums of a part would look like those of the cloud.
      cloud.isComplete && [this.sentences(), this.zoneTable()],
      cloud.roots.length > 0 && h('div', {class: 'columns'}, this.fitMap(), cloud.isComplete && h('div', {}, this.holders(), this.demand())),
    ];
  }

  sentences() {
    const migrations = this.ask(MIGRATIONS, {seconds: 60, read: allConsumers});
    const demand = store.off('unmet_demand') ? null : this.demandAnswer();
    const found = [...ofCloud(), ...(migrations.value ? ofMigrations(migrations.value) : []), ...(demand?.value ? ofDemand(demand.value) : [])];
    const isKnown = migrations.value !== null && demand?.value !== null;
    return h('section', {class: 'sentences', 'aria-label': 'What is wrong'},
      found.map(({kind, key, title, words, href}) => h('a', {class: `sentence ${kind}`, href, key}, h('strong', {}, title), h('span', {}, words))),
      found.length === 0 && isKnown ? h('p', {class: 'sentence good'}, h('strong', {}, 'Nothing is wrong'),
        h('span', {}, 'No inventory is over capacity, no zone is full, no host is disabled, and no migration holds resources.',
          demand && ' No search of the last 24 hours was in vain.')) : null);
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
    const {cloud, labels} = store;
    // A pool counts for the zones that it shares with, and is no host.
    const groups = groupsOf(cloud.roots, labels);
    // Zones that the operator named come first.
    groups.sort((a, b) => Number(store.names.aggregates.has(b.key)) - Number(store.names.aggregates.has(a.key)));
    const classes = cloud.sums.slice(0, CLASSES).map(({name}) => name);
    const isCounted = !store.off('capacity');
    const flavors = isCounted ? this.flavors() : [];
    return h('section', {'aria-labelledby': 'zones'},
      h('div', {class: 'title'}, h('h2', {id: 'zones'}, 'Zones'),
        isCounted && h('div', {class: 'controls'}, flavorFields(this.fit(), (fit) => change({fit})))),
      h('div', {class: 'scroll zones', tabindex: 0, role: 'region', 'aria-label': 'Zones as a table'}, h('table', {},
        h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Zone'), h('th', {scope: 'col', class: 'right'}, 'Hosts'),
          classes.map((name) => h('th', {scope: 'col', key: name}, name)),
          flavors.map((name) => h('th', {scope: 'col', key: `fit ${name}`}, `${name} fit`)))),
        h('tbody', {}, groups.slice(0, this.zones).map((group) => this.zone(group, classes, flavors))))),
      groups.length > this.zones && h('button', {type: 'button', class: 'more', onclick: () => { this.zones += 100; this.update(); }},
        `Show more of ${plural(groups.length, 'zone')}`));
  }

  /** @param {Group} group @param {string[]} classes @param {string[]} flavors */
  zone({key, label, roots}, classes, flavors) {
    const sums = new Map(sumsOf(roots).map((sum) => [sum.name, sum]));
    return h('tr', {key},
      h('th', {scope: 'row'}, key ? h('a', {href: address('map', '', [['zone', key]])}, label) : label),
      h('td', {class: 'right'}, number(roots.filter((root) => !root.isSharing).length)),
      classes.map((name) => h('td', {key: name}, bar(sums.get(name)))),
      flavors.map((name) => h('td', {key: `fit ${name}`, class: 'fit'}, this.fits(name, key))));
  }

  /** How many of a flavor fit in a zone. @param {string} flavor @param {string} zone @returns {Child} */
  fits(flavor, zone) {
    const {value, error} = this.ask(`insight/capacity?${asNova(queryOf(flavor))}&by=aggregate&page_limit=1000`, {seconds: 60});
    if (value === null) return error ? h('span', {class: 'alarm'}, error.message) : '…';
    const row = value.aggregates?.find((/** @type {any} */ one) => (one.aggregate?.uuid ?? '') === zone);
    const none = row === undefined || row.now.at_most === 0;
    return h('strong', {class: none ? 'alarm' : null}, none ? '0' : range(row.now));
  }

  fitMap() {
    const query = store.off('capacity') || !store.cloud.isComplete ? '' : queryOf(this.fit());
    const answer = query ? this.ask(fitPath(query), {seconds: 60, read: fitByRoot}) : null;
    const colouring = answer?.value ? byFit(answer) : byUse('');
    this.map.show(groupsOf(store.cloud.roots.filter((root) => !root.isSharing), store.labels).map((group) => ({...group, words: colouring.sum(group.roots)})), new Set(), {
      look: colouring.look,
      describe: (root) => rootTip(root, colouring),
      words: (root) => rootWords(root, colouring),
      open: (root) => { location.hash = hostAddress(root.uuid); },
      select: (roots) => { location.hash = address('map', '', [['hosts', roots.slice(0, 100).map(({uuid}) => uuid).join()]]); },
      enter: (zone) => { location.hash = address('map', '', [['zone', zone]]); },
      announce: say,
    });
    return h('section', {'aria-labelledby': 'hosts-map'},
      h('div', {class: 'title'}, h('h2', {id: 'hosts-map'}, answer?.value ? `Where does ${this.fit()} fit?` : 'How full is every host?'),
        h('a', {href: address('map', '', answer ? [['fit', this.fit()]] : [])}, 'Map')),
      answer?.error && h('p', {class: 'refusal', role: 'alert'}, answer.error.message),
      this.map, h('div', {class: 'legend'}, legend(colouring.marks)));
  }

  holders() {
    const answer = this.ask(USAGES, {seconds: 60, read: allUsages});
    const name = ['VCPU', 'PCPU', ...store.cloud.sums.map((sum) => sum.name)].find((one) => store.cloud.sums.some((sum) => sum.name === one && sum.used > 0)) ?? '';
    return h('section', {class: 'card', 'aria-labelledby': 'holders'},
      h('div', {class: 'title'}, h('h2', {id: 'holders'}, 'Who holds most'), name && h('span', {class: 'quiet'}, `${name}, consumers`)),
      this.shown(answer, (/** @type {any[]} */ usages) => {
        const most = usages.map((one) => ({...one, held: one.resources[name] ?? 0})).sort((a, b) => b.held - a.held);
        return most.length ? h('ul', {class: 'holders'}, most.slice(0, HOLDERS).map((one) => h('li', {key: one.project_id},
          h('a', {href: projectAddress(one.project_id)}, store.names.projects.get(one.project_id) ?? one.project_id),
          h('span', {class: 'track'}, h('span', wide('fill', most[0].held ? one.held / most[0].held : 0))),
          h('span', {class: 'right'}, `${amount(name, one.held)} · ${number(one.consumer_count)}`))))
          : h('p', {class: 'quiet'}, 'Nobody holds anything.');
      }));
  }

  demandAnswer() {
    const since = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - DAY).toISOString().slice(0, 19);
    return this.ask(`insight/unmet_demand?since=${since}Z&page_limit=1000`, {seconds: 20});
  }

  demand() {
    const off = store.off('unmet_demand');
    return h('section', {class: 'card', 'aria-labelledby': 'vain'},
      h('div', {class: 'title'}, h('h2', {id: 'vain'}, 'Asked for in vain'), h('span', {class: 'quiet'}, 'last 24 hours')),
      off ? h('p', {class: 'quiet'}, off) : this.shown(this.demandAnswer(), ({unmet_demand: found}) => (found.length
        ? h('ul', {class: 'unmet'}, found.slice(0, DEMANDS).map((/** @type {any} */ one) => h('li', {key: one.query},
          h('span', {class: `badge ${VERDICTS[/** @type {import('./explanation.js').Verdict} */ (one.verdict)][0]}`}, `${one.verdict === 'infeasible' ? 'no host can' : one.verdict} × ${number(one.times)}`),
          h('a', {href: `#/why?${one.query}`}, one.query),
          h('p', {class: 'quiet'}, `${readable(one.reason)} Last ${minute(one.last_at)} UTC${one.request_ids.length ? `, ${one.request_ids.at(-1)}` : ''}.`))))
        : h('p', {class: 'quiet'}, 'Nothing was asked for in vain.'))));
  }
}

/** A sum of a class as a bar: used, and hatched what is free on disabled hosts.
 * @param {import('./cloud.js').ClassSum | undefined} sum
 * @returns {Child}
 */
function bar(sum) {
  if (sum === undefined || sum.capacity === 0) return '–';
  const {name, capacity, used, disabled} = sum;
  const part = used / capacity;
  return [
    h('span', {class: 'figures'}, h('strong', {}, percent(part)), h('span', {class: 'quiet'}, ` ${amount(name, Math.max(0, capacity - used - disabled))} free`)),
    h('span', {class: 'bar', 'aria-hidden': 'true'}, h('span', wide(part >= 0.97 ? 'over' : 'used', part)),
      h('span', wide('free', 1 - part - disabled / capacity)), h('span', wide('reserved', disabled / capacity)))];
}
