// SPDX-License-Identifier: Apache-2.0
// The view of scenarios: failures that the cloud cannot take, and capacity after a change.

import {post} from './api.js';
import {countWords, groupsOf, lengthened, shortened} from './cloud.js';
import {byUse, rootTip, rootWords} from './colouring.js';
import {consumerWords} from './consumers.js';
import {copied} from './copies.js';
import {field, h, say, select, table} from './dom.js';
import {drained} from './drained.js';
import {asNova, flavorFields, queryOf, range} from './flavors.js';
import {newMap} from './heat_map.js';
import {address, change, hostAddress} from './route.js';
import {EACH, STEPS, nameOf, questionOf} from './scenario.js';
import {store} from './store.js';
import {MORE_ROWS, ROWS, saveButton, sortedTable} from './table.js';
import {View} from './view.js';
import {amounts, byClass, byName, classLabel, classWord, inOneUnit, number, plural, readable} from './words.js';

/**
 * @typedef {import('./scenario.js').Question} Question
 * @typedef {import('./cloud.js').Root} Root
 * @typedef {import('./dom.js').Child} Child
 * @typedef {{domain: string, name: string | null, consumers: number | null, placed: number | null, placed_alike: number | null, survives: boolean | null,
 *   exact: boolean, lacking: Record<string, number>, unplaced: {consumer: string, lacks: string}[]}} Loss
 */

/** The counts of a request before and after. @typedef {{name: string, was: import('./flavors.js').Count, is: import('./flavors.js').Count}} Fit */

// Maximum number of hosts that are named.
const NAMED = 12;
/** The question of each step that is not about capacity. @type {Record<string, string>} */
const QUESTIONS = {lose: 'survival', drain: 'drain'};
const MAX_REQUESTS = 100;

