// SPDX-License-Identifier: Apache-2.0
// The view of the whole cloud: sums, the heat map, and the same as a table.

import {all} from './api.js';
import {Cloud} from './cloud_data.js';
import {isDark, steps} from './colours.js';
import {amount, field, h, number, percent, plural, say, select, wide} from './dom.js';
import {HeatMap, sortedByUse} from './heat_map.js';

// How many rows the table has at first, and how many more each time that more are wanted.
const ROWS = 25;
const MORE_ROWS = 100;
// Milliseconds from the last letter of a search until the table follows.
const PAUSE = 150;
const SHOWN = {
  all: ['All', () => true],
  over: ['Over capacity', (root) => root.isOver],
  full: ['90 % used and above', (root) => root.usedPart('') >= 0.9],
  empty: ['Empty', (root) => (root.usedPart('') ?? 0) === 0],
};

export class CloudView {
  constructor(state) {
    this.cloud = state.cloud;
    this.fail = state.fail;
    this.chosen = state.chosen ??= {resourceClass: '', by: 'aggregate', order: 'name', shown: 'all', text: ''};
    this.state = state;
    this.stop = new AbortController();
    this.withTrait = null;
    this.rows = ROWS;
    this.map = new HeatMap(
      (root) => this.describe(root),
      (root) => { location.hash = `#/tree/${root.uuid}`; },
      (root) => say(this.words(root)),
    );
    this.tiles = h('ul', {class: 'tiles', 'aria-label': 'Resources of the cloud'});
    this.classes = h('div', {class: 'field'});
    this.count = h('span');
    this.attention = h('button', {type: 'button', class: 'attention', hidden: true, onclick: () => this.showOver()});
    this.table = h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Hosts as a table'});
    this.element = h('div', {class: 'cloud'},
      h('div', {class: 'title'}, h('h1', {}, 'Cloud'), h('button', {type: 'button', onclick: () => this.readAgain()}, 'Read again')),
      this.tiles, this.controls(),
      this.legend(), this.map.element, h('h2', {}, 'Hosts'), this.table);
    this.element.addEventListener('theme', () => this.refreshColours());
  }

  async start() {
    if (this.cloud === undefined) {
      this.cloud = new Cloud();
      say('Reading the cloud …');
      try {
        await this.cloud.read(() => this.show(), this.stop.signal);
      } catch (error) {
        this.fail(error);
        return;
      }
      this.state.cloud = this.cloud;
      say(`${plural(this.cloud.roots.length, 'host')} read.`);
    } else {
      this.show();
    }
  }

  readAgain() {
    this.stop.abort();
    this.stop = new AbortController();
    this.cloud = undefined;
    delete this.state.cloud;
    this.start();
  }

  close() {
    clearTimeout(this.pause);
    this.stop.abort();
    this.map.close();
  }

  controls() {
    const chosen = this.chosen;
    const change = (name) => (value) => { chosen[name] = value; this.rows = ROWS; this.show(); };
    const search = h('input', {
      type: 'search', value: chosen.text, placeholder: 'Name or uuid', autocomplete: 'off', spellcheck: 'false',
      oninput: () => this.search(search.value),
    });
    const trait = h('input', {
      type: 'search', placeholder: 'HW_CPU_X86_AVX512F', autocomplete: 'off', spellcheck: 'false',
      onchange: () => this.readTrait(trait.value.trim()),
    });
    const shown = Object.entries(SHOWN).map(([key, [words]]) => [key, words]);
    return h('div', {class: 'controls', role: 'search'},
      field('Search', search, 'search'),
      this.classes,
      field('Groups', select([['aggregate', 'By aggregate'], ['none', 'None']], chosen.by, change('by')), 'by'),
      field('Order', select([['name', 'By name'], ['used', 'Most used first']], chosen.order, change('order')), 'order'),
      field('Show', select(shown, chosen.shown, change('shown')), 'shown'),
      field('With trait', trait, 'trait'),
    );
  }

  legend() {
    this.scale = h('span', {class: 'scale', 'aria-hidden': 'true'});
    this.refreshLegend();
    return h('div', {class: 'legend'}, h('p', {class: 'count'}, this.count, this.attention),
      h('p', {}, h('span', {class: 'pair'}, '0 %', this.scale, '100 % used'),
        h('span', {class: 'pair'}, h('span', {class: 'over-mark', 'aria-hidden': 'true'}, '×'), 'over capacity')));
  }

  refreshLegend() {
    this.scale.replaceChildren(...steps(isDark()).map((colour) => {
      const part = h('i');
      part.style.background = colour;
      return part;
    }));
  }

  refreshColours() {
    this.refreshLegend();
    this.map.drawSoon();
  }

