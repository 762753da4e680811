// SPDX-License-Identifier: Apache-2.0
// Requests to the service, one after the other. The token is in this module's memory alone, unless
// the user keeps it in the tab.

// `openstack placement ui` adds the token to each request, and says so in the address.
export const HAS_PROXY = new URLSearchParams(location.search).get('token') === 'proxy';

// The page is at <service>/ui/, whatever the path of the service is.
export const SERVICE = new URL('../', document.baseURI);
// The generic part of a refusal.
const EMPTY_WORDS = /^The server could not comply with the request since it is either malformed or otherwise incorrect\.| Failed validating .*$/g;
// Milliseconds: how long requests to a busy service are retried without any answer, and the longest
// pause.
const GIVE_UP = 120_000;
const LONGEST = 10_000;

// Age in seconds of the last answer about the cloud, where insight runs beside another service.
export const copy = {age: 0};

// The storage of the tab; null where the browser forbids it.
const TAB = (() => {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
})();
const KEPT = 'token';
// When the service last answered a request with this token.
let answeredAt = 0;
/** @type {string | null} */
let token = HAS_PROXY ? null : TAB?.getItem(KEPT) ?? null;

/** @param {string} value @param {boolean} isKept in this tab until it is closed, or the token is no longer valid */
export function setToken(value, isKept) {
  token = value;
  answeredAt = 0;
  if (isKept) TAB?.setItem(KEPT, value);
  else forgetToken();
}

/** Forget the token, which the service refuses. */
export function forgetToken() {
  TAB?.removeItem(KEPT);
}

export function hasToken() {
  return HAS_PROXY || token !== null;
}

/** An unsuccessful answer: its `status`, 0 without an answer, and a sentence for the user. */
export class Refused extends Error {
  /** @param {number} status @param {string} words */
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** The requests under way, as words for the header; `onchange` is called when they change. */
export const activity = {
  count: 0,
  words: '',
  onchange: () => {},
};

/** @param {number} change @param {string} words */
function working(change, words = 'Reading …') {
  activity.count += change;
  activity.words = activity.count ? words : '';
  activity.onchange();
}

// A process of the service answers one question at a time, so this page sends one at a time.
let last = Promise.resolve();

/** Send GET and return the answer as a value; retried while the service is busy.
 * @param {string} path below the service
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 * @throws {Refused}
 */
export function get(path, signal) {
  return queued(() => patiently(path, signal));
}

/** Send POST of a question, which writes nothing, and return the answer.
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 * @throws {Refused}
 */
export function post(path, body, signal) {
  return queued(() => patiently(path, signal, body));
}

/** @template T @param {() => Promise<T>} read @returns {Promise<T>} */
async function queued(read) {
  const before = last;
  /** @type {() => void} */
  let done = () => {};
  last = new Promise((resolve) => { done = resolve; });
  working(1);
  try {
    await before;
    return await read();
  } finally {
    working(-1);
    done();
  }
}

/** @param {string} path @param {AbortSignal} [signal] @param {unknown} [body] */
async function patiently(path, signal, body) {
  const began = Date.now();
  // Most questions take a tenth of a second, and the service cannot ask for less than a second.
  for (let pause = 0.3; ; pause *= 1.5) {
    signal?.throwIfAborted();
    const answer = await send(path, signal, body);
    if (answer.ok) {
      answeredAt = Date.now();
      copy.age = Number(answer.headers.get('openstack-placement-age') ?? 0);
      return value(answer);
    }
    const after = Number(answer.headers.get('retry-after') ?? NaN);
    if (answer.status !== 503 || !(after >= 0) || Date.now() - Math.max(began, answeredAt) > GIVE_UP) {
      throw new Refused(answer.status, await refusal(answer));
    }
    const seconds = Math.round((Date.now() - began) / 1000);
    working(0, `Service busy${seconds ? ` for ${seconds} s` : ''}, asking again …`);
    // At random, so that several pages do not retry in step.
    await sleep(Math.min(LONGEST, Math.max(0.2, after) * 1000 * pause) * (0.5 + Math.random() / 2), signal);
    working(0);
  }
}

/** Wait; rejects when the signal aborts.
 * @param {number} milliseconds
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, {once: true});
  });
}

/** @param {string} path @param {AbortSignal | undefined} signal @param {unknown} body */
async function send(path, signal, body) {
  const headers = {
    Accept: 'application/json',
    ...(HAS_PROXY ? {} : {'X-Auth-Token': token ?? '', 'OpenStack-API-Version': 'placement 1.39'}),
    ...(body === undefined ? {} : {'Content-Type': 'application/json'}),
  };
  try {
    return await fetch(new URL(path, SERVICE), {
      headers, credentials: 'omit', cache: 'no-store', redirect: 'error', mode: 'same-origin', signal: signal ?? null,
      ...(body === undefined ? {} : {method: 'POST', body: JSON.stringify(body)}),
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    // A token that was valid once has no invalid characters.
    throw new Refused(0, answeredAt ? 'The service does not answer.' : 'The service does not answer, or the token has invalid characters.');
  }
}

/** @param {unknown} error */
export function isAbort(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** @param {Response} answer */
async function value(answer) {
  try {
    return await answer.json();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Refused(0, 'The response is truncated, or comes from another service.');
  }
}

/** @param {Response} answer */
async function refusal(answer) {
  if (answer.status === 401) return `The service does not know ${HAS_PROXY ? 'the token of the proxy' : 'this token'}, or it has expired.`;
  if (answer.status === 403) return 'The owner of this token may not read this (see "policy").';
  try {
    const [error] = (await answer.json()).errors;
    return error.detail.replaceAll(/\s+/g, ' ').replace(EMPTY_WORDS, '').trim();
  } catch {
    if (answer.status === 404 && HAS_PROXY) return 'The command "openstack placement ui" is older than the service, and does not forward this request.';
    return `The service answers with status ${answer.status}.`;
  }
}

/** Yield each page of a list.
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<any>}
 */
export async function* pages(path, signal) {
  const [place] = path.split('?');
  let next = /** @type {string | null} */ (`${path}${path.includes('?') ? '&' : '?'}page_limit=1000`);
  while (next !== null) {
    const page = await get(next, signal);
    yield page;
    // Only the query of the link: behind a proxy the path may be another one.
    const link = page.links.find((/** @type {{rel: string}} */ one) => one.rel === 'next');
    next = link ? `${place}?${link.href.split('?')[1]}` : null;
  }
}

/** All elements of a list.
 * @param {string} path
 * @param {string} name
 * @param {AbortSignal} [signal]
 * @returns {Promise<any[]>}
 */
export async function all(path, name, signal) {
  const found = [];
  for await (const page of pages(path, signal)) found.push(...page[name]);
  return found;
}
