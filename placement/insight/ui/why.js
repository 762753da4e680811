// SPDX-License-Identifier: Apache-2.0
// The view of one request: why it fits nowhere, what would help, and how often it would fit where.

import {byId, field, h, say, select, table, wide} from './dom.js';
import {VERDICTS, explanation, verdictOf} from './explanation.js';
import {range} from './flavors.js';
import {flavorOf, pasted} from './pasted.js';
import {address, queryText} from './route.js';
import {store} from './store.js';
import {View} from './view.js';
import {amount, minute, plural} from './words.js';

/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./explanation.js').Explanation} Explanation */
/** @typedef {{query: string, verdict: import('./explanation.js').Verdict, times: number, last_at: string, request_ids: string[]}} Unmet */

const EXAMPLE = 'resources=VCPU:4,MEMORY_MB:8192';
const REQUEST_ID = /req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const NO_QUERY = 'There is no query in this. One begins with resources=, such as'
  + ` ${EXAMPLE}; of a flavor paste its JSON (openstack flavor show -f json), or write the amounts with the form.`;
// Parameters of the address that are none of the query.
const OWN = ['provider', 'request'];

export class WhyView extends View {
  constructor() {
    super();
    this.complaint = '';
    this.note = '';
    /** @type {unknown} */
    this.said = null;
  }

  follow() {
    this.complaint = '';
    super.follow();
  }

  /** The query of the address. */
  query() {
    return queryText([...this.route.parameters].filter(([name]) => !OWN.includes(name)));
  }

  content() {
    const query = this.query();
    const request = this.route.get('request');
    const off = store.off('allocation_candidates');
    return [
      h('h1', {}, 'Why not?'),
      h('div', {class: 'why'},
        h('div', {}, off ? h('p', {class: 'refusal'}, off) : this.form(query), this.note && h('p', {class: 'quiet'}, this.note)),
        h('div', {class: 'answer'}, query && !off ? this.answer(query) : request ? this.searchesOf(request) : this.unmetLately())),
    ];
  }

