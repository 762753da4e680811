// SPDX-License-Identifier: Apache-2.0
// The view of one tree: its providers with bars of what they have, and who holds it.

import {all} from './api.js';
import {Cloud, DISABLED, SHARING, capacityOf} from './cloud_data.js';
import {amount, complain, field, h, number, plural, say, wide} from './dom.js';

const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
// How many hosts are found at most, how many consumers are shown at first, and how many more each time.
const FOUND = 30;
const CONSUMERS = 50;
const MORE_CONSUMERS = 500;

export class TreeView {
  constructor(state, uuid) {
    this.state = state;
    this.uuid = uuid;
    this.stop = new AbortController();
    this.title = h('h1', {}, 'Tree');
    this.picture = h('div');
    this.element = h('div', {class: 'tree-view'}, this.title, this.finder(), this.picture);
  }

  close() {
    this.stop.abort();
  }

  finder() {
    this.results = h('ul', {class: 'results', 'aria-label': 'Hosts found'});
    this.input = h('input', {
      type: 'search', placeholder: 'Name or uuid of a host', autocomplete: 'off', spellcheck: 'false',
      oninput: () => this.find(this.input.value),
    });
    return h('div', {class: 'finder', role: 'search'}, field('Find a host', this.input, 'find'), this.results);
  }

