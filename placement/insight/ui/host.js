// SPDX-License-Identifier: Apache-2.0
// The view of one host: the providers of its tree with bars of what they have, and who holds it.

import {all} from './api.js';
import {DISABLED, SHARING, capacityOf} from './cloud.js';
import {h, table, wide} from './dom.js';
import {View} from './view.js';
import {amount, byName, minute, number, plural} from './words.js';

/** @typedef {import('./cloud.js').Provider} Provider */
/** @typedef {import('./cloud.js').Inventory} Inventory */
/** @typedef {import('./dom.js').Child} Child */

const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const INCLUDE = 'include=inventories,usages,traits,aggregates';
// How many consumers are shown at first, and how many more each time.
const CONSUMERS = 50;
const MORE_CONSUMERS = 500;

/** @param {string} path @param {AbortSignal} signal */
const allProviders = (path, signal) => all(path, 'providers', signal);

export class HostView extends View {
  constructor() {
    super();
    this.shownConsumers = CONSUMERS;
  }

  content() {
    const name = this.route.object;
    if (name === '') return [h('h1', {}, 'Host'), h('p', {class: 'quiet'}, 'Search for a host above, or choose one on the map.')];
    const filter = UUID.test(name) ? `in_tree=${name}` : `name=${encodeURIComponent(name)}`;
    const found = this.ask(`insight/providers?${filter}&${INCLUDE}`, {read: allProviders});
    const [first] = found.value ?? [];
    // A name leads to one provider, whose tree is asked for next.
    const tree = !first || UUID.test(name) ? found
      : this.ask(`insight/providers?in_tree=${first.uuid}&${INCLUDE}`, {read: allProviders});
    const root = tree.value?.find((/** @type {Provider} */ one) => one.uuid === one.root_provider_uuid) ?? first;
    if (root) document.title = `Placement: ${root.name}`;
    return [
      h('h1', {}, root?.name ?? name),
      this.shown(tree, (/** @type {Provider[]} */ providers) => (providers.length && root
        ? this.picture(root, providers) : h('p', {}, 'There is no such provider.'))),
    ];
  }

  /** @param {Provider} root @param {Provider[]} tree @returns {Child} */
  picture(root, tree) {
    const sharing = this.sharing(tree);
    return [
      h('h2', {}, plural(tree.length, 'provider')),
      h('ul', {class: 'tree'}, this.branch(root, tree)),
      sharing.length ? h('section', {'aria-labelledby': 'sharing'},
        h('h2', {id: 'sharing'}, 'Shares with this host'),
        h('ul', {class: 'tree'}, sharing.map((one) => h('li', {}, this.card(one))))) : null,
      this.consumers(tree, sharing),
    ];
  }

  /** The providers that share with a member of the tree, by an aggregate that both are in.
   * @param {Provider[]} tree
   * @returns {Provider[]}
   */
  sharing(tree) {
    const aggregates = [...new Set(tree.flatMap((one) => one.aggregates))];
    if (aggregates.length === 0) return [];
    const path = `insight/providers?member_of=in:${aggregates.join()}&required=${SHARING}&${INCLUDE}`;
    const own = new Set(tree.map((one) => one.uuid));
    return (this.ask(path, {read: allProviders}).value ?? []).filter((/** @type {Provider} */ one) => !own.has(one.uuid));
  }

  /** @param {Provider} provider @param {Provider[]} tree @returns {Child} */
  branch(provider, tree) {
    const children = tree.filter((one) => one.parent_provider_uuid === provider.uuid);
    children.sort((a, b) => byName(a.name, b.name));
    return h('li', {key: provider.uuid}, this.card(provider),
      children.length ? h('ul', {}, children.map((one) => this.branch(one, tree))) : null);
  }

  /** @param {Provider} provider @returns {Child} */
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

  /** @param {string} name @param {Inventory} inventory @param {number} used @returns {Child} */
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
    return h('div', {class: over ? 'inventory is-over' : 'inventory', key: name},
      h('dt', {}, name),
      h('dd', {},
        h('span', {class: 'bar', 'aria-hidden': 'true'},
          h('span', wide('used', (used - over) / whole)),
          over ? h('span', wide('over', over / whole)) : h('span', wide('free', (capacity - used) / whole)),
          h('span', wide('reserved', Math.min(reserved, whole - Math.max(capacity, used)) / whole))),
        h('span', {class: 'words'}, words.join(', '))));
  }

  /** @param {Inventory} inventory */
  units({min_unit, max_unit, step_size, total}) {
    const words = [];
    if (min_unit > 1) words.push(`at least ${number(min_unit)}`);
    if (max_unit < total) words.push(`at most ${number(max_unit)} each`);
    if (step_size > 1) words.push(`in steps of ${number(step_size)}`);
    return words.join(', ');
  }

  /** @param {string} title @param {string[]} names @returns {Child} */
  names(title, names) {
    if (names.length === 0) return null;
    return h('details', {}, h('summary', {}, `${title} (${names.length})`),
      h('ul', {class: 'chips'}, names.map((one) => h('li', {}, one))));
  }

  /** @param {Provider[]} tree @param {Provider[]} sharing @returns {Child} */
  consumers(tree, sharing) {
    const names = new Map([...tree, ...sharing].map((one) => [one.uuid, one.name]));
    const inUse = tree.filter((one) => Object.values(one.usages).some((used) => used > 0));
    const answers = inUse.map((one) => this.ask(`insight/consumers?provider=${one.uuid}`, {read: allConsumers}));
    const found = new Map(answers.flatMap(({value}) => value ?? []).map((one) => [one.uuid, one]));
    const isKnown = answers.every(({isAsked}) => !isAsked);
    const [error] = answers.flatMap((one) => one.error ?? []);
    return h('section', {'aria-labelledby': 'consumers'},
      h('h2', {id: 'consumers'}, isKnown ? plural(found.size, 'consumer') : 'Reading the consumers …'),
      error && h('p', {class: 'refusal', role: 'alert'}, error.message),
      isKnown && found.size > 0 ? this.consumerTable([...found.values()], names) : null);
  }

  /** @param {any[]} found @param {Map<string, string>} names @returns {Child} */
  consumerTable(found, names) {
    const rows = found.slice(0, this.shownConsumers).map((one) => h('tr', {key: one.uuid},
      h('th', {scope: 'row'}, h('code', {}, one.uuid)),
      h('td', {}, one.consumer_type),
      h('td', {}, one.project_id),
      h('td', {}, minute(one.created_at)),
      h('td', {}, Object.entries(one.allocations).map(([uuid, {resources}]) => h('div', {},
        h('span', {class: 'quiet'}, `${names.get(uuid) ?? uuid}: `),
        Object.entries(resources).map(([name, used]) => h('span', {class: 'amount'}, `${name} ${amount(name, used)}`)))))));
    return [
      table('Consumers as a table', ['Consumer', 'Type', 'Project', 'Since (UTC)', 'Holds'], rows),
      found.length > this.shownConsumers && h('button', {
        type: 'button', class: 'more', onclick: () => { this.shownConsumers += MORE_CONSUMERS; this.update(); },
      }, `Show more of ${number(found.length)}`),
    ];
  }
}

/** @param {string} path @param {AbortSignal} signal */
function allConsumers(path, signal) {
  return all(path, 'consumers', signal);
}
