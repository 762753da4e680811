// SPDX-License-Identifier: Apache-2.0
// The view of one request: why it does not fit, what would help, and its capacity by zone.

import {asCommand, copyable, quoted} from './copies.js';
import {byId, field, h, moment, say, select, table, wide} from './dom.js';
import {VERDICTS, explanation, verdictOf, verdictWords} from './explanation.js';
import {asNova, range} from './flavors.js';
import {flavorOf, pasted} from './pasted.js';
import {address, queryText} from './route.js';
import {store} from './store.js';
import {View} from './view.js';
import {amount, byName, classLabel, plural} from './words.js';

/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./explanation.js').Explanation} Explanation */
/** @typedef {{query: string, verdict: import('./explanation.js').Verdict, times: number, last_at: string, request_ids: string[]}} Unmet */

const EXAMPLE = 'resources=VCPU:4,MEMORY_MB:8192';
const REQUEST_ID = /req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const NO_QUERY = 'No query was found. A query begins with resources=, such as'
  + ` ${EXAMPLE}; for a flavor, paste its JSON (openstack flavor show -f json), or enter amounts in the form.`;
// Parameters of the address that are not part of the query.
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
        off ? h('p', {class: 'refusal'}, off) : this.form(query), this.note && h('p', {class: 'quiet'}, this.note),
        h('div', {class: 'answer'}, query && !off ? this.answer(query) : request ? this.searchesOf(request) : this.unmetLately())),
    ];
  }

  /** @param {string} query */
  form(query) {
    return h('form', {class: 'question', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); this.submit(); }},
      h('div', {class: 'ask'}, field('Query of allocation candidates', h('textarea', {
        rows: 2, spellcheck: 'false', autocomplete: 'off', placeholder: EXAMPLE, 'aria-describedby': 'query-words', value: query,
        onkeydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.key !== 'Enter' || event.shiftKey) return;
          event.preventDefault();
          this.submit();
        },
      }), 'query'),
      field('Why not on this host?', h('input', {
        autocomplete: 'off', spellcheck: 'false', placeholder: 'name or uuid (optional)', value: this.route.get('provider'),
      }), 'provider'),
      h('button', {type: 'submit', class: 'main-button'}, 'Ask')),
      h('p', {class: 'quiet', id: 'query-words'}, 'Enter a query, a URL or log line that contains one, amounts such as VCPU:4, options of a command (--resource VCPU=4), a flavor as JSON, or the id of a nova request.'),
      this.complaint && h('p', {class: 'refusal', role: 'alert'}, this.complaint),
      this.parts());
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
    return h('details', {}, h('summary', {}, flavors.length ? 'Fill in a form, or choose a flavor' : 'Fill in a form'),
      h('div', {class: 'row'},
        Object.entries(names).map(([id, name]) => field(name, h('input', {type: 'number', min: 1, inputmode: 'numeric', oninput: write}), id)),
        field('Traits; ! before forbidden ones', h('input', {
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
    const query = pasted(text, store.cloud.areOwned);
    const [request] = text.match(REQUEST_ID) ?? [];
    const left = flavorOf(text)?.left ?? [];
    this.note = left.length ? `Extra specs left out of the query, because they do not concern Placement or are not supported here: ${left.join(', ')}.` : '';
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

  /** Ask the former question again. */
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
    return {explained: `insight/allocation_candidates?${query}${about}`, counted: `insight/capacity?${asNova(query)}&by=aggregate`};
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
      found.value && h('section', {'aria-labelledby': 'capacity'}, h('h2', {id: 'capacity'}, 'How many times it fits'),
        asNova(query) === query ? null : h('p', {class: 'quiet'}, 'Enabled hosts only: nova places no servers on disabled ones.'),
        h('div', {}, store.off('capacity') ? h('p', {class: 'refusal'}, store.off('capacity'))
          : this.shown(this.ask(counted, {seconds: 60}), (value) => this.capacity(value)))),
      asCommand(`openstack allocation candidate explain --query ${quoted(query)}${this.route.get('provider') && ` --provider ${quoted(this.route.get('provider'))}`}`,
        `openstack placement capacity show --query ${quoted(asNova(query))}`),
    ];
  }

  /** @param {any} found @returns {Child} */
  capacity(found) {
    const nameOf = (/** @type {any} */ one) => (one.aggregate ? one.aggregate.name ?? store.labels.get(one.aggregate.uuid) ?? one.aggregate.uuid : 'In no aggregate');
    const zones = (found.aggregates ?? []).filter((/** @type {any} */ one) => one.aggregate || one.if_empty.at_most > 0).sort((/** @type {any} */ a, /** @type {any} */ b) => Number(a.aggregate === null) - Number(b.aggregate === null) || byName(nameOf(a), nameOf(b)));
    return [
      h('ul', {class: 'tiles'},
        h('li', {class: 'tile', key: 'now'}, h('span', {class: 'tile-name'}, 'Now'), h('strong', {}, range(found.now))),
        h('li', {class: 'tile', key: 'empty'}, h('span', {class: 'tile-name'}, 'If nothing were used'), h('strong', {}, range(found.if_empty))),
        found.fragmentation.map((/** @type {any} */ one) => h('li', {class: 'tile', key: one.resource_class},
          h('span', {class: 'tile-name'}, `${classLabel(one.resource_class)} free`), h('strong', {}, amount(one.resource_class, one.free)),
          h('span', {class: 'track'}, h('span', wide('fill', one.free > 0 ? one.usable / one.free : 0))),
          h('span', {class: 'quiet'}, `${amount(one.resource_class, one.usable)} of it usable for this request`)))),
      zones.length ? table('How many times it fits in each zone', ['Zone', 'Now', 'If nothing were used'], zones.map((/** @type {any} */ one) =>
        h('tr', {key: one.aggregate?.uuid ?? ''},
          h('th', {scope: 'row'}, one.aggregate ? h('a', {href: address('map', '', [['zone', one.aggregate.uuid]])}, nameOf(one)) : nameOf(one)),
          h('td', {}, range(one.now)), h('td', {}, range(one.if_empty))))) : null,
    ];
  }

  /** The unsuccessful searches of a request of nova. @param {string} id @returns {Child} */
  searchesOf(id) {
    return [
      h('p', {}, 'Request ', copyable(id)),
      this.shown(this.ask(`insight/unmet_demand?global_request_id=${id}`), ({unmet_demand: found}) => (found.length
        ? this.unmet(found, 'Searches of this request without candidates')
        : h('p', {class: 'refusal', role: 'alert'}, 'No unsuccessful search of this request is recorded. Paste its query instead.'))),
      asCommand(`openstack placement unmet demand list --request ${quoted(id)}`),
    ];
  }

  unmetLately() {
    const off = store.off('unmet_demand');
    if (off) return null;
    return this.shown(this.ask('insight/unmet_demand?page_limit=25'), ({unmet_demand: found}) => (found.length
      ? this.unmet(found, 'Recent unmet demand') : h('p', {class: 'quiet'}, 'No recent unmet demand.')));
  }

  /** @param {Unmet[]} found @param {string} title */
  unmet(found, title) {
    return h('section', {'aria-labelledby': 'unmet'}, h('h2', {id: 'unmet'}, title),
      h('ul', {class: 'unmet'}, found.map((one) => h('li', {key: one.query},
        h('span', {class: `badge ${VERDICTS[one.verdict][0]}`}, verdictWords(one.verdict)),
        h('a', {href: `#/why?${one.query}`}, one.query),
        h('span', {class: 'quiet'}, `${plural(one.times, 'time')}, last `, moment(one.last_at), ` ${one.request_ids.at(-1) ?? ''}`)))));
  }
}