/** Read all pages of a question about survival.
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
    this.shownRows = ROWS;
  }

  content() {
    const {step} = this.asked();
    const off = store.off(QUESTIONS[step] ?? 'capacity');
    const question = store.cloud.isComplete ? questionOf(this.asked()) : null;
    return [
      h('h1', {}, 'What if …'),
      !off && !this.route.get('ask') && this.examples(),
      this.controls(),
      off ? h('p', {class: 'refusal'}, off) : question === null ? h('p', {class: 'quiet', id: 'incomplete'}, this.incomplete())
        : this.route.get('ask') ? h('div', {class: 'answer'}, this.answer(question))
          : h('button', {type: 'button', class: 'main-button', id: 'ask', onclick: () => change({ask: '1'})}, 'Ask'),
      question && this.copies(question),
    ];
  }

  /** An introduction to the view. @returns {Child} */
  examples() {
    const [zone, label] = store.zoneOptions(this.asked().zone)[0] ?? [];
    return h('div', {class: 'question'},
      h('p', {}, 'If hosts failed, would every server on them fit elsewhere? If they were drained, where would each server go? If they were removed, copied or had another ratio, how many more of each flavor would fit? Asking changes nothing.'),
      h('p', {class: 'row'},
        h('a', {class: 'button', href: address('what-if', '', [['ask', '1']])}, 'Which hosts must not fail?'),
        zone && h('a', {class: 'button', href: address('what-if', '', [['zone', zone], ['ask', '1']])}, `What if ${label} fails?`),
        h('a', {class: 'button', href: address('what-if', '', [['step', 'drain']])}, 'Drain some hosts')));
  }

  /** The part of a question that is still missing, as a sentence. */
  incomplete() {
    const {step, requests} = this.asked();
    if (!store.cloud.isComplete) return 'The cloud is still being read.';
    if (!(step in QUESTIONS) && Object.keys(requests).length === 0) return 'Enter a request, or name requests in [metrics] requests_file.';
    return step === 'copy' ? 'Choose a host to copy.' : 'Choose hosts or a zone.';
  }

  /** @returns {import('./scenario.js').Asked} */
  asked() {
    const {route} = this;
    const fit = route.get('fit');
    const flavors = [...store.names.flavors].slice(0, MAX_REQUESTS);
    const query = queryOf(fit);
    return {
      step: route.get('step', 'lose'), hosts: lengthened(route.get('hosts'), store.cloud), zone: route.get('zone'), each: route.get('each'),
      count: Number(route.get('count', '10')), resourceClass: route.get('class', 'VCPU'), ratio: Number(route.get('ratio', '4')),
      requests: query ? {[store.names.flavors.has(fit) ? fit : query]: asNova(query)} : Object.fromEntries(flavors),
    };
  }

  /** @returns {Child} */
  controls() {
    const {step, hosts, zone, each} = this.asked();
    const zones = store.zoneOptions(zone);
    const scope = /** @type {[string, string][]} */ (hosts.length ? EACH : zone ? [['', 'the zone']] : [['', 'every host, one at a time'], ['zones', 'every zone, one at a time']]);
    return [
      h('div', {class: 'controls'},
        field('Add hosts', h('input', {
          type: 'search', placeholder: 'names or uuids', autocomplete: 'off', spellcheck: 'false',
          onchange: (/** @type {Event} */ event) => this.add(/** @type {HTMLInputElement} */ (event.target)),
        }), 'host'),
        !hosts.length && field('Hosts of a zone', select([['', '–'], ...zones], zone, (chosen) => change({zone: chosen, ask: ''})), 'zone'),
        step === 'lose' && field('Which', select(scope, each, (chosen) => change({each: chosen, ask: ''})), 'each'),
        field('What if they', select(STEPS, step, (chosen) => change({step: chosen, ask: ''})), 'step'),
        step === 'copy' && this.number('Copies', 'count', '10'),
        step === 'ratio' && field('Class', select(store.cloud.sums.map(({name}) => [name, classLabel(name)]), this.route.get('class', 'VCPU'),
          (chosen) => change({class: chosen, ask: ''})), 'class'),
        step === 'ratio' && this.number('Allocation ratio', 'ratio', '4'),
        !(step in QUESTIONS) && flavorFields(this.route.get('fit'), (fit) => change({fit, ask: ''}))),
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
    const find = (/** @type {string} */ name) => store.cloud.roots.find((one) => one.name === name || one.uuid === name)?.uuid;
    // A name may have blanks.
    const names = find(text) ? [text] : text.split(/[\s,]+/).filter(Boolean);
    const missing = names.find((name) => !find(name));
    if (missing !== undefined) say(`There is no host ${missing}.`);
    input.setCustomValidity(missing === undefined ? '' : `There is no host ${missing}.`);
    input.reportValidity();
    if (missing !== undefined || names.length === 0) return;
    input.value = '';
    const {hosts, step} = this.asked();
    // A drain has no further choices.
    change({hosts: shortened([...new Set([...hosts, ...names.flatMap((name) => find(name) ?? [])])], store.cloud), zone: '', ask: step === 'drain' ? '1' : ''});
  }

  /** @param {Question} question @returns {Child} */
  answer(question) {
    const key = `${question.path} ${JSON.stringify(question.body)}`;
    const {step} = this.asked();
    const isLoss = step === 'lose';
    const answer = this.ask(key, {
      seconds: 60, read: (_, signal) => (isLoss ? losses(question, signal) : post(question.path, question.body, signal)),
    });
    return this.shown(answer, (value) => (isLoss ? this.losses(value) : step === 'drain' ? this.moves(value) : this.capacities(value)));
  }

  /** The plan of a drain. @param {any} answer @returns {Child} */
  moves(answer) {
    return drained(answer, {
      sort: this.route.get('sort'), shown: this.shownRows,
      onsort: (sort) => change({sort}), onmore: () => { this.shownRows += MORE_ROWS; this.update(); },
    });
  }

  /** The losses that the cloud does not survive. @param {{domains: Loss[], examined: number}} answer @returns {Child} */
  losses({domains, examined}) {
    const failing = domains.filter((one) => one.survives === false);
    const unknown = domains.filter((one) => one.survives === null).length;
    const unlike = domains.filter((one) => one.survives && (one.placed_alike ?? 0) < (one.consumers ?? 0)).length;
    const words = failing.length === 0 ? (unknown ? 'Not decided for all' : examined === 1 ? 'It may fail: every server on it finds a place' : 'Each may fail: every server on it finds a place')
      : `${number(failing.length)} of ${number(examined)} must not fail`;
    const kind = failing.length ? 'bad' : unknown ? 'warn' : 'good';
    const isOne = (/** @type {Loss} */ one) => store.cloud.byUuid.has(one.domain) || store.cloud.roots.some((root) => root.name === one.domain);
    return [
      h('section', {class: `verdict ${kind}`, 'aria-label': 'Verdict'},
        h('h2', {class: 'verdict-words', id: 'losses'}, words),
        h('p', {}, 'One failure at a time: would every server on the failed hosts fit elsewhere without moving any other? This considers the allocated amounts only.',
          unlike > 0 && ` In ${plural(unlike, 'case')}, some servers fit only on hosts without all traits of the lost one.`,
          unknown > 0 && ` ${number(unknown)} ${unknown === 1 ? 'is' : 'are'} not decided: the search reached its limit.`)),
      failing.length > 0 && failing.some(isOne) && this.outlined(failing),
      domains.length > 0 && table('Losses, and consumers without a place', ['Lost', 'Consumers', 'Placed', 'Same traits', 'Missing', 'Without a place'],
        [...domains].sort((a, b) => rank(a) - rank(b) || byName(domainName(a), domainName(b))).map((one) => this.loss(one))),
    ];
  }

  /** The hosts that must not fail, on the map. @param {Loss[]} failing @returns {Child} */
  outlined(failing) {
    const names = new Set(failing.flatMap((one) => [one.domain, one.name ?? '']));
    const roots = store.cloud.roots.filter((root) => !root.isSharing);
    const outlined = new Set(roots.filter((root) => names.has(root.uuid) || names.has(root.name)).map((root) => root.uuid));
    const colouring = byUse('');
    this.map.show(groupsOf(roots, store.zones).map((group) => ({...group, words: countWords(group.roots)})), outlined, {
      look: colouring.look, describe: (root) => rootTip(root, colouring), words: (root) => rootWords(root, colouring),
      open: (root) => { location.hash = hostAddress(root.uuid); }, select: () => {},
      enter: (zone) => { location.hash = address('map', '', [['zone', zone]]); }, announce: say, isAlarm: true,
    });
    return [this.map, h('p', {class: 'quiet'}, `Outlined in red: ${plural(outlined.size, 'host')} that must not fail. The darker, the fuller.`)];
  }

  /** @param {Loss} one @returns {Child} */
  loss({domain, name, consumers, placed, placed_alike: alike, survives, exact, lacking, unplaced}) {
    const host = store.cloud.byUuid.get(domain) ?? store.cloud.roots.find((root) => root.name === domain);
    const badge = survives === null ? ['warn', 'not decided'] : survives ? ['good', 'all'] : exact ? ['bad', `${number(placed ?? 0)}`] : ['warn', `at least ${number(placed ?? 0)}`];
    return h('tr', {key: domain},
      h('th', {scope: 'row'}, host ? h('a', {href: hostAddress(host.uuid)}, host.name) : store.labels.get(domain) ?? name ?? domain),
      h('td', {class: 'right'}, consumers === null ? '–' : number(consumers)),
      h('td', {}, h('span', {class: `badge ${badge[0]}`}, badge[1])),
      h('td', {}, alike === null ? '–' : alike === consumers ? 'all' : number(alike)),
      h('td', {}, amounts(lacking) || '–'),
      h('td', {}, unplaced.map((each) => h('div', {key: each.consumer}, host
        ? h('a', {href: `${hostAddress(host.uuid)}?consumer=${each.consumer}`}, consumerWords(each.consumer)) : consumerWords(each.consumer),
      h('div', {class: 'quiet'}, readable(each.lacks))))));
  }

  /** Capacities before and after. @param {any} answer @returns {Child} */
  capacities({before, capacities, over_capacity: over}) {
    /** @type {import('./table.js').Column<Fit>[]} */
    const columns = [
      {name: 'Request', value: ({name}) => name},
      {name: 'Before', value: ({was}) => was.at_least, cell: ({was}) => range(was), isNumber: true},
      {name: 'After', value: ({is}) => is.at_least, cell: ({is}) => range(is), isNumber: true},
      {name: 'Change', value: ({was, is}) => is.at_least - was.at_least, isNumber: true, cell: ({was, is}) => {
        const difference = is.at_least - was.at_least;
        const isExact = [was, is].every((one) => one.at_least === one.at_most);
        return h('span', {}, `${isExact ? '' : 'about '}${difference > 0 ? '+' : ''}${number(difference)}`);
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
        h('h2', {id: 'over'}, `${plural(over.count, 'provider')} over capacity after the change`),
        h('ul', {}, over.providers.map((/** @type {any} */ one) => h('li', {key: one.uuid}, h('a', {href: hostAddress(one.uuid)}, one.name), ': ',
          Object.entries(one.resources).sort((a, b) => byClass(a[0], b[0])).map(([name, sum]) => `${classWord(name)} ${inOneUnit(name, [/** @type {any} */ (sum).used, /** @type {any} */ (sum).capacity]).join(' of ')}`).join(', ')))),
      ],
    ];
  }

  /** The question as a command and as JSON, to copy. @param {Question} question @returns {Child} */
  copies({path, body, command}) {
    return h('details', {class: 'copies'},
      h('summary', {}, 'The same as a command, and as JSON'),
      copied('Command', command), copied(`POST ${path}`, JSON.stringify(body, null, 2)),
      h('p', {class: 'quiet'}, 'These commands change nothing. The openstack command also reads servers, zones and server groups from nova.'));
  }
}

/** The order of losses: first those that are not survived, then unknown ones. @param {Loss} one */
const rank = ({survives}) => (survives === false ? 0 : survives === null ? 1 : 2);

/** @param {Loss} one */
function domainName({domain, name}) {
  return store.cloud.byUuid.get(domain)?.name ?? store.labels.get(domain) ?? name ?? domain;
}
