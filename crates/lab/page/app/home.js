// The first page of the lab: start a cluster, or choose a lesson, an exercise or a scenario.

import { html } from "../../../viewer/page/html.js";
import { useState } from "preact/hooks";
import { short } from "../../../viewer/page/run.js";
import { coded } from "./exercise.js";
import { progress } from "./progress.js";

const SIGNS = { begun: "◐", done: "✓" };

export function Home({ lab }) {
  const { session } = lab, { list } = session, stored = progress();
  const [find, setFind] = useState("");
  const isFound = (...texts) => texts.join(" ").toLowerCase().includes(find.trim().toLowerCase());
  const done = (all) => html`<i>${all.filter(({ name }) => stored[name] === "done").length} of ${all.length} done</i>`;
  return html`<main class="home">
    <section class="lead-in"><h1>A Kubernetes control plane in this tab</h1>
      <p>API server, store, scheduler, controllers and simulated nodes run here, in virtual time. Nothing is installed, and nothing is sent anywhere.</p>
      <${Start} lab=${lab} releases=${list?.releases ?? []} />
      <p class="quiet" role="status">${session.isReady ? "The control plane is loaded." : "Loading the control plane…"}</p></section>
    ${list ? html`
      <section aria-label="Lessons"><h2>Lessons ${done(list.lessons)}</h2><p class="quiet">A question, a guess, and the run that answers it.</p>
        <ol class="cards">${list.lessons.map((one) => html`<li key=${one.name}><button class="card lesson" data-lesson=${one.name} onClick=${() => lab.open({ lesson: one.name })}><${Sign} state=${stored[one.name]} /><span>${one.number}. ${coded(one.title)}</span></button></li>`)}</ol></section>
      <section aria-label="Exercises"><h2>Exercises ${done(list.exercises)}</h2><p class="quiet">A cluster that is broken: find out why, and repair it.</p>
        <ol class="cards">${list.exercises.map((one) => html`<li key=${one.name}><button class="card exercise" data-exercise=${one.name} title=${one.report.replaceAll("`", "")} onClick=${() => lab.open({ exercise: one.name })}><${Sign} state=${stored[one.name]} /><span>${one.number}. ${coded(one.title)} <i>${one.minutes} min</i></span></button></li>`)}</ol></section>
      <section aria-label="Scenarios" class="scenarios"><h2>Scenarios <i>${list.scenarios.length}</i></h2><p class="bar quiet">Steps with checks: watch the run, or act in its cluster. <label>find <input type="search" value=${find} onInput=${(event) => setFind(event.target.value)} /></label></p>
        <ul class="list">${list.scenarios.filter(({ name, text }) => isFound(name, describes(text))).map(({ name, text }) => html`<li key=${name} data-scenario=${name}><div><b>${name}</b> <span class="quiet">${coded(short(describes(text), 260))}</span></div>
          <span class="bar"><button class="ran" onClick=${() => lab.open({ scenario: name, end: true })}>run to its end</button><button class="opened" onClick=${() => lab.open({ scenario: name })}>open</button></span></li>`)}</ul></section>`
    : html`<section><h2>Lessons, exercises, scenarios</h2><p class="quiet">They come with the control plane.</p></section>`}
  </main>`;
}

const Sign = ({ state }) => html`<b class=${`sign ${state ?? ""}`} aria-label=${state ?? "not begun"}>${SIGNS[state] ?? "○"}</b>`;

/** The form that starts an empty cluster. */
function Start({ lab, releases }) {
  const start = (event) => {
    event.preventDefault();
    const form = new FormData(event.target), number = (name) => Number(form.get(name));
    lab.open({ kubernetes: form.get("kubernetes") || undefined, nodes: number("nodes"), seed: number("seed") });
  };
  return html`<form class="bar start" onSubmit=${start}>
    <button class="main">start an empty cluster</button>
    <label>Kubernetes <select name="kubernetes"><option value="">newest</option>${releases.map((one) => html`<option>${one}</option>`)}</select></label>
    <label>nodes <input name="nodes" type="number" min="1" max="100" value="2" required /></label>
    <label title="The same seed and the same actions give the same run">seed <input name="seed" type="number" min="0" value="1" required /></label>
  </form>`;
}

/** What a scenario says of itself: its description, or the comment at its beginning. */
export function describes(text) {
  const folded = /^ {2}description: *(.*(?:\n {4}.*)*)/m.exec(text)?.[1] ?? "";
  const said = folded.replace(/^[>|][-+]?\s*/, "").replace(/\s+/g, " ").trim().replace(/^"(.*)"$/, "$1");
  return said || (/^# *(.*)/.exec(text)?.[1] ?? "");
}
