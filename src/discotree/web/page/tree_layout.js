// The layout of a tree on a grid, and the x of its columns: drawing/layout.py in JavaScript. A test compares the two.
// Items have the addresses of secondary edges: token i is i, constituent k the number of tokens plus k.

export const PITCH = 4; // columns from one word to the next
const MAX_PAIRS = 6; // pairs of interleaved constituents for which both orders are tried
const LABEL_PARAMETERS = [0.75, 0.65, 0.85, 0.55, 0.45, 0.35, 0.25]; // places of a label on a curve, best first

const range = (start, end) => Array.from({ length: Math.max(end - start, 0) }, (_, k) => start + k);
const fill = (list, value, start, end) => void (start < end && list.fill(value, start, end));
const highest = (list, start, end) => list.slice(start, end).reduce((a, b) => Math.max(a, b), -Infinity);

/** Return the first item with the least key; a key is a list of numbers. */
function least(items, key) {
  let [best, bestKey] = [undefined, null];
  for (const item of items) {
    const its = key(item);
    const differs = bestKey ? its.findIndex((number, k) => number !== bestKey[k]) : 0;
    if (!bestKey || (differs >= 0 && its[differs] < bestKey[differs])) [best, bestKey] = [item, its];
  }
  return best;
}

/** Return a record as lists over addresses. */
function indexTree({ tokens, constituents }) {
  const size = tokens.length;
  const lowest = new Array(size).fill(-1); // the last constituent so far that has the position
  const parents = new Array(size).fill(-1);
  for (const { positions } of constituents) {
    parents.push(lowest[positions[0]]);
    for (const position of positions) lowest[position] = parents.length - 1;
  }
  for (let word = 0; word < size; word += 1) parents[word] = lowest[word];
  const children = parents.map(() => []);
  for (const address of [...range(0, size).reverse(), ...range(size + 1, parents.length)]) children[parents[address]].push(address);
  const words = range(0, size);
  const first = [...words, ...constituents.map(({ positions }) => positions[0])];
  const last = [...words, ...constituents.map(({ positions }) => positions.at(-1))];
  const discontinuous = constituents.flatMap(({ positions }, k) => (isDiscontinuous(positions) ? [size + k] : []));
  return { size, constituents, parents, children, first, last, discontinuous };
}

export const isDiscontinuous = (positions) => positions.at(-1) - positions[0] >= positions.length;

/** Return the stretches between the blocks of positions, as [start, end] with the end excluded. */
export function gapsOf(positions) {
  return positions.slice(1).flatMap((position, k) => (position > positions[k] + 1 ? [[positions[k] + 1, position]] : []));
}

/** Return { rows, cells, bars, crossed }: cells have a row, a column and a parent; crossed are columns of passing stems, by node. */
export function layout(record) {
  const tree = indexTree(record);
  const { size, first, last, parents } = tree;
  // By width: children before parents, and the nodes within a span before the node over it.
  const width = (node) => last[node] - first[node];
  let best = arrange(tree, range(size, parents.length).sort((a, b) => width(a) - width(b) || b - a));
  for (const [a, b] of interleavedPairs(tree)) {
    const other = arrange(tree, swap(tree, best.order, a, b));
    if (other.crossings.length < best.crossings.length) best = other;
  }
  const height = best.levels[size]; // the root is the first node
  const rows = best.levels.map((level) => height - level);
  const crossed = record.constituents.map(() => []);
  for (const [node, child] of best.crossings) crossed[node - size].push(best.columns[child]);
  return {
    size,
    rows: height + 1,
    cells: rows.map((row, address) => ({ row, column: best.columns[address], parent: parents[address] })),
    bars: range(size, rows.length).map((node) => ({ node, row: rows[node], start: best.starts[node - size], end: best.ends[node - size] })),
    children: tree.children.slice(size).map((children) => children.toSorted((a, b) => a - b)),
    crossed,
  };
}

