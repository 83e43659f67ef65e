// Two runs over each other: which of them the cursor is on, where they part, and what differs from there.

import { html } from "./html.js";
import { useEffect, useMemo, useState } from "preact/hooks";
import { App } from "./app.js";
import { ghostOf } from "./ghosts.js";
import { placed } from "./place.js";
import { lastUpTo, modelOf, short } from "./run.js";
import { sentence } from "./sentence.js";

/** A run, or two of which the second parts from the first, or one into which something could not be put. */
export function Runs({ run }) {
  const { was, refused } = run.data;
  if (was) return html`<${Both} is=${run} was=${was} />`;
  if (!refused) return html`<${App} run=${run} />`;
  if (!/(?:^#|&)i=\d/.test(location.hash)) history.replaceState(null, "", placed(`i=${refused.at}`));
  return html`<p class="failure" role="region" aria-label="The refused step">A step after <a href=${placed(`i=${refused.at}`)}>event #${refused.at}</a> was refused: <bdi>${short(refused.why, 500)}</bdi>. This is the run without it.</p><${App} run=${run} />`;
}

const MOST = 60;

/** The run that the link marks. */
const marked = () => (/&run=was/.test(location.hash) ? 0 : 1);

function Both({ is, was }) {
  const { same, parting } = was, called = is.data.called;
  // If the first lines differ in anything else, the second run is not a changed run.
  const change = parting.headers.length ? undefined : is.header.change;
  const runs = useMemo(() => {
    if (forkOf(change)) is.forked = same;
    return [modelOf({ ...is.data, run: was.run, summary: was.summary, entries: is.entries.slice(0, same).concat(was.entries) }), is];
  }, []);
  const places = runs.map((run) => Math.min(same, run.count - 1));
  const [on, setOn] = useState(() => {
    if (!/(?:^#|&)i=\d/.test(location.hash)) history.replaceState(null, "", placed(`i=${is.id(places[1])}`));
    return marked();
  });
  const [both, setBoth] = useState(true);
  /** Puts the cursor on an entry of one of them. */
  const go = (to, i) => {
    const tab = /&tab=\w+/.exec(location.hash)?.[0] ?? "";
    location.hash = placed(`i=${runs[to].id(i)}${to === 0 ? "&run=was" : ""}${tab}`);
  };
  useEffect(() => {
    const follow = () => setOn(marked());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  /** Goes to the other run: to the same entry, or to where it was at the same time. */
  const cross = (to) => {
    if (to === on) return;
    const here = runs[on], i = Math.min(here.nearest(Number(/(?:^#|&)i=(\d+)/.exec(location.hash)?.[1] ?? 0)), here.count - 1);
    go(to, i < same ? i : Math.max(places[to], lastUpTo(runs[to].axes.time, here.axes.time[i])));
  };
  const ghost = useMemo(() => (both ? ghostOf(runs[1 - on], same, (i) => go(1 - on, i)) : null), [both, on]);
  const show = (to) => {
    setBoth(false);
    cross(to);
  };
  const side = (to) => html`<button class="parted" aria-current=${on === to} onClick=${() => go(to, places[to])}><b>${called[to]}</b> <span class=${`outcome ${runs[to].summary.outcome}`}>${runs[to].summary.outcome.replaceAll("-", " ")}</span>
    <bdi>${same < runs[to].count ? `#${runs[to].id(same)} ${runs[to].actor(same)}: ${short(sentence(runs[to], same), 160)}` : "ends there"}</bdi></button>`;
  return html`
    <section class="both" aria-label="Two runs">
      <div class="bar">
        <b>Two runs</b> <span class="quiet">${changed(change)}${same > 0 ? `the same up to #${is.id(Math.min(same, is.count) - 1)}, byte for byte` : "which differ from the first event on"}</span>
        <span class="choice" role="group" aria-label="Shown">
          <button aria-pressed=${!both && on === 0} onClick=${() => show(0)}>${called[0]}</button>
          <button aria-pressed=${!both && on === 1} onClick=${() => show(1)}>${called[1]}</button>
          <button aria-pressed=${both} onClick=${() => setBoth(!both)}>both</button>
        </span>
        <span class="choice" role="group" aria-label="The cursor is on">
          ${[0, 1].map((to) => html`<button aria-pressed=${on === to} onClick=${() => cross(to)}>cursor: ${called[to]}</button>`)}
        </span>
      </div>
      <div class="sides">${side(0)}${side(1)}</div>
      <${Differing} parting=${parting} called=${called} />
    </section>
    <${App} key=${on} run=${runs[on]} ghost=${ghost} mark=${on === 0 ? "&run=was" : ""} />`;
}

const forkOf = (change) => /fork@(\d+)/.exec(change ?? "");

/** How a changed run came to be: the same seed again, or, where no clock can be turned back, a new cluster. */
function changed(change) {
  const fork = forkOf(change);
  if (fork) return `from there on a new cluster, on a fork of the store at revision ${fork[1]}; its controllers, scheduler and nodes started from scratch: `;
  return change ? "the same seed, with an inserted step: " : "";
}

function Differing({ parting, called }) {
  const rows = (list) => list.slice(0, MOST).map(({ field, what, actor, one, other }) => html`<tr><th scope="row"><bdi>${what ? `${what} of ${actor}` : field}</bdi></th><td><bdi>${short(String(one ?? "—"), 160)}</bdi></td><td><bdi>${short(String(other ?? "—"), 160)}</bdi></td></tr>`);
  const table = (title, list) => (list.length ? html`<table><caption><h3>${title}</h3></caption><thead><tr><th></th>${called.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${rows(list)}</tbody></table>${list.length > MOST ? html`<p class="quiet">and ${list.length - MOST} more</p>` : ""}` : "");
  return html`<details><summary>what differs</summary>
    ${table("of the runs", parting.headers)}${table("there", parting.first?.differences ?? [])}${table("from there on", parting.counts)}</details>`;
}
