// SPDX-License-Identifier: Apache-2.0
// Descriptions of elements, and updates of the document to match them. Existing elements are altered
// in place, so that focus, scroll positions and selections survive. Nothing is ever parsed as markup:
// a name such as "<img onerror=...>" is shown and does nothing.

import {ago, classLabel, minute} from './words.js';

/**
 * Attributes of an element. Members that begin with "on" are listeners, `style` has properties,
 * `value` and `checked` are those of a control, and `key` identifies an element among its siblings.
 * @typedef {Record<string, any>} Attributes
 * @typedef {{name: string, attributes: Attributes, children: Child[]}} Description
 * @typedef {Description | Element | string | number | null | undefined | false | Child[]} Child
 */

// Attributes that users read.
const SPOKEN = new Set(['title', 'aria-label']);

/** The attributes that an element was made with.
 * @type {WeakMap<Node, Attributes>} */
const made = new WeakMap();

/** Describe an element.
 * @param {string} name
 * @param {Attributes} attributes
 * @param {...Child} children
 * @returns {Description}
 */
export function h(name, attributes = {}, ...children) {
  return {name, attributes, children};
}

// Characters that reverse the order of others, or are invisible: a name with them could pass for another one.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A text with code points in place of invisible characters. @param {string} text */
export function visible(text) {
  return text.replace(UNSEEN, (one) => `[U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
}

/** @param {Child[]} children @returns {(Description | Element | string)[]} */
function flat(children) {
  return children.flat(/** @type {1} */ (Infinity)).flatMap((child) =>
    (child === null || child === undefined || child === false || child === '' ? []
      : [typeof child === 'number' ? String(child) : typeof child === 'string' ? visible(child) : /** @type {Description | Element} */ (child)]));
}

/** Make the children of an element match descriptions; an element in place of one is used as it is.
 * @param {Element} parent
 * @param {...Child} children
 */
export function patch(parent, ...children) {
  const wanted = flat(children);
  const nodes = match(parent, wanted);
  const kept = new Set(nodes);
  for (const node of [...parent.childNodes]) if (!kept.has(node)) node.remove();
  let place = parent.firstChild;
  wanted.forEach((child, index) => {
    const node = nodes[index] ?? make(child);
    // Nodes in order are not moved: elements in them would lose the focus.
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
    if (typeof child === 'string') {
      if (node.nodeValue !== child) node.nodeValue = child;
    } else if (!(child instanceof Element)) alter(/** @type {HTMLElement} */ (node), child);
  });
}

/** The existing nodes for descriptions, undefined where a new one is needed.
 * @param {Element} parent
 * @param {(Description | Element | string)[]} wanted
 * @returns {(ChildNode | undefined)[]}
 */
function match(parent, wanted) {
  /** @type {Map<string, ChildNode[]>} */
  const free = new Map();
  for (const node of parent.childNodes) {
    const name = identity(node.nodeName.toLowerCase(), made.get(node)?.key);
    const same = free.get(name);
    if (same) same.push(node);
    else free.set(name, [node]);
  }
  return wanted.map((child) => {
    if (child instanceof Element) return child;
    if (typeof child === 'string') return free.get('#text ')?.shift();
    return free.get(identity(child.name, child.attributes.key))?.shift();
  });
}

/** @param {string} name @param {unknown} key */
const identity = (name, key) => `${name} ${key ?? ''}`;

/** @param {Description | Element | string} child @returns {Node} */
function make(child) {
  if (typeof child === 'string') return document.createTextNode(child);
  return child instanceof Element ? child : document.createElement(child.name);
}

/** @param {HTMLElement} element @param {Description} description */
function alter(element, {attributes, children}) {
  const before = made.get(element) ?? {};
  for (const name of Object.keys(before)) {
    if (!(name in attributes)) set(element, name, null, before[name]);
  }
  for (const [name, value] of Object.entries(attributes)) set(element, name, value, before[name]);
  made.set(element, attributes);
  // A custom element manages its own children.
  if (!element.localName.includes('-')) patch(element, ...children);
  // An option can be chosen only once there are options.
  if (element instanceof HTMLSelectElement && 'value' in attributes) hold(element, 'value', attributes.value);
}

/** @param {HTMLElement} element @param {string} name @param {any} value @param {any} before */
function set(element, name, value, before) {
  if (name === 'key') return;
  if ((name === 'value' || name === 'checked') && !(element instanceof HTMLOptionElement)) {
    // A typed value stays until there is another value.
    if (value !== before && !(element instanceof HTMLSelectElement)) hold(element, name, value);
  } else if (name === 'style') {
    for (const property of Object.keys(before ?? {})) {
      if (!(property in (value ?? {}))) element.style.removeProperty(property);
    }
    for (const [property, wanted] of Object.entries(value ?? {})) {
      if (wanted !== before?.[property]) element.style.setProperty(property, wanted);
    }
  } else if (name.startsWith('on')) /** @type {any} */ (element)[name] = value;
  else if (value !== before) {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : SPOKEN.has(name) ? visible(String(value)) : String(value));
  }
}

/** @param {HTMLElement} control @param {'value' | 'checked'} name @param {any} value */
function hold(control, name, value) {
  const held = /** @type {any} */ (control);
  // The value is the same with no choice and with an empty one.
  const isUnset = control instanceof HTMLSelectElement && control.selectedIndex < 0;
  if (held[name] !== value || isUnset) held[name] = value ?? '';
}

/** An element of the index.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`there is no #${id}`);
  return found;
}

/** Announce a text to screen readers; the page shows the same.
 * @param {string} text
 */
export function say(text) {
  byId('status').textContent = text;
}

/** The attributes of a part of a bar, from 0 to 1.
 * @param {string} kind
 * @param {number} part
 * @returns {Attributes}
 */
export function wide(kind, part) {
  return {class: kind, style: {width: `${Math.max(0, Math.min(1, part)) * 100}%`}};
}

/** A resource class as a heading, with its name in the API as a tip. @param {string} name */
export function classHeading(name) {
  return h('span', {title: name}, classLabel(name));
}

/** The age of a time of the service, with the time itself as a tip. @param {string} text */
export function moment(text) {
  return h('time', {datetime: text, title: `${minute(text)} UTC`}, ago(Date.parse(text)));
}

/** A field with its label above it.
 * @param {string} label
 * @param {Description} control
 * @param {string} id
 */
export function field(label, control, id) {
  control.attributes.id = id;
  return h('div', {class: 'field'}, h('label', {for: id}, label), control);
}

/** @param {[string, string][]} options by value, their words
 * @param {string} chosen
 * @param {(value: string) => void} onchange
 */
export function select(options, chosen, onchange) {
  return h('select', {
    value: chosen,
    onchange: (/** @type {Event} */ event) => onchange(/** @type {HTMLSelectElement} */ (event.target).value),
  }, options.map(([value, words]) => h('option', {value, key: value}, words)));
}

/** A table in a region of its own, which scrolls where it is too wide.
 * @param {string} label
 * @param {string[]} columns
 * @param {Child[]} rows
 * @param {number} [ofNumbers] the index of the first column of numbers
 */
export function table(label, columns, rows, ofNumbers = columns.length) {
  return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label},
    h('table', {},
      h('thead', {}, h('tr', {}, columns.map((name, index) => h('th', {scope: 'col', class: index >= ofNumbers ? 'right' : null}, name)))),
      h('tbody', {}, rows)));
}
