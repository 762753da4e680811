// SPDX-License-Identifier: Apache-2.0
// Colours of used parts: the darker, the fuller, on a light ground and on a dark one. Lightness alone
// gives the order, so that it is visible with any eyesight and on paper; over capacity has a colour,
// and a mark, of its own.

/** The parts from which each colour is used, finer close to full. */
export const BOUNDS = [0, 0.25, 0.5, 0.75, 0.9, 0.97, 1];
const ON_LIGHT = ['#e3efdf', '#b5dcbf', '#7cc3ad', '#3f9ca3', '#2f6f9a', '#46458c', '#3d1f57'];
// The lightest would glare on dark paper.
const ON_DARK = ['#93ad9f', '#73a08b', '#4e937f', '#3b838c', '#356f9f', '#5457a8', '#70398f'];
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
