// SPDX-License-Identifier: Apache-2.0
// The view of the whole cloud: sums, the heat map, and the same as a table.

import {all} from './api.js';
import {Cloud} from './cloud_data.js';
import {isDark, steps} from './colours.js';
import {amount, complain, exact, field, h, number, percent, plural, say, select, wide} from './dom.js';
import {HeatMap, sortedByUse} from './heat_map.js';

// How many rows the table has at first, and how many more each time that more are wanted.
const ROWS = 25;
const MORE_ROWS = 100;
// Milliseconds from the last letter of a search until the table follows.
const PAUSE = 150;
const SHOWN = {
  all: ['All', () => true],
  over: ['Over capacity', (root) => root.isOver],
  disabled: ['Disabled', (root) => root.isDisabled],
  full: ['90 % used and above', (root, name) => root.usedPart(name) >= 0.9],
  empty: ['Empty', (root, name) => (root.usedPart(name) ?? (name ? 1 : 0)) === 0],
};

export class CloudView {
  constructor(state) {
    this.cloud = state.cloud ?? new Cloud();
    this.fail = state.fail;
    this.chosen = state.chosen ??= {resourceClass: '', by: 'aggregate', order: 'name', shown: 'all', text: '', trait: ''};
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
    this.count = h('span', {}, 'Reading the cloud …');
    this.age = h('span', {class: 'quiet'});
    this.attention = h('button', {type: 'button', class: 'attention', hidden: true, onclick: () => this.showOver()});
    this.table = h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Hosts as a table'});
    this.element = h('div', {class: 'cloud'},
      h('div', {class: 'title'}, h('h1', {}, 'Cloud'), h('button', {type: 'button', onclick: () => this.readAgain()}, 'Read again'), this.age),
      this.tiles, this.controls(),
      this.legend(), this.map.element, h('h2', {}, 'Hosts'), this.table);
    this.element.addEventListener('theme', () => this.refreshColours());
  }

  async start() {
    if (this.cloud.isComplete) await this.readTrait(this.chosen.trait);
    else await this.read();
  }

  /** Read the cloud; one that was read before is shown until all of it has been read again. */
  async read() {
    const cloud = new Cloud();
    say('Reading the cloud …');
    try {
      await cloud.read(() => {
        if (this.cloud.isComplete && !cloud.isComplete) return;
        this.cloud = cloud;
        this.show();
      }, this.stop.signal);
    } catch (error) {
      this.fail(error);
      if (error.name !== 'AbortError' && !this.cloud.isComplete) {
        this.count.textContent = `${this.counted(cloud.roots)} read, then no more`;
      }
      return;
    }
    this.state.cloud = cloud;
    say(`${plural(cloud.hosts, 'host')} read.`);
    if (this.chosen.trait) await this.readTrait(this.chosen.trait);
  }

  readAgain() {
    this.stop.abort();
    this.stop = new AbortController();
    complain('');
    this.read();
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
      type: 'search', value: chosen.trait, placeholder: 'HW_CPU_X86_AVX512F', autocomplete: 'off', spellcheck: 'false',
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
        h('span', {class: 'pair'}, h('span', {class: 'over-mark', 'aria-hidden': 'true'}, '×'), 'over capacity'),
        h('span', {class: 'pair'}, h('span', {class: 'disabled-mark', 'aria-hidden': 'true'}), 'disabled')));
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
    this.chosen.trait = name;
    this.withTrait = null;
    complain('');
    this.show();
    if (name === '') return;
    try {
      const path = `insight/providers?required=${encodeURIComponent(name)}`;
      const found = await all(path, 'providers', this.stop.signal);
      // Another one may have been chosen meanwhile.
      if (name !== this.chosen.trait) return;
      this.withTrait = new Set(found.map((one) => one.root_provider_uuid));
      this.show();
    } catch (error) {
      if (name === this.chosen.trait) this.fail(error);
    }
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
      words.every((word) => root.searched.includes(word)) && isShown(root, this.chosen.resourceClass)
      && (this.chosen.trait === '' || this.withTrait?.has(root.uuid)));
  }

  /** How many roots there are, in words: `of` is how many hosts those are a part of. */
  counted(roots, of = '') {
    const sharing = roots.filter((root) => root.isSharing).length;
    const hosts = roots.length - sharing;
    const others = sharing ? `, ${plural(sharing, 'sharing provider')}` : '';
    return (of === '' ? plural(hosts, 'host') : `${number(hosts)} of ${plural(of, 'host')}`) + others;
  }

  show() {
    this.showTable(this.showMap());
  }

  /** Show sums and map; the roots that are shown. */
  showMap() {
    const roots = this.filtered();
    const {sums, over, disabled, labels, isComplete, readAt} = this.cloud;
    const {trait} = this.chosen;
    if (this.named !== sums.map((sum) => sum.name).join()) this.showClasses(sums);
    // Sums of a part would look like those of the cloud.
    if (isComplete && this.shownSums !== sums) {
      this.shownSums = sums;
      this.showTiles(sums);
    }
    const isAll = roots.length === this.cloud.roots.length;
    this.count.textContent = trait && this.withTrait === null ? `It is not known which hosts have ${trait}`
      : this.counted(roots, isAll ? '' : this.cloud.hosts) + (isAll && disabled ? `, ${number(disabled)} disabled` : '')
      + (isComplete ? '' : ' so far …');
    this.age.textContent = isComplete ? `Read at ${readAt.toTimeString().slice(0, 8)}` : '';
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
        h('span', {class: 'quiet'}, `${amount(sum.name, sum.used)} of ${amount(sum.name, sum.capacity)}`),
        sum.disabled ? h('span', {class: 'quiet'}, `${amount(sum.name, sum.disabled)} free but disabled`) : null);
    }));
  }

  showTable(roots) {
    const {resourceClass} = this.chosen;
    const sorted = this.chosen.order === 'used' || this.chosen.shown !== 'all'
      ? sortedByUse(roots, resourceClass) : roots;
    const body = sorted.slice(0, this.rows).map((root) => h('tr', {},
      h('th', {scope: 'row'}, h('a', {href: `#/tree/${root.uuid}`}, root.name), root.isDisabled ? ' (disabled)' : ''),
      h('td', {}, percent(root.usedPart(resourceClass) ?? NaN), root.isOver ? h('div', {class: 'alarm'}, overWords(root)) : null),
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
    const isOver = root.isOver ? `${overWords(root)}, ` : '';
    return `${root.name}: ${root.isDisabled ? 'disabled, ' : ''}${isOver}${percent(part ?? NaN)} used`;
  }

  describe(root) {
    return [h('strong', {}, root.name), ...[...root.classes].map(([name, {used, capacity}]) =>
      h('div', {class: 'tip-row'}, h('span', {}, name),
        h('span', {class: 'track'}, wide(h('span', {class: used > capacity ? 'fill over' : 'fill'}), capacity ? used / capacity : 1)),
        h('span', {}, `${amount(name, used)} of ${amount(name, capacity)}`))),
    root.isDisabled ? h('div', {}, 'disabled: nova takes no server there') : null,
    root.isOver ? h('div', {class: 'alarm'}, overWords(root)) : null].filter(Boolean);
  }
}

/** Which inventory of a root is over its capacity, and how far. */
function overWords({worst: {provider, name, used, capacity}}) {
  return `over capacity: ${name} ${exact(name, used)} of ${exact(name, capacity)} on ${provider}`;
}
