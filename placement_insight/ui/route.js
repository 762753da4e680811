// SPDX-License-Identifier: Apache-2.0
// The state of the page is the part of its address after "#", which is never sent: a view, its object,
// and parameters, such as #/map?class=VCPU and #/host/compute-17.

export const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/** A query as text, with safe characters left readable.
 * @param {Iterable<[string, string]>} parameters
 */
export function queryText(parameters) {
  return [...parameters].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
}

/** @param {string} text */
export function encoded(text) {
  return encodeURIComponent(text).replace(/%(3A|2C|20)/g, (part) => (part === '%20' ? '+' : decodeURIComponent(part)));
}

export class Route {
  /** @param {string} hash */
  constructor(hash) {
    const [path = '', ...rest] = hash.replace(/^#\/?/, '').split('?');
    const [view = '', ...object] = path.split('/');
    this.view = view;
    this.object = decoded(object.join('/'));
    /** The parameters as they were written. */
    this.query = rest.join('?');
    this.parameters = new URLSearchParams(this.query);
  }

  /** The value of a parameter.
   * @param {string} name
   */
  get(name, otherwise = '') {
    return this.parameters.get(name) ?? otherwise;
  }

  /** The address with some parameters changed; those without a value are removed.
   * @param {Record<string, string>} changes
   */
  with(changes) {
    const parameters = new URLSearchParams(this.parameters);
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') parameters.delete(name);
      else parameters.set(name, value);
    }
    return address(this.view, this.object, parameters);
  }
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} view @param {string} object @param {Iterable<[string, string]>} parameters */
export function address(view, object = '', parameters = []) {
  const query = queryText(parameters);
  return `#/${view}${object && `/${encodeURIComponent(object)}`}${query && `?${query}`}`;
}

/** The address of a host, or of any provider.
 * @param {string} uuid
 */
export function hostAddress(uuid) {
  return address('host', uuid);
}

/** The address of a project's consumers. @param {string} id */
export function projectAddress(id) {
  return address('holders', '', [['project', id]]);
}

export function current() {
  return new Route(location.hash);
}

/** Change parameters of the address. Typing adds no entries to the browser's history.
 * @param {Record<string, string>} changes
 */
export function change(changes, isTyped = false) {
  const hash = current().with(changes);
  if (hash === location.hash) return;
  if (isTyped) {
    history.replaceState(null, '', hash);
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  } else location.hash = hash;
}
