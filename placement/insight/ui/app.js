// SPDX-License-Identifier: Apache-2.0
// Which view is shown: the part of the address behind "#" says so, and is never sent.

import {HAS_PROXY, hasToken, setToken} from './api.js';
import {AskView} from './ask_view.js';
import {CloudView} from './cloud_view.js';
import {complain, say} from './dom.js';
import {TreeView} from './tree_view.js';

const VIEWS = {cloud: CloudView, tree: TreeView, ask: AskView};
const THEMES = ['', 'light', 'dark'];
const THEME_WORDS = {'': ['◐', 'as the system'], light: ['☀', 'light'], dark: ['☾', 'dark']};

const main = document.getElementById('main');
const dialog = document.getElementById('token-dialog');
const state = {fail};
let view = null;

function show() {
  const [, name, ...rest] = location.hash.split('/');
  const known = Object.hasOwn(VIEWS, name ?? '') ? name : 'cloud';
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.view === known) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  view?.close();
  view = null;
  say('');
  complain('');
  document.title = `Placement: ${known[0].toUpperCase()}${known.slice(1)}`;
  if (!hasToken()) {
    main.replaceChildren();
    askForToken('');
    return;
  }
  view = new VIEWS[known](state, rest.join('/'));
  main.replaceChildren(view.element);
  window.scrollTo(0, 0);
  view.start();
}

function fail(error) {
  if (error.name === 'AbortError') return;
  if (error.status === 401 && !HAS_PROXY) {
    setToken(null);
    askForToken(error.message);
    return;
  }
  if (error.status === undefined) throw error;
  complain(error.message);
}

function askForToken(words) {
  document.getElementById('token-error').textContent = words;
  if (!dialog.open) dialog.showModal();
}

document.getElementById('token-form').addEventListener('submit', () => {
  const field = document.getElementById('token');
  setToken(field.value.trim());
  field.value = '';
  delete state.cloud;
  show();
});
document.getElementById('open-token').hidden = HAS_PROXY;
document.getElementById('open-token').addEventListener('click', () => askForToken(''));
document.getElementById('close-token').addEventListener('click', () => dialog.close());
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
document.getElementById('theme').addEventListener('click', (event) => {
  const root = document.documentElement;
  const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? '') + 1) % THEMES.length];
  if (next === '') delete root.dataset.theme;
  else root.dataset.theme = next;
  const [sign, words] = THEME_WORDS[next];
  event.target.textContent = sign;
  event.target.title = `Colours: ${words}`;
  event.target.setAttribute('aria-label', `Colours: ${words}`);
  view?.element.dispatchEvent(new Event('theme'));
});
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
  view?.element.dispatchEvent(new Event('theme')));
window.addEventListener('hashchange', show);
show();
