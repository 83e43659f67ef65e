// Below the bar of a scenario that ran to its end: open it as a cluster, or run it again with a step in addition.

import { html } from "../../../viewer/page/html.js";
import { useState } from "preact/hooks";

const EXAMPLE = "delete: {ref: {apiVersion: v1, kind: Pod, labels: {app: web}}, pick: 1}";

export function RunBar({ lab }) {
  const [step, setStep] = useState(EXAMPLE);
  const insert = (event) => {
    event.preventDefault();
    lab.insert(Number(/(?:^#|&)i=(\d+)/.exec(location.hash)?.[1] ?? 0), step);
  };
  return html`<form class="bar runbar" onSubmit=${insert}>
    <button type="button" title="Start the cluster of this scenario, and act in it while its steps run" onClick=${() => lab.open({ ...lab.wanted, end: undefined })}>open as a cluster</button>
    <label class="grow">what if <input value=${step} spellcheck=${false} aria-label="A step that is taken after the event under the cursor" onInput=${(event) => setStep(event.target.value)} /></label>
    <button class="main" title="Run the scenario again, with this step after the event under the cursor">insert after the event under the cursor</button>
  </form>`;
}
