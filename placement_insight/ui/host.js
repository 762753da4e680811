// SPDX-License-Identifier: Apache-2.0
// The view of one host: its tree as nested boxes, its consumers, and further facts.

import {all} from './api.js';
import {HUES, box} from './boxes.js';
import {DISABLED, SHARING, capacityOf} from './cloud.js';
import {allConsumers, consumerWords, projectLink, projectName, questionsAbout, serverName} from './consumers.js';
import {CLOUD} from './cloud_name.js';
import {asCommand, copied, copyable, quoted} from './copies.js';
import {h, moment, select, field, table, visible} from './dom.js';
import {asNova, flavorFields, queryOf, range} from './flavors.js';
import {callerOf, doneWords, historyRows} from './history.js';
import {UUID, address, change, hostAddress} from './route.js';
import {store} from './store.js';
import {ROWS, MORE_ROWS, saveButton, sortedTable} from './table.js';
import {View} from './view.js';
import {amount, amounts, ago, classWord, minute, number, plural} from './words.js';

/**
 * @typedef {import('./cloud.js').Provider & {allocations: Record<string, {resources: Record<string, number>}>}} Held a
 *   provider with its allocations by consumer
 * @typedef {import('./consumers.js').Consumer} Consumer
 * @typedef {import('./dom.js').Child} Child
 * @typedef {{uuid: string, held: [string, Record<string, number>][], known: Consumer | undefined}} Holder
 */

const INCLUDE = 'include=inventories,usages,traits,aggregates';
const TABS = {tree: 'Tree', traits: 'Traits', aggregates: 'Aggregates', history: 'History', raw: 'Raw'};

/** @param {string} path @param {AbortSignal} signal */
const allProviders = (path, signal) => all(path, 'providers', signal);

export class HostView extends View {
  constructor() {
    super();
    this.shownHolders = ROWS;
    this.sort = 'Project';
    /** @type {Set<string>} */
    this.unfolded = new Set();
  }

  content() {
    const name = this.route.object;
    if (name === '') return [h('h1', {}, 'Host'), h('p', {class: 'quiet'}, 'Search for a host above, or choose one on the map.')];
    const uuid = this.uuid(name);
    if (uuid === null) return [h('h1', {}, name), h('p', {class: 'quiet'}, 'Asking …')];
    const tree = this.ask(`insight/providers?in_tree=${uuid}&${INCLUDE},allocations`, {seconds: 3, read: allProviders});
    const root = tree.value?.find((/** @type {Held} */ one) => one.uuid === one.root_provider_uuid);
    if (root) document.title = visible(`${root.name} · ${CLOUD} · Placement`);
    return [
      root && this.place(root),
      h('div', {class: 'title'}, h('h1', {}, root?.name ?? name), root && copyable(root.uuid)),
      this.shown(tree, (/** @type {Held[]} */ providers) => (root ? this.host(root, providers)
        : h('p', {}, 'There is no such provider.'))),
    ];
  }

  /** The uuid of the provider in the address, given by uuid or name; null while it is being read.
   * @param {string} name
   */
  uuid(name) {
    if (UUID.test(name)) return name;
    const found = this.ask(`insight/providers?name=${encodeURIComponent(name)}`, {read: allProviders});
    if (found.value === null && !found.error) return null;
    // A uuid without a provider, whose answer takes the place of the tree.
    return found.value?.[0]?.uuid ?? '00000000-0000-0000-0000-000000000000';
  }

  /** The aggregates of the host. @param {Held} root @returns {Child} */
  place(root) {
    return h('p', {class: 'quiet place'}, root.aggregates.map((uuid, index) => [
      index ? ', ' : '', h('a', {href: address('map', '', [['zone', uuid]])}, store.labels.get(uuid) ?? uuid)]));
  }

  /** @param {Held} root @param {Held[]} tree @returns {Child} */
  host(root, tree) {
    const holders = this.holders(tree);
    const tab = this.route.get('tab', 'tree');
    return [
      this.facts(root, tree, holders),
      this.alarms(tree),
      h('nav', {class: 'tabs', 'aria-label': 'About this host'}, Object.entries(TABS).map(([name, words]) => h('a', {
        href: this.route.with({tab: name === 'tree' ? '' : name}), 'aria-current': name === tab ? 'page' : null, key: name,
      }, words))),
      tab === 'traits' ? this.traits(tree) : tab === 'aggregates' ? this.aggregates(tree)
        : tab === 'history' ? this.history(tree) : tab === 'raw' ? this.raw(tree) : this.tree(root, tree, holders),
      asCommand(`openstack placement ${tab === 'history' ? 'history list --provider' : `tree show${tab === 'traits' ? ' --traits' : ''}`} ${quoted(root.name)}`),
    ];
  }

