// SPDX-License-Identifier: Apache-2.0
// The explanation of a request: its verdict, remedies, and the funnel of conditions.

import {DISABLED} from './cloud.js';
import {h, wide} from './dom.js';
import {relaxed} from './query.js';
import {hostAddress} from './route.js';
import {store} from './store.js';
import {byClass, classLabel, classWord, exact, inOneUnit, number, plural, readable} from './words.js';

/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./query.js').Condition} Condition */
/** @typedef {{condition: Condition, trees_before: number, trees_after: number, only: number}} Step */
/** @typedef {{uuid: string, name: string | null}} Named */
/** @typedef {{resource_class: string, asked: number, free: number, capacity: number, provider: Named}} Missing */
/** @typedef {{root: Named, verdict: Verdict, disabled: boolean, failed: Condition[], missing: Missing[], subtree: {provider: Named, failed: Condition[]} | null}} Report */
/** @typedef {{conditions: Condition[], trees: number, largest: number | null, amounts: {amount: number, trees: number}[]}} Relaxation */
/** @typedef {'fits' | 'full' | 'infeasible' | 'unknown' | 'refused'} Verdict */
/**
 * @typedef {{verdict: Verdict, cause: string | null, trees_fitting: number, examined: number, of: number,
 *   groups: {suffix: string, resources: Record<string, number>, funnel: Step[]}[], combination: Step[], nearest: Report[],
 *   disabled: {trees: number, roots: Named[]}, relaxations: Relaxation[], provider: Report | null}} Explanation
 */

/** @type {Record<Verdict, [string, string]>} */
export const VERDICTS = {
  fits: ['good', 'Fits'], full: ['warn', 'Full now'], infeasible: ['bad', 'Never fits'], unknown: ['warn', 'Not decided'],
  refused: ['bad', 'Refused'],
};

/** When there has to be room, by the reason for which an amount is refused.
 * @type {Record<string, string>} */
const ROOM = {used: 'now', 'too small': 'when empty'};

const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

/** A text of the service with the names of aggregates in place of uuids. @param {string} text */
function named(text) {
  return text.replace(UUID, (uuid) => store.labels.get(uuid) ?? uuid);
}

/** True if a condition excludes disabled hosts. @param {Condition} condition */
function forbidsDisabled({reason, names}) {
  return (reason === 'forbidden trait' || reason === 'root_required') && names.some((one) => one.replace('!', '') === DISABLED);
}

/** A condition as words, wanted or not met. @param {Condition} condition */
function wanted(condition, isMissing = false) {
  const {reason, names, words} = condition;
  if (reason === 'class missing') return `${isMissing ? 'No' : 'Has'} ${names.map(classWord).join(', ')}`;
  if (reason in ROOM) return `${isMissing ? 'No room' : 'Room'} for ${compared(condition)[0]} ${classWord(names[0] ?? '')} ${ROOM[reason]}`;
  return sentence(words);
}

/** Words of the service for people, with a capital. @param {string} words */
function sentence(words) {
  return named(readable(`${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`));
}

/** A failed condition as words. @param {Condition} condition */
function missing(condition) {
  // The words of other conditions have their group.
  const isWithoutGroup = condition.reason === 'class missing' || condition.reason in ROOM;
  const group = condition.suffix && isWithoutGroup ? `Group ${condition.suffix}: ` : '';
  return group + wanted(condition, true) + most(condition);
}

/** The largest amount there is, for an amount that is too large. @param {Condition} condition */
function most(condition) {
  const [, value] = condition.reason in ROOM ? compared(condition) : [];
  return value === undefined ? '' : ` (${condition.reason === 'used' ? 'most free' : 'largest'} ${value})`;
}

/** The requested amount, and the largest there is. @param {Condition} condition */
function compared({reason, names, asked, largest, most_free: free}) {
  const value = reason === 'used' ? free : largest;
  return inOneUnit(names[0] ?? '', value === null ? [asked ?? 0] : [asked ?? 0, value]);
}

/** The verdict on the host in question: its kind, and words.
 * @param {Report} report
 * @returns {[string, string]}
 */
function verdictOn({root, verdict, disabled, failed}) {
  const name = root.name ?? root.uuid;
  const [kind, words] = VERDICTS[verdict];
  if (failed.some(forbidsDisabled)) {
    return ['bad', `No: ${name} is disabled`];
  }
  if (verdict === 'fits') return disabled ? ['warn', `Fits on ${name}, which is disabled`] : [kind, `Fits on ${name}`];
  if (verdict === 'full') return [kind, `No: ${name} is full now`];
  return [kind, verdict === 'infeasible' ? `Never fits on ${name}` : words];
}

/** @param {Explanation} found @returns {[string, string]} */
export function verdictOf(found) {
  if (found.provider) return verdictOn(found.provider);
  const isOnDisabled = found.verdict === 'fits' && found.disabled.trees > 0 && found.disabled.trees === found.trees_fitting;
  return isOnDisabled ? ['warn', 'Fits only on disabled hosts'] : VERDICTS[found.verdict];
}

