// SPDX-License-Identifier: Apache-2.0
// The query in what somebody pasted: a query, a URL or a line of a log with one, amounts, the options
// of a command of the openstack client, or a flavor as JSON.

import {queryText} from './route.js';

// Parameters of a query, one of which is of a search at least; and amounts alone, such as VCPU:4.
const QUERY = /(?:\w[\w-]*=[^\s'"#&]*&)*(?:resources|required|member_of|in_tree|root_required|same_subtree|group_policy)[\w-]*=[^\s'"#]*/;
const AMOUNTS = /^[A-Z][A-Z0-9_]*[:=]\d+(?:[,\s]+[A-Z][A-Z0-9_]*[:=]\d+)*$/;
const OPTION = /--(resource|required|forbidden|member-of|group-policy|group)[\s=]+("[^"]*"|'[^']*'|\S+)/g;
const EXTRA_SPEC = /^(resources|trait)([a-zA-Z0-9_-]{0,64}):(.+)$/;

/** The query in a text; null if there is none.
 * @param {string} text
 */
export function pasted(text) {
  if (AMOUNTS.test(text)) return `resources=${text.replace(/[,\s]+/g, ',').replaceAll('=', ':')}`;
  return flavorOf(text)?.query ?? ofCommand(text) ?? text.match(QUERY)?.[0] ?? null;
}

/** The query of options such as `--resource VCPU=4 --required HW_CPU_X86_AVX2`.
 * @param {string} text
 */
function ofCommand(text) {
  /** @type {Map<string, string[]>} */
  const parameters = new Map();
  /** @param {string} name @param {string} value */
  const add = (name, value) => parameters.set(name, [...parameters.get(name) ?? [], value]);
  let group = '';
  for (const [, option = '', given = ''] of text.matchAll(OPTION)) {
    const value = given.replace(/^["']|["']$/g, '');
    if (option === 'group') group = value;
    else if (option === 'group-policy') add('group_policy', value);
    else if (option === 'resource') add(`resources${group}`, value.replace('=', ':'));
    else if (option === 'member-of') add(`member_of${group}`, value.includes(',') ? `in:${value}` : value);
    else add(`required${group}`, option === 'forbidden' ? `!${value}` : value);
  }
  if (parameters.size === 0) return null;
  return queryText([...parameters].flatMap(([name, values]) => (name.startsWith('member_of')
    ? values.map((value) => /** @type {[string, string]} */ ([name, value])) : [/** @type {[string, string]} */ ([name, values.join()])])));
}

/** The query of a flavor as nova or its client shows it as JSON, and its extra specs that are not in
 * it; null where the text is none.
 * @param {string} text
 * @returns {{query: string, left: string[]} | null}
 */
export function flavorOf(text) {
  if (!text.startsWith('{')) return null;
  let flavor;
  try {
    flavor = JSON.parse(text);
  } catch {
    return null;
  }
  flavor = flavor.flavor ?? flavor;
  return Number.isInteger(flavor.vcpus) && Number.isInteger(flavor.ram) ? translated(flavor) : null;
}

/** @param {any} flavor */
function translated(flavor) {
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
  }
  for (const [suffix, names] of traits) query.push([`required${suffix}`, names.join()]);
  if (specs['group_policy']) query.push(['group_policy', specs['group_policy']]);
  return {query: queryText([...query, ['root_required', '!COMPUTE_STATUS_DISABLED']]), left};
}
