// SPDX-License-Identifier: Apache-2.0
// The explanation of a request as the service gives it: one sentence, what to do, and why.

import {DISABLED} from './cloud.js';
import {h, wide} from './dom.js';
import {relaxed} from './query.js';
import {hostAddress} from './route.js';
import {store} from './store.js';
import {exact, number, plural, readable} from './words.js';

/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./query.js').Condition} Condition */
/** @typedef {{condition: Condition, trees_before: number, trees_after: number, only: number}} Step */
/** @typedef {{uuid: string, name: string | null}} Named */
/** @typedef {{resource_class: string, asked: number, free: number, capacity: number, provider: Named}} Missing */
/** @typedef {{root: Named, verdict: Verdict, disabled: boolean, failed: Condition[], missing: Missing[], subtree: {provider: Named, failed: Condition[]} | null}} Report */
/** @typedef {{conditions: Condition[], trees: number, largest: number | null, amounts: {amount: number, trees: number}[]}} Relaxation */
/** @typedef {'fits' | 'full' | 'infeasible' | 'unknown'} Verdict */
/**
 * @typedef {{verdict: Verdict, summary: string, trees_fitting: number, examined: number, of: number,
 *   groups: {suffix: string, resources: Record<string, number>, funnel: Step[]}[], combination: Step[], nearest: Report[],
 *   disabled: {trees: number, roots: Named[]}, relaxations: Relaxation[], provider: Report | null}} Explanation
 */

/** @type {Record<Verdict, [string, string]>} */
export const VERDICTS = {
  fits: ['good', 'It fits'], full: ['warn', 'Full at present'],
  infeasible: ['bad', 'Not even in an empty cloud'], unknown: ['warn', 'Not known'],
};

/** By the reason for which an amount is refused: when there has to be room for it.
 * @type {Record<string, string>} */
const ROOM = {used: 'now', 'too small': 'when empty'};

const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

/** Text of the service with names of aggregates. @param {string} text */
function named(text) {
  return text.replace(UUID, (uuid) => store.labels.get(uuid) ?? uuid);
}

/** Whether a condition keeps disabled hosts out. @param {Condition} condition */
function forbidsDisabled({reason, names}) {
  return (reason === 'forbidden trait' || reason === 'root_required') && names.some((one) => one.replace('!', '') === DISABLED);
}

/** A condition in words. @param {Condition} condition */
function wanted({reason, names, asked, words}) {
  if (reason === 'class missing') return `Has ${names.join(', ')}`;
  if (reason in ROOM) return `Room for ${exact(names[0] ?? '', asked ?? 0)} ${names[0]} ${ROOM[reason]}`;
  return named(readable(`${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`));
}

/** The words for a condition that failed. @param {Condition} condition */
function missing(condition) {
  const words = wanted(condition).replace(/^Has/, 'No').replace(/^Room/, 'No room');
  const group = condition.suffix && !words.startsWith('Group') ? `Group ${condition.suffix}: ` : '';
  return group + words + most(condition);
}

/** How much there is, of an amount that is too much. @param {Condition} condition */
function most({reason, names, largest, most_free: free}) {
  const [words, value] = reason === 'used' ? ['most free', free] : ['largest', largest];
  return !(reason in ROOM) || value === null ? '' : ` (${words} ${exact(names[0] ?? '', value)})`;
}

/** The verdict on the host that was asked about: its kind, and words.
 * @param {Report} report
 * @returns {[string, string]}
 */
function verdictOn({root, verdict, disabled, failed}) {
  const name = root.name ?? root.uuid;
  const [kind, words] = VERDICTS[verdict];
  if (failed.some(forbidsDisabled)) {
    return ['bad', `No: ${name} is disabled`];
  }
  if (verdict === 'fits') return disabled ? ['warn', `It fits on ${name}, which is disabled`] : [kind, `Yes: it fits on ${name}`];
  if (verdict === 'full') return [kind, `No: ${name} is full at present`];
  return [kind, verdict === 'infeasible' ? `No: not on ${name}, even if it were empty` : words];
}

/** @param {Explanation} found @returns {[string, string]} */
export function verdictOf(found) {
  return found.provider ? verdictOn(found.provider) : VERDICTS[found.verdict];
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
    // The other sentences are below, with what to do.
    h('p', {}, named(readable(found.summary.replace(/(?<=\.) [A-Z0-9].*/s, '')))),
    found.examined < found.of ? h('p', {}, h('strong', {}, `Of ${number(found.of)} trees, ${number(found.examined)} were examined: all that is below is of these.`)) : null,
    found.provider ? report(found.provider, 'On the host you named') : null);
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
      full.slice(0, 3).map((one) => h('li', {key: one.root.uuid}, h('strong', {}, 'Free'), ' ', link(one.root), ` for ${lacking(one)}: see who holds it there`))));
}

/** The disabled hosts that would serve a request, where that is what would help.
 * @param {Relaxation} relaxation
 * @param {Named[]} roots disabled ones, those first that would serve it
 * @returns {Child}
 */
function enabling({conditions, trees}, roots) {
  if (conditions.length > 1 || !conditions.every(forbidsDisabled) || roots.length === 0) return null;
  const others = trees - roots.length;
  return [' or enable ', roots.slice(0, trees).map((one, index) => [index ? ', ' : '', link(one)]), others > 0 ? ` and ${number(others)} more` : ''];
}

/** @param {Named} root */
function link({uuid, name}) {
  return h('a', {href: hostAddress(uuid)}, name ?? uuid);
}