  /** The consumers of the tree, each with its allocations by provider. @param {Held[]} tree @returns {Holder[]} */
  holders(tree) {
    /** @type {Map<string, Holder>} */
    const holders = new Map();
    for (const provider of tree) {
      for (const [uuid, {resources}] of Object.entries(provider.allocations)) {
        const holder = holders.get(uuid) ?? {uuid, held: [], known: undefined};
        holder.held.push([provider.uuid, resources]);
        holders.set(uuid, holder);
      }
    }
    const byProvider = new Map(tree.map((one) => [one.uuid, new Set(Object.keys(one.allocations))]));
    const answers = questionsAbout(byProvider).map((path) => this.ask(path, {seconds: 300, read: allConsumers}));
    for (const known of answers.flatMap(({value}) => /** @type {Consumer[]} */ (value ?? []))) {
      const holder = holders.get(known.uuid);
      if (holder) holder.known = known;
    }
    return [...holders.values()];
  }

  /** @param {Held} root @param {Held[]} tree @param {Holder[]} holders @returns {Child} */
  facts(root, tree, holders) {
    const projects = new Set(holders.flatMap(({known}) => known?.project_id ?? [])).size;
    const isDisabled = tree.some((one) => one.traits.includes(DISABLED));
    const fit = this.route.get('fit');
    return h('div', {class: 'facts'},
      fact('State', isDisabled ? h('span', {class: 'badge warn'}, 'disabled') : root.traits.includes(SHARING) ? 'sharing provider' : 'enabled'),
      fact('Providers', number(tree.length)),
      fact('Holders', holders.length ? `${plural(holders.length, 'consumer')}${projects ? ` of ${plural(projects, 'project')}` : ''}` : 'none'),
      fact('Last change', this.lastChange(root, tree)),
      fact('Fits now', this.fits(root, fit)),
      tree.some((one) => one.traits.includes(SHARING)) ? null
        : fact('What if', h('a', {href: address('what-if', '', [['hosts', root.uuid], ['ask', '1']])}, 'this host fails?')),
      h('div', {class: 'controls'}, flavorFields(fit, (chosen) => change({fit: chosen}))));
  }

  /** @param {Held} root @param {string} fit @returns {Child} */
  fits(root, fit) {
    const query = queryOf(fit);
    if (query === '') return h('span', {class: 'quiet'}, fit ? 'This is no valid request.' : 'Choose a request');
    const {value, error} = this.ask(`insight/capacity?${asNova(query)}&by=root&page_limit=1&marker=${before(root.uuid)}`);
    if (error) return h('span', {class: 'alarm'}, error.message);
    if (value === null) return 'Asking …';
    const [row] = value.trees;
    return [row?.root.uuid === root.uuid ? range(row.now) : 'none', ' ', h('a', {href: `#/why?${query}&provider=${root.uuid}`}, 'Why?')];
  }

  /** @param {Held} root @param {Held[]} tree @returns {Child} */
  lastChange(root, tree) {
    const uuids = new Set(tree.map((one) => one.uuid));
    const observed = store.observed.find((one) => uuids.has(one.uuid));
    if (store.questions.get('history')?.enabled) {
      const {value} = this.ask(`insight/history?provider=${root.uuid}&page_limit=1`, {seconds: 3});
      const [last] = value?.history ?? [];
      if (last) return h('span', {}, `${doneWords(last.action)} by ${callerOf(last)}, `, moment(last.at));
    }
    return observed ? ago(observed.at) : h('span', {class: 'quiet'}, 'none since this page was opened');
  }

  /** The problems of the tree. @param {Held[]} tree @returns {Child} */
  alarms(tree) {
    return tree.flatMap((provider) => Object.entries(provider.inventories).flatMap(([name, inventory]) => {
      const over = (provider.usages[name] ?? 0) - capacityOf(inventory);
      return over > 0 ? [h('p', {class: 'refusal', key: provider.uuid + name},
        h('strong', {}, `${provider.name} is over capacity by ${amount(name, over)} ${classWord(name)}. `),
        'Move servers away, or restore its inventory: ', h('a', {href: this.route.with({tab: 'history', of: provider.uuid})}, 'History'), '.')] : [];
    }));
  }