  /** @param {string} query */
  form(query) {
    return h('form', {class: 'question', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); this.submit(); }},
      field('Query of allocation candidates', h('textarea', {
        rows: 3, spellcheck: 'false', autocomplete: 'off', placeholder: EXAMPLE, 'aria-describedby': 'query-words', value: query,
        onkeydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.key !== 'Enter' || event.shiftKey) return;
          event.preventDefault();
          this.submit();
        },
      }), 'query'),
      h('p', {class: 'quiet', id: 'query-words'}, 'A query, a URL or a line of a log that has one, amounts such as VCPU:4, the options of a command (--resource VCPU=4), a flavor as JSON, or the id of a request of nova.'),
      this.complaint && h('p', {class: 'refusal', role: 'alert'}, this.complaint),
      this.parts(),
      h('div', {class: 'row'},
        field('Why not on this host?', h('input', {
          autocomplete: 'off', spellcheck: 'false', placeholder: 'Name or uuid, if it is about one host', value: this.route.get('provider'),
        }), 'provider'),
        h('button', {type: 'submit', class: 'main-button'}, 'Ask')));
  }

  /** A form that writes the simplest queries. */
  parts() {
    const names = {'form-cpus': 'VCPU', 'form-memory': 'MEMORY_MB', 'form-disk': 'DISK_GB'};
    const flavors = [...store.names.flavors].map(([name, query]) => /** @type {[string, string]} */ ([query, name]));
    /** @param {string} id */
    const valueOf = (id) => /** @type {HTMLInputElement} */ (byId(id)).value.trim();
    const write = () => {
      const asked = Object.entries(names).filter(([id]) => valueOf(id)).map(([id, name]) => `${name}:${valueOf(id)}`);
      const traits = valueOf('form-traits').replace(/\s/g, '');
      this.set([asked.length ? `resources=${asked}` : '', traits && `required=${traits}`].filter(Boolean).join('&'));
    };
    return h('details', {}, h('summary', {}, flavors.length ? 'Write one with a form, or choose a flavor' : 'Write one with a form'),
      h('div', {class: 'row'},
        Object.entries(names).map(([id, name]) => field(name, h('input', {type: 'number', min: 1, inputmode: 'numeric', oninput: write}), id)),
        field('Traits, and with ! those it must not have', h('input', {
          autocomplete: 'off', spellcheck: 'false', placeholder: 'HW_CPU_X86_AVX2,!COMPUTE_STATUS_DISABLED', oninput: write,
        }), 'form-traits'),
        flavors.length ? field('Flavor', select([['', '–'], ...flavors], '', (query) => this.set(query)), 'form-flavor') : null));
  }

  /** @param {string} query */
  set(query) {
    /** @type {HTMLTextAreaElement} */ (byId('query')).value = query;
  }

  submit() {
    const text = /** @type {HTMLTextAreaElement} */ (byId('query')).value.trim();
    const query = pasted(text);
    const [request] = text.match(REQUEST_ID) ?? [];
    const left = flavorOf(text)?.left ?? [];
    this.note = left.length ? `Of the flavor these are not in the query, since they are not asked of Placement, or not here: ${left.join(', ')}.` : '';
    if (query === null && !request) {
      this.complaint = NO_QUERY;
      this.update();
      return;
    }
    /** @type {[string, string][]} */
    const parameters = query === null ? [['request', request ?? '']] : [...new URLSearchParams(query)].filter(([name]) => !OWN.includes(name));
    const provider = /** @type {HTMLInputElement} */ (byId('provider')).value.trim();
    if (provider && query !== null) parameters.push(['provider', provider]);
    const hash = address('why', '', parameters);
    if (hash === location.hash) this.askAgain();
    else location.hash = hash;
  }

  /** Ask what was asked before. */
  askAgain() {
    this.complaint = '';
    this.set(this.query());
    const {explained, counted} = this.paths(this.query());
    store.answers.delete(counted);
    store.drop(explained);
  }

  /** @param {string} query */
  paths(query) {
    const provider = this.route.get('provider');
    const about = provider ? `&provider=${encodeURIComponent(provider)}` : '';
    return {explained: `insight/allocation_candidates?${query}${about}`, counted: `insight/capacity?${query}&by=aggregate`};
  }

  /** @param {string} query @returns {Child} */
  answer(query) {
    const {explained, counted} = this.paths(query);
    const found = this.ask(explained);
    if (found.value && this.said !== found.value) {
      this.said = found.value;
      say(verdictOf(found.value)[1]);
    }
    return [
      this.shown(found, (/** @type {Explanation} */ value) => explanation(value, query)),
      found.value && h('section', {'aria-labelledby': 'capacity'}, h('h2', {id: 'capacity'}, 'How often it would fit'),
        h('div', {}, store.off('capacity') ? h('p', {class: 'refusal'}, store.off('capacity'))
          : this.shown(this.ask(counted, {seconds: 60}), (value) => this.capacity(value)))),
    ];
  }

  /** @param {any} found @returns {Child} */
  capacity(found) {
    const zones = (found.aggregates ?? []).filter((/** @type {any} */ one) => one.if_empty.at_most > 0);
    return [
      h('ul', {class: 'tiles'},
        h('li', {class: 'tile', key: 'now'}, h('span', {class: 'tile-name'}, 'Now'), h('strong', {}, range(found.now))),
        h('li', {class: 'tile', key: 'empty'}, h('span', {class: 'tile-name'}, 'If nothing were used'), h('strong', {}, range(found.if_empty))),
        found.fragmentation.map((/** @type {any} */ one) => h('li', {class: 'tile', key: one.resource_class},
          h('span', {class: 'tile-name'}, `${one.resource_class} free`), h('strong', {}, amount(one.resource_class, one.free)),
          h('span', {class: 'track'}, h('span', wide('fill', one.free > 0 ? one.usable / one.free : 0))),
          h('span', {class: 'quiet'}, `${amount(one.resource_class, one.usable)} of it would serve this`)))),
      zones.length ? table('How often it would fit in each zone', ['Zone', 'Now', 'If nothing were used'], zones.map((/** @type {any} */ one) =>
        h('tr', {key: one.aggregate?.uuid ?? ''},
          h('th', {scope: 'row'}, one.aggregate ? h('a', {href: address('map', '', [['zone', one.aggregate.uuid]])},
            one.aggregate.name ?? store.labels.get(one.aggregate.uuid) ?? one.aggregate.uuid) : 'In no aggregate'),
          h('td', {}, range(one.now)), h('td', {}, range(one.if_empty))))) : null,
    ];
  }

  /** The searches in vain of a request of nova. @param {string} id @returns {Child} */
  searchesOf(id) {
    return this.shown(this.ask(`insight/unmet_demand?global_request_id=${id}`), ({unmet_demand: found}) => (found.length
      ? this.unmet(found, 'What this request asked for in vain')
      : h('p', {class: 'refusal', role: 'alert'}, 'No search in vain of this request is known any more. Paste the query of one.')));
  }

  unmetLately() {
    const off = store.off('unmet_demand');
    if (off) return null;
    return this.shown(this.ask('insight/unmet_demand?page_limit=25'), ({unmet_demand: found}) => (found.length
      ? this.unmet(found, 'Asked for in vain lately') : h('p', {class: 'quiet'}, 'Nothing was asked for in vain lately.')));
  }

  /** @param {Unmet[]} found @param {string} title */
  unmet(found, title) {
    return h('section', {'aria-labelledby': 'unmet'}, h('h2', {id: 'unmet'}, title),
      h('ul', {class: 'unmet'}, found.map((one) => h('li', {key: one.query},
        h('span', {class: `badge ${VERDICTS[one.verdict][0]}`}, one.verdict),
        h('a', {href: `#/why?${one.query}`}, one.query),
        h('span', {class: 'quiet'}, ` ${plural(one.times, 'time')}, last ${minute(one.last_at)} UTC ${one.request_ids.at(-1) ?? ''}`)))));
  }
}
