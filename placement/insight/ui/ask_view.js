// SPDX-License-Identifier: Apache-2.0
// The view of one request: why it fits nowhere, what is missing, and how often it would fit.

import {get} from './api.js';
import {amount, field, h, number, plural, say, wide} from './dom.js';
import {pasted, relaxed} from './query.js';

const EXAMPLE = 'resources=VCPU:4,MEMORY_MB:8192';

/** What a condition wants, where its own words say what is missing. */
function wordsOf({reason, names, words}) {
  return reason === 'class missing' ? `Has ${names.join(', ')}` : words[0].toUpperCase() + words.slice(1);
}

const VERDICTS = {
  fits: ['good', 'It fits'], full: ['warn', 'Full at present'],
  infeasible: ['bad', 'Not even in an empty cloud'], unknown: ['warn', 'Not known'],
};

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
      h('p', {class: 'quiet', id: 'query-words'}, 'A query, a URL or a line of the log of nova or placement that has one.'),
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
    const query = pasted(this.input.value.trim());
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

  async ask(query) {
    // The answer to what was asked before must not come after that to this.
    this.stop.abort();
    this.stop = new AbortController();
    const {signal} = this.stop;
    const provider = this.provider.value.trim();
    this.answer.replaceChildren(h('p', {class: 'quiet'}, 'Asking …'));
    try {
      const about = provider ? `&provider=${encodeURIComponent(provider)}` : '';
      const found = await get(`insight/allocation_candidates?${query}${about}`, signal);
      this.answer.replaceChildren(this.verdict(found), this.funnels(found), this.relaxations(found, query), this.nearest(found));
      say(VERDICTS[found.verdict][1]);
      const capacity = await get(`insight/capacity?${query}`, signal);
      this.answer.append(this.capacity(capacity));
    } catch (error) {
      if (error.status > 0 && error.status !== 401) {
        this.answer.replaceChildren(h('p', {class: 'refusal', role: 'alert'}, error.message));
      } else this.state.fail(error);
    }
  }

  verdict(found) {
    const [kind, words] = VERDICTS[found.verdict];
    return h('section', {class: `verdict ${kind}`, 'aria-label': 'Verdict'},
      h('h2', {class: 'verdict-words'}, words,
        h('span', {}, `${plural(found.trees_fitting, 'tree')} of ${number(found.of)} can serve it now`)),
      h('p', {}, found.summary),
      found.examined < found.of ? h('p', {}, h('strong', {}, `Of ${number(found.of)} trees, ${number(found.examined)} were examined: all that is below is of these.`)) : null,
      found.provider ? this.report(found.provider, 'On the host you named') : null);
  }

  funnels(found) {
    const groups = found.groups.map((group) => [
      group.suffix ? `Group ${group.suffix}` : 'The request', group.funnel, this.wanted(group)]);
    if (found.combination.length) groups.push(['All together', found.combination, null]);
    return h('section', {'aria-labelledby': 'funnel'}, h('h2', {id: 'funnel'}, 'What each condition leaves'),
      h('div', {class: 'funnels'}, groups.filter(([, steps]) => steps.length).map(([title, steps, wanted]) =>
        h('div', {class: 'funnel'}, h('h3', {}, title), wanted, h('ol', {}, steps.map((step) => this.step(step, found.examined)))))));
  }

  wanted(group) {
    const parts = Object.entries(group.resources).map(([name, value]) => `${name} ${amount(name, value)}`);
    return parts.length ? h('p', {class: 'quiet'}, parts.join(', ')) : null;
  }

  step(step, of) {
    const lost = step.trees_before - step.trees_after;
    const only = step.only ? `; ${plural(step.only, 'tree')} for this alone` : '';
    return h('li', {class: lost ? 'step lossy' : 'step'},
      h('span', {class: 'step-words'}, wordsOf(step.condition)),
      h('span', {class: 'funnel-bar', 'aria-hidden': 'true'},
        wide(h('span', {class: 'lost'}), lost / 2 / of), wide(h('span', {class: 'left'}), step.trees_after / of),
        wide(h('span', {class: 'lost'}), lost / 2 / of)),
      h('span', {class: 'step-count'}, lost ? `${number(step.trees_after)} left, ${number(lost)} lost${only}` : `${number(step.trees_after)} left`));
  }

  relaxations(found, query) {
    if (found.relaxations.length === 0) return '';
    return h('section', {'aria-labelledby': 'relaxations'}, h('h2', {id: 'relaxations'}, 'What would help'),
      h('ul', {class: 'relaxations'}, found.relaxations.map((one) => {
        const other = relaxed(query, one.conditions, one.largest);
        const words = relaxationWords(one);
        return h('li', {}, h('strong', {}, plural(one.amounts[0]?.trees ?? one.trees, 'tree')), ` ${words} `,
          other ? h('a', {class: 'button', href: `#/ask/${other}`, 'aria-label': `Try it: ${words}`}, 'Try it') : null);
      })));
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
        ? h('ul', {class: 'failed'}, report.failed.map((one) => h('li', {}, one.words)))
        : h('p', {}, report.verdict === 'fits' ? 'It fits.' : VERDICTS[report.verdict][1]),
      report.subtree ? h('p', {}, `Closest below ${report.subtree.provider.name ?? report.subtree.provider.uuid}: ${report.subtree.failed.map((one) => one.words).join('; ') || 'each group alone, not all together'}`) : null,
      report.missing.map((one) => this.missing(one)));
  }

  missing(one) {
    const name = one.resource_class;
    const whole = Math.max(one.asked, one.capacity, 1);
    return h('div', {class: 'missing'},
      h('span', {}, `${name}: ${amount(name, one.asked)} asked, ${amount(name, one.free)} free of ${amount(name, one.capacity)} on ${one.provider.name ?? one.provider.uuid}`),
      h('span', {class: 'bar', 'aria-hidden': 'true'},
        wide(h('span', {class: 'free'}), Math.max(0, Math.min(one.free, one.asked)) / whole),
        wide(h('span', {class: 'over'}), Math.max(0, one.asked - Math.max(0, one.free)) / whole)));
  }

  capacity(found) {
    const range = ({at_least, at_most}) => (at_least === at_most ? number(at_least) : `${number(at_least)} to ${number(at_most)}`);
    return h('section', {'aria-labelledby': 'capacity'}, h('h2', {id: 'capacity'}, 'How often it would fit'),
      h('ul', {class: 'tiles'},
        h('li', {class: 'tile'}, h('span', {class: 'tile-name'}, 'Now'), h('strong', {}, range(found.now))),
        h('li', {class: 'tile'}, h('span', {class: 'tile-name'}, 'If nothing were used'), h('strong', {}, range(found.if_empty))),
        found.fragmentation.map((one) => h('li', {class: 'tile'},
          h('span', {class: 'tile-name'}, `${one.resource_class} free`), h('strong', {}, amount(one.resource_class, one.free)),
          h('span', {class: 'track'}, wide(h('span', {class: 'fill'}), one.free > 0 ? one.usable / one.free : 0)),
          h('span', {class: 'quiet'}, `${amount(one.resource_class, one.usable)} of it would serve this`)))));
  }

  async showUnmet() {
    try {
      const {unmet_demand: found} = await get('insight/unmet_demand?page_limit=10', this.stop.signal);
      if (found.length === 0) return;
      this.answer.replaceChildren(h('section', {'aria-labelledby': 'unmet'}, h('h2', {id: 'unmet'}, 'Asked for in vain lately'),
        h('ul', {class: 'unmet'}, found.map((one) => h('li', {},
          h('span', {class: `badge ${VERDICTS[one.verdict][0]}`}, one.verdict),
          h('a', {href: `#/ask/${one.query}`}, one.query),
          h('span', {class: 'quiet'}, ` ${plural(one.times, 'time')}, last ${one.last_at.replace('T', ' ').replace('Z', ' UTC')}`))))));
    } catch (error) {
      // Where it is switched off there is nothing to show.
      if (error.status !== 404) this.state.fail(error);
    }
  }
}

function relaxationWords({conditions, largest, amounts}) {
  const [first] = conditions;
  const group = first.suffix ? ` in group ${first.suffix}` : '';
  if (conditions.length === 1 && largest && first.asked !== null) {
    const smaller = amounts.slice(1).map((one) => `${number(one.trees)} with ${amount(first.names[0], one.amount)}`);
    const also = smaller.length ? ` (${smaller.join(', ')})` : '';
    return `with ${first.names[0]} ${amount(first.names[0], largest)} in place of ${amount(first.names[0], first.asked)}${group}${also}`;
  }
  const given = conditions.map(({reason, asked, names, words}) =>
    (asked !== null || reason === 'class missing' ? `asking for ${names[0]}` : words));
  return `without ${given.join(' and ')}${group && !first.words.startsWith('group') ? group : ''}`;
}