  async readTrait(name) {
    this.trait = name;
    this.withTrait = null;
    if (name !== '') {
      try {
        const path = `insight/providers?required=${encodeURIComponent(name)}`;
        const found = await all(path, 'providers', this.stop.signal);
        // Another one may have been chosen meanwhile.
        if (name !== this.trait) return;
        this.withTrait = new Set(found.map((one) => one.root_provider_uuid));
      } catch (error) {
        this.fail(error);
        return;
      }
    }
    this.show();
  }

  /** The map follows each letter, the table a pause. */
  search(text) {
    this.chosen.text = text;
    this.rows = ROWS;
    clearTimeout(this.pause);
    this.showMap();
    this.pause = setTimeout(() => this.showTable(this.filtered()), PAUSE);
  }

  showOver() {
    document.getElementById('shown').value = 'over';
    this.chosen.shown = 'over';
    this.show();
  }

  filtered() {
    const words = this.chosen.text.toLowerCase().split(/\s+/).filter(Boolean);
    const [, isShown] = SHOWN[this.chosen.shown];
    return this.cloud.roots.filter((root) =>
      words.every((word) => root.searched.includes(word)) && isShown(root)
      && (this.withTrait === null || this.withTrait.has(root.uuid)));
  }

  show() {
    this.showTable(this.showMap());
  }

  /** Show sums and map; the roots that are shown. */
  showMap() {
    const roots = this.filtered();
    const {sums, over, labels} = this.cloud;
    if (this.shownSums !== sums) {
      this.shownSums = sums;
      if (this.named !== sums.map((sum) => sum.name).join()) this.showClasses(sums);
      this.showTiles(sums);
    }
    const of = this.cloud.roots.length;
    this.count.textContent = (roots.length === of ? plural(of, 'host')
      : `${number(roots.length)} of ${plural(of, 'host')}`)
      + (this.cloud.isComplete ? '' : ' so far …');
    this.attention.hidden = over === 0 || this.chosen.shown === 'over';
    this.attention.textContent = `${plural(over, 'host')} over capacity`;
    this.map.show(roots, this.chosen, labels);
    return roots;
  }

  showClasses(sums) {
    this.named = sums.map((sum) => sum.name).join();
    const options = [['', 'The one used most'], ...sums.map((sum) => [sum.name, sum.name])];
    const control = select(options, this.chosen.resourceClass, (value) => {
      this.chosen.resourceClass = value;
      this.show();
    });
    control.id = 'class';
    this.classes.replaceChildren(h('label', {for: 'class'}, 'Resource class'), control);
  }

  showTiles(sums) {
    this.tiles.replaceChildren(...sums.map((sum) => {
      const part = sum.used / sum.capacity;
      return h('li', {class: 'tile'},
        h('span', {class: 'tile-name'}, sum.name),
        h('strong', {}, percent(part)),
        h('span', {class: 'track'}, wide(h('span', {class: part > 1 ? 'fill over' : 'fill'}), part)),
        h('span', {class: 'quiet'}, `${amount(sum.name, sum.used)} of ${amount(sum.name, sum.capacity)}`));
    }));
  }

  showTable(roots) {
    const {resourceClass} = this.chosen;
    const sorted = this.chosen.order === 'used' || this.chosen.shown !== 'all'
      ? sortedByUse(roots, resourceClass) : roots;
    const body = sorted.slice(0, this.rows).map((root) => h('tr', {},
      h('th', {scope: 'row'}, h('a', {href: `#/tree/${root.uuid}`}, root.name)),
      h('td', {}, root.isOver ? 'over capacity' : percent(root.usedPart(resourceClass) ?? NaN)),
      h('td', {}, [...root.classes].map(([name, {used, capacity}]) =>
        h('span', {class: 'amount'}, `${name} ${amount(name, used)} of ${amount(name, capacity)}`))),
      h('td', {class: 'right'}, number(root.members))));
    this.table.replaceChildren(
      h('table', {},
        h('thead', {}, h('tr', {}, ['Host', 'Used', 'Resources', 'Providers'].map((name) =>
          h('th', {scope: 'col'}, name)))),
        h('tbody', {}, body)),
      ...(sorted.length > this.rows ? [h('button', {
        type: 'button', class: 'more', onclick: () => { this.rows += MORE_ROWS; this.showTable(roots); },
      }, `Show more of ${number(sorted.length)}`)] : []));
  }

  words(root) {
    const part = root.usedPart(this.chosen.resourceClass);
    return `${root.name}: ${root.isOver ? 'over capacity, ' : ''}${percent(part ?? NaN)} used`;
  }

  describe(root) {
    return [h('strong', {}, root.name), ...[...root.classes].map(([name, {used, capacity}]) =>
      h('div', {class: 'tip-row'}, h('span', {}, name),
        h('span', {class: 'track'}, wide(h('span', {class: used > capacity ? 'fill over' : 'fill'}), capacity ? used / capacity : 1)),
        h('span', {}, `${amount(name, used)} of ${amount(name, capacity)}`))),
    root.isOver ? h('div', {class: 'alarm'}, 'more is used than there is') : null].filter(Boolean);
  }
}
