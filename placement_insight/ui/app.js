// SPDX-License-Identifier: Apache-2.0
// The frame of the page: the view of the address, the token, colours, and the age of the data.

import {HAS_PROXY, activity, forgetToken, hasToken, setToken} from './api.js';
import {CLOUD} from './cloud_name.js';
import {byId, h, patch, visible} from './dom.js';
import {ChangesView} from './changes.js';
import {HoldersView} from './holders.js';
import {HostView} from './host.js';
import {MapView} from './map.js';
import {OverviewView} from './overview.js';
import {PromisesView} from './promises.js';
import {current} from './route.js';
import {SearchBox} from './search.js';
import {store} from './store.js';
import {ago, clock, minute, plural} from './words.js';
import {WhatIfView} from './what_if.js';
import {WhyView} from './why.js';

/** The views by the first word of the address; the first one is the default. */
const VIEWS = {
  overview: OverviewView, map: MapView, host: HostView, why: WhyView, 'what-if': WhatIfView, holders: HoldersView, changes: ChangesView, promises: PromisesView,
};
const TITLES = {
  overview: 'Overview', map: 'Map', host: 'Host', why: 'Why not?', 'what-if': 'What if?', holders: 'Holders', changes: 'Changes', promises: 'Promises',
};
const HOME = 'overview';
const THEMES = ['', 'light', 'dark'];
/** @type {Record<string, [string, string]>} */
const THEME_WORDS = {'': ['◐', 'as the system'], light: ['☀', 'light'], dark: ['☾', 'dark']};

for (const [name, view] of Object.entries(VIEWS)) customElements.define(`placement-${name}`, view);
customElements.define('placement-search', SearchBox);

const main = byId('main');
const dialog = /** @type {HTMLDialogElement} */ (byId('token-dialog'));
const tokenField = /** @type {HTMLInputElement} */ (byId('token'));
const keepField = /** @type {HTMLInputElement} */ (byId('keep-token'));
/** @type {import('./view.js').View | null} */
let view = null;

/** @returns {keyof typeof VIEWS} */
function named() {
  const name = current().view;
  return Object.hasOwn(VIEWS, name) ? /** @type {keyof typeof VIEWS} */ (name) : HOME;
}

function show() {
  if (!hasToken()) {
    askForToken('');
    return;
  }
  const name = named();
  for (const link of document.querySelectorAll('header nav a')) {
    if (/** @type {HTMLElement} */ (link).dataset.view === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const {object} = current();
  document.title = visible(`${object || TITLES[name]} · ${CLOUD} · Placement`);
  if (view instanceof VIEWS[name]) {
    view.follow();
    return;
  }
  const isFirst = view === null;
  view = new VIEWS[name]();
  main.replaceChildren(view);
  if (isFirst) return;
  window.scrollTo(0, 0);
  // Otherwise nothing would have the focus.
  main.focus({preventScroll: true});
}

/** @param {string} words */
function askForToken(words) {
  byId('token-error').textContent = words;
  if (!dialog.open) dialog.showModal();
}

/** Show the age of the data, and the reason if the cloud is not followed. */
function tell() {
  const {cloud, failure} = store;
  const age = cloud.isComplete ? `${clock(cloud.readAt)} UTC` : '';
  const isOfToken = !HAS_PROXY && (failure?.status === 401 || failure?.status === 403);
  patch(byId('complaint'), failure && [
    failure.message, ' ', age && `All data is as of ${age}. `,
    isOfToken ? h('button', {type: 'button', key: 'token', onclick: () => askForToken('')}, 'Use another token')
      : h('button', {type: 'button', key: 'again', onclick: () => store.start()}, 'Retry'),
  ]);
  const change = cloud.changedAt ? `, changed ${ago(cloud.changedAt)}` : '';
  const known = !cloud.isComplete ? ''
    : failure ? `as of ${age}`
      : store.maxAge !== null ? `as of ${age}, ${ago(cloud.readAt)} · ${plural(cloud.hosts, 'host')}` : `live${change} · ${plural(cloud.hosts, 'host')}`;
  patch(byId('activity'), activity.count && (!cloud.isComplete || activity.words !== 'Reading …') ? activity.words : [
    known && h('span', {class: failure ? 'dot stale' : 'dot', 'aria-hidden': 'true'}), known]);
}

byId('cloud').textContent = visible(CLOUD);
byId('token-form').addEventListener('submit', () => {
  setToken(tokenField.value.trim(), keepField.checked);
  tokenField.value = '';
  // With a new token after an expired one, the page goes on from where it was.
  if (store.failure?.status === 401) store.start();
  else store.forget();
  show();
});
byId('open-token').hidden = HAS_PROXY;
byId('open-token').addEventListener('click', () => askForToken(''));
byId('close-token').addEventListener('click', () => dialog.close());
byId('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
byId('theme').addEventListener('click', () => {
  const root = document.documentElement;
  const next = THEMES[(THEMES.indexOf(root.dataset['theme'] ?? '') + 1) % THEMES.length] ?? '';
  if (next === '') delete root.dataset['theme'];
  else root.dataset['theme'] = next;
  const [sign, words] = THEME_WORDS[next] ?? ['', ''];
  byId('theme').textContent = sign;
  byId('theme').title = `Colours: ${words}`;
  byId('theme').setAttribute('aria-label', `Colours: ${words}`);
  store.changed();
});
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => store.changed());
window.addEventListener('hashchange', show);
store.onforgotten = (words) => {
  forgetToken();
  askForToken(words);
};
window.addEventListener('beforeprint', () => {
  const {cloud} = store;
  patch(byId('printed'), `${document.title} · ${cloud.isComplete ? `as of ${minute(new Date(cloud.readAt).toISOString())} UTC` : 'not read yet'} · ${location.href}`);
});
store.subscribe(tell);
activity.onchange = tell;
setInterval(tell, 1000);
show();
store.start();
