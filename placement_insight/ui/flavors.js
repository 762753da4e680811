// SPDX-License-Identifier: Apache-2.0
// Requests with names, and the number of their fits.

import {DISABLED} from './cloud.js';
import {field, h, select} from './dom.js';
import {pasted} from './pasted.js';
import {queryText} from './route.js';
import {store} from './store.js';
import {number} from './words.js';

/** @typedef {{at_least: number, at_most: number}} Count */

const OTHER = '(other)';
export const EXAMPLE = 'VCPU:4,MEMORY_MB:8192';

/** The query of a flavor by its name, or a written query; empty if it is neither.
 * @param {string} fit
 */
export function queryOf(fit) {
  return store.names.flavors.get(fit) ?? pasted(fit, store.cloud.areOwned) ?? '';
}

/** The query as nova sends it, without disabled hosts.
 * @param {string} query
 */
export function asNova(query) {
  if (query.includes(DISABLED)) return query;
  const parameters = [...new URLSearchParams(query)];
  const [, given = ''] = parameters.find(([name]) => name === 'root_required') ?? [];
  const others = parameters.filter(([name]) => name !== 'root_required');
  return queryText([...others, ['root_required', `${given && `${given},`}!${DISABLED}`]]);
}

/** @param {Count} count */
export function range({at_least, at_most}) {
  return at_least === at_most ? number(at_least) : `${number(at_least)} to ${number(at_most)}`;
}

/** Controls for the choice of a flavor, or for the query of another request.
 * @param {string} fit
 * @param {(fit: string) => void} onchange
 */
export function flavorFields(fit, onchange) {
  const names = [...store.names.flavors.keys()];
  const isNamed = fit !== '' && store.names.flavors.has(fit);
  return [
    names.length ? field('Fits of flavor', select([['', '–'], ...names.map((name) => /** @type {[string, string]} */ ([name, name])),
      [OTHER, 'another request']], isNamed ? fit : fit && OTHER, (value) => onchange(value === OTHER ? EXAMPLE : value)), 'flavor') : null,
    names.length === 0 || (fit && !isNamed) ? field(names.length ? 'Request' : 'Fits of request', h('input', {
      type: 'search', value: fit, placeholder: EXAMPLE, autocomplete: 'off', spellcheck: 'false',
      onchange: (/** @type {Event} */ event) => onchange(/** @type {HTMLInputElement} */ (event.target).value.trim()),
    }), 'fit') : null,
  ];
}
