// Two runs over each other: a run that was changed, two files that were compared, and a change that was refused.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Axe from "@axe-core/playwright";

const DELETE = "delete: {ref: {apiVersion: v1, kind: Pod, labels: {app: web}}, pick: 1}\n";
const FEWER = "scale: {ref: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, replicas: 0}\n";
const REFUSED = "delete: {ref: {apiVersion: v1, kind: Pod, name: nobody}}\n";

export async function twoRuns({ coracle, scenarios, folder, claim, opened }) {
  const demo = join(scenarios, "delete-a-pod.yaml");
  const run = (...args) => spawnSync(coracle, args, { encoding: "utf8" });
  const changed = (name, step, ...more) => {
    const [file, page] = [join(folder, `${name}.yaml`), join(folder, `${name}.html`)];
    writeFileSync(file, step);
    const { status } = run("run", demo, "--at", "#3490", "--put", file, "--report", page, ...more);
    return { page, status };
  };
  const made = changed("changed", DELETE);
  claim(made.status === 1 && readFileSync(made.page).length <= 500_000, "a changed run writes a page of at most 500 kB");
  {
    const { page, said, close } = await opened(made.page);
    const at = () => page.innerText(".at b");
    const parted = await at();
    claim(parted === /#\d+/.exec(await page.innerText('.parted[aria-current="true"] bdi'))[0], "it opens where the runs part");
    claim((await page.$eval("#panel select", (one) => one.value)) === "kubelet/pods", "the pipeline is that of who acts first on what was put in");
    await page.click('button:has-text("as it was") >> nth=0');
    await page.click('button:text-is("both")');
    await page.locator(".name.ghost").first().waitFor({ timeout: 20_000 });
    claim((await page.locator(".name.ghost").count()) > 0, "both: the new one lies beneath");
    await page.click("summary:text-is('what differs')");
    const differing = await page.innerText(".both details");
    claim(differing.includes("step.start") && differing.includes("requests of controller-manager/replicaset"), "what differs is told as tables");
    claim(said.length === 0, "two runs open with nothing on the console, no request and no policy violation", said.join("\n"));
    await close();
  }
  {
    // Without replicas there is no replacement, so that the old run alone has its lane.
    const { page, said, close } = await opened(changed("fewer", FEWER).page);
    const outcome = () => page.innerText("header .outcome"), at = () => page.innerText(".at b"), ghosts = () => page.locator(".name.ghost").count();
    // The browser tells the page of a link in a task of its own.
    const shown = (word) => page.waitForFunction((word) => document.querySelector("header .outcome").textContent.includes(word), word, { timeout: 20_000 }).catch(() => {});
    const parted = await at();
    claim((await ghosts()) > 0 && (await outcome()).includes("not in time"), "lanes that the old run alone has are ghosts, and the cursor is on the new one");
    await page.click('button:has-text("as it was") >> nth=0');
    await shown("passed");
    claim((await ghosts()) === 0 && (await outcome()).includes("passed") && page.url().includes("&run=was"), "as it was: the old run alone");
    await page.click('button:text-is("both")');
    await page.keyboard.press("ArrowRight");
    const moved = await at();
    await page.click('button:text-is("cursor: as it is")');
    await shown("not in time");
    claim((await outcome()).includes("not in time") && moved !== parted, "the cursor moves on either, and from one to the other");
    await page.click(".name.ghost >> nth=0");
    await shown("passed");
    claim((await outcome()).includes("passed"), "a click on a ghost puts the cursor on its run");
    claim(said.length === 0, "a run with fewer lanes opens with nothing on the console, no request and no policy violation", said.join("\n"));
    await close();
  }
  {
    const { page, close } = await opened(made.page, "#i=3600&run=was");
    claim((await page.innerText(".at b")) === "#3600" && (await page.innerText("header .outcome")).includes("passed"), "a link selects an event of the old run");
    await close();
  }
  for (const [name, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }], ["narrow", { viewport: { width: 400, height: 900 } }]]) {
    const { page, close } = await opened(made.page, "", options);
    await page.click("summary:text-is('what differs')");
    const { violations } = await new Axe({ page }).analyze();
    const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
    claim(serious.length === 0, `axe finds nothing serious in two runs: ${name}`, serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" ")}`).join("\n     "));
    const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    claim(width <= 0, `nothing of two runs is wider than the window: ${name}`, `${width} px`);
    await close();
  }
  {
    const { page, said, close } = await opened(changed("refused", REFUSED).page);
    claim((await page.innerText(".failure")).includes("there is no Pod nobody") && (await page.innerText(".at b")) === "#3490" && said.length === 0, "a change that is refused is told at its event, and the run is as it was", said.join("\n"));
    await close();
  }
  {
    const { page, said, close } = await opened(changed("forked", DELETE, "--mode", "scaled=20").page);
    const told = await page.innerText(".both");
    claim(told.includes("on a fork of the store at revision") && said.length === 0, "where the clock is not turned back, the page says that a new cluster went on from a fork", said.join("\n"));
    await close();
  }
  {
    const [one, other, both] = ["one.jsonl", "other.jsonl.gz", "both.html"].map((name) => join(folder, name));
    run("run", demo, "-q", "--events", one);
    run("run", demo, "-q", "--events", other, "--seed", "2");
    const { status } = run("diff", one, other, "--report", both);
    const { page, said, close } = await opened(both);
    claim(status === 1 && (await page.innerText(".sides")).includes("second") && said.length === 0, "two files that differ open over each other", said.join("\n"));
    await close();
  }
}
