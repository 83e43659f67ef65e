// Which lanes come first: those of the chain, then what lives; everything else is folded, with its number.

/** So many lanes of a chain are pinned, if there is room for them. */
const LEAST_PINNED = 3, MOST_PINNED = 10, MOST_ON_PHONE = 6;
/** So many dead objects of a resource stay in sight while they lie in the window. */
const MOST_DEAD = 3;
const OTHERS = new Set(["components", "notified only"]);

/** How many lanes are pinned at most, where there is room for so many. */
export const mostPinned = (rows) => Math.max(LEAST_PINNED, Math.min(rows, innerWidth <= 900 ? MOST_ON_PHONE : MOST_PINNED));

/** The lanes that entries lie on, in the order of the entries, the newest kept if there are too many. */
export function pinnedOf(lanes, entries, most, more = [], named = []) {
  const found = new Set(named);
  for (const i of [...more, ...[...entries].reverse()]) if (i >= 0 && i < lanes.laneOf.length && lanes.laneOf[i] >= 0) found.add(lanes.laneOf[i]);
  if (found.size <= most) return found;
  const kept = more.length || named.length ? [...found].slice(0, most) : [...found].slice(-most), own = lanes.laneOf[entries[0]];
  if (own >= 0 && !kept.includes(own)) kept[Math.max(kept.length - 1, named.length)] = own;
  return new Set(kept);
}

const isGone = (lane, cursor) => lane.gone !== undefined && lane.gone <= cursor;
const isLater = (lane, cursor) => !lane.isGhost && lane.entries.length > 0 && lane.entries[0] > cursor;

/** The groups as they are shown. `isHidden` says whether what ended at an entry is out of the window. */
export function arranged(lanes, { pinned, cursor, isHidden, isFocused }) {
  const byPlace = new Map(lanes.lanes.map((lane) => [lane.place, lane]));
  const chain = [...pinned].map((place) => byPlace.get(place)).filter((lane) => lane);
  const groups = chain.length ? [{ name: "chain", label: "this chain", lanes: chain }] : [];
  if (isFocused) return groups;
  const gone = [], others = [], late = [];
  for (const group of lanes.groups) {
    const rest = group.lanes.filter((lane) => !pinned.has(lane.place));
    if (group.isQuiet || OTHERS.has(group.name)) {
      others.push(...rest);
      continue;
    }
    const dead = rest.filter((lane) => isGone(lane, cursor)), living = rest.filter((lane) => !isGone(lane, cursor));
    const [out, kept] = dead.length > MOST_DEAD ? [dead, []] : [dead.filter((lane) => isHidden(lane.gone)), dead.filter((lane) => !isHidden(lane.gone))];
    gone.push(...out);
    living.sort((a, b) => Number(isLater(a, cursor)) - Number(isLater(b, cursor)));
    const made = [...living, ...kept];
    if (made.length) (group.note ? late : groups).push({ ...group, label: group.name, lanes: made });
  }
  groups.push(...late);
  if (gone.length) groups.push({ name: "gone", label: `${gone.length} gone`, lanes: gone, isFolded: true, isCounted: true, note: "objects that were removed before the cursor" });
  if (others.length) groups.push({ name: "others", label: `${others.length} ${others.length === 1 ? "other" : "others"}`, lanes: others, isFolded: true, isCounted: true, note: "components outside this chain, Events, Leases and the cluster's own objects" });
  return groups;
}
