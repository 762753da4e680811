// SPDX-License-Identifier: Apache-2.0
// The view of one request: why it fits nowhere, what is missing, and how often it would fit.

import {get} from './api.js';
import {DISABLED} from './cloud_data.js';
import {amount, complain, exact, field, h, number, plural, readable, say, wide} from './dom.js';
import {pasted, relaxed} from './query.js';

const EXAMPLE = 'resources=VCPU:4,MEMORY_MB:8192';

const REQUEST_ID = /req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const NO_QUERY = 'There is no query in this. One begins with resources=, such as'
  + ` ${EXAMPLE}; of a flavor write the amounts with the form.`;

/** By the reason for which an amount is refused: when there has to be room for it. */
const ROOM = {used: 'now', 'too small': 'when empty'};

/** What a condition wants. */
function wanted({reason, names, asked, words}) {
  if (reason === 'class missing') return `Has ${names.join(', ')}`;
  if (reason in ROOM) return `Room for ${exact(names[0], asked)} ${names[0]} ${ROOM[reason]}`;
  return readable(words[0].toUpperCase() + words.slice(1));
}

/** What is missing where a condition failed. */
function missing(condition) {
  const words = wanted(condition).replace(/^Has/, 'No').replace(/^Room/, 'No room');
  const group = condition.suffix && !words.startsWith('Group') ? `Group ${condition.suffix}: ` : '';
  return group + words + most(condition);
}

/** How much there is, of an amount that is too much. */
function most({reason, names, largest, most_free: free}) {
  const [words, value] = reason === 'used' ? ['most free', free] : ['largest', largest];
  return !(reason in ROOM) || value === null ? '' : ` (${words} ${exact(names[0], value)})`;
}

const VERDICTS = {
  fits: ['good', 'It fits'], full: ['warn', 'Full at present'],
  infeasible: ['bad', 'Not even in an empty cloud'], unknown: ['warn', 'Not known'],
};

/** The verdict on the host that was asked about. */
function verdictOn({root, verdict, disabled, failed}) {
  const name = root.name ?? root.uuid;
  const [kind, words] = VERDICTS[verdict];
  if (failed.some((one) => one.reason === 'forbidden trait' && one.names.includes(DISABLED))) {
    return ['bad', `No: ${name} is disabled`];
  }
  if (verdict === 'fits') return disabled ? ['warn', `It fits on ${name}, which is disabled`] : [kind, `Yes: it fits on ${name}`];
  return [kind, {full: `No: ${name} is full at present`, infeasible: `No: not on ${name}, even if it were empty`}[verdict] ?? words];
}

export class AskView {
  constructor(state, query) {
    this.state = state;
    this.query = query;
    this.stop = new AbortController();
    this.answer = h('div', {class: 'answer'});
    this.input = h('textarea', {rows: 3, spellcheck: 'false', autocomplete: 'off', placeholder: EXAMPLE});
    this.input.value = query;
    this.provider = h('input', {autocomplete: 'off', spellcheck: 'false', placeholder: 'Name or uuid, if it is about one host'});
    this.element = h('div', {class: 'ask'}, h('h1', {}, 'Ask'), this.form(), this.answer);
  }

  close() {
    this.stop.abort();
  }

  form() {
    this.input.setAttribute('aria-describedby', 'query-words');
    return h('form', {class: 'question', onsubmit: (event) => { event.preventDefault(); this.submit(); }},
      field('Query of allocation candidates', this.input, 'query'),
      h('p', {class: 'quiet', id: 'query-words'}, 'A query, a URL or a line of a log that has one, amounts such as VCPU:4, or the id of a request of nova.'),
      this.parts(),
      h('div', {class: 'row'}, field('Why not on this host?', this.provider, 'provider'),
        h('button', {type: 'submit', class: 'main-button'}, 'Ask')));
  }

