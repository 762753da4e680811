// SPDX-License-Identifier: Apache-2.0
// The view of the cloud as it would be: which failures it cannot take, and what still fits after a change.

import {post} from './api.js';
import {groupsOf} from './cloud.js';
import {byUse, rootTip, rootWords} from './colouring.js';
import {consumerWords} from './consumers.js';
import {field, h, say, select, table} from './dom.js';
import {asNova, flavorFields, queryOf, range} from './flavors.js';
import {newMap} from './heat_map.js';
import {address, change, hostAddress} from './route.js';
import {EACH, STEPS, nameOf, questionOf} from './scenario.js';
import {store} from './store.js';
import {saveButton, sortedTable} from './table.js';
import {View} from './view.js';
import {amounts, byName, number, plural, readable} from './words.js';

/**
 * @typedef {import('./scenario.js').Question} Question
 * @typedef {import('./cloud.js').Root} Root
 * @typedef {import('./dom.js').Child} Child
 * @typedef {{domain: string, name: string | null, consumers: number, placed: number | null, placed_alike: number | null, survives: boolean | null,
 *   exact: boolean, lacking: Record<string, number>, homeless: {consumer: string, lacks: string}[]}} Loss
 */

/** How many of a request fit before and after. @typedef {{name: string, was: import('./flavors.js').Count, is: import('./flavors.js').Count}} Fit */

// How many hosts are named one by one.
const NAMED = 12;
const MAX_REQUESTS = 100;

/** All pages of a question about survival.
 * @param {Question} question
 * @param {AbortSignal} signal
 */
async function losses({path, body}, signal) {
  /** @type {Loss[]} */
  const domains = [];
  let examined = 0;
  let query = `${path.split('?')[1] ?? ''}&page_limit=1000`;
  while (query) {
    const page = await post(`insight/survival?${query}`, body, signal);
    domains.push(...page.domains);
    examined += page.examined;
    query = page.links[0]?.href.split('?')[1] ?? '';
  }
  return {domains, examined};
}

export class WhatIfView extends View {
  constructor() {
    super();
    this.map = newMap();
    this.map.classList.add('flat');
  }

  content() {
    const {step} = this.asked();
    const off = store.off(step === 'lose' ? 'survival' : 'capacity');
    const question = store.cloud.isComplete ? questionOf(this.asked()) : null;
    return [
      h('h1', {}, 'What if …'),
      this.controls(),
      off ? h('p', {class: 'refusal'}, off) : question === null ? h('p', {class: 'quiet', id: 'incomplete'}, this.incomplete())
        : this.route.get('ask') ? h('div', {class: 'answer'}, this.answer(question))
          : h('button', {type: 'button', class: 'main-button', id: 'ask', onclick: () => change({ask: '1'})}, 'Ask'),
      question && this.copies(question),
    ];
  }

  /** What is missing for a question. */
  incomplete() {
    const {step, requests} = this.asked();
    if (!store.cloud.isComplete) return 'The cloud is still being read.';
    if (step !== 'lose' && Object.keys(requests).length === 0) return 'Write a request, or let the operator name some in [metrics] requests_file.';
    return step === 'copy' ? 'Choose a host that gets copies.' : 'Choose hosts or a zone.';
  }

  /** @returns {import('./scenario.js').Asked} */
  asked() {
    const {route} = this;
    const fit = route.get('fit');
    const flavors = [...store.names.flavors].slice(0, MAX_REQUESTS);
    const query = queryOf(fit);
    return {
      step: route.get('step', 'lose'), hosts: route.get('hosts').split(',').filter(Boolean), zone: route.get('zone'), each: route.get('each'),
      count: Number(route.get('count', '10')), resourceClass: route.get('class', 'VCPU'), ratio: Number(route.get('ratio', '4')),
      requests: query ? {[store.names.flavors.has(fit) ? fit : query]: asNova(query)} : Object.fromEntries(flavors),
    };
  }

