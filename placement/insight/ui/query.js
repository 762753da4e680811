// SPDX-License-Identifier: Apache-2.0
// Queries of GET /allocation_candidates as text: read what somebody pasted, and give up a condition.

// Parameters of a query, one of which is of a search at least; and amounts alone, such as VCPU:4.
const QUERY = /(?:\w[\w-]*=[^\s'"#&]*&)*(?:resources|required|member_of|in_tree|root_required|same_subtree|group_policy)[\w-]*=[^\s'"#]*/;
const AMOUNTS = /^[A-Z][A-Z0-9_]*[:=]\d+(?:[,\s]+[A-Z][A-Z0-9_]*[:=]\d+)*$/;

/** The query in what was pasted: a query, a path with one, a URL, a line of curl; null if there is none. */
export function pasted(text) {
  if (AMOUNTS.test(text)) return `resources=${text.replace(/[,\s]+/g, ',').replaceAll('=', ':')}`;
  return text.match(QUERY)?.[0] ?? null;
}

function pairs(query) {
  return [...new URLSearchParams(query)];
}

/** A query as text; what is safe in it stays readable. */
export function text(parameters) {
  return parameters.map(([name, value]) =>
    `${encodeURIComponent(name)}=${encodeURIComponent(value).replace(/%3A/g, ':').replace(/%2C/g, ',')}`).join('&');
}

const GIVING_UP = {
  'required trait': (query, suffix, name) => withoutListed(query, `required${suffix}`, name),
  'forbidden trait': (query, suffix, name) => withoutListed(query, `required${suffix}`, `!${name}`),
  aggregate: (query, suffix, name) => withoutAggregate(query, `member_of${suffix}`, name),
  tree: (query, suffix) => without(query, `in_tree${suffix}`),
  root_required: (query, suffix, name) => withoutListed(query, 'root_required', name),
  isolate: (query) => [...without(query, 'group_policy'), ['group_policy', 'none']],
  subtree: (query) => without(query, 'same_subtree'),
  'class missing': (query, suffix, name) => withAmount(query, suffix, name, null),
};

/** The query without some conditions, or with the largest amount that fits; null if none is known. */
export function relaxed(query, conditions, largest) {
  let parameters = pairs(query);
  for (const {reason, names, suffix, asked} of conditions) {
    const before = text(parameters);
    if (asked !== null) {
      parameters = withAmount(parameters, suffix ?? '', names[0], conditions.length === 1 ? largest : null);
    } else if (reason in GIVING_UP) {
      parameters = GIVING_UP[reason](parameters, suffix ?? '', names[0] ?? '');
    }
    if (text(parameters) === before) return null;
  }
  // A request has to ask for something.
  return parameters.some(([key]) => key.startsWith('resources')) ? text(parameters) : null;
}

function without(parameters, name) {
  return parameters.filter(([key]) => key !== name);
}

function alternatives(words) {
  return words.split(' or ').sort().join();
}

function isSame(value, name) {
  return value.startsWith('in:') && value.slice(3).split(',').sort().join() === alternatives(name);
}

function withoutListed(parameters, key, name) {
  return parameters.flatMap(([one, value]) => {
    if (one !== key) return [[one, value]];
    if (isSame(value, name)) return [];
    if (value.startsWith('in:')) return [[one, value]];
    const left = value.split(',').filter((item) => item !== name);
    return left.length ? [[one, left.join()]] : [];
  });
}

function withoutAggregate(parameters, key, name) {
  return parameters.flatMap(([one, value]) => {
    if (one !== key) return [[one, value]];
    if (value === name || isSame(value, name)) return [];
    if (name.startsWith('!') && value.startsWith('!in:')) {
      const left = value.slice(4).split(',').filter((uuid) => uuid !== name.slice(1));
      return left.length ? [[one, `!in:${left.join()}`]] : [];
    }
    return [[one, value]];
  });
}

function withAmount(parameters, suffix, resourceClass, largest) {
  const key = `resources${suffix}`;
  const changed = parameters.flatMap(([one, value]) => {
    if (one !== key) return [[one, value]];
    const left = value.split(',').flatMap((item) => {
      if (item.split(':')[0] !== resourceClass) return [item];
      return largest > 0 ? [`${resourceClass}:${largest}`] : [];
    });
    return left.length ? [[one, left.join()]] : [];
  });
  if (changed.some(([one]) => one === key)) return changed;
  // A group that asks for nothing any more may have no conditions either.
  const ofGroup = ['required', 'member_of', 'in_tree'].map((name) => name + suffix);
  return changed.filter(([one]) => !ofGroup.includes(one));
}
