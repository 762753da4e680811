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
  // Nova's gigabytes of disk are gibibytes.
  DISK_GB: {names: ['GiB', 'TiB', 'PiB'], step: 1024},
};

// Numbers from here on are too long to be compared at a glance.
const LONG = 100_000;

/** An amount of a resource class, with its unit if it has one, rounded.
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

/** An exact amount, for comparisons: 16,380 MiB are not 16 GiB.
 * @param {string} resourceClass
 * @param {number} value
 */
export function exact(resourceClass, value) {
  return amount(resourceClass, value, true);
}

/** Amounts of one class, for comparisons: in one unit, with enough digits to differ.
 * @param {string} resourceClass @param {number[]} values
 * @returns {string[]}
 */
export function inOneUnit(resourceClass, values) {
  const units = UNITS[resourceClass];
  if (units === undefined) return values.map(number);
  const {names, step} = units;
  const sizes = values.map(Math.abs).filter((value) => value > 0);
  let index = 0;
  // The unit of the smallest, unless the largest would be too long in it.
  while (sizes.length && index < names.length - 1 && (Math.min(...sizes) >= step ** (index + 1) || Math.max(...sizes) >= LONG * step ** index)) index += 1;
  const scaled = values.map((value) => value / step ** index);
  for (let digits = 1; ; digits += 1) {
    const words = scaled.map((value) => value.toLocaleString('en-US', {maximumFractionDigits: digits}));
    if (digits === 6 || new Set(words).size === new Set(values).size) return words.map((one) => `${one} ${names[index]}`);
  }
}

// Words for resource classes within a sentence.
/** @type {Record<string, string>} */
const CLASS_WORDS = {
  VCPU: 'vCPU', MEMORY_MB: 'memory', DISK_GB: 'disk', VGPU: 'vGPU', PGPU: 'GPU', SRIOV_NET_VF: 'SR-IOV VF',
  NET_BW_EGR_KILOBIT_PER_SEC: 'egress kbit/s', NET_BW_IGR_KILOBIT_PER_SEC: 'ingress kbit/s',
};

/** The word for a resource class within a sentence. @param {string} name */
export function classWord(name) {
  return CLASS_WORDS[name] ?? name;
}

/** The same as a heading. @param {string} name */
export function classLabel(name) {
  return classWord(name).replace(/^[a-z](?=[a-z])/, (letter) => letter.toUpperCase());
}

/** Amounts by class, such as "4 vCPU, 8 GiB memory".
 * @param {Record<string, number>} resources
 */
export function amounts(resources) {
  return Object.entries(resources).sort(([one], [other]) => byClass(one, other))
    .map(([name, value]) => `${amount(name, value)} ${classWord(name)}`).join(', ');
}

// Names, which may consist of digits, follow these words; amounts and counts stand in these places.
const NAMES_FOLLOW = /disabled \(\w+\): .*/s;
const AMOUNTS = /\b([A-Z][A-Z0-9_]*): \d+ asked(?:, (?:most free|largest) \d+)*/g;
const SHORT = /\b(has|gives) (\d+) ([A-Z][A-Z0-9_]*)( free| to one consumer)((?:; the most is )?)(\d*)/g;
const PAIRS = /\b([A-Z][A-Z0-9_]*):(\d+)(,?)/g;
const LARGEST = /\b([A-Z][A-Z0-9_]*)((?: in group \S+)?: )(\d+)(?= is the largest now)/g;
const COUNTS = /(?<![-\w.,:])(?:\d{4,}(?= trees?\b| of \d| have\b)|(?<=\bof )\d{4,})(?![-\w])/g;

/** A text of the service with units for amounts and separators in counts; names stay as they are.
 * @param {string} text
 */
export function readable(text) {
  const [names = ''] = text.match(NAMES_FOLLOW) ?? [];
  return text.slice(0, text.length - names.length)
    .replace(AMOUNTS, (part, name) => {
      const values = inOneUnit(name, [...part.matchAll(/ (\d+)/g)].map(([, value]) => Number(value)));
      return part.replace(name, classWord(name)).replace(/ \d+/g, () => ` ${values.shift()}`);
    })
    .replace(SHORT, (_, verb, asked, name, how, but, most) => {
      const [wanted, left] = inOneUnit(name, but ? [Number(asked), Number(most)] : [Number(asked)]);
      return `${verb} ${wanted} ${classWord(name)}${how}${but}${left ?? ''}`;
    })
    .replace(PAIRS, (_, name, value, comma) => `${exact(name, Number(value))} ${classWord(name)}${comma && ', '}`)
    .replace(LARGEST, (_, name, between, value) => `${name}${between}${exact(name, Number(value))}`)
    .replace(COUNTS, (value) => number(Number(value))) + names;
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

/** A moment as a time of the day, in UTC. @param {number} at milliseconds, as `Date.now()` */
export function clock(at) {
  return new Date(at).toISOString().slice(11, 19);
}

/** The age of a moment, as words.
 * @param {number} then milliseconds, as `Date.now()`
 */
export function ago(then) {
  const seconds = Math.max(0, Math.round((Date.now() - then) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h ago` : `${Math.floor(seconds / 86_400)} days ago`;
}

/** The natural order of names: vf2 before vf10.
 * @type {(one: string, other: string) => number}
 */
export const byName = new Intl.Collator('en', {numeric: true}).compare;

// The classes that every server has come first.
const FIRST_CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB'];

/** The order of resource classes in every view: processors, memory, disk, then by name.
 * @param {string} one @param {string} other
 */
export function byClass(one, other) {
  const [first = 0, second = 0] = [one, other].map((name) => (FIRST_CLASSES.indexOf(name) + 1 || FIRST_CLASSES.length + 1));
  return first - second || byName(one, other);
}