  /** @returns {Child} */
  controls() {
    const {step, hosts, zone, each} = this.asked();
    const zones = [...store.labels].filter(([uuid]) => uuid).sort((a, b) => byName(a[1], b[1]));
    const scope = /** @type {[string, string][]} */ (hosts.length ? EACH : zone ? [['', 'the zone']] : [['', 'every host, one by one'], ['zones', 'every zone, one by one']]);
    return [
      h('div', {class: 'controls'},
        field('Add a host', h('input', {
          type: 'search', placeholder: 'name or uuid', autocomplete: 'off', spellcheck: 'false',
          onchange: (/** @type {Event} */ event) => this.add(/** @type {HTMLInputElement} */ (event.target)),
        }), 'host'),
        !hosts.length && field('Hosts of a zone', select([['', '–'], ...zones], zone, (chosen) => change({zone: chosen, ask: ''})), 'zone'),
        step === 'lose' && field('Which', select(scope, each, (chosen) => change({each: chosen, ask: ''})), 'each'),
        field('What happens: they', select(STEPS, step, (chosen) => change({step: chosen, ask: ''})), 'step'),
        step === 'copy' && this.number('Copies', 'count', '10'),
        step === 'ratio' && field('Class', select(store.cloud.sums.map(({name}) => [name, name]), this.route.get('class', 'VCPU'),
          (chosen) => change({class: chosen, ask: ''})), 'class'),
        step === 'ratio' && this.number('Allocation ratio', 'ratio', '4'),
        step !== 'lose' && flavorFields(this.route.get('fit'), (fit) => change({fit, ask: ''}))),
      hosts.length > 0 && h('p', {class: 'chosen-hosts'}, plural(hosts.length, 'host'), ': ',
        hosts.slice(0, NAMED).map((uuid) => [h('a', {key: uuid, href: hostAddress(uuid)}, nameOf(uuid)), ' ']),
        hosts.length > NAMED && `and ${number(hosts.length - NAMED)} more `,
        h('button', {type: 'button', class: 'small', onclick: () => change({hosts: '', ask: ''})}, 'None')),
    ];
  }

  /** @param {string} label @param {string} name @param {string} otherwise */
  number(label, name, otherwise) {
    return field(label, h('input', {
      type: 'number', min: 0, step: 'any', value: this.route.get(name, otherwise),
      onchange: (/** @type {Event} */ event) => change({[name]: /** @type {HTMLInputElement} */ (event.target).value, ask: ''}),
    }), name);
  }

  /** @param {HTMLInputElement} input */
  add(input) {
    const text = input.value.trim();
    const found = store.cloud.roots.find((one) => one.name === text || one.uuid === text);
    if (found === undefined) {
      if (text) say(`There is no host ${text}.`);
      input.setCustomValidity(text ? 'There is no such host.' : '');
      input.reportValidity();
      return;
    }
    input.setCustomValidity('');
    input.value = '';
    change({hosts: [...new Set([...this.asked().hosts, found.uuid])].join(), zone: '', ask: ''});
  }

  /** @param {Question} question @returns {Child} */
  answer(question) {
    const key = `${question.path} ${JSON.stringify(question.body)}`;
    const isLoss = question.path.startsWith('insight/survival');
    const answer = this.ask(key, {
      seconds: 60, read: (_, signal) => (isLoss ? losses(question, signal) : post(question.path, question.body, signal)),
    });
    return this.shown(answer, (value) => (isLoss ? this.losses(value) : this.capacities(value)));
  }

  /** Which losses are not survived. @param {{domains: Loss[], examined: number}} answer @returns {Child} */
  losses({domains, examined}) {
    const failing = domains.filter((one) => one.survives === false);
    const unknown = domains.filter((one) => one.survives === null).length;
    const alike = domains.filter((one) => one.survives && (one.placed_alike ?? 0) < one.consumers).length;
    const words = failing.length === 0 ? (unknown ? 'It is not known of all' : examined === 1 ? 'It may fail: all find a place' : 'Each may fail: all find a place')
      : `${number(failing.length)} of ${number(examined)} must not fail`;
    const kind = failing.length ? 'bad' : unknown ? 'warn' : 'good';
    const isOne = (/** @type {Loss} */ one) => store.cloud.byUuid.has(one.domain) || store.cloud.roots.some((root) => root.name === one.domain);
    return [
      h('section', {class: `verdict ${kind}`, 'aria-label': 'Verdict'},
        h('h2', {class: 'verdict-words', id: 'losses'}, words),
        h('p', {}, 'Asked of each by itself: do all who hold of it find places on the others, where everybody else stays, in the amounts that they hold?',
          alike > 0 && ` Of ${number(alike)} some do so on hosts of another kind alone.`,
          unknown > 0 && ` Of ${number(unknown)} the budget of one question did not suffice.`)),
      failing.length > 0 && failing.some(isOne) && this.outlined(failing),
      domains.length > 0 && table('What is lost, and who finds no place', ['Lost', 'Consumers', 'Find a place', 'Of the same kind', 'What is missing', 'Without a place'],
        domains.map((one) => this.loss(one))),
    ];
  }

