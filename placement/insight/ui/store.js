// SPDX-License-Identifier: Apache-2.0
// Everything that the page knows of the service. Views draw what is here, and are told when it changes.

import {Cloud, labelsOf} from './cloud.js';
import {MAX_TOLD, difference} from './told.js';
import {HAS_PROXY, Refused, get, hasToken, isAbort, pages, sleep} from './api.js';

/**
 * An answer of the service: its value, or why there is none; and when it came, as `Date.now()`.
 * @typedef {{value: any, error: Refused | null, at: number, isAsked: boolean}} Answer
 * @typedef {{name: string, enabled: boolean, option: string}} Question
 */

// Milliseconds between two looks at what has changed.
const FOLLOW = 3000;
// Milliseconds between two pictures of a cloud that is being read: to draw one takes as long as to read more.
const SHOW = 500;
const TREES = 'by=root&include=aggregates,traits';

class Store {
  constructor() {
    this.cloud = new Cloud();
    /** Why the cloud is not followed at present.
     * @type {Refused | null} */
    this.failure = null;
    /** The questions by name; none while it is not known which are on.
     * @type {Map<string, Question>} */
    this.questions = new Map();
    /** The names that operators gave: aggregates and projects by id, queries by the name of a flavor.
     * @type {{aggregates: Map<string, string>, flavors: Map<string, string>, projects: Map<string, string>, servers: Map<string, string>}} */
    this.names = {aggregates: new Map(), flavors: new Map(), projects: new Map(), servers: new Map()};
    /** The labels of aggregates.
     * @type {Map<string, string>} */
    this.labels = new Map();
    /** What has changed since the page was opened, the newest first.
     * @type {import('./told.js').Told[]} */
    this.told = [];
    /** The roots of providers that are none, by uuid; null until somebody asks.
     * @type {Map<string, string> | null} */
    this.rootsOfOthers = null;
    this.readingRoots = Promise.resolve();
    /** @type {Map<string, Answer>} */
    this.answers = new Map();
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    /** Called when the token is not known, or no more.
     * @type {(words: string) => void} */
    this.onforgotten = () => {};
    this.stop = new AbortController();
  }

  /** Call a function whenever something changes; the result ends that.
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

  /** Forget what was read with another token. */
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
        await sleep(FOLLOW, signal);
        // Who does not look needs no news.
        if (document.hidden) await untilSeen(signal);
      } catch (error) {
        if (!this.failed(error, signal)) return;
        await sleep(FOLLOW, signal).catch(() => {});
      }
    }
  }

  /** Take note of a failure; true if it is worth trying again.
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
    return error.status === 0 || error.status >= 500;
  }

  /** Ask which questions are on, and for names. @param {AbortSignal} signal */
  async introduce(signal) {
    const {questions} = await get('insight', signal);
    this.questions = new Map(questions.map((/** @type {Question} */ one) => [one.name, one]));
    this.changed();
    if (!this.off('names')) await this.readNames(signal);
    if (HAS_PROXY) this.readNamesOfOthers(signal);
  }

  /** Read the names that the operator of the service gives; who may not see them sees ids.
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

  /** Read the names that Keystone and nova have, through the proxy, which takes a while in large clouds.
   * @param {AbortSignal} signal
   */
  async readNamesOfOthers(signal) {
    try {
      for (let isComplete = false; !isComplete; await sleep(FOLLOW, signal)) {
        const {complete, zones = {}, ...names} = await get('names.json', signal);
        for (const [uuid, zone] of Object.entries(zones)) {
          if (names.aggregates[uuid] !== zone) names.aggregates[uuid] += ` (${zone})`;
        }
        this.name(names);
        isComplete = complete;
      }
    } catch (error) {
      if (!isAbort(error) && !(error instanceof Refused)) throw error;
    }
  }

  /** Take names beside those that are known.
   * @param {Record<string, Record<string, string>>} names by kind
   */
  name(names) {
    for (const [kind, known] of Object.entries(this.names)) {
      for (const [id, name] of Object.entries(names[kind] ?? {})) known.set(id, name);
    }
    this.labels = labelsOf(this.cloud.roots, this.names.aggregates);
    this.changed();
  }

  /** Why a question is not answered, in words; empty where it is.
   * @param {string} name
   */
  off(name) {
    const question = this.questions.get(name);
    return question === undefined || question.enabled ? '' : `The service does not answer this: ${question.option} is false.`;
  }

  /** Read the whole cloud; what was read before is shown until all of it has been read again.
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
    cloud.readAt = Date.now();
    this.cloud = cloud;
    this.cloudChanged();
  }

  /** Read what has changed. @param {AbortSignal} signal */
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

  /** Put changed trees in the place of what they were, and note how they differ.
   * @param {import('./cloud.js').Tree[]} trees @param {string[]} deleted
   */
  tell(trees, deleted) {
    const {byUuid} = this.cloud;
    const uuids = [...trees.map(({root}) => root.uuid), ...deleted];
    const before = new Map(uuids.map((uuid) => [uuid, byUuid.get(uuid)]));
    this.cloud.put(trees, deleted);
    const told = uuids.flatMap((uuid) => {
      const [had, has] = [before.get(uuid), byUuid.get(uuid)];
      const one = has ?? had;
      if (had?.providers !== has?.providers) this.rootsOfOthers = null;
      return one ? [{at: Date.now(), uuid, name: one.name, words: difference(had, has)}] : [];
    });
    this.told = [...told, ...this.told].slice(0, MAX_TOLD);
  }

  /** The uuid of the root of a provider. Of those that are no roots it is read when it is asked for
   * the first time; until then, and where nobody knows, it is their own.
   * @param {string} uuid
   */
  rootOf(uuid) {
    if (this.cloud.byUuid.has(uuid) || !this.cloud.isComplete) return uuid;
    this.allRoots().catch(() => {});
    return this.rootsOfOthers?.get(uuid) ?? uuid;
  }

  /** The roots of all providers that are none.
   * @returns {Promise<Map<string, string>>}
   */
  async allRoots() {
    if (this.rootsOfOthers === null) {
      this.rootsOfOthers = new Map();
      // Other views need it, too, when the one that has asked is gone.
      this.readingRoots = this.readRoots(this.rootsOfOthers, this.stop.signal);
    }
    const roots = this.rootsOfOthers;
    await this.readingRoots;
    return roots;
  }

  /** @param {Map<string, string>} roots @param {AbortSignal} signal */
  async readRoots(roots, signal) {
    // Of a cloud without nested providers everything is known.
    if (this.cloud.roots.every(({providers}) => providers === 1)) return;
    try {
      for await (const page of pages('insight/providers', signal)) {
        for (const {uuid, root_provider_uuid: root} of page.providers) if (uuid !== root) roots.set(uuid, root);
      }
    } catch (error) {
      if (this.rootsOfOthers === roots) this.rootsOfOthers = null;
      throw error;
    }
    this.changed();
  }

  cloudChanged() {
    this.cloud.summarise();
    this.labels = labelsOf(this.cloud.roots, this.names.aggregates);
    this.changed();
  }

  /** The answer to a question, which is asked where it is not known, or was before the last change
   * of the cloud and longer ago than some seconds. What is known is shown meanwhile.
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

  /** Ask a question again that was answered, or refused.
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
