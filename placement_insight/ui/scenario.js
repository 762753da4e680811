// SPDX-License-Identifier: Apache-2.0
// Questions about scenarios: their JSON, and the commands that ask the same.

import {quoted} from './copies.js';
import {store} from './store.js';

/**
 * The form of the view: hosts or a zone, the step, and its parameters.
 * @typedef {{step: string, hosts: string[], zone: string, each: string, count: number, resourceClass: string, ratio: number,
 *   requests: Record<string, string>}} Asked
 * @typedef {{path: string, body: Record<string, any>, command: string}} Question
 */

export const STEPS = /** @type {[string, string][]} */ ([
  ['lose', 'fail'], ['drain', 'are drained'], ['remove', 'are removed'], ['copy', 'are copied'], ['ratio', 'get another allocation ratio'],
]);
// The options for several hosts: one failure at a time, or all in one.
export const EACH = /** @type {[string, string][]} */ ([['', 'one at a time'], ['together', 'all at once']]);

/** The question as the service accepts it; null while it is incomplete.
 * @param {Asked} asked
 * @returns {Question | null}
 */
export function questionOf(asked) {
  if (asked.step === 'lose') return lossOf(asked);
  if (asked.step === 'drain') return drainOf(asked);
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
    return {path: 'insight/survival', body: {lose: {domains}}, command: domainsCommand(domains)};
  }
  if (zone) {
    return {
      path: 'insight/survival', body: {lose: {each: 'aggregate', of: [zone]}},
      command: `openstack placement survival show --lose ${quoted(`@${zone}`)}`,
    };
  }
  if (each === 'zones') {
    const zones = [...store.zones].filter(([uuid]) => uuid);
    return {
      path: 'insight/survival', body: {lose: {each: 'aggregate', of: zones.map(([uuid]) => uuid)}},
      // Several aggregates of nova may have the same name.
      command: domainsCommand(Object.fromEntries(zones.map(([uuid, label]) =>
        [zones.some(([one, other]) => one !== uuid && other === label) ? uuid : label, `@${uuid}`]))),
    };
  }
  return {path: 'insight/survival?only=failing', body: {lose: {each: 'root'}}, command: 'openstack placement survival show --failing'};
}

/** @param {Asked} asked @returns {Question | null} */
function drainOf({hosts, zone}) {
  if (!hosts.length && !zone) return null;
  const places = hosts.length ? hosts.map(nameOf) : [`@${zone}`];
  return {
    path: 'insight/drain', body: {providers: hosts.length ? hosts : {member_of: zone}},
    command: `openstack placement drain plan ${places.map(quoted).join(' ')}`,
  };
}

/** The command that loses domains, one at a time. @param {Record<string, string | string[]>} domains */
function domainsCommand(domains) {
  return `cat > domains.json <<'END'\n${JSON.stringify(domains, null, 2)}\nEND\nopenstack placement survival show --lose domains.json`;
}

/** The step of a scenario. @param {Asked} asked @returns {Record<string, any> | null} */
function stepOf({step, hosts, zone, count, resourceClass, ratio}) {
  const where = hosts.length ? hosts : zone ? {member_of: zone} : null;
  if (step === 'copy') return hosts[0] && count > 0 ? {add: {like: hosts[0], count}} : null;
  if (where === null) return null;
  if (step === 'remove') return {remove: where};
  return resourceClass && ratio > 0 ? {change: {where, inventories: {[resourceClass]: {allocation_ratio: ratio}}}} : null;
}

/** A command for each request, since the page may name others than nova. @param {Asked} asked */
function capacityCommand({step, hosts, zone, count, resourceClass, ratio, requests}) {
  const places = hosts.length ? hosts.map(nameOf) : [`@${zone}`];
  const options = step === 'copy' ? [`--add ${quoted(`${places[0]}=${count}`)}`]
    : step === 'remove' ? places.map((place) => `--remove ${quoted(place)}`)
      : places.map((place) => `--ratio ${quoted(`${resourceClass}=${ratio}@${place.replace(/^@/, '')}`)}`);
  return Object.entries(requests).map(([name, query]) => `${query.startsWith(name) ? '' : `# ${name.replace(/\s+/g, ' ')}\n`
  }openstack placement capacity show --query ${quoted(query)} ${options.join(' ')}`).join('\n');
}

/** @param {string} uuid */
export function nameOf(uuid) {
  return store.cloud.byUuid.get(uuid)?.name ?? uuid;
}