  /** The hosts that must not fail, on the map. @param {Loss[]} failing @returns {Child} */
  outlined(failing) {
    const names = new Set(failing.flatMap((one) => [one.domain, one.name ?? '']));
    const roots = store.cloud.roots.filter((root) => !root.isSharing);
    const outlined = new Set(roots.filter((root) => names.has(root.uuid) || names.has(root.name)).map((root) => root.uuid));
    const colouring = byUse('');
    this.map.show(groupsOf(roots, store.labels).map((group) => ({...group, words: ''})), outlined, {
      look: colouring.look, describe: (root) => rootTip(root, colouring), words: (root) => rootWords(root, colouring),
      open: (root) => { location.hash = hostAddress(root.uuid); }, select: () => {},
      enter: (zone) => { location.hash = address('map', '', [['zone', zone]]); }, announce: say,
    });
    return [this.map, h('p', {class: 'quiet'}, `Outlined: ${plural(outlined.size, 'host')} that must not fail. The darker, the fuller.`)];
  }

  /** @param {Loss} one @returns {Child} */
  loss({domain, name, consumers, placed, placed_alike: alike, survives, exact, lacking, homeless}) {
    const host = store.cloud.byUuid.get(domain) ?? store.cloud.roots.find((root) => root.name === domain);
    const badge = survives === null ? ['warn', 'not known'] : survives ? ['good', 'all'] : exact ? ['bad', `${number(placed ?? 0)}`] : ['warn', `${number(placed ?? 0)}, no way found`];
    return h('tr', {key: domain},
      h('th', {scope: 'row'}, host ? h('a', {href: hostAddress(host.uuid)}, host.name) : store.labels.get(domain) ?? name ?? domain),
      h('td', {class: 'right'}, number(consumers)),
      h('td', {}, h('span', {class: `badge ${badge[0]}`}, badge[1])),
      h('td', {}, alike === null ? '–' : alike === consumers ? 'all' : number(alike)),
      h('td', {}, amounts(lacking) || '–'),
      h('td', {}, homeless.map((each) => h('div', {key: each.consumer}, host
        ? h('a', {href: `${hostAddress(host.uuid)}?consumer=${each.consumer}`}, consumerWords(each.consumer)) : consumerWords(each.consumer),
      h('div', {class: 'quiet'}, readable(each.lacks))))));
  }

  /** Capacity before and after. @param {any} answer @returns {Child} */
  capacities({before, capacities, over_capacity: over}) {
    /** @type {import('./table.js').Column<Fit>[]} */
    const columns = [
      {name: 'Request', value: ({name}) => name},
      {name: 'Before', value: ({was}) => was.at_least, cell: ({was}) => range(was), isNumber: true},
      {name: 'After', value: ({is}) => is.at_least, cell: ({is}) => range(is), isNumber: true},
      {name: 'Change', value: ({was, is}) => is.at_least - was.at_least, isNumber: true, cell: ({was, is}) => {
        const difference = is.at_least - was.at_least;
        const isExact = [was, is].every((one) => one.at_least === one.at_most);
        return h('span', {class: difference < 0 ? 'alarm' : null}, `${isExact ? '' : 'about '}${difference > 0 ? '+' : ''}${number(difference)}`);
      }},
    ];
    const rows = Object.keys(capacities).map((name) => ({name, was: before[name].now, is: capacities[name].now}));
    return [
      h('div', {class: 'title'}, h('h2', {id: 'capacities'}, 'How many fit'), saveButton('capacity.csv', columns, () => rows)),
      sortedTable({
        label: 'Capacity before and after', columns, rows, keyOf: ({name}) => name, sort: this.route.get('sort', 'Request'), shown: MAX_REQUESTS,
        onsort: (sort) => change({sort}), onmore: () => {},
      }),
      over.count > 0 && [
        h('h2', {id: 'over'}, `${plural(over.count, 'provider')} over capacity after it`),
        h('ul', {}, over.providers.map((/** @type {any} */ one) => h('li', {key: one.uuid}, h('a', {href: hostAddress(one.uuid)}, one.name), ': ',
          Object.entries(one.resources).map(([name, sum]) => `${name} ${number(/** @type {any} */ (sum).used)} of ${number(/** @type {any} */ (sum).capacity)}`).join(', ')))),
      ],
    ];
  }

  /** The question to take away. @param {Question} question @returns {Child} */
  copies({path, body, command}) {
    return h('details', {class: 'copies'},
      h('summary', {}, 'The same as a command, and as JSON'),
      copied('Command', command), copied(`POST ${path}`, JSON.stringify(body, null, 2)),
      h('p', {class: 'quiet'}, 'Nothing is written: these are questions. On the command line, what nova knows of servers, zones and server groups is in the answer too.'));
  }
}

/** @param {string} title @param {string} text @returns {Child} */
function copied(title, text) {
  return h('div', {key: title.split(' ')[0]},
    h('div', {class: 'title'}, h('h2', {}, title),
      h('button', {type: 'button', class: 'small', onclick: () => navigator.clipboard.writeText(text)}, 'Copy')),
    h('pre', {class: 'raw', tabindex: 0, role: 'region', 'aria-label': title}, text));
}