  /** @param {Held} root @param {Held[]} tree @param {Holder[]} holders @returns {Child} */
  tree(root, tree, holders) {
    const lit = this.route.get('consumer');
    const known = new Map(holders.map((one) => [one.uuid, one.known]));
    const projects = [...new Set(holders.map((one) => one.known?.project_id ?? ''))].sort();
    /** @type {import('./boxes.js').Holding} */
    const holding = {
      lit: known.has(lit) ? lit : '',
      hueOf: (consumer) => projects.indexOf(known.get(consumer)?.project_id ?? '') % HUES,
      nameOf: (consumer) => `${serverName(consumer) || consumer}, ${projectName(known.get(consumer)?.project_id ?? '')}`,
      onlight: (consumer) => change({consumer}, true),
      pieces: new Map(tree.map((one) => [one.uuid, Object.entries(one.allocations).map(([consumer, {resources}]) => ({consumer, resources}))])),
      unfolded: this.unfolded,
      onunfold: (key) => { this.unfolded.add(key); this.update(); },
    };
    const sharing = this.sharing(tree);
    return [
      holding.lit && this.holder(lit, known.get(lit)),
      box(root, tree, holding),
      sharing.length > 0 && h('section', {'aria-labelledby': 'sharing'}, h('h2', {id: 'sharing'}, 'Shares with this host'),
        sharing.map((one) => box(one, [], {...holding, pieces: this.poolPieces(one, holders)}, ' '))),
      this.holdersTable(tree, sharing, holders, holding),
    ];
  }

  /** The chosen consumer. @param {string} uuid @param {Consumer | undefined} known @returns {Child} */
  holder(uuid, known) {
    return h('p', {class: 'chosen-holder'}, known?.consumer_type === 'INSTANCE' ? 'Server ' : 'Consumer ', serverName(uuid), ' ', copyable(uuid),
      known && [' of project ', projectLink(known.project_id)], ' ',
      !store.off('history') && h('a', {href: address('changes', '', [['consumer', uuid]])}, 'Its changes'));
  }

  /** The allocations of this host's consumers on a pool. @param {Held} pool @param {Holder[]} holders */
  poolPieces(pool, holders) {
    return new Map([[pool.uuid, holders.flatMap(({uuid, known}) => {
      const held = known?.allocations[pool.uuid];
      return held ? [{consumer: uuid, resources: held.resources}] : [];
    })]]);
  }

  /** The providers that share with a member of the tree through a common aggregate.
   * @param {Held[]} tree
   * @returns {Held[]}
   */
  sharing(tree) {
    const aggregates = [...new Set(tree.flatMap((one) => one.aggregates))];
    if (aggregates.length === 0) return [];
    const path = `insight/providers?member_of=in:${aggregates.join()}&required=${SHARING}&${INCLUDE}`;
    const own = new Set(tree.map((one) => one.uuid));
    return (this.ask(path, {read: allProviders}).value ?? []).filter((/** @type {Held} */ one) => !own.has(one.uuid));
  }

