// SPDX-License-Identifier: Apache-2.0
// Numbers, amounts and times as words.

const NUMBER = new Intl.NumberFormat('en-US');

/** @param {number} value */
export function number(value) {
  return NUMBER.format(value);
}

/** @type {Record<string, {names: string[], step: number}>} */
const UNITS = {
  MEMORY_MB: {names: ['MiB', 'GiB', 'TiB', 'PiB'], step: 1024},
  DISK_GB: {names: ['GB', 'TB', 'PB'], step: 1000},
};

/** An amount of a resource class, with its unit where it has one; rounded, unless it has to be exact.
 * @param {string} resourceClass
 * @param {number} value
 */
export function amount(resourceClass, value, isExact = false) {
  const units = UNITS[resourceClass];
  if (units === undefined) return number(value);
  const {names, step} = units;
  let index = 0;
  let scaled = value;
  while (Math.abs(scaled) >= step && index < names.length - 1 && !(isExact && (scaled * 10) % step)) {
    scaled /= step;
    index += 1;
  }
  return `${number(Math.round(scaled * 10) / 10)} ${names[index]}`;
}

/** An amount that is compared with others: 16,380 MiB are not 16 GiB.
 * @param {string} resourceClass
 * @param {number} value
 */
export function exact(resourceClass, value) {
  return amount(resourceClass, value, true);
}

/** Amounts by class, such as "4 VCPU, 8 GiB MEMORY_MB".
 * @param {Record<string, number>} resources
 */
export function amounts(resources) {
  return Object.entries(resources).map(([name, value]) => `${amount(name, value)} ${name}`).join(', ');
}

/** Text of the service, its amounts with units, and its numbers with separators.
 * @param {string} text
 */
export function readable(text) {
  return text
    .replace(/\b([A-Z][A-Z0-9_]*): \d+ asked(?:, (?:most free|largest) \d+)*/g, (part, name) =>
      part.replace(/ (\d+)/g, (_, value) => ` ${exact(name, Number(value))}`))
    .replace(/(?<![-\w.,])\d{4,}(?![-\w])/g, (value) => number(Number(value)));
}

/** @param {number} part from 0 to 1 */
export function percent(part) {
  return Number.isFinite(part) ? `${Math.floor(part * 100)} %` : '–';
}

/** @param {number} count @param {string} one @param {string} many */
export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** A time of the service, to the minute.
 * @param {string | null | undefined} text
 */
export function minute(text) {
  return text ? text.slice(0, 16).replace('T', ' ') : '–';
}

/** How long ago something was, in words.
 * @param {number} then milliseconds, as `Date.now()`
 */
export function ago(then) {
  const seconds = Math.max(0, Math.round((Date.now() - then) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min ago` : `${Math.floor(seconds / 3600)} h ago`;
}

/** Names as they are sorted by people: vf2 before vf10.
 * @type {(one: string, other: string) => number}
 */
export const byName = new Intl.Collator('en', {numeric: true}).compare;