  /** A form that writes the simplest queries. */
  parts() {
    const names = [['cpus', 'VCPU'], ['memory', 'MEMORY_MB'], ['disk', 'DISK_GB']];
    const numbers = names.map(([id, name]) => [name, h('input', {type: 'number', min: 1, inputmode: 'numeric'}), id]);
    const traits = h('input', {autocomplete: 'off', spellcheck: 'false', placeholder: 'HW_CPU_X86_AVX2,!COMPUTE_STATUS_DISABLED'});
    const write = () => {
      const asked = numbers.filter(([, control]) => control.value).map(([name, control]) => `${name}:${control.value}`);
      const parts = [asked.length ? `resources=${asked}` : null, traits.value ? `required=${traits.value.replace(/\s/g, '')}` : null];
      this.input.value = parts.filter(Boolean).join('&');
    };
    return h('details', {}, h('summary', {}, 'Write one with a form'),
      h('div', {class: 'row', oninput: write},
        numbers.map(([name, control, id]) => field(name, control, `form-${id}`)),
        field('Traits, and with ! those it must not have', traits, 'form-traits')));
  }

  submit() {
    const text = this.input.value.trim();
    const query = pasted(text);
    const [id] = text.match(REQUEST_ID) ?? [];
    complain('');
    if (query === null) {
      if (id) this.searchesOf(id);
      else complain(NO_QUERY);
      return;
    }
    this.input.value = query;
    const hash = `#/ask/${query}`;
    if (location.hash === hash) this.ask(query);
    else {
      this.state.provider = this.provider.value.trim();
      location.hash = hash;
    }
  }

  start() {
    this.provider.value = this.state.provider ?? '';
    delete this.state.provider;
    if (this.query) this.ask(this.query);
    else this.showUnmet();
  }

  /** Forget what was asked before: the answer to it must not come after that to what is asked now. */
  begin() {
    this.stop.abort();
    this.stop = new AbortController();
    complain('');
    this.answer.replaceChildren();
  }

  async ask(query) {
    this.begin();
    const provider = this.provider.value.trim();
    const about = provider ? `&provider=${encodeURIComponent(provider)}` : '';
    const isAnswered = await this.fill(this.answer, `insight/allocation_candidates?${query}${about}`, (found) => {
      say((found.provider ? verdictOn(found.provider) : VERDICTS[found.verdict])[1]);
      return [this.verdict(found), this.funnels(found), this.relaxations(found, query), this.nearest(found)];
    });
    if (!isAnswered) return;
    const place = h('div');
    this.answer.append(h('section', {'aria-labelledby': 'capacity'}, h('h2', {id: 'capacity'}, 'How often it would fit'), place));
    await this.fill(place, `insight/capacity?${query}`, (found) => [this.capacity(found)]);
  }

  /** Show in a place what an answer is made into, or why there is none; true if there is one. */
  async fill(place, path, show) {
    place.replaceChildren(h('p', {class: 'quiet'}, 'Asking …'));
    try {
      place.replaceChildren(...show(await get(path, this.stop.signal)));
      return true;
    } catch (error) {
      if (error.name === 'AbortError') return false;
      if (error.status === undefined || error.status === 401) this.state.fail(error);
      place.replaceChildren(h('p', {class: 'refusal', role: 'alert'}, error.message));
      return false;
    }
  }

  verdict(found) {
    const [kind, words] = found.provider ? verdictOn(found.provider) : VERDICTS[found.verdict];
    const inAll = found.provider ? `The cloud: ${VERDICTS[found.verdict][1]}; ` : '';
    return h('section', {class: `verdict ${kind}`, 'aria-label': 'Verdict'},
      h('h2', {class: 'verdict-words'}, words,
        h('span', {}, `${inAll}${plural(found.trees_fitting, 'tree')} of ${number(found.of)} can serve it now`)),
      h('p', {}, readable(found.summary)),
      found.examined < found.of ? h('p', {}, h('strong', {}, `Of ${number(found.of)} trees, ${number(found.examined)} were examined: all that is below is of these.`)) : null,
      found.provider ? this.report(found.provider, 'On the host you named') : null);
  }

