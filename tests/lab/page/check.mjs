// Opens the page of the lab from a server of static files and from disk, and looks at what the browser says of it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import Axe from "@axe-core/playwright";
import { chromium } from "playwright-core";
import { acting } from "./acting.mjs";
import { hostile } from "./hostile.mjs";
import { learning } from "./learning.mjs";
import { links } from "./links.mjs";
import { opener, withThreePods } from "./opened.mjs";
import { served } from "./served.mjs";
import { sizes } from "./sizes.mjs";

const [lab, browserPath] = process.argv.slice(2);
// What a busy or slow machine may miss is printed there, and judged only where the machine is quiet.
const isTimed = process.env.CORACLE_PAGE_TIMED !== "no";
const pictures = process.env.CORACLE_PAGE_PICTURES;

let failed = 0;
function claim(held, text, more = "") {
  console.log(`${held ? "ok  " : "FAIL"} ${text}${held || !more ? "" : `\n     ${more}`}`);
  if (!held) failed++;
}

function bar(held, text, more = "") {
  if (isTimed || held) claim(held, text, more);
  else console.log(`slow ${text}`);
}

const site = await served(lab);
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
const open = opener(browser, site.link);
const test = { browser, lab, site, open, claim, bar, Axe };

{
  const sent = ["index.html", "page.js", "page.css", "worker.js", "module.js", "wasi.js"].map((name) => gzipSync(readFileSync(join(lab, name))).length);
  const bytes = sent.reduce((sum, size) => sum + size, readFileSync(join(lab, "lab.wasm.gz")).length);
  bar(bytes <= 6_000_000, `the download is at most 6 MB compressed (${(bytes / 1e6).toFixed(2)} MB)`);
}
await sizes(test);
await acting(test);
await learning(test);
await links(test);
await hostile(test);
if (pictures) {
  const { page, close } = await withThreePods(open, undefined, { viewport: { width: 1300, height: 820 }, reducedMotion: "reduce" });
  await page.click(".turn");
  await page.click(".node .pod >> nth=0");
  await page.click(".acts button >> nth=0");
  await page.click('.clock button:has-text("+10 s")');
  await page.click(".workload >> nth=0");
  await page.click('header button:has-text("follow")');
  await page.mouse.move(2, 2);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(pictures, "lab.png") });
  console.log(`a picture in ${pictures}`);
  await close();
}
await browser.close();
site.end();
process.exit(failed ? 1 : 0);
