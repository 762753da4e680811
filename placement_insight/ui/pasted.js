// SPDX-License-Identifier: Apache-2.0
// The query in a pasted text: a query, a URL or a line of a log with one, amounts, the options of a
// command of the openstack client, or a flavor as JSON.

import {queryText} from './route.js';

// Parameters of a query, at least one of them of a search; and amounts alone, such as VCPU:4.
const QUERY = /(?:\w[\w-]*=[^\s'"#&]*&)*(?:resources|required|member_of|in_tree|root_required|same_subtree|group_policy)[\w-]*=[^\s'"#]*/;
const AMOUNTS = /^[A-Z][A-Z0-9_]*[:=]\d+(?:[,\s]+[A-Z][A-Z0-9_]*[:=]\d+)*$/;
const OPTION = /--(resource|required|forbidden|member-of|aggregate-uuid|group-policy|group)[\s=]+("[^"]*"|'[^']*'|\S+)/g;
const EXTRA_SPEC = /^(resources|trait)([a-zA-Z0-9_-]{0,64}):(.+)$/;

/** The query in a text, null without one; for a flavor, with nova's owner trait if all hosts have it.
 * @param {string} text
 * @param {boolean} areOwned
 */
export function pasted(text, areOwned = false) {
  if (AMOUNTS.test(text)) return `resources=${text.replace(/[,\s]+/g, ',').replaceAll('=', ':')}`;
  return flavorOf(text, areOwned)?.query ?? ofCommand(text) ?? text.match(QUERY)?.[0] ?? null;
}

/** The query of options such as `--resource VCPU=4 --required HW_CPU_X86_AVX2`.
 * @param {string} text
 */
function ofCommand(text) {
  /** @type {Map<string, string[]>} */
  const parameters = new Map();
  // Alternatives, each a parameter of its own.
  /** @type {[string, string][]} */
  const alternatives = [];
  /** @param {string} name @param {string} value */
  const add = (name, value) => parameters.set(name, [...parameters.get(name) ?? [], value]);
  let group = '';
  for (const [, option = '', given = ''] of text.matchAll(OPTION)) {
    const value = given.replace(/^["']|["']$/g, '');
    if (option === 'group') group = value;
    else if (option === 'group-policy') add('group_policy', value);
    else if (option === 'resource') add(`resources${group}`, value.replace('=', ':'));
    else if (option === 'member-of') alternatives.push([`member_of${group}`, value.includes(',') ? `in:${value}` : value]);
    else if (option === 'required' && value.includes(',')) alternatives.push([`required${group}`, `in:${value}`]);
    else if (option === 'aggregate-uuid') add(`member_of${group}`, value);
    else add(`required${group}`, option === 'forbidden' ? `!${value}` : value);
  }
  if (parameters.size + alternatives.length === 0) return null;
  const joined = [...parameters].map(([name, values]) => /** @type {[string, string]} */ (
    [name, `${name.startsWith('member_of') ? 'in:' : ''}${values.join()}`]));
  return queryText([...joined, ...alternatives]);
}

/** The query of a flavor in JSON of nova or its client, and the extra specs that are not in the query;
 * null if the text is no flavor.
 * @param {string} text
 * @param {boolean} areOwned
 * @returns {{query: string, left: string[]} | null}
 */
export function flavorOf(text, areOwned = false) {
  if (!text.startsWith('{')) return null;
  let flavor;
  try {
    flavor = JSON.parse(text);
  } catch {
    return null;
  }
  flavor = flavor.flavor ?? flavor;
  return Number.isInteger(flavor.vcpus) && Number.isInteger(flavor.ram) ? translated(flavor, areOwned) : null;
}

/** @param {any} flavor @param {boolean} areOwned */
function translated(flavor, areOwned) {
  const specs = /** @type {Record<string, string>} */ (flavor.extra_specs ?? flavor.properties ?? {});
  const disk = (flavor.disk || 0) + (flavor['OS-FLV-EXT-DATA:ephemeral'] || 0) + Math.ceil((Number(flavor.swap) || 0) / 1024);
  const isPinned = specs['hw:cpu_policy'] === 'dedicated';
  /** @type {Map<string, Map<string, number>>} */
  const groups = new Map([['', new Map([[isPinned ? 'PCPU' : 'VCPU', flavor.vcpus], ['MEMORY_MB', flavor.ram], ['DISK_GB', disk]])]]);
  /** @type {Map<string, string[]>} */
  const traits = new Map();
  const left = [];
  for (const [name, value] of Object.entries(specs)) {
    const [, kind, suffix = '', noun = ''] = name.match(EXTRA_SPEC) ?? [];
    if (kind === 'resources') groups.set(suffix, (groups.get(suffix) ?? new Map()).set(noun, Number(value)));
    else if (kind === 'trait') traits.set(suffix, [...traits.get(suffix) ?? [], `${value === 'forbidden' ? '!' : ''}${noun}`]);
    else if (name !== 'group_policy' && !(name === 'hw:cpu_policy' && isPinned)) left.push(`${name}=${value}`);
  }
  /** @type {[string, string][]} */
  const query = [];
  for (const [suffix, resources] of groups) {
    const asked = [...resources].filter(([, value]) => value > 0).map(([name, value]) => `${name}:${value}`);
    if (asked.length) query.push([`resources${suffix}`, asked.join()]);
    if (asked.length && areOwned) traits.set(suffix, ['OWNER_NOVA', ...traits.get(suffix) ?? []]);
  }
  for (const [suffix, names] of traits) query.push([`required${suffix}`, names.join()]);
  if (specs['group_policy']) query.push(['group_policy', specs['group_policy']]);
  return {query: queryText([...query, ['root_required', '!COMPUTE_STATUS_DISABLED']]), left};
}