/** The word for a verdict in a list. @param {Verdict} verdict */
export function verdictWords(verdict) {
  return VERDICTS[verdict][1].toLowerCase();
}

/** @param {Explanation} found @param {string} query @returns {Child} */
export function explanation(found, query) {
  return [verdict(found), whatToDo(found, query), nearest(found), funnels(found)];
}

/** @param {Explanation} found */
function verdict(found) {
  const [kind, words] = verdictOf(found);
  const inAll = found.provider ? `The cloud: ${VERDICTS[found.verdict][1]}; ` : '';
  return h('section', {class: `verdict ${kind}`, 'aria-label': 'Verdict'},
    h('h2', {class: 'verdict-words'}, words,
      h('span', {}, `${inAll}${plural(found.trees_fitting, 'tree')} of ${number(found.of)} can serve it now`)),
    h('p', {}, cause(found)),
    found.examined < found.of ? h('p', {}, h('strong', {}, `${number(found.examined)} of ${number(found.of)} trees (hosts with their devices) were examined. The numbers below count only these.`)) : null,
    found.provider ? report(found.provider, 'On the host you named') : null);
}

/** The cause of the service as a sentence; of a request that fits, its disabled hosts. @param {Explanation} found @returns {Child} */
function cause({verdict: kind, cause: words, of, disabled: {trees, roots}}) {
  if (of === 0) return 'There are no resource providers.';
  if (kind === 'unknown') return 'The search reached its limit before it could decide.';
  if (kind === 'fits') return trees > 0 && [`${number(trees)} of them ${trees === 1 ? 'is' : 'are'} disabled: `, listed(roots, trees)];
  return words && `${sentence(words)}.`;
}

/** @param {Named[]} roots the first of them @param {number} count @returns {Child} */
function listed(roots, count) {
  const shown = roots.slice(0, count);
  return [shown.map((one, index) => [index ? ', ' : '', link(one)]), count > shown.length && ` and ${number(count - shown.length)} more`];
}

/** @param {Explanation} found @param {string} query @returns {Child} */
function whatToDo(found, query) {
  const full = found.verdict === 'fits' ? [] : found.nearest.filter((one) => one.verdict === 'full' && !one.disabled && one.missing.length);
  if (found.relaxations.length + full.length === 0) return null;
  return h('section', {'aria-labelledby': 'relaxations'}, h('h2', {id: 'relaxations'}, 'What would help'),
    h('ul', {class: 'relaxations'},
      found.relaxations.map((one) => {
        const words = relaxationWords(one);
        return h('li', {}, h('strong', {}, plural(one.trees, 'tree')), ` ${words} `, tries(one, query, words), enabling(one, found.disabled.roots));
      }),
      full.slice(0, 3).map((one) => h('li', {key: one.root.uuid}, h('strong', {}, `Free ${lacking(one)}`), ' on ', link(one.root), ', whose page lists the consumers'))));
}

/** The disabled hosts that would serve a request, if enabling them helps.
 * @param {Relaxation} relaxation
 * @param {Named[]} roots disabled ones, beginning with those that would serve it
 * @returns {Child}
 */
function enabling({conditions, trees}, roots) {
  if (conditions.length > 1 || !conditions.every(forbidsDisabled) || roots.length === 0) return null;
  return [' or enable ', listed(roots, trees)];
}

/** @param {Named} root */
function link({uuid, name}) {
  return h('a', {href: hostAddress(uuid)}, name ?? uuid);
}

/** The amounts that a tree lacks. @param {Report} report */
function lacking({missing: lacks}) {
  return lacks.map((one) => `${exact(one.resource_class, one.asked - Math.max(0, one.free))} ${classWord(one.resource_class)}`).join(' and ');
}

/** Links to the request without the conditions, or with each of the smaller amounts.
 * @param {Relaxation} relaxation @param {string} query @param {string} words
 * @returns {Child}
 */
function tries({conditions, largest, amounts}, query, words) {
  /** @param {number | null} value @param {string} text */
  const again = (value, text) => {
    const other = relaxed(query, conditions, value);
    return other && h('a', {class: 'button', href: `#/why?${other}`, 'aria-label': `${text}: ${words}`}, text);
  };
  if (amounts.length === 0) return again(largest, 'Try it');
  const name = conditions.find((one) => one.asked !== null)?.names[0] ?? '';
  return amounts.map((one) => [again(one.amount, `${exact(name, one.amount)} on ${number(one.trees)}`), ' ']);
}

