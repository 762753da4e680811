// SPDX-License-Identifier: Apache-2.0
// One search for everything: hosts, zones, servers, requests and projects, each a link.

import {all} from './api.js';
import {h, patch} from './dom.js';
import {UUID, address, hostAddress, projectAddress} from './route.js';
import {store} from './store.js';
import {View} from './view.js';
import {amounts, plural} from './words.js';

/** @typedef {{href: string, words: string, quiet?: string}} Found */

const REQUEST_ID = /req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
// Maximum number of findings of each kind in memory.
const FOUND = 12;
const USAGES = 'insight/usages?by=project';

/** @param {string} path @param {AbortSignal} signal */
const allUsages = (path, signal) => all(path, 'usages', signal);

export class SearchBox extends View {
  constructor() {
    super();
    this.text = '';
    this.chosen = 0;
    this.isOpen = false;
  }

  connectedCallback() {
    super.connectedCallback();
    document.addEventListener('keydown', (event) => {
      const isTyping = event.target instanceof Element && event.target.matches('input, textarea, select');
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.querySelector('input')?.focus();
    });
    this.addEventListener('focusout', () => this.open(false));
    // The search is over: something was chosen, or the address has changed.
    window.addEventListener('hashchange', () => this.type('', false));
  }

  /** @param {boolean} isOpen */
  open(isOpen) {
    this.isOpen = isOpen;
    this.update();
  }

  content() {
    const found = this.isOpen ? this.found() : [];
    const isShown = this.isOpen && this.text.trim() !== '';
    return [
      h('input', {
        type: 'search', role: 'combobox', 'aria-label': 'Search', 'aria-expanded': String(isShown), 'aria-controls': 'found',
        'aria-autocomplete': 'list', 'aria-activedescendant': isShown && found.length ? `found-${this.chosen}` : null,
        placeholder: 'Host, server, request id, project …   /', autocomplete: 'off', spellcheck: 'false', value: this.text,
        oninput: (/** @type {Event} */ event) => this.type(/** @type {HTMLInputElement} */ (event.target).value),
        onfocus: () => this.open(true),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event, found),
      }),
      h('ul', {id: 'found', role: 'listbox', 'aria-label': 'Found', hidden: !isShown},
        found.map((one, index) => h('li', {
          id: `found-${index}`, role: 'option', 'aria-selected': String(index === this.chosen),
          // Before the field loses the focus, which closes the list.
          onpointerdown: (/** @type {Event} */ event) => { event.preventDefault(); this.go(one); },
        }, one.words, ' ', h('span', {class: 'quiet'}, one.quiet ?? ''))),
        found.length ? null : h('li', {role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false', class: 'quiet'}, this.nothing())),
    ];
  }

  /** @param {string} text @param {boolean} isOpen */
  type(text, isOpen = true) {
    this.text = text;
    this.chosen = 0;
    this.open(isOpen);
  }

  /** @param {KeyboardEvent} event @param {Found[]} found */
  key(event, found) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step) {
      event.preventDefault();
      this.chosen = (this.chosen + step + found.length) % Math.max(1, found.length);
      this.open(true);
    } else if (event.key === 'Enter') {
      const one = this.found()[this.chosen];
      if (one) this.go(one);
    } else if (event.key === 'Escape') {
      this.text = '';
      this.open(false);
      patch(this, this.content());
    }
  }

  /** @param {Found} one */
  go(one) {
    this.text = '';
    this.isOpen = false;
    const input = /** @type {HTMLInputElement} */ (this.querySelector('input'));
    input.value = '';
    input.blur();
    location.hash = one.href;
  }

  /** @returns {Found[]} */
  found() {
    const text = this.text.trim();
    const [request] = text.match(REQUEST_ID) ?? [];
    if (request) return this.request(request);
    if (UUID.test(text)) return this.uuid(text.toLowerCase());
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    /** @param {string} searched */
    const isMatch = (searched) => words.every((word) => searched.toLowerCase().includes(word));
    const zones = [...store.labels].filter(([uuid, label]) => uuid && isMatch(`${label} ${uuid}`))
      .map(([uuid, label]) => ({href: address('map', '', [['zone', uuid]]), words: label, quiet: 'zone'}));
    const hosts = store.cloud.roots.filter((root) => isMatch(root.searched)).map((root) =>
      ({href: hostAddress(root.uuid), words: root.name, quiet: root.isSharing ? 'sharing provider' : 'host'}));
    return [...zones.slice(0, 3), ...hosts.slice(0, FOUND), ...this.projects(isMatch)];
  }

  /** @param {(searched: string) => boolean} isMatch @returns {Found[]} */
  projects(isMatch) {
    if (store.off('usages') || this.text.trim().length < 3) return [];
    const {value} = this.ask(USAGES, {seconds: 300, read: allUsages});
    return (value ?? []).map((/** @type {any} */ one) => ({...one, name: store.names.projects.get(one.project_id) ?? ''}))
      .filter((/** @type {any} */ one) => isMatch(`${one.name} ${one.project_id}`)).slice(0, FOUND)
      .map((/** @type {any} */ one) => ({
        href: projectAddress(one.project_id), words: one.name || one.project_id,
        quiet: `project, ${plural(one.consumer_count, 'consumer')}`,
      }));
  }

  /** @param {string} uuid @returns {Found[]} */
  uuid(uuid) {
    const root = store.cloud.byUuid.get(uuid);
    if (root) return [{href: hostAddress(uuid), words: root.name, quiet: root.isSharing ? 'sharing provider' : 'host'}];
    if (store.labels.has(uuid)) return [{href: address('map', '', [['zone', uuid]]), words: store.labels.get(uuid) ?? uuid, quiet: 'zone'}];
    const [provider] = this.ask(`insight/providers?uuid=${uuid}`).value?.providers ?? [];
    if (provider) return [{href: hostAddress(uuid), words: provider.name, quiet: `on ${store.cloud.byUuid.get(provider.root_provider_uuid)?.name ?? ''}`}];
    const [consumer] = this.ask(`insight/consumers?uuid=${uuid}`).value?.consumers ?? [];
    return Object.entries(consumer?.allocations ?? {}).map(([place, {resources}]) => ({
      href: address('host', place, [['consumer', uuid]]),
      words: store.cloud.byUuid.get(store.rootOf(place))?.name ?? place,
      quiet: `hosts the ${consumer.consumer_type === 'INSTANCE' ? 'server' : 'consumer'}: ${amounts(resources)}`,
    }));
  }

  /** @param {string} id @returns {Found[]} */
  request(id) {
    const searches = store.off('unmet_demand') ? [] : this.ask(`insight/unmet_demand?global_request_id=${id}`).value?.unmet_demand ?? [];
    const changes = store.off('history') ? [] : this.ask(`insight/history?global_request_id=${id}`).value?.history ?? [];
    return [
      ...searches.map((/** @type {any} */ one) => ({href: `#/why?${one.query}`, words: one.query, quiet: 'no candidates'})),
      ...(changes.length ? [{href: address('changes', '', [['request', id]]), words: plural(changes.length, 'change'), quiet: 'by this request'}] : []),
    ];
  }

  /** The reason for an empty list. */
  nothing() {
    if ([...store.answers.values()].some((one) => one.isAsked)) return 'Asking …';
    return store.cloud.isComplete ? 'Nothing found.' : 'The cloud is still being read.';
  }
}