/** Return the order with the earlier of two nodes, and its ancestors in between, moved after the later one. */
function swap({ parents }, order, a, b) {
  const ranks = new Map(order.map((node, rank) => [node, rank]));
  let [low, high] = ranks.get(a) < ranks.get(b) ? [a, b] : [b, a];
  const moved = [];
  for (; low >= 0 && ranks.get(low) < ranks.get(high); low = parents[low]) moved.push(low);
  const others = order.filter((node) => !moved.includes(node));
  const split = others.indexOf(high) + 1;
  return [...others.slice(0, split), ...moved, ...others.slice(split)];
}

/** Return the pairs of constituents that have words in each other's gaps; none if there are too many. */
function interleavedPairs({ size, constituents, first, last, discontinuous }) {
  const pairs = [];
  const meets = (positions, other) => positions.some((position) => first[other] <= position && position <= last[other]);
  for (const [k, a] of discontinuous.entries()) {
    const mine = constituents[a - size].positions;
    const inside = new Set(mine);
    for (const b of discontinuous.slice(k + 1)) {
      const theirs = constituents[b - size].positions;
      if (theirs.some((position) => inside.has(position)) || !meets(theirs, a) || !meets(mine, b)) continue;
      pairs.push([a, b]);
      if (pairs.length > MAX_PAIRS) return [];
    }
  }
  return pairs;
}

/** Stack the nodes in this order. */
function arrange(tree, order) {
  const { size, children, first, last, discontinuous } = tree;
  const levels = new Array(first.length).fill(0);
  const columns = range(0, first.length).map((address) => (address < size ? PITCH * address : 0));
  const starts = [];
  const ends = [];
  const crossings = []; // pairs of the node above the bar and the cell below the stem
  const skyline = new Array(size).fill(0); // level of the topmost node over each word
  const taken = range(0, PITCH * size).map((column) => column % PITCH === 0); // columns with a stem that rises to a bar still to come
  const cells = range(0, PITCH * size).map((column) => Math.floor(column / PITCH)); // address of the cell below that stem
  const ranks = new Array(first.length).fill(0);
  for (const [rank, node] of order.entries()) ranks[node] = rank;
  for (const node of order) {
    const [start, end] = [first[node], last[node] + 1];
    levels[node] = highest(skyline, start, end) + 1;
    fill(skyline, levels[node], start, end);
    const childColumns = children[node].map((child) => columns[child]);
    const [left, right] = [Math.min(...childColumns), Math.max(...childColumns)];
    for (const column of childColumns) taken[column] = false;
    let column = left;
    if (left < right) {
      let costs = [];
      if (discontinuous.length) {
        const passing = new Map(range(left, right).filter((at) => taken[at]).map((at) => [at, cells[at]]));
        for (const cell of passing.values()) crossings.push([node, cell]);
        costs = costsOf(tree, ranks, node, passing, left, right);
      }
      column = nearest(taken, childColumns, left, right, costs);
    }
    taken[column] = true;
    cells[column] = node;
    columns[node] = column;
    [starts[node - size], ends[node - size]] = [left, right];
  }
  return { order, levels, columns, starts, ends, crossings };
}

/**
 * Return the free column of least cost, preferably without a stem right beside it, nearest to the middle.
 * A child near the middle wins over the exact middle: its stem then goes straight up.
 */
function nearest(taken, childColumns, left, right, costs) {
  const middle = Math.floor((left + right) / 2);
  const isBeside = (column) => taken.slice(Math.max(column - 1, 0), column + 2).some(Boolean);
  if (!costs.length) {
    if (childColumns.length > 2) {
      const child = least(childColumns, (column) => [Math.abs(column - middle)]);
      if (left < child && child < right && Math.abs(child - middle) <= PITCH / 2) return child;
    }
    if (left < middle && !isBeside(middle)) return middle;
  }
  let free = range(left, right + 1).filter((column) => !taken[column]);
  if (costs.length) {
    const lowest = Math.min(...free.map((column) => costs[column - left]));
    free = free.filter((column) => costs[column - left] === lowest);
  }
  return least(free, (column) => [Number(isBeside(column)), Math.abs(column - middle)]);
}

