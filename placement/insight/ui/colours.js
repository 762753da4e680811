// SPDX-License-Identifier: Apache-2.0
// How full something is, as a colour. Lightness alone tells the order, so that it can be told apart
// with any eyes and on paper; what is over its capacity has a colour, and a mark, of its own.

const LIGHT = ['#e9f0e6', '#c3e3c0', '#8ed0ae', '#55b7a6', '#2f98a0', '#2b7896', '#325a86', '#3c3b72', '#3d1f57'];
const DARK = ['#1f2b3b', '#25405a', '#265a72', '#257480', '#2c9184', '#4eae7c', '#86c96c', '#c3df63', '#fdf07a'];
const OVER = {light: '#d6255e', dark: '#ff5d8f'};

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === 'dark';
  return window.matchMedia('(prefers-color-scheme: dark)').matches;
}

/** A function from a part, from 0 to 1 and above, to a colour of the theme. */
export function scale(dark = isDark()) {
  const steps = dark ? DARK : LIGHT;
  const over = dark ? OVER.dark : OVER.light;
  return (part) => {
    if (part > 1) return over;
    return steps[Math.min(steps.length - 1, Math.floor(part * steps.length))];
  };
}

export function steps(dark = isDark()) {
  return dark ? DARK : LIGHT;
}
