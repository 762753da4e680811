// SPDX-License-Identifier: Apache-2.0
// Texts to copy: ids, and commands of the openstack client that ask the question of a view.

import {HAS_PROXY, SERVICE} from './api.js';
import {h, say} from './dom.js';
import {store} from './store.js';

/** @typedef {import('./dom.js').Child} Child */

/** Put a text into the clipboard; where the browser forbids that, as without TLS, select it.
 * @param {string} text @param {Node | null | undefined} shown the element that has the text
 */
async function copy(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    say('Copied.');
  } catch {
    if (shown) getSelection()?.selectAllChildren(shown);
    say('Selected: copy it with the keyboard.');
  }
}

/** An id, and a button that copies it. @param {string} id @returns {Child} */
export function copyable(id) {
  return h('span', {class: 'id', key: id}, h('code', {}, id), h('button', {
    type: 'button', class: 'small', 'aria-label': `Copy ${id}`,
    onclick: (/** @type {Event} */ event) => copy(id, /** @type {Element} */ (event.currentTarget).previousSibling),
  }, 'Copy'));
}

/** A text that can be copied, with a title. @param {string} title @param {string} text @returns {Child} */
export function copied(title, text) {
  return h('div', {key: title.split(' ')[0]},
    h('div', {class: 'title'}, h('h2', {}, title),
      h('button', {type: 'button', class: 'small', onclick: (/** @type {Event} */ event) =>
        copy(text, /** @type {Element} */ (event.currentTarget).parentElement?.nextSibling)}, 'Copy')),
    h('pre', {class: 'raw', tabindex: 0, role: 'region', 'aria-label': title}, text));
}

/** The commands with the question of a view. @param {string[]} commands @returns {Child} */
export function asCommand(...commands) {
  // Beside another service, the catalogue has the address of that service.
  if (store.maxAge !== null && !HAS_PROXY) {
    const endpoint = quoted(SERVICE.href.replace(/\/$/, ''));
    commands = ['# OS_TOKEN is the token of this page.', `export OS_AUTH_TYPE=admin_token OS_ENDPOINT=${endpoint}`, ...commands];
  }
  return h('details', {class: 'copies', key: 'copies'}, h('summary', {}, 'The same as a command'), copied('Command', commands.join('\n')));
}

/** A text quoted for a shell. @param {string} text */
export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