  funnels(found) {
    const groups = found.groups.map((group) => [
      group.suffix ? `Group ${group.suffix}` : 'The request', group.funnel, this.wanted(group)]);
    if (found.combination.length) groups.push(['All together', found.combination, null]);
    return h('section', {'aria-labelledby': 'funnel'}, h('h2', {id: 'funnel'}, 'What each condition leaves'),
      h('div', {class: 'funnels'}, groups.filter(([, steps]) => steps.length).map(([title, steps, wanted]) =>
        h('div', {class: 'funnel'}, h('h3', {}, title), wanted, this.steps(steps, found.examined)))));
  }

  /** The steps that lose trees, and folded those that lose none. */
  steps(all, of) {
    const list = (isLossy) => h('ol', {}, all.filter((one) => isLossy === one.trees_after < one.trees_before)
      .map((one) => this.step(one, of)));
    const [lossy, others] = [list(true), list(false)];
    return [lossy.children.length ? lossy : null, others.children.length ? h('details', {},
      h('summary', {}, `${plural(others.children.length, 'condition')} that ${others.children.length === 1 ? 'turns' : 'turn'} nobody away`), others) : null];
  }

  wanted(group) {
    const parts = Object.entries(group.resources).map(([name, value]) => `${name} ${exact(name, value)}`);
    return parts.length ? h('p', {class: 'quiet'}, parts.join(', ')) : null;
  }

  step(step, of) {
    const lost = step.trees_before - step.trees_after;
    const only = step.only ? `; ${number(step.only)} ${step.only === 1 ? 'fails' : 'fail'} nothing else` : '';
    return h('li', {class: lost ? 'step lossy' : 'step'},
      h('span', {class: 'step-words'}, wanted(step.condition) + (lost ? most(step.condition) : '')),
      h('span', {class: 'funnel-bar', 'aria-hidden': 'true'},
        wide(h('span', {class: 'lost'}), lost / 2 / of), wide(h('span', {class: 'left'}), step.trees_after / of),
        wide(h('span', {class: 'lost'}), lost / 2 / of)),
      h('span', {class: 'step-count'}, lost ? `${number(step.trees_after)} left, ${number(lost)} lost${only}` : `${number(step.trees_after)} left`));
  }

  relaxations(found, query) {
    if (found.relaxations.length === 0) return '';
    return h('section', {'aria-labelledby': 'relaxations'}, h('h2', {id: 'relaxations'}, 'What would help'),
      h('ul', {class: 'relaxations'}, found.relaxations.map((one) => {
        const words = relaxationWords(one);
        return h('li', {}, h('strong', {}, plural(one.trees, 'tree')), ` ${words} `, this.tries(one, query, words));
      })));
  }

  /** Links that ask without the conditions, or for each of the smaller amounts. */
  tries({conditions, largest, amounts}, query, words) {
    const link = (value, text) => {
      const other = relaxed(query, conditions, value);
      return other && h('a', {class: 'button', href: `#/ask/${other}`, 'aria-label': `${text}: ${words}`}, text);
    };
    if (amounts.length === 0) return link(largest, 'Try it');
    const [name] = conditions[0].names;
    return amounts.map((one) => [link(one.amount, `${exact(name, one.amount)} on ${number(one.trees)}`), ' ']);
  }

  nearest(found) {
    if (found.nearest.length === 0) return '';
    return h('section', {'aria-labelledby': 'nearest'}, h('h2', {id: 'nearest'}, 'Hosts that miss least'),
      h('div', {class: 'reports'}, found.nearest.map((one) => this.report(one, null))));
  }

  report(report, title) {
    return h('article', {class: 'card'},
      title ? h('p', {class: 'quiet'}, title) : null,
      h('h3', {}, h('a', {href: `#/tree/${report.root.uuid}`}, report.root.name ?? report.root.uuid), report.disabled ? ' (disabled)' : ''),
      report.failed.length
        ? h('ul', {class: 'failed'}, report.failed.map((one) => h('li', {}, missing(one))))
        : h('p', {}, report.verdict === 'fits' ? 'It fits.' : VERDICTS[report.verdict][1]),
      report.subtree ? h('p', {}, `Closest below ${report.subtree.provider.name ?? report.subtree.provider.uuid}: ${report.subtree.failed.map(missing).join('; ') || 'each group alone, not all together'}`) : null,
      report.missing.map((one) => this.missing(one)));
  }

