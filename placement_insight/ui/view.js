// SPDX-License-Identifier: Apache-2.0
// The base of all views: custom elements that draw the store and the address, and are altered in place.

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

  /** Take over a new address of the same view. */
  follow() {
    this.route = current();
    this.update();
  }

  /** Draw the view in the next frame, once for all changes until then. */
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

  /** The content of the view, as descriptions of elements.
   * @returns {Child[]}
   */
  content() {
    return [];
  }

  /** The answer to a question, which is aborted when the view goes.
   * @param {string} path
   * @param {{seconds?: number, read?: (path: string, signal: AbortSignal) => Promise<any>}} [options]
   * @returns {Answer}
   */
  ask(path, options) {
    return store.ask(path, this.stop.signal, options);
  }

  /** The content for an answer, or a placeholder until it is there.
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
