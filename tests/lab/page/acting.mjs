// What a hand does: the editor, the console, the buttons, the clock, faults and forks.

import { end, pods, withThreePods, write } from "./opened.mjs";

const REFUSED = ["apiVersion: v1", "kind: ConfigMap", "metadata:", "  name: before", "---", "apiVersion: apps/v1", "kind: Deployment", "metadata:", "  name: api", "spec:", "  replica: 3", ""].join("\n");

export async function acting({ open, claim, Axe }) {
  const { page, said, close } = await withThreePods(open);
  const names = () => page.$$eval(".node .pod", (list) => list.map((one) => one.textContent));
  const before = await names();

  await write(page, REFUSED);
  await page.click(".editor .main");
  await page.waitForSelector(".beside");
  const [message, marked] = [await page.innerText(".beside"), await page.$$eval(".gutter span", (lines) => lines.findIndex((line) => line.className === "wrong") + 1)];
  claim(marked === 11 && message.includes("line 11") && message.includes(".spec.replica: field not declared in schema"), "a manifest that the API refuses has its message beside the line", `${marked}: ${message}`);
  await page.fill(".paper textarea", "a: [");
  await page.waitForFunction(() => !document.querySelector(".beside"));
  claim(true, "and the message goes when the text changes");
  await page.click(".editor .main");
  await page.waitForSelector(".beside");
  claim(/line \d/.test(await page.innerText(".beside")), "a text that is no YAML has its line", await page.innerText(".beside"));

  await page.click(".node .pod >> nth=0");
  await page.waitForFunction(() => document.querySelector(".hand .kind")?.textContent === "Pod");
  await page.click('.acts button:has-text("delete this pod")');
  await page.waitForSelector(".node .pod.terminating");
  claim((await page.getAttribute('header button:has-text("follow")', "aria-pressed")) === "true", "after an action the cursor follows what comes of it");
  await pods(page, 3);
  claim((await names()).some((name) => !before.includes(name)), "the button deletes a pod, and another one replaces it");

  await page.click(".turn");
  const stood = await end(page);
  await page.waitForTimeout(400);
  claim(stood === (await end(page)), "a clock that is stopped stands still");
  const now = await page.innerText(".clock .now");
  await page.click('.clock button:has-text("+10 s")');
  await page.waitForFunction((old) => document.querySelector(".clock .now").textContent !== old, now);

  await page.click(".node .plain >> nth=0");
  await page.waitForFunction(() => document.querySelector(".hand .kind")?.textContent === "Node");
  await page.click('.acts button:has-text("cordon")');
  await page.waitForSelector('.acts button:has-text("uncordon")');
  await page.click('.acts button:has-text("uncordon")');
  await page.click('.acts button:has-text("stop the node")');
  await page.waitForSelector('.acts button:has-text("start the node")');
  await page.click('.clock button:has-text("+1 m")');
  await page.waitForSelector(".node.failed");
  await page.click('.acts button:has-text("start the node")');
  await page.click('.clock button:has-text("+1 m")');
  await page.waitForFunction(() => !document.querySelector(".node.failed"));
  claim(true, "a node that is stopped becomes NotReady, and Ready after its start");

  await page.click('.acts button:has-text("lag its watch")');
  await page.waitForSelector(".fault");
  claim((await page.innerText(".fault")).includes("lag: 10s"), "a fault is in the list", await page.innerText(".fault"));
  await page.click(".fault button");
  await page.waitForFunction(() => !document.querySelector(".fault"));
  claim(true, "and not after it was healed");
  await write(page, "- do: {paus: scheduler}\n");
  await page.waitForSelector('.editor .main:has-text("add these faults")');
  claim(true, "the editor knows a fault by its text");
  await page.click(".editor .main");
  await page.waitForSelector(".beside");
  claim((await page.innerText(".beside")).includes("did you mean `pause`"), "a fault that is misspelt is refused", await page.innerText(".beside"));

  await page.click('.labbar button:has-text("fork") >> nth=0');
  await page.waitForSelector('.choice button[aria-pressed="true"]:has-text("fork-1")');
  await pods(page, 3);
  await write(page, "- scale:\n    ref: {apiVersion: apps/v1, kind: Deployment, name: web}\n    replicas: 5\n");
  await page.click(".editor .main");
  await page.click('.clock button:has-text("+10 s")');
  await pods(page, 5);
  await page.click('.choice button:has-text("main")');
  await pods(page, 3);
  claim(true, "a fork goes its own way, and the first cluster keeps its state");

  await page.click("#pane-console");
  await page.fill(".prompt input", "kubectl get pods");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".exchange");
  const answer = await page.innerText(".exchange");
  if (answer.includes("this lab has no console")) console.log("SKIPPED: the console: the module has none");
  else {
    claim(/NAME\s+READY\s+STATUS/.test(answer) && answer.match(/Running/g)?.length === 3, "the console lists three pods", answer);
    await page.fill(".prompt input", "kubectl get deployme");
    await page.keyboard.press("Tab");
    await page.waitForFunction(() => / deployments $/.test(document.querySelector(".prompt input").value));
    claim(true, "Tab completes a word");
  }
  await page.focus(".prompt input");
  await page.keyboard.press("ArrowUp");
  claim((await page.inputValue(".prompt input")).startsWith("kubectl get"), "the history has the line");
  await page.fill(".prompt input", "");
  await page.keyboard.press("Tab");
  claim(await page.evaluate(() => document.activeElement !== document.querySelector(".prompt input")), "with an empty line, Tab moves the focus");

  for (const [name, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }]]) {
    await page.emulateMedia(options);
    for (const pane of ["console", "editor", "details"]) {
      await page.click(`#pane-${pane}`);
      const { violations } = await new Axe({ page }).analyze();
      const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
      claim(serious.length === 0, `axe finds nothing serious: ${pane}, ${name}`, serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" ")}`).join("\n     "));
    }
  }
  for (const [width, height] of [[1280, 720], [900, 900], [400, 900]]) {
    await page.setViewportSize({ width, height });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    claim(over <= 0, `nothing is wider than a window of ${width} pixels`, `${over} px`);
  }
  claim(said.length === 0, "and nothing was said on the console", said.join("\n"));
  await close();
}
