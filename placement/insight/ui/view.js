// SPDX-License-Identifier: Apache-2.0
// What all views are: custom elements that draw the store and the address, and are altered in place.

import {current} from './route.js';
import {h, patch} from './dom.js';
import {store} from './store.js';

/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./store.js').Answer} Answer */

export class View extends HTMLElement {
  constructor() {
    super();
    this.route = current();
    this.stop = new AbortController();
    this.isAwaited = false;
    this.unsubscribe = () => {};
  }

  connectedCallback() {
    this.unsubscribe = store.subscribe(() => this.update());
    this.draw();
  }

  disconnectedCallback() {
    this.unsubscribe();
    this.stop.abort();
  }

  /** Follow the address, whose view is still this one. */
  follow() {
    this.route = current();
    this.update();
  }

  /** Draw it in the next frame, however many changes there are until then. */
  update() {
    if (this.isAwaited) return;
    this.isAwaited = true;
    requestAnimationFrame(() => {
      this.isAwaited = false;
      if (this.isConnected) this.draw();
    });
  }

  draw() {
    patch(this, this.content());
  }

  /** Everything that the view shows, as descriptions of elements.
   * @returns {Child[]}
   */
  content() {
    return [];
  }

  /** The answer to a question; it is forgotten where the view goes before it comes.
   * @param {string} path
   * @param {{seconds?: number, read?: (path: string, signal: AbortSignal) => Promise<any>}} [options]
   * @returns {Answer}
   */
  ask(path, options) {
    return store.ask(path, this.stop.signal, options);
  }

  /** What is shown of an answer, or what is in its place until it is there.
   * @param {Answer} answer
   * @param {(value: any) => Child} show
   * @returns {Child}
   */
  shown({value, error}, show) {
    return [
      error && h('p', {class: 'refusal', role: 'alert'}, error.message),
      value !== null ? show(value) : !error && h('p', {class: 'quiet'}, 'Asking …'),
    ];
  }
}
