// What the page shows: its bar, and below it the home, a cluster, or a run.

import { html } from "../../../viewer/page/html.js";
import { App } from "../../../viewer/page/app.js";
import { Runs } from "../../../viewer/page/both.js";
import { Taught } from "../../../viewer/page/lesson.js";
import { Bar } from "./bar.js";
import { Clock } from "./clock.js";
import { Dock } from "./dock.js";
import { Ended } from "./ended.js";
import { Home } from "./home.js";
import { Problem } from "./problem.js";
import { RunBar } from "./run_bar.js";

export function Root({ lab }) {
  const { session, view, page, busy, problem } = lab, cluster = session.cluster();
  if (session.fatal) return html`<${Bar} lab=${lab} /><${Ended} lab=${lab} />`;
  if (busy) return html`<${Bar} lab=${lab} /><p class="said busy" role="status">${session.isReady ? busy : "Loading the control plane…"}</p>`;
  const place = problem && html`<${Problem} error=${problem} close=${() => { lab.problem = null; lab.paint(); }} />`;
  if (view === "cluster" && cluster) {
    if (!cluster.run) return html`<${Bar} lab=${lab} /><p class="said">${cluster.said || "Starting the cluster…"}</p>`;
    const dock = (shown) => html`<${Dock} key=${cluster.name} lab=${lab} cluster=${cluster} ...${shown} />`;
    return html`<${Bar} lab=${lab} />
      <${App} key=${cluster.name} run=${cluster.run} live="live" acted=${session.acted} head=${html`<${Clock} lab=${lab} cluster=${cluster} />`} dock=${dock} />`;
  }
  if (view === "page" && page) {
    return html`<${Bar} lab=${lab}>${place}${page.kind === "run" ? html`<${RunBar} lab=${lab} />` : ""}<//>
      ${page.kind === "lesson" ? html`<${Taught} key=${page.run} run=${page.run} view=${App} />` : html`<${Runs} key=${page.run.data.was ? "both" : "one"} run=${page.run} />`}`;
  }
  return html`<${Bar} lab=${lab}>${place}<//><${Home} lab=${lab} />`;
}
