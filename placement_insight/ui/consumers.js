// SPDX-License-Identifier: Apache-2.0
// Consumers: their names, and their details, which are read for many at once.

import {all} from './api.js';
import {address} from './route.js';
import {store} from './store.js';
import {h} from './dom.js';

/**
 * @typedef {{uuid: string, created_at: string | null, project_id: string, user_id: string, consumer_type: string,
 *   allocations: Record<string, {resources: Record<string, number>}>}} Consumer
 */

// Maximum number of uuids in the address of a request, which every web server accepts.
const MAX_UUIDS = 80;

/** @param {string} path @param {AbortSignal} signal */
export const allConsumers = (path, signal) => all(path, 'consumers', signal);

/** The fewest questions for all consumers of some providers.
 * @param {Map<string, Set<string>>} holders uuids of consumers by provider
 * @returns {string[]} their paths
 */
export function questionsAbout(holders) {
  const left = new Set([...holders.values()].flatMap((one) => [...one]));
  const paths = [];
  while (left.size > MAX_UUIDS) {
    const counts = [...holders].map(([provider, held]) => ({provider, held, count: [...held].filter((one) => left.has(one)).length}));
    const most = counts.reduce((one, other) => (other.count > one.count ? other : one));
    paths.push(`insight/consumers?provider=${most.provider}`);
    for (const one of most.held) left.delete(one);
  }
  if (left.size) paths.push(`insight/consumers?${[...left].map((one) => `uuid=${one}`).join('&')}`);
  return paths;
}

/** @param {string} uuid */
export function serverName(uuid) {
  return store.names.servers.get(uuid) ?? '';
}

/** @param {string} id */
export function projectName(id) {
  return store.names.projects.get(id) ?? id;
}

/** A link to the consumers of a project.
 * @param {string} id
 */
export function projectLink(id) {
  return h('a', {href: address('holders', '', [['project', id]])}, projectName(id));
}

/** The name and the uuid of a server; for another consumer the uuid.
 * @param {string} uuid
 */
export function consumerWords(uuid) {
  const name = serverName(uuid);
  return name ? [`${name} `, h('code', {class: 'quiet'}, uuid)] : h('code', {}, uuid);
}
