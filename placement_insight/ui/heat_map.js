// SPDX-License-Identifier: Apache-2.0
// Roots as cells of a canvas with the size of its visible part, so that ten thousand cost no more than
// a few thousand. The table next to the map has the same content for screen readers.

import {isDark, overColour, steps} from './colours.js';
import {h, patch, visible} from './dom.js';

/** @typedef {import('./cloud.js').Root} Root */
/** A group of roots; `words` follow its label.
 * @typedef {{key: string, label: string, roots: Root[], words: string, top?: number, rows?: number}} Zone */
/** How a cell looks: its colour from 0, light, to 6, dark, null without a value;
 * crossed if over capacity, hatched if disabled, outlined if inexact.
 * @typedef {{step: number | null, isOver: boolean, isDisabled: boolean, isInexact: boolean}} Look */
/** @typedef {{group: Zone, index: number}} Place */
/** @typedef {{context: CanvasRenderingContext2D, ink: string, paper: string, colours: string[], over: string, focus: string}} Pen */
/**
 * @typedef {object} Behaviour
 * @property {(root: Root) => Look} look
 * @property {(root: Root) => import('./dom.js').Child} describe
 * @property {(root: Root) => string} words
 * @property {(root: Root) => void} open
 * @property {(roots: Root[]) => void} select
 * @property {(zone: string) => void} enter
 * @property {(words: string) => void} announce
 * @property {boolean} [isAlarm] true if the selected roots are a problem
 */

// Pixels: the height of the name of a group, and the space below a group.
const LABEL = 28;
const BELOW = 10;
/** The sizes of cells and the space between them; the largest that shows everything is used. */
const SIZES = /** @type {[number, number][]} */ ([[24, 2], [18, 2], [13, 2], [10, 1], [8, 1], [6, 1]]);
const SCROLLED = /** @type {[number, number]} */ ([13, 2]);
// The height of a map that is printed; browsers draw nothing on a canvas much higher than this.
const MOST_PRINTED = 12000;
// Pixels that a pointer moves before it is a drag instead of a click.
const DRAGGED = 6;

export class HeatMap extends HTMLElement {
  constructor() {
    super();
    this.canvas = document.createElement('canvas');
    this.canvas.setAttribute('aria-hidden', 'true');
    this.sheet = document.createElement('div');
    this.sheet.className = 'sheet';
    this.sheet.append(this.canvas);
    this.tip = document.createElement('div');
    this.tip.className = 'tip';
    this.tip.hidden = true;
    this.scroller = document.createElement('div');
    /** @type {Zone[]} */
    this.groups = [];
    /** @type {Place | null} */
    this.place = null;
    /** @type {Set<string>} */
    this.selected = new Set();
    /** @type {{x: number, y: number, toX: number, toY: number} | null} */
    this.drag = null;
    this.size = 24;
    this.gap = 2;
    this.columns = 1;
    this.height = 0;
    this.isAwaited = false;
    this.isDragEnd = false;
    /** @type {Behaviour | null} */
    this.behaviour = null;
    this.resized = new ResizeObserver(() => this.layout());
    this.onprint = () => this.print(true);
    this.onprinted = () => this.print(false);
  }

  connectedCallback() {
    Object.assign(this.scroller, {
      className: 'map', tabIndex: 0, onscroll: () => this.drawSoon(),
      onpointerdown: (/** @type {PointerEvent} */ event) => this.press(event),
      onpointermove: (/** @type {PointerEvent} */ event) => this.point(event),
      onpointerup: (/** @type {PointerEvent} */ event) => this.release(event),
      onpointerleave: () => this.hideTip(),
      onclick: (/** @type {MouseEvent} */ event) => this.clicked(event),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onblur: () => { this.place = null; this.hideTip(); this.drawSoon(); },
    });
    this.scroller.setAttribute('role', 'application');
    this.scroller.setAttribute('aria-roledescription', 'heat map');
    this.scroller.setAttribute('aria-label', 'Heat map of the cloud. Arrow keys go from host to host, the space bar selects one, Enter opens one. The table has the same data.');
    this.scroller.replaceChildren(this.sheet);
    this.replaceChildren(this.scroller, this.tip);
    this.resized.observe(this.scroller);
    window.addEventListener('beforeprint', this.onprint);
    window.addEventListener('afterprint', this.onprinted);
  }

  disconnectedCallback() {
    this.resized.disconnect();
    window.removeEventListener('beforeprint', this.onprint);
    window.removeEventListener('afterprint', this.onprinted);
  }

  /** Show groups of roots, of which some are selected.
   * @param {Zone[]} groups
   * @param {Set<string>} selected uuids
   * @param {Behaviour} behaviour
   */
  show(groups, selected, behaviour) {
    this.behaviour = behaviour;
    this.groups = groups;
    this.selected = selected;
    if (this.place && !this.root(this.place)) this.place = null;
    this.layout();
  }