/** The amounts that a tree lacks. @param {Report} report */
function lacking({missing: lacks}) {
  return lacks.map((one) => `${exact(one.resource_class, one.asked - Math.max(0, one.free))} ${one.resource_class}`).join(' and ');
}

/** Links that ask without the conditions, or for each of the smaller amounts.
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
  const name = conditions[0]?.names[0] ?? '';
  return amounts.map((one) => [again(one.amount, `${exact(name, one.amount)} on ${number(one.trees)}`), ' ']);
}

/** @param {Relaxation} relaxation */
function relaxationWords({conditions, largest, amounts}) {
  const [first] = conditions;
  /** @param {Condition} condition */
  const inGroup = ({suffix}) => (suffix ? ` in group ${suffix}` : '');
  if (first && conditions.length === 1 && largest && first.asked !== null) {
    const on = amounts[0] ? `, on ${number(amounts[0].trees)}` : '';
    return `with ${largest < first.asked ? 'less' : 'another amount of'} ${first.names[0]}${inGroup(first)}; ${exact(first.names[0] ?? '', largest)} at most${on}`;
  }
  // Words of a condition have its group.
  const given = conditions.map((one) => (one.asked !== null || one.reason === 'class missing'
    ? `asking for ${one.names[0]}${inGroup(one)}` : named(one.words)));
  return `without ${given.join(' and ')}`;
}

/** @param {Explanation} found */
function nearest(found) {
  if (found.nearest.length === 0) return null;
  return h('section', {'aria-labelledby': 'nearest'}, h('h2', {id: 'nearest'}, 'Hosts that miss least'),
    h('div', {class: 'reports'}, found.nearest.map((one) => report(one, null))));
}

/** @param {Report} one @param {string | null} title */
function report(one, title) {
  return h('article', {class: 'card', key: one.root.uuid},
    title ? h('p', {class: 'quiet'}, title) : null,
    h('h3', {}, link(one.root), one.disabled ? ' (disabled)' : ''),
    one.failed.length
      ? h('ul', {class: 'failed'}, one.failed.map((condition) => h('li', {}, missing(condition))))
      : h('p', {}, one.verdict === 'fits' ? 'It fits.' : VERDICTS[one.verdict][1]),
    one.subtree ? h('p', {}, `Closest below ${one.subtree.provider.name ?? one.subtree.provider.uuid}: ${one.subtree.failed.map(missing).join('; ') || 'each group alone, not all together'}`) : null,
    one.missing.map(missingBar));
}

/** @param {Missing} one */
function missingBar(one) {
  const name = one.resource_class;
  const whole = Math.max(one.asked, one.capacity, 1);
  return h('div', {class: 'missing'},
    h('span', {}, `${name}: ${exact(name, one.asked)} asked, ${exact(name, one.free)} free of ${exact(name, one.capacity)} on ${one.provider.name ?? one.provider.uuid}`),
    h('span', {class: 'bar', 'aria-hidden': 'true'},
      h('span', wide('free', Math.max(0, Math.min(one.free, one.asked)) / whole)),
      h('span', wide('over', Math.max(0, one.asked - Math.max(0, one.free)) / whole))));
}

/** @param {Explanation} found */
function funnels(found) {
  const groups = found.groups.map((group) => ({
    title: group.suffix ? `Group ${group.suffix}` : 'The request', steps: group.funnel,
    asked: Object.entries(group.resources).map(([name, value]) => `${name} ${exact(name, value)}`).join(', '),
  }));
  if (found.combination.length) groups.push({title: 'All together', steps: found.combination, asked: ''});
  return h('section', {'aria-labelledby': 'funnel'}, h('h2', {id: 'funnel'}, 'What each condition leaves'),
    h('div', {class: 'funnels'}, groups.filter(({steps}) => steps.length).map(({title, steps, asked}) =>
      h('div', {class: 'funnel'}, h('h3', {}, title), asked && h('p', {class: 'quiet'}, asked), stepList(steps, found.examined)))));
}

/** The steps that lose trees, and folded those that lose none.
 * @param {Step[]} steps @param {number} of
 * @returns {Child}
 */
function stepList(steps, of) {
  const lossy = steps.filter((one) => one.trees_after < one.trees_before);
  const others = steps.filter((one) => one.trees_after >= one.trees_before);
  return [
    lossy.length ? h('ol', {}, lossy.map((one) => stepItem(one, of))) : null,
    others.length ? h('details', {},
      h('summary', {}, `${plural(others.length, 'condition')} that ${others.length === 1 ? 'turns' : 'turn'} nobody away`),
      h('ol', {}, others.map((one) => stepItem(one, of)))) : null,
  ];
}

/** @param {Step} step @param {number} of */
function stepItem({condition, trees_before: before, trees_after: after, only}, of) {
  const lost = before - after;
  const alone = only ? `; ${number(only)} ${only === 1 ? 'fails' : 'fail'} nothing else` : '';
  return h('li', {class: lost ? 'step lossy' : 'step'},
    h('span', {class: 'step-words'}, wanted(condition) + (lost ? most(condition) : '')),
    h('span', {class: 'funnel-bar', 'aria-hidden': 'true'},
      h('span', wide('lost', lost / 2 / of)), h('span', wide('left', after / of)), h('span', wide('lost', lost / 2 / of))),
    h('span', {class: 'step-count'}, lost ? `${number(after)} left, ${number(lost)} lost${alone}` : `${number(after)} left`));
}
