// The lanes of another run beneath those of this one, from where the two part.

import { historiesOf } from "./objects.js";
import { lanesOf } from "./lanes.js";

/** The other run as the lanes need it: `choose(i)` puts the cursor on one of its entries. */
export function ghostOf(run, same, choose) {
  const groups = lanesOf(run, historiesOf(run)).groups.map((group) => ({ ...group, lanes: group.lanes.map((lane) => after(lane, same)).filter((lane) => lane) }));
  return { run, same, choose, groups: groups.filter((group) => group.lanes.length > 0) };
}

/** What of a lane comes after the parting; null if nothing does. */
function after(lane, same) {
  const marks = lane.marks.filter((mark) => mark.i >= same);
  const spans = lane.spans.filter((span) => span.to >= same).map((span) => ({ ...span, from: Math.max(span.from, same) }));
  const [first] = [...marks.map((mark) => mark.i), ...spans.map((span) => span.from)].sort((a, b) => a - b);
  return first === undefined ? null : { ...lane, marks, spans, first };
}

/** The lanes of a run, each with its ghost; lanes and groups that the other run alone has come after those of their kind. */
export function overlaid(own, ghost) {
  if (!ghost) return own;
  let place = own.lanes.length;
  const added = (lane) => ({ ...lane, spans: [], marks: [], entries: [], isFault: false, ghost: lane, isGhost: true, place: place++ });
  const groups = own.groups.map((group) => {
    const rest = new Map((ghost.groups.find((one) => one.name === group.name)?.lanes || []).map((lane) => [lane.name, lane]));
    const lanes = group.lanes.map((lane) => {
      const beneath = rest.get(lane.name);
      rest.delete(lane.name);
      return beneath ? { ...lane, ghost: beneath } : lane;
    });
    return { ...group, lanes: [...lanes, ...[...rest.values()].map(added)] };
  });
  for (const group of ghost.groups) {
    if (!own.groups.some((one) => one.name === group.name)) groups.push({ ...group, lanes: group.lanes.map(added) });
  }
  return { ...own, groups, lanes: groups.flatMap((group) => group.lanes) };
}