/** Return the number of later crossings for each column from left to right; an empty list if all are equal. */
function costsOf({ parents, children, first, last, discontinuous }, ranks, node, passing, left, right) {
  let parent = parents[node];
  if (parent < 0) return [];
  const [now, then] = [ranks[node], ranks[parent]];
  const bars = discontinuous.filter((other) => now < ranks[other] && ranks[other] < then); // that its stem may meet on the way up
  if (!bars.length && !passing.size) return [];
  const steps = new Array(right - left + 2).fill(0); // change of cost from one column to the next
  for (const other of bars) {
    const [start, end] = [PITCH * first[other], PITCH * last[other]];
    if (start > right || left > end) continue;
    steps[Math.max(start - left, 0)] += 1;
    steps[Math.min(end, right) - left + 1] -= 1;
  }
  while (parent >= 0 && children[parent].length === 1) [node, parent] = [parent, parents[parent]];
  if (parent >= 0 && passing.size) { // the bar of its parent meets the stems between it and its siblings
    const siblings = children[parent].filter((sibling) => sibling !== node);
    const start = PITCH * Math.min(...siblings.map((sibling) => first[sibling]));
    const end = PITCH * Math.max(...siblings.map((sibling) => last[sibling]));
    for (const [column, cell] of passing) {
      if (ranks[parents[cell]] <= ranks[parent]) continue; // its stem ends below the bar
      if (column < start) {
        steps[0] += 1;
        steps[column - left] -= 1;
      } else if (column > end) steps[column - left] += 1;
    }
  }
  if (!steps.slice(1, -1).some(Boolean)) return [];
  let cost = 0;
  return steps.slice(0, -1).map((step) => (cost += step));
}

/** Return the x of every column in use, by number, and the total width, given the widths of the texts of all cells. */
export function columnXs({ rows, cells, bars, size }, widths, { margin, step }) {
  const byColumn = new Map(cells.map(({ column }) => [column, []]));
  for (const [address, { row, column, parent }] of cells.entries()) {
    const bar = parent < 0 ? { row, start: -1, end: -1 } : bars[parent - size];
    const half = Math.floor((widths[address] + 1) / 2);
    byColumn.get(column).push({ row, top: bar.row, left: half, right: half, opens: column === bar.start, closes: column === bar.end });
  }
  const columns = [...byColumn].sort(([a], [b]) => a - b);
  const xs = sweep(rows, columns, margin, step, (_, lowest) => lowest);
  const end = Math.max(...columns.flatMap(([column, extents]) => extents.map(({ right }) => xs.get(column) + right)));
  // Move columns between two words to the right, towards their share of the distance.
  const settle = (column, lowest) => {
    const [word, offset] = [column - (column % PITCH), column % PITCH];
    if (!offset || !xs.has(word + PITCH)) return -xs.get(column);
    const ideal = xs.get(word) + Math.floor(((xs.get(word + PITCH) - xs.get(word)) * offset) / PITCH);
    return -Math.max(xs.get(column), Math.min(ideal, -lowest));
  };
  const mirrored = columns.toReversed().map(([column, extents]) =>
    [column, extents.map((extent) => ({ ...extent, left: extent.right, right: extent.left, opens: extent.closes, closes: extent.opens }))]);
  const settled = sweep(rows, mirrored, -end, step, settle);
  return { xs: new Map([...settled].map(([column, x]) => [column, -x])), width: end + margin };
}

