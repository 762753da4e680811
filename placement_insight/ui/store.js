// SPDX-License-Identifier: Apache-2.0
// All data of the service that the page has. Views draw it, and are notified when it changes.

import {Cloud, labelsOf, zonesOf} from './cloud.js';
import {MAX_OBSERVED, difference} from './observed.js';
import {HAS_PROXY, Refused, copy, get, hasToken, isAbort, pages, sleep} from './api.js';
import {byName} from './words.js';

/**
 * An answer of the service: its value, or the error; and its time, as `Date.now()`.
 * @typedef {{value: any, error: Refused | null, at: number, isAsked: boolean}} Answer
 * @typedef {{name: string, enabled: boolean, option: string, note: string | null}} Question
 */

// Milliseconds between two reads of changes.
const FOLLOW = 3000;
// Milliseconds between two frames while the cloud is being read, since drawing delays reading.
const SHOW = 500;
const TREES = 'by=root&include=aggregates,traits';

class Store {
  constructor() {
    this.cloud = new Cloud();
    /** The reason why the cloud is not followed at present.
     * @type {Refused | null} */
    this.failure = null;
    /** The questions by name; empty until the service has listed them.
     * @type {Map<string, Question>} */
    this.questions = new Map();
    /** Maximum age of answers in seconds, beside another service; null where answers are always current.
     * @type {number | null} */
    this.maxAge = null;
    /** Names that operators have given: aggregates, their availability zones and projects by id, queries by the name of a flavor.
     * @type {Record<'aggregates' | 'zones' | 'flavors' | 'projects' | 'servers', Map<string, string>>} */
    this.names = {aggregates: new Map(), zones: new Map(), flavors: new Map(), projects: new Map(), servers: new Map()};
    /** The labels of aggregates.
     * @type {Map<string, string>} */
    this.labels = new Map();
    /** The labels of the aggregates that are shown as zones.
     * @type {Map<string, string>} */
    this.zones = new Map();
    /** The changes since the page was opened, the newest first.
     * @type {import('./observed.js').Observed[]} */
    this.observed = [];
    /** The roots of providers that are no roots, by uuid; null until they are needed.
     * @type {Map<string, string> | null} */
    this.rootsOfOthers = null;
    /** The names of these providers, as far as they were read.
     * @type {Map<string, string>} */
    this.namesOfOthers = new Map();
    this.readingRoots = Promise.resolve();
    /** @type {Map<string, Answer>} */
    this.answers = new Map();
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    /** Called without a token, and when the service refuses it.
     * @type {(words: string) => void} */
    this.onforgotten = () => {};
    this.stop = new AbortController();
  }

  /** Call a function after each change; the returned function ends that.
   * @param {() => void} listener
   * @returns {() => void}
   */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  changed() {
    for (const listener of this.listeners) listener();
  }

  /** Begin to read and to follow the cloud, or go on after a failure, at once. */
  start() {
    this.stop.abort();
    this.stop = new AbortController();
    this.run(this.stop.signal);
  }

  /** Forget the data that was read with another token. */
  forget() {
    this.cloud = new Cloud();
    this.rootsOfOthers = null;
    this.answers.clear();
    this.questions.clear();
    this.start();
  }

  /** @param {AbortSignal} signal */
  async run(signal) {
    if (!hasToken()) return;
    while (!signal.aborted) {
      try {
        if (this.questions.size === 0) await this.introduce(signal);
        await (this.cloud.token === null ? this.read(signal) : this.follow(signal));
        this.failure = null;
        this.changed();
        // Beside another service there is no feed to follow: everything is read again.
        await sleep(Math.max(FOLLOW, (this.maxAge ?? 0) * 1000), signal);
        // A hidden page needs no changes.
        if (document.hidden) await untilSeen(signal);
      } catch (error) {
        if (!this.failed(error, signal)) return;
        await sleep(FOLLOW, signal).catch(() => {});
      }
    }
  }

  /** Record a failure; true if a retry makes sense.
   * @param {unknown} error
   * @param {AbortSignal} signal
   */
  failed(error, signal) {
    if (signal.aborted || isAbort(error)) return false;
    if (!(error instanceof Refused)) throw error;
    this.failure = error;
    this.changed();
    if (error.status === 401 && !HAS_PROXY) {
      this.onforgotten(error.message);
      return false;
    }
    // The copy that was being read is gone: begin again.
    return error.status === 0 || error.status === 410 || error.status >= 500;
  }

