// How long the lab takes and how much it needs.

import { readFileSync } from "node:fs";
import { withThreePods, write } from "./opened.mjs";
const MANY = 200;

/** What the process of the page and its worker has for itself: all of it, and not what several processes share. */
async function memoryOf(browser) {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  const own = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => readFileSync(`/proc/${id}/smaps_rollup`, "utf8"));
  return Math.max(...own.map((text) => [...text.matchAll(/^Private_\w+: +(\d+) kB$/gm)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0)));
}

export async function sizes({ open, browser, claim, bar }) {
  for (const [slower, name] of [[1, "cold"], [4, "cold, with a processor that is four times slower"]]) {
    const { page, begun, said, close } = await withThreePods(open, undefined, {
      async before(page) {
        const devtools = await page.context().newCDPSession(page);
        await devtools.send("Emulation.setCPUThrottlingRate", { rate: slower });
      },
    });
    const took = performance.now() - begun;
    bar(took <= 3000, `three pods run at most 3 s after the address was opened, ${name} (${Math.round(took)} ms)`);
    claim(said.length === 0, "with nothing on the console, no request to another host and no policy violation", said.join("\n"));
    await close();
  }
  {
    const { page, close } = await withThreePods(open);
    await page.evaluate(() => {
      globalThis.durations = [];
      new PerformanceObserver((list) => { for (const one of list.getEntries()) if (one.interactionId) globalThis.durations.push([one.name, one.duration, one.processingEnd - one.startTime]); }).observe({ type: "event", durationThreshold: 16 });
    });
    for (const where of ["#pane-console", "#pane-details", "#pane-editor", ".node .pod >> nth=0", ".acts button >> nth=0", '.clock button:has-text("+10 s")', ".node .plain >> nth=0", '[aria-label="back"]']) {
      await page.click(where);
      await page.waitForTimeout(150);
    }
    await page.click("#pane-console");
    await page.locator(".prompt input").pressSequentially("kubectl get pods", { delay: 30 });
    await page.waitForTimeout(300);
    const all = await page.evaluate(() => globalThis.durations), slowest = all.sort((a, b) => b[1] - a[1])[0] ?? ["none", 0, 0];
    bar(slowest[1] <= 50, `an interaction takes at most 50 ms (the slowest of ${all.length}: ${slowest[0]}, ${slowest[1]} ms)`, JSON.stringify(all.slice(0, 5)));
    await close();
  }
  {
    const { page, close } = await open("#lab=1&nodes=10&seed=1");
    await page.waitForSelector(".editor");
    await write(page, (await page.inputValue(".paper textarea")).replace("replicas: 3", `replicas: ${MANY}`));
    await page.click(".editor .main");
    await page.click('.clock button:has-text("+10 s")');
    await page.waitForFunction((many) => document.querySelector(".workload")?.textContent.includes(`${many}/${many} ready`), MANY);
    const bytes = await memoryOf(browser);
    bar(bytes <= 300e6, `the tab needs at most 300 MB with ${MANY} pods (${Math.round(bytes / 1e6)} MB)`);
    await close();
  }
}
