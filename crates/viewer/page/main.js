// Unpacks the run that lies in this file and draws it.

import { render } from "preact";
import { html } from "./html.js";
import { modelOf, unpacked } from "./run.js";
import { App } from "./app.js";
import { Runs } from "./both.js";
import { Taught } from "./lesson.js";
import { follow } from "./live.js";
import { explainTitles } from "./explained.js";

async function begin() {
  const place = document.getElementById("page");
  const say = (text) => render(html`<p class="said">${text}</p>`, place);
  place.textContent = "";
  explainTitles();
  const { dataset, textContent } = document.getElementById("run"), text = textContent.trim();
  if (dataset.events) {
    document.title = "a running cluster · Coracle";
    return follow(dataset.events, (run, live) => render(html`<${App} run=${run} live=${live} />`, place), say);
  }
  if (!text) return say("There is no run in this file: `coracle run SCENARIO --report FILE.html` writes one with a run.");
  const run = await read(text).catch((error) => say(error.name === "Error" ? error.message : `The run in this file cannot be read: it is truncated or damaged (${error.message}).`));
  if (!run) return undefined;
  if (run.data.lesson) {
    document.title = `${run.data.lesson.title} · Coracle`;
    return render(html`<${Taught} run=${run} view=${App} />`, place);
  }
  document.title = `${run.summary.name || "a cluster"}, ${run.summary.outcome} · Coracle`;
  return render(html`<${Runs} run=${run} />`, place);
}

async function read(text) {
  const run = modelOf(await unpacked(text));
  if (run.count === 0) throw new Error(run.data.cut ? `${run.data.cut}; the log is empty.` : "The log of this run is empty.");
  return run;
}

document.addEventListener("DOMContentLoaded", begin);