  /** @param {Place} place */
  root({group, index}) {
    // Groups are new objects after each change.
    return this.groups.find((one) => one.key === group.key)?.roots[index];
  }

  layout() {
    const {clientWidth, clientHeight} = this.scroller;
    if (clientWidth === 0) return;
    const room = Math.max(clientHeight, parseFloat(getComputedStyle(this.scroller).maxHeight) || 0);
    // Small cells are of no use if not all are visible at once.
    const fitting = SIZES.find(([size, gap]) => this.arrange(clientWidth, size, gap) <= room);
    this.arrange(clientWidth, ...fitting ?? SCROLLED);
    this.sheet.style.height = `${this.height}px`;
    this.drawSoon();
  }

  /** Lay out the groups, and return the total height.
   * @param {number} width @param {number} size of cells @param {number} gap between them
   */
  arrange(width, size, gap) {
    [this.size, this.gap] = [size, gap];
    const step = this.size + this.gap;
    this.columns = Math.max(1, Math.floor(width / step));
    let top = 0;
    for (const group of this.groups) {
      group.top = top;
      group.rows = Math.ceil(group.roots.length / this.columns);
      top += LABEL + group.rows * step + BELOW;
    }
    this.height = Math.max(top, 24);
    return this.height;
  }

  drawSoon() {
    if (this.isAwaited) return;
    this.isAwaited = true;
    requestAnimationFrame(() => {
      this.isAwaited = false;
      this.draw(this.scroller.scrollTop, this.scroller.clientHeight);
    });
  }

  /** @param {number} from @param {number} height @param {boolean} dark */
  draw(from, height, dark = isDark()) {
    const ratio = window.devicePixelRatio || 1;
    const width = this.scroller.clientWidth;
    const [wanted, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== wanted || this.canvas.height !== tall) {
      Object.assign(this.canvas, {width: wanted, height: tall});
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext('2d');
    if (context === null) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    /** @type {Pen} */
    const pen = {context, ink: dark ? '#e4ebf2' : '#1b2733', paper: dark ? '#10161d' : '#fff', colours: steps(dark), over: overColour(dark), focus: dark ? '#ffb020' : '#c25a00'};
    for (const group of this.groups) {
      const top = (group.top ?? 0) - from;
      if (top < height && top + LABEL + (group.rows ?? 0) * (this.size + this.gap) > 0) {
        this.drawGroup(pen, group, top, height, width);
      }
    }
    this.drawDrag(pen, from);
  }

  /** @param {Pen} pen @param {Zone} group @param {number} top @param {number} height @param {number} width */
  drawGroup(pen, group, top, height, width) {
    const {context, ink} = pen;
    context.fillStyle = ink;
    context.textBaseline = 'middle';
    context.font = '600 13px system-ui, sans-serif';
    const label = visible(group.label);
    context.fillText(label, 1, top + LABEL / 2, width - 4);
    const after = context.measureText(label).width + 10;
    context.font = '13px system-ui, sans-serif';
    if (after < width) context.fillText(group.words, after, top + LABEL / 2, width - after);
    const step = this.size + this.gap;
    const first = Math.max(0, Math.floor((-top - LABEL) / step));
    const last = Math.min(group.rows ?? 0, Math.ceil((height - top - LABEL) / step));
    const end = Math.min(group.roots.length, last * this.columns);
    /** @type {[number, number] | null} */
    let here = null;
    for (let index = first * this.columns; index < end; index += 1) {
      const root = /** @type {Root} */ (group.roots[index]);
      const x = (index % this.columns) * step;
      const y = top + LABEL + Math.floor(index / this.columns) * step;
      this.drawCell(pen, root, x, y);
      const isHere = this.place?.group.key === group.key && this.place.index === index;
      if (this.selected.has(root.uuid)) this.frame(pen.context, this.behaviour?.isAlarm ? pen.over : ink, 2, x - 1, y - 1, this.size + 2);
      if (isHere) here = [x, y];
    }
    // Over its neighbours, in two colours of which one is seen on any cell.
    if (here) {
      this.frame(context, pen.paper, 2, here[0] + 1, here[1] + 1, this.size - 2);
      this.frame(context, pen.focus, 3, here[0] - 1.5, here[1] - 1.5, this.size + 3);
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {string} colour @param {number} line @param {number} x @param {number} y @param {number} size */
  frame(context, colour, line, x, y, size) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(x, y, size, size);
  }

  /** @param {Pen} pen @param {Root} root @param {number} x @param {number} y */
  drawCell(pen, root, x, y) {
    const {context, colours} = pen;
    const look = /** @type {Behaviour} */ (this.behaviour).look(root);
    const {size} = this;
    const colour = look.step === null ? null : colours[look.step] ?? null;
    if (colour === null || look.isInexact) {
      context.strokeStyle = colour ?? colours[3] ?? pen.ink;
      context.lineWidth = colour ? 3 : 1;
      const inner = context.lineWidth / 2;
      context.strokeRect(x + inner, y + inner, size - 2 * inner, size - 2 * inner);
    } else {
      context.fillStyle = colour;
      context.fillRect(x, y, size, size);
    }
    // In the ink or the paper, whichever is further from the colour of the cell.
    const isDarkCell = colour !== null && !look.isInexact && (look.step ?? 0) > 2;
    if (look.isDisabled) {
      const line = isDarkCell ? '#fff' : look.step === null || look.isInexact ? pen.ink : '#1b2733';
      this.lines(context, line, size < 10 ? 1 : 1.5, x, y, STRIPES);
    }
    if (look.isOver) {
      const edge = Math.floor(size / 6);
      context.fillStyle = pen.over;
      context.fillRect(x + edge, y + edge, size - 2 * edge, size - 2 * edge);
      this.lines(context, '#fff', size < 10 ? 1 : 2, x, y, CROSS);
    }
  }

  /** Lines on a cell, whose ends are parts of its size.
   * @param {CanvasRenderingContext2D} context @param {string} colour @param {number} width
   * @param {number} x @param {number} y @param {number[][]} lines
   */
  lines(context, colour, width, x, y, lines) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const [fromX = 0, fromY = 0, toX = 0, toY = 0] of lines) {
      context.moveTo(x + fromX * this.size, y + fromY * this.size);
      context.lineTo(x + toX * this.size, y + toY * this.size);
    }
    context.stroke();
  }