  /** Read the list of questions, and names. @param {AbortSignal} signal */
  async introduce(signal) {
    const {questions, max_age: maxAge} = await get('insight', signal);
    this.maxAge = maxAge ?? null;
    this.questions = new Map(questions.map((/** @type {Question} */ one) => [one.name, one]));
    this.changed();
    if (!this.off('names')) await this.readNames(signal);
    if (HAS_PROXY) this.readNamesOfOthers(signal);
  }

  /** Read the operator's names; without permission, ids are shown.
   * @param {AbortSignal} signal
   */
  async readNames(signal) {
    try {
      const {aggregates, requests} = await get('insight/names', signal);
      this.name({aggregates, flavors: requests});
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 403) throw error;
    }
  }

  /** Read the names of Keystone and nova through the proxy, which takes a while in large clouds.
   * @param {AbortSignal} signal
   */
  async readNamesOfOthers(signal) {
    try {
      for (let isComplete = false; !isComplete; await sleep(FOLLOW, signal)) {
        const {complete, zones = {}, ...names} = await get('names.json', signal);
        for (const [uuid, zone] of Object.entries(zones)) {
          if (names.aggregates[uuid] !== zone) names.aggregates[uuid] += ` (${zone})`;
        }
        this.name({...names, zones});
        isComplete = complete;
      }
    } catch (error) {
      if (!isAbort(error) && !(error instanceof Refused)) throw error;
    }
  }

  /** Add names to those that are known.
   * @param {Record<string, Record<string, string>>} names by kind
   */
  name(names) {
    for (const [kind, known] of Object.entries(this.names)) {
      for (const [id, name] of Object.entries(names[kind] ?? {})) known.set(id, name);
    }
    this.label();
    this.changed();
  }

  label() {
    this.labels = labelsOf(this.cloud.roots, this.names.aggregates);
    this.zones = zonesOf(this.cloud.roots, this.names, this.labels);
  }

  /** The zones as options of a list, with the chosen aggregate even if it is no zone. @param {string} chosen */
  zoneOptions(chosen) {
    const zones = new Map([...this.zones, [chosen, this.labels.get(chosen) ?? chosen]]);
    zones.delete('');
    return [...zones].sort((a, b) => byName(a[1], b[1]));
  }

  /** The reason why a question is not answered, as a sentence; empty if it is.
   * @param {string} name
   */
  off(name) {
    const question = this.questions.get(name);
    return question === undefined || question.enabled ? '' : `Not available: ${question.note ?? `${question.option} is false`}.`;
  }

  /** Read the whole cloud; the former data is shown until all of it has been read.
   * @param {AbortSignal} signal
   */
  async read(signal) {
    if (this.off('providers')) return;
    const cloud = new Cloud();
    /** @type {string | null} */
    let token = null;
    let shownAt = 0;
    for await (const page of pages(`insight/providers?${TREES}`, signal)) {
      token ??= page.token;
      cloud.put(page.trees);
      if (this.cloud.isComplete || Date.now() - shownAt < SHOW) continue;
      shownAt = Date.now();
      this.cloud = cloud;
      this.cloudChanged();
    }
    cloud.isComplete = true;
    this.rootsOfOthers = null;
    cloud.token = token;
    cloud.readAt = Date.now() - copy.age * 1000;
    this.cloud = cloud;
    this.cloudChanged();
  }

  /** Read changes. @param {AbortSignal} signal */
  async follow(signal) {
    const {cloud} = this;
    let isChanged = false;
    for await (const page of pages(`insight/changes?since=${cloud.token}&${TREES}`, signal)) {
      cloud.token = page.token;
      if (!page.complete) return this.read(signal);
      if (page.trees.length || page.deleted.length) isChanged = true;
      this.tell(page.trees, page.deleted);
    }
    cloud.readAt = Date.now();
    if (!isChanged) return undefined;
    cloud.changedAt = cloud.readAt;
    return this.cloudChanged();
  }

  /** Replace changed trees, and record the differences.
   * @param {import('./cloud.js').Tree[]} trees @param {string[]} deleted
   */
  tell(trees, deleted) {
    const {byUuid} = this.cloud;
    const uuids = [...trees.map(({root}) => root.uuid), ...deleted];
    const before = new Map(uuids.map((uuid) => [uuid, byUuid.get(uuid)]));
    this.cloud.put(trees, deleted);
    const observed = uuids.flatMap((uuid) => {
      const [had, has] = [before.get(uuid), byUuid.get(uuid)];
      const one = has ?? had;
      if (had?.providers !== has?.providers) this.rootsOfOthers = null;
      return one ? [{at: Date.now(), uuid, name: one.name, words: difference(had, has)}] : [];
    });
    this.observed = [...observed, ...this.observed].slice(0, MAX_OBSERVED);
  }

  /** The uuid of the root of a provider. Roots of other providers are read on demand; until then,
   * and if unknown, the result is the uuid itself.
   * @param {string} uuid
   */
  rootOf(uuid) {
    if (this.cloud.byUuid.has(uuid) || !this.cloud.isComplete) return uuid;
    this.allRoots().catch(() => {});
    return this.rootsOfOthers?.get(uuid) ?? uuid;
  }

  /** The name of a provider; for others than roots it is read on demand, and the uuid until then.
   * @param {string} uuid
   */
  nameOf(uuid) {
    this.rootOf(uuid);
    return this.cloud.byUuid.get(uuid)?.name ?? this.namesOfOthers.get(uuid) ?? uuid;
  }

  /** The roots of all providers that are no roots.
   * @returns {Promise<Map<string, string>>}
   */
  async allRoots() {
    if (this.rootsOfOthers === null) {
      this.rootsOfOthers = new Map();
      // Not aborted with the view that has asked, since other views need it too.
      this.readingRoots = this.readRoots(this.rootsOfOthers, this.stop.signal);
    }
    const roots = this.rootsOfOthers;
    await this.readingRoots;
    return roots;
  }

  /** @param {Map<string, string>} roots @param {AbortSignal} signal */
  async readRoots(roots, signal) {
    // Without nested providers there is nothing more to read.
    if (this.cloud.roots.every(({providers}) => providers === 1)) return;
    try {
      for await (const page of pages('insight/providers', signal)) {
        for (const {uuid, name, root_provider_uuid: root} of page.providers) {
          if (uuid === root) continue;
          roots.set(uuid, root);
          this.namesOfOthers.set(uuid, name);
        }
      }
    } catch (error) {
      if (this.rootsOfOthers === roots) this.rootsOfOthers = null;
      throw error;
    }
    this.changed();
  }

  cloudChanged() {
    this.cloud.summarise();
    this.label();
    this.changed();
  }

  /** The answer to a question. It is asked again if the answer is older than the last change of the
   * cloud and than some seconds; the former answer is shown meanwhile.
   * @param {string} path
   * @param {AbortSignal} signal
   * @param {{seconds?: number, read?: (path: string, signal: AbortSignal) => Promise<any>}} options
   * @returns {Answer}
   */
  ask(path, signal, {seconds = 30, read = get} = {}) {
    const known = this.answers.get(path);
    const isFresh = known !== undefined && (known.isAsked || Date.now() - known.at < seconds * 1000 || known.at > this.cloud.changedAt);
    if (isFresh) return known;
    const answer = known ?? {value: null, error: null, at: 0, isAsked: true};
    answer.isAsked = true;
    this.answers.set(path, answer);
    this.fill(path, answer, read(path, signal));
    return answer;
  }

  /** @param {string} path @param {Answer} answer @param {Promise<any>} promise */
  async fill(path, answer, promise) {
    try {
      answer.value = await promise;
      answer.error = null;
    } catch (error) {
      if (isAbort(error)) {
        if (this.answers.get(path) === answer) this.answers.delete(path);
        return;
      }
      if (!(error instanceof Refused)) throw error;
      answer.error = error;
      if (error.status === 401 && !HAS_PROXY) this.onforgotten(error.message);
    } finally {
      answer.isAsked = false;
      answer.at = Date.now();
    }
    this.changed();
  }

  /** Ask a question again, after an answer or a refusal.
   * @param {string} path
   */
  drop(path) {
    this.answers.delete(path);
    this.changed();
  }
}

/** @param {AbortSignal} signal @returns {Promise<void>} */
function untilSeen(signal) {
  return new Promise((resolve, reject) => {
    document.addEventListener('visibilitychange', () => resolve(), {once: true, signal});
    signal.addEventListener('abort', () => reject(signal.reason), {once: true});
  });
}

export const store = new Store();
