// Links: what was done comes again in another tab, and a link that cannot be opened says why.

import { join } from "node:path";
import { end, pods, withThreePods, write } from "./opened.mjs";

export async function links({ open, lab, claim }) {
  const { page, close } = await withThreePods(open, "#lab=1&kubernetes=1.36&nodes=3&seed=42");
  await page.click(".turn");
  await page.click(".node .pod >> nth=0");
  await page.click('.acts button:has-text("delete this pod")');
  await page.click('.clock button:has-text("+10 s")');
  await write(page, "- do: {lag: 10s, kind: Pod, to: scheduler}\n");
  await page.click(".editor .main");
  await page.waitForSelector(".fault");
  await page.click('.clock button:has-text("+1 m")');
  await page.waitForFunction(() => parseFloat(document.querySelector(".clock .now").textContent) >= 70);
  // The picture comes after the clock.
  await page.waitForFunction(() => {
    document.querySelector('[aria-label="go to the end"]').click();
    return /^#\d+ [67]\d\./.test(document.querySelector(".cursor .at").textContent);
  });
  const ended = await end(page);
  await page.click('[aria-label="back"]');
  const at = await page.innerText(".cursor .at");
  await page.evaluate(() => { navigator.clipboard.writeText = (text) => { globalThis.copied = text; return Promise.resolve(); }; });
  await page.click(".copy");
  await page.waitForFunction(() => globalThis.copied);
  const link = await page.evaluate(() => globalThis.copied);
  await close();

  const other = await open(link.slice(link.indexOf("#")));
  await pods(other.page, 3);
  await other.page.waitForSelector(".cursor .at");
  claim((await other.page.innerText(".cursor .at")) === at, "a link leads to the same place", `${await other.page.innerText(".cursor .at")} instead of ${at}`);
  claim((await end(other.page)) === ended, "and to the same log", `${await end(other.page)} instead of ${ended}`);
  claim((await other.page.locator(".fault").count()) === 1 && (await other.page.getAttribute(".turn", "aria-pressed")) === "false", "with the fault, and with a clock that stands still");
  claim(other.said.length === 0, "and nothing on the console", other.said.join("\n"));
  await other.close();

  const did = /did=([^&]*)/.exec(link)[1];
  for (const [hash, why] of [
    ["#lab=2&nodes=2", "format 2"],
    ["#lab=1&scenario=no-such", "no scenario \"no-such\""],
    ["#lab=1&scenario=late-watch&exercise=crash-loop", "more than one start"],
    [`#lab=1&nodes=2&did=${did.slice(0, did.length / 2)}`, "The part did of this link cannot be read"],
    ["#lab=1&nodes=2&did=AAAA", "The part did of this link cannot be read"],
    ["#lab=1&nodes=many", "expected a number from 1"],
    ["#lab=1&kubernetes=1.12", "there is no Kubernetes release"],
    ["#lab=1&colour=blue", "does not know: colour"],
    ["#lab=1&lesson=who-leds", "did you mean `who-leads`"],
    ["#lab=1&text=S0ktSQUA", "scenario.yaml"],
  ]) {
    const broken = await open(hash);
    await broken.page.waitForSelector(".problem");
    const said = await broken.page.innerText(".problem");
    claim(said.includes(why) && (await broken.page.locator(".start .main").count()) === 1, `a link that cannot be opened says why: ${why}`, said);
    await broken.close();
  }
  {
    const file = join(lab, "lab.html"), from = `file://${file}`;
    const disk = await withThreePods(open, "#lab=1&nodes=2&seed=1", { link: from, offline: true });
    claim(disk.said.length === 0, "the page in one file runs from disk without a network", disk.said.join("\n"));
    await disk.close();
  }
}