  missing(one) {
    const name = one.resource_class;
    const whole = Math.max(one.asked, one.capacity, 1);
    return h('div', {class: 'missing'},
      h('span', {}, `${name}: ${exact(name, one.asked)} asked, ${exact(name, one.free)} free of ${exact(name, one.capacity)} on ${one.provider.name ?? one.provider.uuid}`),
      h('span', {class: 'bar', 'aria-hidden': 'true'},
        wide(h('span', {class: 'free'}), Math.max(0, Math.min(one.free, one.asked)) / whole),
        wide(h('span', {class: 'over'}), Math.max(0, one.asked - Math.max(0, one.free)) / whole)));
  }

  capacity(found) {
    const range = ({at_least, at_most}) => (at_least === at_most ? number(at_least) : `${number(at_least)} to ${number(at_most)}`);
    return h('ul', {class: 'tiles'},
      h('li', {class: 'tile'}, h('span', {class: 'tile-name'}, 'Now'), h('strong', {}, range(found.now))),
      h('li', {class: 'tile'}, h('span', {class: 'tile-name'}, 'If nothing were used'), h('strong', {}, range(found.if_empty))),
      found.fragmentation.map((one) => h('li', {class: 'tile'},
        h('span', {class: 'tile-name'}, `${one.resource_class} free`), h('strong', {}, amount(one.resource_class, one.free)),
        h('span', {class: 'track'}, wide(h('span', {class: 'fill'}), one.free > 0 ? one.usable / one.free : 0)),
        h('span', {class: 'quiet'}, `${amount(one.resource_class, one.usable)} of it would serve this`))));
  }

  /** The searches in vain of a request of nova. */
  searchesOf(id) {
    this.begin();
    this.fill(this.answer, `insight/unmet_demand?global_request_id=${id}`, ({unmet_demand: found}) => (found.length
      ? [this.unmet(found, 'What this request asked for in vain')]
      : [h('p', {class: 'refusal', role: 'alert'}, 'No search in vain of this request is known any more. Paste the query of one.')]));
  }

  async showUnmet() {
    try {
      const {unmet_demand: found} = await get('insight/unmet_demand?page_limit=10', this.stop.signal);
      if (found.length === 0) return;
      this.answer.replaceChildren(this.unmet(found, 'Asked for in vain lately'));
    } catch (error) {
      // Where it is switched off there is nothing to show.
      if (error.status !== 404) this.state.fail(error);
    }
  }

  unmet(found, title) {
    return h('section', {'aria-labelledby': 'unmet'}, h('h2', {id: 'unmet'}, title),
      h('ul', {class: 'unmet'}, found.map((one) => h('li', {},
        h('span', {class: `badge ${VERDICTS[one.verdict][0]}`}, one.verdict),
        h('a', {href: `#/ask/${one.query}`}, one.query),
        h('span', {class: 'quiet'}, ` ${plural(one.times, 'time')}, last ${one.last_at.replace('T', ' ').replace('Z', ' UTC')}`)))));
  }
}

function relaxationWords({conditions, largest, amounts}) {
  const [first] = conditions;
  const inGroup = ({suffix}) => (suffix ? ` in group ${suffix}` : '');
  if (conditions.length === 1 && largest && first.asked !== null) {
    const on = amounts.length ? `, on ${number(amounts[0].trees)}` : '';
    return `with ${largest < first.asked ? 'less' : 'another amount of'} ${first.names[0]}${inGroup(first)}; ${exact(first.names[0], largest)} at most${on}`;
  }
  // Words of a condition have its group.
  const given = conditions.map((one) => (one.asked !== null || one.reason === 'class missing'
    ? `asking for ${one.names[0]}${inGroup(one)}` : one.words));
  return `without ${given.join(' and ')}`;
}
