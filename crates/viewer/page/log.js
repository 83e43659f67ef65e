// The log as a table: all that the lanes show, in words, for who does not see them.

import { html } from "./html.js";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { lastUpTo } from "./run.js";
import { sentence } from "./sentence.js";
import { Line } from "./event.js";

const HEIGHT = 24, MARGIN = 12;

export function Log({ run, cursor, select, filter, setFilter }) {
  const box = useRef();
  const [top, setTop] = useState(0);
  const places = useMemo(() => {
    const wanted = filter.trim().toLowerCase(), found = [];
    for (let i = wanted ? 0 : run.begin; i < run.count; i++) {
      if (!wanted || `#${run.id(i)} ${run.stageOf(i)} ${run.actor(i)} ${run.subject(i)} ${sentence(run, i)}`.toLowerCase().includes(wanted)) found.push(i);
    }
    return found;
  }, [filter, run]);
  useEffect(() => {
    const at = lastUpTo(places, cursor), area = box.current;
    if (at < 0 || !area) return;
    const y = at * HEIGHT;
    if (y < area.scrollTop || y + HEIGHT > area.scrollTop + area.clientHeight) area.scrollTop = y - area.clientHeight / 2;
  }, [run.id(cursor), filter]);
  const first = Math.max(0, Math.floor(top / HEIGHT) - MARGIN), shown = places.slice(first, first + 60);
  return html`
    <div class="bar"><label>find <input id="find" value=${filter} onInput=${(event) => setFilter(event.target.value)} spellcheck=${false} /></label><span class="quiet">${places.length} of ${run.count} entries</span></div>
    <div class="log" ref=${box} tabindex="0" aria-label="Entries" onScroll=${(event) => setTop(event.currentTarget.scrollTop)}>
      <div style=${{ height: `${places.length * HEIGHT}px`, position: "relative" }}>
        <div style=${{ position: "absolute", top: `${first * HEIGHT}px`, left: 0, right: 0 }}>
          ${shown.map((i) => html`<${Line} key=${i} run=${run} i=${i} select=${select} isCurrent=${i === cursor} />`)}
        </div>
      </div>
    </div>`;
}