/** Return the x that `settle` chooses for each column, given the lowest x that keeps the distance to the others. */
function sweep(rows, columns, origin, step, settle) {
  const labels = new Array(rows).fill(origin - step); // last x of the labels and passing stems in each row
  const bars = new Array(rows).fill(origin - step); // last x in the line of the bars
  const xs = new Map();
  let x = origin - 1;
  for (const [column, extents] of columns) {
    let lowest = x + 1;
    for (const { row, top, left, opens } of extents) {
      const passed = highest(labels, top + (opens ? 0 : 1), row); // a bar must not begin below another node's label
      lowest = Math.max(lowest, labels[row] + left + step, highest(bars, top, row + 1) + step, passed + step);
    }
    x = settle(column, lowest);
    for (const { row, top, right, closes } of extents) {
      fill(bars, x, top, row + 1);
      fill(labels, x, top + 1, row);
      labels[row] = x + right;
      if (closes) labels[top] = Math.max(labels[top], x);
    }
    xs.set(column, x);
  }
  return xs;
}

/**
 * Return the solid pieces of a bar and those that bridge a gap; holes are left out of both. `joints` are the x of the lines to
 * children. The solid bar reaches into a gap by `inset`, also from a joint; a bridge that would be shorter than that is solid.
 */
export function barPieces(joints, gaps, holes, inset) {
  const [left, right] = [Math.min(...joints), Math.max(...joints)];
  const bridges = [];
  for (const gap of gaps) {
    const [start, end] = [Math.max(left, gap[0]), Math.min(right, gap[1])];
    const stops = [start, ...joints.filter((x) => start < x && x < end).sort((a, b) => a - b), end];
    for (const [k, a] of stops.slice(0, -1).entries()) {
      if (stops[k + 1] - a >= 3 * inset) bridges.push(...cutOut(a + inset, stops[k + 1] - inset, holes));
    }
  }
  return [cutOut(left, right, [...holes, ...bridges]), bridges];
}

function cutOut(start, end, holes) {
  const pieces = [];
  for (const [left, right] of holes.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])) {
    if (start < Math.min(left, end)) pieces.push([start, Math.min(left, end)]);
    start = Math.max(start, right);
  }
  if (start < end) pieces.push([start, end]);
  return pieces;
}

/** Return the four points of a curve from a child to a point beside its other parent; y grows downwards. */
export function secondaryCurve([childX, y], [parentX, level], beside) {
  const towards = parentX > childX ? 1 : -1;
  const x = childX + towards * 6;
  const to = parentX - towards * beside;
  const up = Math.max(16, Math.floor(Math.abs(y - level) / 2));
  const across = Math.max(24, Math.floor(Math.abs(to - x) / 2));
  return [[x, y], [x, y > level ? y - up : y + up], [to - towards * across, level], [to, level]];
}

/** Return the point of a curve at `t`, from 0 to 1. */
export function pointAt(curve, t) {
  const weights = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3];
  return [0, 1].map((axis) => roundHalfEven(curve.reduce((sum, point, k) => sum + weights[k] * point[axis], 0)));
}

/** Round as Python does: a half goes to the even number. */
export function roundHalfEven(number) {
  const below = Math.floor(number);
  return number - below === 0.5 ? below + (Math.abs(below) % 2) : Math.round(number);
}

/** Return the middle of a label of this size where it covers the fewest obstacles, and add the label to them. */
export function labelPlace(curve, width, height, obstacles) {
  const [halfWidth, halfHeight] = [Math.floor(width / 2), Math.floor(height / 2)];
  const rectangle = (t) => {
    const [x, y] = pointAt(curve, t);
    return [x - halfWidth, y - halfHeight, x + halfWidth, y + halfHeight];
  };
  const hits = ([left, top, right, bottom]) => obstacles.filter((box) => box[0] <= right && left <= box[2] && box[1] <= bottom && top <= box[3]).length;
  const best = least(LABEL_PARAMETERS, (t) => [hits(rectangle(t))]);
  obstacles.push(rectangle(best));
  return pointAt(curve, best);
}
