// SPDX-License-Identifier: Apache-2.0
// Elements are made by calls, and texts are set as texts: nothing is ever parsed as markup, so that
// a name such as "<img onerror=...>" is shown and does nothing.

/** An element. Members of `attributes` are attributes; those that begin with "on" are listeners. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const NUMBER = new Intl.NumberFormat('en-US');

export function number(value) {
  return NUMBER.format(value);
}

const UNITS = {MEMORY_MB: ['MiB', 'GiB', 'TiB', 'PiB'], DISK_GB: ['GB', 'TB', 'PB']};
const STEPS = {MEMORY_MB: 1024, DISK_GB: 1000};

/** An amount of a resource class, with its unit where it has one; rounded, unless it has to be exact. */
export function amount(resourceClass, value, isExact = false) {
  const units = UNITS[resourceClass];
  if (units === undefined) return number(value);
  let index = 0;
  let scaled = value;
  const step = STEPS[resourceClass];
  while (Math.abs(scaled) >= step && index < units.length - 1 && !(isExact && (scaled * 10) % step)) {
    scaled /= step;
    index += 1;
  }
  return `${number(Math.round(scaled * 10) / 10)} ${units[index]}`;
}

/** An amount that is compared with others: 16,380 MiB are not 16 GiB. */
export function exact(resourceClass, value) {
  return amount(resourceClass, value, true);
}

/** What the service says, its amounts with units, and its numbers with separators. */
export function readable(words) {
  return words
    .replace(/\b([A-Z][A-Z0-9_]*): \d+ asked(?:, (?:most free|largest) \d+)*/g, (part, name) =>
      part.replace(/ (\d+)/g, (_, value) => ` ${exact(name, Number(value))}`))
    .replace(/(?<![-\w.,])\d{4,}(?![-\w])/g, (value) => number(Number(value)));
}

export function percent(part) {
  return Number.isFinite(part) ? `${Math.floor(part * 100)} %` : '–';
}

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** Tell those who listen; what is on the page says it to those who look. */
export function say(text) {
  document.getElementById('status').textContent = text;
}

let requests = 0;

/** Show that requests are under way: `change` is 1 as one begins, and -1 when it has ended. */
export function working(change, words = 'Reading …') {
  requests += change;
  document.getElementById('activity').textContent = requests ? words : '';
}

/** Tell everybody what went wrong; an empty text takes that back. */
export function complain(text) {
  document.getElementById('complaint').textContent = text;
}

/** The width of a part of a bar, from 0 to 1. */
export function wide(element, part) {
  element.style.width = `${Math.max(0, Math.min(1, part)) * 100}%`;
  return element;
}

/** A field with its label above it. */
export function field(label, control, id) {
  control.id = id;
  return h('div', {class: 'field'}, h('label', {for: id}, label), control);
}

export function select(options, chosen, onchange) {
  const control = h('select', {onchange: () => onchange(control.value)});
  for (const [value, words] of options) {
    control.append(h('option', {value, selected: value === chosen}, words));
  }
  return control;
}
