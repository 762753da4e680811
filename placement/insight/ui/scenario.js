// SPDX-License-Identifier: Apache-2.0
// Questions about the cloud as it would be: their JSON, and the commands that ask the same.

import {store} from './store.js';

/**
 * What is asked: which hosts or zone, what happens to them, and how.
 * @typedef {{step: string, hosts: string[], zone: string, each: string, count: number, resourceClass: string, ratio: number,
 *   requests: Record<string, string>}} Asked
 * @typedef {{path: string, body: Record<string, any>, command: string}} Question
 */

export const STEPS = /** @type {[string, string][]} */ ([
  ['lose', 'fail'], ['remove', 'are removed'], ['copy', 'get copies'], ['ratio', 'have another ratio'],
]);
// What is done to the hosts together, or to each for itself.
export const EACH = /** @type {[string, string][]} */ ([['', 'each by itself'], ['together', 'all at once']]);

/** The question in the form that the service takes; null while it is not complete.
 * @param {Asked} asked
 * @returns {Question | null}
 */
export function questionOf(asked) {
  if (asked.step === 'lose') return lossOf(asked);
  const step = stepOf(asked);
  if (step === null || Object.keys(asked.requests).length === 0) return null;
  return {
    path: 'insight/capacity', body: {requests: asked.requests, scenario: [step]}, command: capacityCommand(asked),
  };
}

/** @param {Asked} asked @returns {Question} */
function lossOf({hosts, zone, each}) {
  if (hosts.length) {
    const domains = each === 'together' ? {[`these ${hosts.length} hosts`]: hosts.map(nameOf)}
      : Object.fromEntries(hosts.map((uuid) => [nameOf(uuid), [uuid]]));
    return {
      path: 'insight/survival', body: {lose: {domains}},
      command: `cat > domains.json <<'END'\n${JSON.stringify(domains, null, 2)}\nEND\nopenstack placement survival show --lose domains.json`,
    };
  }
  if (zone) return {path: 'insight/survival', body: {lose: {each: 'aggregate', of: [zone]}}, command: 'openstack placement survival show --lose zones'};
  if (each === 'zones') {
    const of = [...store.labels.keys()].filter(Boolean);
    return {path: 'insight/survival', body: {lose: {each: 'aggregate', of}}, command: 'openstack placement survival show --lose zones'};
  }
  return {path: 'insight/survival?only=failing', body: {lose: {each: 'root'}}, command: 'openstack placement survival show --failing'};
}

/** The step of a scenario. @param {Asked} asked @returns {Record<string, any> | null} */
function stepOf({step, hosts, zone, count, resourceClass, ratio}) {
  const where = hosts.length ? hosts : zone ? {member_of: zone} : null;
  if (step === 'copy') return hosts[0] && count > 0 ? {add: {like: hosts[0], count}} : null;
  if (where === null) return null;
  if (step === 'remove') return {remove: where};
  return resourceClass && ratio > 0 ? {change: {where, inventories: {[resourceClass]: {allocation_ratio: ratio}}}} : null;
}

/** @param {Asked} asked */
function capacityCommand({step, hosts, zone, count, resourceClass, ratio, requests}) {
  const places = hosts.length ? hosts.map((uuid) => quoted(nameOf(uuid))) : [`@${zone}`];
  const options = step === 'copy' ? [`--add ${places[0]}=${count}`]
    : step === 'remove' ? places.map((place) => `--remove ${place}`)
      : places.map((place) => `--ratio ${resourceClass}=${ratio}@${place.replace(/^@/, '')}`);
  const [name, query = ''] = Object.entries(requests)[0] ?? [''];
  const asked = Object.keys(requests).length === 1 && name === query ? `show --query ${quoted(query)}` : 'list --all-flavors';
  return `openstack placement capacity ${asked} ${options.join(' ')}`;
}

/** @param {string} uuid */
export function nameOf(uuid) {
  return store.cloud.byUuid.get(uuid)?.name ?? uuid;
}

/** A text as a shell takes it. @param {string} text */
function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