  /** @param {Pen} pen @param {number} from */
  drawDrag({context, ink}, from) {
    if (this.drag === null) return;
    const {x, y, toX, toY} = this.drag;
    context.strokeStyle = ink;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.strokeRect(x, y - from, toX - x, toY - y);
    context.setLineDash([]);
  }

  /** Where an event is on the sheet. @param {MouseEvent} event */
  position(event) {
    const box = this.canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top + this.scroller.scrollTop};
  }

  /** @param {number} x @param {number} y @returns {Place | null} */
  at(x, y) {
    const step = this.size + this.gap;
    const column = Math.floor(x / step);
    if (column < 0 || column >= this.columns) return null;
    for (const group of this.groups) {
      const row = Math.floor((y - (group.top ?? 0) - LABEL) / step);
      if (row >= 0 && row < (group.rows ?? 0)) {
        const index = row * this.columns + column;
        return index < group.roots.length ? {group, index} : null;
      }
    }
    return null;
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0 || event.pointerType === 'touch') return;
    const {x, y} = this.position(event);
    this.drag = {x, y, toX: x, toY: y};
  }

  /** @param {PointerEvent} event */
  point(event) {
    const {x, y} = this.position(event);
    if (this.drag && event.buttons === 1) {
      Object.assign(this.drag, {toX: x, toY: y});
      this.hideTip();
      this.drawSoon();
      return;
    }
    this.drag = null;
    const place = this.at(x, y);
    this.scroller.classList.toggle('pointing', place !== null || this.labelAt(y) !== null);
    if (place === null) this.hideTip();
    else {
      const frame = this.getBoundingClientRect();
      this.showTip(place, event.clientX - frame.left, event.clientY - frame.top);
    }
  }

  /** @param {PointerEvent} event */
  release(event) {
    const {drag} = this;
    this.drag = null;
    if (drag === null || !isDragged(drag)) return;
    const [left, right] = [Math.min(drag.x, drag.toX), Math.max(drag.x, drag.toX)];
    const [top, bottom] = [Math.min(drag.y, drag.toY), Math.max(drag.y, drag.toY)];
    const step = this.size + this.gap;
    const inside = this.groups.flatMap((group) => group.roots.filter((_, index) => {
      const x = (index % this.columns) * step;
      const y = (group.top ?? 0) + LABEL + Math.floor(index / this.columns) * step;
      return x + this.size > left && x < right && y + this.size > top && y < bottom;
    }));
    this.isDragEnd = true;
    setTimeout(() => { this.isDragEnd = false; });
    const kept = event.shiftKey ? this.groups.flatMap(({roots}) => roots.filter(({uuid}) => this.selected.has(uuid))) : [];
    this.behaviour?.select([...new Set([...kept, ...inside])]);
  }

  /** The group whose label is at a height. @param {number} y */
  labelAt(y) {
    return this.groups.find(({top = 0}) => y >= top && y < top + LABEL) ?? null;
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    if (this.isDragEnd) return;
    const {x, y} = this.position(event);
    const place = this.at(x, y);
    const label = this.labelAt(y);
    if (place) this.choose(place, event.ctrlKey || event.metaKey || event.shiftKey);
    else if (label) this.behaviour?.enter(label.key);
  }

  /** @param {Place} place @param {boolean} isSelecting */
  choose(place, isSelecting) {
    const root = this.root(place);
    if (root === undefined) return;
    if (!isSelecting) {
      this.behaviour?.open(root);
      return;
    }
    const selected = new Set(this.selected);
    if (!selected.delete(root.uuid)) selected.add(root.uuid);
    this.behaviour?.select([...new Set(this.groups.flatMap(({roots}) => roots.filter(({uuid}) => selected.has(uuid))))]);
  }

  /** @param {Place} place @param {number} x @param {number} y */
  showTip(place, x, y) {
    const root = this.root(place);
    if (root === undefined) return;
    patch(this.tip, this.behaviour?.describe(root));
    this.tip.hidden = false;
    const {offsetWidth, offsetHeight} = this.tip;
    const below = y + 18 + offsetHeight < this.clientHeight;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, this.clientWidth - offsetWidth))}px`;
    this.tip.style.top = `${below ? y + 18 : Math.max(0, y - offsetHeight - 12)}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.place && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      this.choose(this.place, event.key === ' ');
      return;
    }
    if (event.key === 'Escape') {
      this.hideTip();
      return;
    }
    const place = this.moved(event.key);
    if (place === null) return;
    event.preventDefault();
    this.place = place;
    this.bringIntoView(place);
    const root = this.root(place);
    if (root && this.behaviour) this.behaviour.announce(this.behaviour.words(root));
    const [x, y] = this.cornerOf(place);
    this.showTip(place, x, y - this.scroller.scrollTop);
    this.drawSoon();
  }

  /** @param {string} key @returns {Place | null} */
  moved(key) {
    const [first, last] = [this.groups[0], this.groups.at(-1)];
    if (first === undefined || last === undefined) return null;
    if (key === 'Home') return {group: first, index: 0};
    if (key === 'End') return {group: last, index: last.roots.length - 1};
    const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns}[key];
    if (step === undefined) return null;
    const at = this.groups.findIndex(({key: one}) => one === this.place?.group.key);
    const group = this.groups[at];
    if (this.place === null || group === undefined) return {group: first, index: 0};
    const next = this.place.index + step;
    if (next >= 0 && next < group.roots.length) return {group, index: next};
    const neighbour = this.groups[at + Math.sign(step)];
    if (neighbour === undefined) return {group, index: this.place.index};
    return {group: neighbour, index: next < 0 ? neighbour.roots.length - 1 : 0};
  }

  /** @param {Place} place @returns {[number, number]} where its cell begins on the sheet */
  cornerOf({group, index}) {
    const step = this.size + this.gap;
    const here = this.groups.find(({key}) => key === group.key) ?? group;
    return [(index % this.columns) * step, (here.top ?? 0) + LABEL + Math.floor(index / this.columns) * step];
  }

  /** @param {Place} place */
  bringIntoView(place) {
    const [, top] = this.cornerOf(place);
    const step = this.size + this.gap;
    const {scrollTop, clientHeight} = this.scroller;
    if (top < scrollTop + LABEL) this.scroller.scrollTop = top - LABEL;
    else if (top + step > scrollTop + clientHeight) this.scroller.scrollTop = top + step - clientHeight;
  }

  /** On paper the whole map, in the colours for white.
   * @param {boolean} isPrinting
   */
  print(isPrinting) {
    this.scroller.classList.toggle('printed', isPrinting);
    if (isPrinting) this.draw(0, Math.min(this.height, MOST_PRINTED), false);
    else this.layout();
  }
}

const CROSS = [[0.35, 0.35, 0.65, 0.65], [0.65, 0.35, 0.35, 0.65]];
// Stripes, as on reserved parts of bars: room that is not available.
const STRIPES = [[0, 0.5, 0.5, 0], [0, 1, 1, 0], [0.5, 1, 1, 0.5]];

/** @param {{x: number, y: number, toX: number, toY: number}} drag */
function isDragged({x, y, toX, toY}) {
  return Math.abs(toX - x) > DRAGGED || Math.abs(toY - y) > DRAGGED;
}

customElements.define('heat-map', HeatMap);

export function newMap() {
  const map = new HeatMap();
  map.className = 'map-frame';
  return map;
}

/** The legend of the map.
 * @param {[number, string][]} marks the number of a colour and its words
 */
export function legend(marks) {
  return h('ul', {class: 'marks'},
    marks.map(([step, words]) => h('li', {}, h('i', {'aria-hidden': 'true', style: {background: steps()[step] ?? ''}}), words)),
    h('li', {}, h('i', {class: 'disabled-mark', 'aria-hidden': 'true'}), 'disabled'),
    h('li', {}, h('i', {class: 'over-mark', 'aria-hidden': 'true'}, '×'), 'over capacity'));
}