  async find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.results.replaceChildren();
    if (words.length === 0) return;
    const roots = await this.roots();
    if (text !== this.input.value) return;
    const found = roots.filter((root) => words.every((word) => root.searched.includes(word)));
    this.results.replaceChildren(...found.slice(0, FOUND).map((root) =>
      h('li', {}, h('a', {href: `#/tree/${root.uuid}`}, root.name))));
    say(`${plural(found.length, 'host')} found.`);
  }

  /** The roots of the cloud, which are read once, however many letters are typed meanwhile. */
  async roots() {
    if (this.state.cloud === undefined) {
      this.reading ??= this.readCloud();
      await this.reading;
    }
    return this.state.cloud?.roots ?? [];
  }

  async readCloud() {
    const cloud = new Cloud();
    complain('');
    try {
      await cloud.read(() => {}, this.stop.signal);
      this.state.cloud = cloud;
    } catch (error) {
      this.reading = undefined;
      this.state.fail(error);
    }
  }

  async start() {
    if (this.uuid === '') {
      this.picture.replaceChildren(h('p', {class: 'quiet'}, 'Choose a host here, or click one in the cloud.'));
      return;
    }
    this.picture.replaceChildren(h('p', {class: 'loading'}, 'Reading the tree …'));
    try {
      await this.read();
    } catch (error) {
      // What was read before stays.
      for (const one of this.picture.querySelectorAll('.loading')) one.remove();
      this.state.fail(error);
    }
  }

  /** The uuid of the provider that the address names, by its uuid or its name. */
  async named() {
    if (UUID.test(this.uuid)) return this.uuid;
    // The browser has encoded the rest.
    const name = this.uuid.replace(/[&+]/g, (letter) => encodeURIComponent(letter));
    const [found] = await all(`insight/providers?name=${name}`, 'providers', this.stop.signal);
    return found?.uuid;
  }

  async read() {
    const {signal} = this.stop;
    const uuid = await this.named();
    const tree = uuid === undefined ? [] : await all(
      `insight/providers?in_tree=${uuid}&include=inventories,usages,traits,aggregates`, 'providers', signal);
    if (tree.length === 0) {
      this.picture.replaceChildren(h('p', {}, 'There is no such provider.'));
      return;
    }
    const root = tree.find((one) => one.uuid === one.root_provider_uuid) ?? tree[0];
    this.title.textContent = root.name;
    document.title = `Placement: ${root.name}`;
    const sharing = await this.sharing(tree);
    const consumers = h('section', {'aria-labelledby': 'consumers'});
    this.picture.replaceChildren(
      h('h2', {}, plural(tree.length, 'provider')),
      h('ul', {class: 'tree'}, this.branch(root, tree)),
      sharing.length ? h('section', {'aria-labelledby': 'sharing'},
        h('h2', {id: 'sharing'}, 'Shares with this host'),
        h('ul', {class: 'tree'}, sharing.map((one) => h('li', {}, this.card(one))))) : '',
      consumers);
    await this.showConsumers(consumers, tree, sharing);
  }

  /** The providers that share with a member of the tree, by an aggregate that both are in. */
  async sharing(tree) {
    const aggregates = [...new Set(tree.flatMap((one) => one.aggregates))];
    if (aggregates.length === 0) return [];
    const found = await all(
      `insight/providers?member_of=in:${aggregates.join()}&required=${SHARING}&include=inventories,usages,traits,aggregates`,
      'providers', this.stop.signal);
    const own = new Set(tree.map((one) => one.uuid));
    return found.filter((one) => !own.has(one.uuid));
  }

  branch(provider, tree) {
    const children = tree.filter((one) => one.parent_provider_uuid === provider.uuid);
    children.sort((a, b) => (a.name < b.name ? -1 : 1));
    return h('li', {}, this.card(provider),
      children.length ? h('ul', {}, children.map((one) => this.branch(one, tree))) : null);
  }

  card(provider) {
    const disabled = provider.traits.includes(DISABLED);
    const inventories = Object.entries(provider.inventories);
    return h('article', {class: disabled ? 'card disabled' : 'card', 'aria-label': provider.name},
      h('div', {class: 'card-head'},
        h('h3', {}, provider.name),
        disabled ? h('span', {class: 'badge warn'}, 'disabled') : null,
        h('code', {class: 'quiet'}, provider.uuid),
        h('span', {class: 'quiet'}, `generation ${provider.generation}`)),
      inventories.length ? h('dl', {class: 'inventories'}, inventories.map(([name, one]) =>
        this.inventory(name, one, provider.usages[name] ?? 0)))
        : h('p', {class: 'quiet'}, 'No inventory of its own.'),
      this.names('Traits', provider.traits), this.names('Aggregates', provider.aggregates));
  }

  inventory(name, inventory, used) {
    const capacity = capacityOf(inventory);
    const reserved = Math.trunc(inventory.reserved * inventory.allocation_ratio);
    const whole = Math.max(capacity + reserved, used, 1);
    const over = Math.max(0, used - capacity);
    const words = [`${amount(name, used)} of ${amount(name, capacity)} used`];
    words.push(over ? `${amount(name, over)} more than there is` : `${amount(name, capacity - used)} free`);
    if (inventory.reserved) words.push(`${amount(name, inventory.reserved)} reserved`);
    if (inventory.allocation_ratio !== 1) words.push(`${amount(name, inventory.total)} × ${inventory.allocation_ratio}`);
    const units = this.units(inventory);
    if (units) words.push(units);
    return h('div', {class: over ? 'inventory is-over' : 'inventory'},
      h('dt', {}, name),
      h('dd', {},
        h('span', {class: 'bar', 'aria-hidden': 'true'},
          wide(h('span', {class: 'used'}), (used - over) / whole),
          over ? wide(h('span', {class: 'over'}), over / whole) : wide(h('span', {class: 'free'}), (capacity - used) / whole),
          wide(h('span', {class: 'reserved'}), Math.min(reserved, whole - Math.max(capacity, used)) / whole)),
        h('span', {class: 'words'}, words.join(', '))));
  }

  units({min_unit, max_unit, step_size, total}) {
    const words = [];
    if (min_unit > 1) words.push(`at least ${number(min_unit)}`);
    if (max_unit < total) words.push(`at most ${number(max_unit)} each`);
    if (step_size > 1) words.push(`in steps of ${number(step_size)}`);
    return words.join(', ');
  }

  names(title, names) {
    if (names.length === 0) return null;
    return h('details', {}, h('summary', {}, `${title} (${names.length})`),
      h('ul', {class: 'chips'}, names.map((one) => h('li', {}, one))));
  }

  async showConsumers(section, tree, sharing) {
    const inUse = tree.filter((one) => Object.values(one.usages).some((used) => used > 0));
    const names = new Map([...tree, ...sharing].map((one) => [one.uuid, one.name]));
    const title = h('h2', {id: 'consumers'}, 'Consumers');
    section.replaceChildren(title, h('p', {class: 'loading'}, 'Reading the consumers …'));
    const found = new Map();
    for (const provider of inUse) {
      const path = `insight/consumers?provider=${provider.uuid}`;
      for (const one of await all(path, 'consumers', this.stop.signal)) found.set(one.uuid, one);
    }
    title.textContent = plural(found.size, 'consumer');
    section.replaceChildren(title);
    if (found.size > 0) section.append(this.consumers([...found.values()], names, CONSUMERS));
  }

  consumers(found, names, shown) {
    const rows = found.slice(0, shown).map((one) => h('tr', {},
      h('th', {scope: 'row'}, h('code', {}, one.uuid)),
      h('td', {}, one.consumer_type),
      h('td', {}, one.project_id),
      h('td', {}, one.created_at?.slice(0, 16).replace('T', ' ') ?? '–'),
      h('td', {}, Object.entries(one.allocations).map(([uuid, {resources}]) => h('div', {},
        h('span', {class: 'quiet'}, `${names.get(uuid) ?? uuid}: `),
        Object.entries(resources).map(([name, used]) => h('span', {class: 'amount'}, `${name} ${amount(name, used)}`)))))));
    const region = h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Consumers as a table'},
      h('table', {},
        h('thead', {}, h('tr', {}, ['Consumer', 'Type', 'Project', 'Since (UTC)', 'Holds'].map((name) =>
          h('th', {scope: 'col'}, name)))),
        h('tbody', {}, rows)));
    if (found.length > shown) {
      region.append(h('button', {type: 'button', class: 'more', onclick: () =>
        region.replaceWith(this.consumers(found, names, shown + MORE_CONSUMERS))}, `Show more of ${number(found.length)}`));
    }
    return region;
  }
}