/** @param {Relaxation} relaxation */
function relaxationWords({conditions, largest, amounts}) {
  /** @param {Condition} condition */
  const inGroup = ({suffix}) => (suffix ? ` in group ${suffix}` : '');
  const other = largest ? conditions.find((one) => one.asked !== null) : undefined;
  // The words of a condition include its group.
  const given = conditions.filter((one) => one !== other).map((one) => (one.asked !== null || one.reason === 'class missing'
    ? `asking for ${classWord(one.names[0] ?? '')}${inGroup(one)}` : named(one.words)));
  const parts = given.length ? [`without ${given.join(' and ')}`] : [];
  if (other && largest) {
    const on = amounts[0] ? `, on ${number(amounts[0].trees)}` : '';
    parts.push(`with ${largest < (other.asked ?? 0) ? 'less' : 'another amount of'} ${classWord(other.names[0] ?? '')}${inGroup(other)}; ${exact(other.names[0] ?? '', largest)} at most${on}`);
  }
  return parts.join(' and ');
}

/** @param {Explanation} found */
function nearest(found) {
  if (found.nearest.length === 0) return null;
  return h('section', {'aria-labelledby': 'nearest'}, h('h2', {id: 'nearest'}, 'Closest hosts'),
    h('div', {class: 'reports'}, found.nearest.map((one) => report(one, null))));
}

/** @param {Report} one @param {string | null} title */
function report(one, title) {
  return h('article', {class: 'card', key: one.root.uuid},
    title ? h('p', {class: 'quiet'}, title) : null,
    h('h3', {}, link(one.root), one.disabled ? ' (disabled)' : ''),
    one.failed.length
      ? h('ul', {class: 'failed'}, one.failed.map((condition) => h('li', {}, missing(condition))))
      : h('p', {}, `${VERDICTS[one.verdict][1]}.`),
    one.subtree ? h('p', {}, `Closest below ${one.subtree.provider.name ?? one.subtree.provider.uuid}: ${one.subtree.failed.map(missing).join('; ') || 'each group alone, not all together'}`) : null,
    one.missing.map(missingBar));
}

/** @param {Missing} one */
function missingBar(one) {
  const name = one.resource_class;
  const whole = Math.max(one.asked, one.capacity, 1);
  const [asked, free, capacity] = inOneUnit(name, [one.asked, one.free, one.capacity]);
  return h('div', {class: 'missing'},
    h('span', {}, `${classLabel(name)}: ${asked} asked, ${free} free of ${capacity} on ${one.provider.name ?? one.provider.uuid}`),
    h('span', {class: 'bar', 'aria-hidden': 'true'},
      h('span', wide('free', Math.max(0, Math.min(one.free, one.asked)) / whole)),
      h('span', wide('over', Math.max(0, one.asked - Math.max(0, one.free)) / whole))));
}

/** @param {Explanation} found */
function funnels(found) {
  const groups = found.groups.map((group) => ({
    title: group.suffix ? `Group ${group.suffix}` : 'The request', steps: group.funnel,
    asked: Object.keys(group.resources).sort(byClass).map((name) => `${exact(name, group.resources[name] ?? 0)} ${classWord(name)}`).join(', '),
  }));
  if (found.combination.length) groups.push({title: 'All together', steps: found.combination, asked: ''});
  return h('section', {'aria-labelledby': 'funnel'}, h('h2', {id: 'funnel'}, 'Trees left after each condition'),
    h('div', {class: 'funnels'}, groups.filter(({steps}) => steps.length).map(({title, steps, asked}) =>
      h('div', {class: 'funnel'}, h('h3', {}, title), asked && h('p', {class: 'quiet'}, asked), stepList(steps, found.examined)))));
}

/** The steps that lose trees, and a folded list of the others.
 * @param {Step[]} steps @param {number} of
 * @returns {Child}
 */
function stepList(steps, of) {
  const lossy = steps.filter((one) => one.trees_after < one.trees_before);
  const others = steps.filter((one) => one.trees_after >= one.trees_before);
  return [
    lossy.length ? h('ol', {}, lossy.map((one) => stepItem(one, of))) : null,
    others.length ? h('details', {},
      h('summary', {}, `${plural(others.length, 'condition')} that ${others.length === 1 ? 'rejects' : 'reject'} no host`),
      h('ol', {}, others.map((one) => stepItem(one, of)))) : null,
  ];
}

/** @param {Step} step @param {number} of */
function stepItem({condition, trees_before: before, trees_after: after, only}, of) {
  const lost = before - after;
  const alone = only ? `; ${number(only)} ${only === 1 ? 'lacks' : 'lack'} only this` : '';
  return h('li', {class: lost ? 'step lossy' : 'step'},
    h('span', {class: 'step-words'}, wanted(condition) + (lost ? most(condition) : '')),
    h('span', {class: 'funnel-bar', 'aria-hidden': 'true'},
      h('span', wide('lost', lost / 2 / of)), h('span', wide('left', after / of)), h('span', wide('lost', lost / 2 / of))),
    h('span', {class: 'step-count'}, lost ? `${number(after)} left, ${number(lost)} lost${alone}` : `${number(after)} left`));
}