  /** @param {Held[]} tree @param {Held[]} sharing @param {Holder[]} holders @param {import('./boxes.js').Holding} holding
   * @returns {Child}
   */
  holdersTable(tree, sharing, holders, {lit, hueOf, onlight}) {
    const [root] = tree.filter((one) => one.uuid === one.root_provider_uuid);
    const names = new Map([...tree, ...sharing].map((one) => [one.uuid, one.name.replace(root && one !== root ? root.name : '\0', '…')]));
    /** @param {Holder} one @returns {[string, Record<string, number>][]} */
    const held = (one) => (one.known ? Object.entries(one.known.allocations).map(([uuid, {resources}]) => [uuid, resources]) : one.held);
    /** @type {import('./table.js').Column<Holder>[]} */
    const columns = [
      {name: 'Consumer', value: ({uuid}) => serverName(uuid) || uuid, cell: ({uuid}) => h('button', {
        type: 'button', class: 'light', 'aria-pressed': String(lit === uuid), onclick: () => onlight(lit === uuid ? '' : uuid),
      }, h('span', {class: `swatch hue${hueOf(uuid)}`, 'aria-hidden': 'true'}), consumerWords(uuid))},
      {name: 'Project', value: ({known}) => known?.project_id ?? '', cell: ({known}) => (known ? projectLink(known.project_id) : '…')},
      {name: 'Type', value: ({known}) => known?.consumer_type ?? '…'},
      {name: 'Since (UTC)', isTime: true, value: ({known}) => minute(known?.created_at)},
      {name: 'Holds', value: (one) => held(one).map(([uuid, resources]) => `${names.get(uuid) ?? uuid} ${amounts(resources)}`).join('; '),
        cell: (one) => held(one).map(([uuid, resources]) => h('span', {class: 'amount'},
          names.has(uuid) ? h('span', {class: 'quiet'}, `${names.get(uuid)} `) : h('a', {href: hostAddress(uuid)}, 'elsewhere '), amounts(resources)))},
    ];
    return h('section', {'aria-labelledby': 'consumers'},
      h('div', {class: 'title'}, h('h2', {id: 'consumers'}, holders.length ? plural(holders.length, 'consumer') : 'No consumers here'),
        h('span', {class: 'quiet'}, holders.length > 0 && 'Click a consumer to highlight all its allocations.'),
        holders.length > 0 && saveButton('holders.csv', columns, () => holders)),
      holders.length > 0 && sortedTable({
        label: 'Consumers as a table', columns, rows: holders, keyOf: ({uuid}) => uuid, sort: this.sort, shown: this.shownHolders,
        onsort: (sort) => { this.sort = sort; this.update(); }, onmore: () => { this.shownHolders += MORE_ROWS; this.update(); },
        classOf: ({uuid}) => (uuid === lit ? 'chosen-row' : null),
      }));
  }

  /** @param {Held[]} tree @returns {Child} */
  traits(tree) {
    return table('Traits by provider', ['Provider', 'Traits'], tree.map((one) => h('tr', {key: one.uuid},
      h('th', {scope: 'row'}, one.name),
      h('td', {}, one.traits.length ? h('ul', {class: 'chips'}, one.traits.map((name) => h('li', {key: name}, name))) : '–'))));
  }

  /** @param {Held[]} tree @returns {Child} */
  aggregates(tree) {
    const pairs = tree.flatMap((one) => one.aggregates.map((uuid) => ({one, uuid})));
    if (pairs.length === 0) return h('p', {class: 'quiet'}, 'In no aggregate.');
    return table('Aggregates by provider', ['Provider', 'Aggregate', 'UUID'], pairs.map(({one, uuid}) => h('tr', {key: one.uuid + uuid},
      h('th', {scope: 'row'}, one.name),
      h('td', {}, h('a', {href: address('map', '', [['zone', uuid]])}, store.labels.get(uuid) ?? 'no root provider is a member')),
      h('td', {}, h('code', {}, uuid)))));
  }

  /** @param {Held[]} tree @returns {Child} */
  history(tree) {
    const off = store.off('history');
    if (off) return h('p', {class: 'refusal'}, `${off} When it is enabled, the service records each change with its user.`);
    const of = this.route.get('of', tree.find((one) => one.uuid === one.root_provider_uuid)?.uuid);
    const answer = this.ask(`insight/history?provider=${of}&page_limit=100`, {seconds: 3});
    return [
      h('div', {class: 'controls'}, field('Provider', select(tree.map((one) => [one.uuid, one.name]), of, (chosen) => change({of: chosen})), 'of')),
      this.shown(answer, ({history}) => (history.length ? historyRows(history) : h('p', {}, 'No changes since the history was enabled.'))),
    ];
  }

  /** @param {Held[]} tree @returns {Child} */
  raw(tree) {
    const text = JSON.stringify(tree, null, 2);
    return [
      copied('Response of the service', text),
    ];
  }
}

/** @param {string} name @param {Child} value */
function fact(name, value) {
  return h('div', {class: 'fact', key: name}, h('span', {class: 'quiet'}, name), h('span', {}, value));
}

/** The last position before a uuid, so that a page after it begins with its row.
 * @param {string} uuid
 */
function before(uuid) {
  const hex = (BigInt(`0x${uuid.replaceAll('-', '')}`) - 1n).toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
