// SPDX-License-Identifier: Apache-2.0
// Tables that are sorted by their headings, show a part of their rows at first, and can be saved.

import {h} from './dom.js';
import {byName, number} from './words.js';

/**
 * A column: `value` is the key for sorting and saving, `cell` the shown content (default: the value), `label` the shown name.
 * @template Row
 * @typedef {{name: string, label?: string, title?: string, value: (row: Row) => string | number, cell?: (row: Row) => import('./dom.js').Child, isNumber?: boolean, isTime?: boolean}} Column
 */

// Number of rows that are shown at first, and of those added each time.
export const ROWS = 25;
export const MORE_ROWS = 200;

/** Rows in the order of a column, such as "Host" or "-Used".
 * @template Row
 * @param {Row[]} rows
 * @param {Column<Row>[]} columns
 * @param {string} sort
 * @returns {Row[]}
 */
export function sorted(rows, columns, sort) {
  const isDown = sort.startsWith('-');
  const column = columns.find((one) => one.name === sort.replace(/^-/, ''));
  if (column === undefined) return rows;
  const keyed = rows.map((row) => ({row, value: column.value(row)}));
  keyed.sort((a, b) => (isDown ? -1 : 1) * (typeof a.value === 'number' && typeof b.value === 'number'
    ? a.value - b.value : byName(String(a.value), String(b.value))));
  return keyed.map(({row}) => row);
}

/** A table in a region of its own. A click on a heading sorts by it, a second one reverses the order.
 * @template Row
 * @param {{label: string, columns: Column<Row>[], rows: Row[], keyOf: (row: Row) => string, sort: string, shown: number,
 *   onsort: (sort: string) => void, onmore: () => void, classOf?: (row: Row) => string | null,
 *   beside?: (row: Row) => import('./dom.js').Attributes, order?: string}} options `order` is the sort in which the rows come
 * @returns {import('./dom.js').Child}
 */
export function sortedTable({label, columns, rows, keyOf, sort, shown, onsort, onmore, classOf, beside, order = ''}) {
  const inOrder = sort === order ? rows : sorted(rows, columns, sort);
  return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label},
    h('table', {},
      h('thead', {}, h('tr', {}, columns.map((column) => heading(column, sort, onsort)))),
      h('tbody', {}, inOrder.slice(0, shown).map((row) => h('tr', {key: keyOf(row), class: classOf?.(row) ?? null, ...beside?.(row)},
        columns.map((column, index) => h(index ? 'td' : 'th', {class: column.isNumber ? 'right' : column.isTime ? 'when' : null, scope: index ? null : 'row'},
          column.cell ? column.cell(row) : column.value(row))))))),
    inOrder.length > shown && h('button', {type: 'button', class: 'more', onclick: onmore}, `Show more of ${number(inOrder.length)}`));
}

/** @template Row @param {Column<Row>} column @param {string} sort @param {(sort: string) => void} onsort */
function heading({name, label = name, title, isNumber}, sort, onsort) {
  const isSorted = sort.replace(/^-/, '') === name;
  const direction = sort.startsWith('-') ? 'descending' : 'ascending';
  // Numbers are sorted with the largest first.
  const next = isSorted ? (sort.startsWith('-') ? name : `-${name}`) : isNumber ? `-${name}` : name;
  return h('th', {scope: 'col', class: isNumber ? 'right' : null, 'aria-sort': isSorted ? direction : null},
    h('button', {type: 'button', class: 'heading', title: title ?? null, onclick: () => onsort(next)}, label,
      h('span', {'aria-hidden': 'true'}, isSorted ? (direction === 'descending' ? ' ▾' : ' ▴') : '')));
}

/** A button that saves a table as a file of comma-separated values.
 * @template Row
 * @param {string} file its name
 * @param {Column<Row>[]} columns
 * @param {() => Row[]} rows
 */
export function saveButton(file, columns, rows) {
  return h('button', {type: 'button', class: 'small', onclick: () => save(file, csv(columns, rows()))}, 'Save as CSV');
}

/** @template Row @param {Column<Row>[]} columns @param {Row[]} rows */
export function csv(columns, rows) {
  const lines = [columns.map(({name}) => name), ...rows.map((row) => columns.map(({value}) => value(row)))];
  return lines.map((line) => line.map(quoted).join()).join('\r\n');
}

/** A value that a spreadsheet shows without evaluating it.
 * @param {string | number} value
 */
function quoted(value) {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {string} name @param {string} text */
function save(name, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type: 'text/csv'}));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
