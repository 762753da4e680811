// SPDX-License-Identifier: Apache-2.0
// Roots as cells of a canvas that is as large as what can be seen of it, so that ten thousand cost
// no more than a few thousand. A table below the map has the same for those who do not see it.

import {isDark, scale, steps} from './colours.js';
import {groupsOf} from './cloud_data.js';
import {h} from './dom.js';

// Pixels: the height of the name of a group, the space below a group, and that between cells.
const LABEL = 28;
const BELOW = 14;
const GAP = 2;
// The height of a map that is printed; browsers draw nothing on a canvas much higher than this.
const MOST_PRINTED = 12000;

/** The width and height of a cell in pixels, the smaller the more there are. */
function cellSize(count) {
  if (count <= 400) return 24;
  return count <= 2500 ? 18 : 13;
}

export class HeatMap {
  /** `describe` gives the lines about a root, `open` is called for one that was chosen. */
  constructor(describe, open, announce) {
    this.describe = describe;
    this.open = open;
    this.announce = announce;
    this.canvas = h('canvas', {'aria-hidden': 'true'});
    this.sheet = h('div', {class: 'sheet'}, this.canvas);
    this.tip = h('div', {class: 'tip', hidden: true});
    this.scroller = h('div', {
      class: 'map', tabindex: 0, role: 'application', 'aria-roledescription': 'heat map',
      'aria-label': 'Heat map of the cloud. Arrow keys go from host to host, Enter opens one. The table below has the same.',
      onscroll: () => this.drawSoon(),
      onpointermove: (event) => this.point(event),
      onpointerleave: () => this.hideTip(),
      onclick: (event) => this.choose(this.at(event)),
      onkeydown: (event) => this.key(event),
      onblur: () => { this.current = null; this.drawSoon(); },
    }, this.sheet);
    this.element = h('div', {class: 'map-frame'}, this.scroller, this.tip);
    this.groups = [];
    this.current = null;
    this.resized = new ResizeObserver(() => this.layout());
    this.resized.observe(this.scroller);
    this.onprint = () => this.print(true);
    this.onprinted = () => this.print(false);
    window.addEventListener('beforeprint', this.onprint);
    window.addEventListener('afterprint', this.onprinted);
  }

  close() {
    this.resized.disconnect();
    window.removeEventListener('beforeprint', this.onprint);
    window.removeEventListener('afterprint', this.onprinted);
  }

  /** Show these roots, coloured by a class, in groups and in an order. */
  show(roots, {resourceClass, by, order}, labels) {
    this.resourceClass = resourceClass;
    this.size = cellSize(roots.length);
    this.groups = groupsOf(roots, by, labels);
    if (order === 'used') {
      for (const group of this.groups) group.roots = sortedByUse(group.roots, resourceClass);
    }
    this.current = null;
    this.layout();
  }

  layout() {
    const width = this.scroller.clientWidth;
    if (width === 0 || this.size === undefined) return;
    const step = this.size + GAP;
    this.columns = Math.max(1, Math.floor(width / step));
    let top = 0;
    for (const group of this.groups) {
      group.top = top;
      group.rows = Math.ceil(group.roots.length / this.columns);
      top += LABEL + group.rows * step + BELOW;
    }
    this.height = Math.max(top, this.size);
    this.sheet.style.height = `${this.height}px`;
    this.drawSoon();
  }

  drawSoon() {
    if (this.awaited) return;
    this.awaited = true;
    requestAnimationFrame(() => {
      this.awaited = false;
      this.draw(this.scroller.scrollTop, this.scroller.clientHeight);
    });
  }

  draw(from, height, dark) {
    const ratio = window.devicePixelRatio || 1;
    const width = this.scroller.clientWidth;
    const [w, hgt] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== hgt) {
      this.canvas.width = w;
      this.canvas.height = hgt;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const ink = dark === false ? '#1b2733' : getComputedStyle(this.scroller).color;
    const paper = dark ?? isDark() ? '#10161d' : '#fff';
    const pen = {context, ink, paper, colour: scale(dark), line: steps(dark)[3]};
    for (const group of this.groups) {
      const top = group.top - from;
      if (top < height && top + LABEL + group.rows * (this.size + GAP) > 0) {
        this.drawGroup(pen, group, top, height, width);
      }
    }
  }

  drawGroup(pen, group, top, height, width) {
    const {context, ink} = pen;
    context.fillStyle = ink;
    context.font = '600 13px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillText(`${group.label}  ·  ${group.roots.length}`, 1, top + LABEL / 2, width - 4);
    const step = this.size + GAP;
    const first = Math.max(0, Math.floor((-top - LABEL) / step));
    const last = Math.min(group.rows, Math.ceil((height - top - LABEL) / step));
    const end = Math.min(group.roots.length, last * this.columns);
    for (let index = first * this.columns; index < end; index += 1) {
      const x = (index % this.columns) * step;
      const y = top + LABEL + Math.floor(index / this.columns) * step;
      this.drawCell(pen, group.roots[index], x, y);
    }
    if (this.current && this.current.group === group) {
      const {index} = this.current;
      context.strokeStyle = ink;
      context.lineWidth = 2;
      context.strokeRect(
        (index % this.columns) * step - 1, top + LABEL + Math.floor(index / this.columns) * step - 1,
        this.size + 2, this.size + 2);
    }
  }

