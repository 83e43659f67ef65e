// The visible range of the lanes: the whole of a finished run, the newest part of a running cluster.

import { useEffect, useRef } from "preact/hooks";

/** How much of each axis is visible at first, for a running cluster. */
export const RECENT = { revision: 60, time: 60_000, order: 2_000 };

/** The range that is in sight when the whole has changed. Of a cluster that runs that is what was in sight, and the newest if that is followed. */
export function useRange({ live, isFollowing, name, whole }, setRange) {
  const last = useRef(null);
  useEffect(() => {
    const before = last.current;
    last.current = { name, whole };
    if (!live) return setRange(whole);
    const recent = { from: Math.max(whole.from, whole.to - RECENT[name]), to: whole.to };
    if (!before || before.name !== name) return setRange(recent);
    return setRange((old) => {
      const span = Math.min(old.to - old.from, whole.to - whole.from);
      if (old.from === before.whole.from && old.to === before.whole.to) return span <= RECENT[name] ? recent : whole;
      const to = isFollowing ? whole.to : Math.min(Math.max(old.to, whole.from + span), whole.to);
      return { from: to - span, to };
    });
  }, [whole, isFollowing]);
}
