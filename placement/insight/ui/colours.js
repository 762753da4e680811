// SPDX-License-Identifier: Apache-2.0
// How full something is, as a colour: the darker, the fuller, on light paper and on dark. Lightness
// alone tells the order, so that it can be told apart with any eyes and on paper; what is over its
// capacity has a colour, and a mark, of its own.

/** From which part on a colour is used; close to full is where it matters. */
export const BOUNDS = [0, 0.25, 0.5, 0.75, 0.9, 0.97, 1];
const ON_LIGHT = ['#e3efdf', '#b5dcbf', '#7cc3ad', '#3f9ca3', '#2f6f9a', '#46458c', '#3d1f57'];
const ON_DARK = ['#e3efdf', '#b5dcbf', '#7cc3ad', '#45aab0', '#3a86b5', '#5c60b3', '#7a3d99'];
const OVER = {light: '#d6255e', dark: '#ff5d8f'};

export function isDark() {
  const chosen = document.documentElement.dataset['theme'];
  if (chosen) return chosen === 'dark';
  return window.matchMedia('(prefers-color-scheme: dark)').matches;
}

/** The colours from empty to full. */
export function steps(dark = isDark()) {
  return dark ? ON_DARK : ON_LIGHT;
}

export function overColour(dark = isDark()) {
  return dark ? OVER.dark : OVER.light;
}

/** The number of the colour of a part, from 0 to 1.
 * @param {number} part
 */
export function stepOf(part) {
  let step = 0;
  while (step + 1 < BOUNDS.length && part >= (BOUNDS[step + 1] ?? 2)) step += 1;
  return step;
}
