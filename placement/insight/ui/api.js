// SPDX-License-Identifier: Apache-2.0
// Reads of the service. The token is in this module's memory, and nowhere else.

import {working} from './dom.js';

let token = null;

// `openstack placement ui` adds the token to each request, and says so in the address.
export const HAS_PROXY = new URLSearchParams(location.search).get('token') === 'proxy';

// The page is at <service>/ui/, whatever the path of the service is.
const SERVICE = new URL('../', document.baseURI);
// What the words of a refusal have that tells nobody anything.
const EMPTY_WORDS = /^The server could not comply with the request since it is either malformed or otherwise incorrect\.| Failed validating .*$/g;
// A busy service is asked so often, each time after so many milliseconds more: half a minute in all.
const ATTEMPTS = 20;
const PAUSE = 150;

export function setToken(value) {
  token = value;
}

export function hasToken() {
  return HAS_PROXY || token !== null;
}

/** An answer that is none of success: `status`, and words for whoever asked. */
export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** The answer to GET, as a value. Throws `Refused`. A busy service is asked again. */
export async function get(path, signal) {
  working(1);
  try {
    return await patiently(path, signal);
  } finally {
    working(-1);
  }
}

async function patiently(path, signal) {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send(path, signal);
    if (answer.ok) return value(answer);
    if (answer.status !== 503 || !answer.headers.has('retry-after') || attempt === ATTEMPTS) {
      throw new Refused(answer.status, await words(answer));
    }
    working(0, `Service busy, try ${attempt} of ${ATTEMPTS} …`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE * attempt));
  }
}

async function send(path, signal) {
  try {
    return await fetch(new URL(path, SERVICE), {
      headers: {...(HAS_PROXY ? {} : {'X-Auth-Token': token ?? ''}), Accept: 'application/json'},
      credentials: 'omit', cache: 'no-store', redirect: 'error', mode: 'same-origin', signal,
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused(0, 'The service does not answer, or the token has characters that none has.');
  }
}

async function value(answer) {
  try {
    return await answer.json();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused(0, 'The answer of the service is cut off, or is none of this service.');
  }
}

async function words(answer) {
  if (answer.status === 401) return `The service does not know ${HAS_PROXY ? 'the token of the proxy' : 'this token'}.`;
  if (answer.status === 403) return 'The owner of this token may not read this (see "policy").';
  try {
    const [error] = (await answer.json()).errors;
    return error.detail.replaceAll(/\s+/g, ' ').replace(EMPTY_WORDS, '').trim();
  } catch {
    return `The service answers with status ${answer.status}.`;
  }
}

/** Each page of a list: its elements, under `name`. */
export async function* pages(path, name, signal) {
  const [place] = path.split('?');
  let next = `${path}${path.includes('?') ? '&' : '?'}page_limit=1000`;
  while (next !== null) {
    const page = await get(next, signal);
    yield page[name];
    // Only the query of the link: a proxy may have another path for the service than it knows.
    const link = page.links.find((one) => one.rel === 'next');
    next = link ? `${place}?${link.href.split('?')[1]}` : null;
  }
}

/** All elements of a list. */
export async function all(path, name, signal) {
  const found = [];
  for await (const page of pages(path, name, signal)) found.push(...page);
  return found;
}