  drawCell(pen, root, x, y) {
    const part = root.usedPart(this.resourceClass);
    this.fillCell(pen, root, part, x, y);
    // In the ink or the paper, whichever is further from the colour of the cell.
    if (root.isDisabled) this.hatch(pen.context, part > 0.5 ? pen.paper : pen.ink, x, y);
  }

  /** Stripes, as on the bars of what is reserved: there is room which nobody gets. */
  hatch(context, colour, x, y) {
    const {size} = this;
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const part of [0.5, 1, 1.5]) {
      const [from, to] = [Math.max(0, part - 1) * size, Math.min(1, part) * size];
      context.moveTo(x + from, y + to);
      context.lineTo(x + to, y + from);
    }
    context.stroke();
  }

  fillCell({context, colour, line}, root, part, x, y) {
    const {size} = this;
    if (part === null) {
      // It has nothing of this class.
      context.strokeStyle = line;
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
      return;
    }
    const isOver = part > 1 || root.isOver;
    context.fillStyle = colour(isOver ? 2 : part);
    context.fillRect(x, y, size, size);
    if (isOver) {
      context.strokeStyle = '#fff';
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(x + size * 0.3, y + size * 0.3);
      context.lineTo(x + size * 0.7, y + size * 0.7);
      context.moveTo(x + size * 0.7, y + size * 0.3);
      context.lineTo(x + size * 0.3, y + size * 0.7);
      context.stroke();
    }
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top + this.scroller.scrollTop;
    const step = this.size + GAP;
    const column = Math.floor(x / step);
    if (column < 0 || column >= this.columns) return null;
    for (const group of this.groups) {
      const row = Math.floor((y - group.top - LABEL) / step);
      if (row >= 0 && row < group.rows) {
        const index = row * this.columns + column;
        return index < group.roots.length ? {group, index} : null;
      }
    }
    return null;
  }

  point(event) {
    const place = this.at(event);
    this.scroller.classList.toggle('pointing', place !== null);
    if (place === null) {
      this.hideTip();
      return;
    }
    const frame = this.element.getBoundingClientRect();
    this.showTip(place.group.roots[place.index], event.clientX - frame.left, event.clientY - frame.top);
  }

  showTip(root, x, y) {
    if (this.tipped !== root) {
      this.tip.replaceChildren(...this.describe(root));
      this.tipped = root;
    }
    this.tip.hidden = false;
    const {offsetWidth, offsetHeight} = this.tip;
    const below = y + 18 + offsetHeight < this.element.clientHeight;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, this.element.clientWidth - offsetWidth))}px`;
    this.tip.style.top = `${below ? y + 18 : Math.max(0, y - offsetHeight - 12)}px`;
  }

  hideTip() {
    this.tip.hidden = true;
    this.tipped = null;
  }

  choose(place) {
    if (place) this.open(place.group.roots[place.index]);
  }

  key(event) {
    if (event.key === 'Enter' && this.current) {
      this.choose(this.current);
      return;
    }
    if (event.key === 'Escape') {
      this.hideTip();
      return;
    }
    const moved = this.moved(event.key);
    if (moved === null) return;
    event.preventDefault();
    this.current = moved;
    this.bringIntoView();
    this.announce(moved.group.roots[moved.index]);
    this.drawSoon();
  }

  moved(key) {
    if (this.groups.length === 0) return null;
    const steps = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns};
    if (key === 'Home') return {group: this.groups[0], index: 0};
    if (key === 'End') {
      const group = this.groups.at(-1);
      return {group, index: group.roots.length - 1};
    }
    if (!(key in steps)) return null;
    if (this.current === null) return {group: this.groups[0], index: 0};
    const {group, index} = this.current;
    const next = index + steps[key];
    if (next >= 0 && next < group.roots.length) return {group, index: next};
    const neighbour = this.groups[this.groups.indexOf(group) + Math.sign(steps[key])];
    if (neighbour === undefined) return this.current;
    return {group: neighbour, index: next < 0 ? neighbour.roots.length - 1 : 0};
  }

  bringIntoView() {
    const {group, index} = this.current;
    const step = this.size + GAP;
    const top = group.top + LABEL + Math.floor(index / this.columns) * step;
    const {scrollTop, clientHeight} = this.scroller;
    if (top < scrollTop + LABEL) this.scroller.scrollTop = top - LABEL;
    else if (top + step > scrollTop + clientHeight) this.scroller.scrollTop = top + step - clientHeight;
  }

  /** On paper the whole map, in the colours for white. */
  print(isPrinting) {
    this.scroller.classList.toggle('printed', isPrinting);
    if (isPrinting) this.draw(0, Math.min(this.height, MOST_PRINTED), false);
    else this.layout();
  }
}

export function sortedByUse(roots, resourceClass) {
  const part = new Map(roots.map((root) => [root, root.usedPart(resourceClass) ?? -1]));
  return [...roots].sort((a, b) => part.get(b) - part.get(a));
}
