// SPDX-License-Identifier: Apache-2.0
// The plan of a drain, in the view "What if?".

import {consumerWords} from './consumers.js';
import {h} from './dom.js';
import {hostAddress} from './route.js';
import {saveButton, sortedTable} from './table.js';
import {amounts, classWord, inOneUnit, number, percent, plural, readable} from './words.js';

/**
 * @typedef {import('./dom.js').Child} Child
 * @typedef {{uuid: string, name: string}} Named
 * @typedef {{consumer: string, from: Named[], to: Named | null, held: string, lacks: string}} Row
 */

/** @param {any} one a move, or a consumer without a place @returns {Row} */
function row({consumer, from, to = null, allocations = {}, lacks = ''}) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const {resources} of /** @type {any[]} */ (Object.values(allocations))) {
    for (const [name, value] of Object.entries(resources)) sums[name] = (sums[name] ?? 0) + Number(value);
  }
  return {consumer, from, to, held: amounts(sums), lacks};
}

/** @param {Named[]} hosts @returns {Child} */
const links = (hosts) => hosts.map(({uuid, name}, index) => [index ? ', ' : '', h('a', {href: hostAddress(uuid)}, name)]);

/** @type {import('./table.js').Column<Row>[]} */
const COLUMNS = [
  {name: 'Consumer', value: ({consumer}) => consumer, cell: ({consumer, from: [host]}) =>
    h('a', {href: host ? `${hostAddress(host.uuid)}?consumer=${consumer}` : null}, consumerWords(consumer))},
  {name: 'From', value: ({from}) => from.map(({name}) => name).join(' '), cell: ({from}) => links(from)},
  {name: 'To', value: ({to, lacks}) => to?.name ?? lacks, cell: ({to, lacks}) =>
    (to ? links([to]) : [h('span', {class: 'badge bad'}, 'nowhere'), h('div', {class: 'quiet lacks'}, readable(lacks))])},
  {name: 'Holds there', value: ({held}) => held},
];

/** @param {any} answer @param {{sort: string, shown: number, onsort: (sort: string) => void, onmore: () => void}} options @returns {Child} */
export function drained({moves, unplaced, at_once: atOnce, fullest}, options) {
  const count = moves.length + unplaced.length;
  // Those without a place come first.
  const rows = [...unplaced, ...moves].map(row);
  const words = count === 0 ? 'They are empty' : unplaced.length ? `${number(unplaced.length)} of ${plural(count, 'consumer')} ${unplaced.length === 1 ? 'finds' : 'find'} no place`
    : count === 1 ? 'The only consumer finds a place' : `All ${number(count)} consumers find a place`;
  return [
    h('section', {class: `verdict ${unplaced.length ? 'bad' : 'good'}`, 'aria-label': 'Verdict'},
      h('h2', {class: 'verdict-words', id: 'drained'}, words),
      h('p', {}, moves.length > 0 && `The moves can run in any order, ${atOnce === moves.length ? 'all at once. ' : `at most ${number(atOnce)} at a time. `}`,
        'This considers the allocated amounts only; the command also reads servers from nova.')),
    rows.length > 0 && [
      h('div', {class: 'title'}, h('h2', {id: 'moves'}, plural(moves.length, 'move')), saveButton('moves.csv', COLUMNS, () => rows)),
      sortedTable({label: 'Moves', columns: COLUMNS, rows, keyOf: ({consumer}) => consumer, order: '', ...options}),
    ],
    fullest.length > 0 && h('p', {class: 'quiet'}, 'Fullest afterwards: ', fullest.map((/** @type {any} */ {provider, resource_class: name, used, capacity}, /** @type {number} */ index) =>
      [index ? ', ' : '', h('a', {href: hostAddress(provider.uuid)}, provider.name), ` ${classWord(name)} ${percent(used / capacity)} (${inOneUnit(name, [used, capacity]).join(' of ')})`])),
  ];
}
