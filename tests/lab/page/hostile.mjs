// Texts that try to script the page, and a lab that ends.

import { withThreePods, write } from "./opened.mjs";

const ATTACKS = ['</script><script>console.error("script")</script>', '<img src="x" onerror="console.error(1)">', "\u202egnp.exe\u2066", "&lt;b&gt;", "javascript:alert(1)", "y".repeat(100_000)];

export async function hostile({ open, claim }) {
  {
    const { page, said, close } = await withThreePods(open);
    for (const [place, attack] of ATTACKS.entries()) {
      await write(page, JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `attack-${place}`, annotations: { note: attack } }, data: { text: attack } }));
      await page.click(".editor .main");
      await page.waitForFunction(() => /ConfigMap/.test(document.querySelector(".said-of").textContent) || document.querySelector(".beside"));
      await page.fill(".paper textarea", JSON.stringify({ apiVersion: "v1", kind: attack, metadata: { name: attack } }));
      await page.click(".editor .main");
      await page.waitForSelector(".beside");
      await page.click("#pane-console");
      await page.fill(".prompt input", `kubectl get ${attack.slice(0, 200)}`);
      await page.keyboard.press("Enter");
      await page.waitForFunction((many) => document.querySelectorAll(".exchange").length === many, place + 1);
    }
    await page.click("#pane-details");
    for (const tab of ["object", "log"]) {
      await page.click(`#tab-${tab}`);
      await page.waitForTimeout(100);
    }
    claim(said.length === 0 && (await page.locator("img, iframe, script:not([src])").count()) === 0, "hostile objects, names and lines are text", said.join("\n").slice(0, 500));
    await close();
  }
  for (const attack of ATTACKS.slice(0, 5)) {
    for (const part of ["faults", "scenario", "lesson", "kubernetes"]) {
      const { page, said, close } = await open(`#lab=1&${part}=${encodeURIComponent(attack)}`);
      await page.waitForSelector(".problem, .editor");
      if (said.length || (await page.locator("img").count())) claim(false, `a hostile link is text: ${part}`, said.join("\n"));
      await close();
    }
  }
  claim(true, "hostile parts of links are text");
  {
    const { page, close } = await withThreePods(open, undefined, {
      before: (page) => page.route("**/worker.js", async (route) => {
        const body = (await (await route.fetch()).text()).replace("function answer({ id, ...message }) {", "function answer({ id, ...message }) {\n  if (message.do === \"settle\") for (;;);");
        await route.fulfill({ contentType: "text/javascript", body: `${body}` });
      }),
    });
    await page.clock.install();
    await page.click('.clock button:has-text("settle")');
    await page.clock.fastForward(61_000);
    await page.waitForSelector(".ended");
    const text = await page.innerText(".ended");
    claim(text.includes("has not answered settle") && text.includes("apply"), "work without an end is stopped, and the page says what was done last", text);
    await page.click('.ended button:has-text("repeat")');
    await page.waitForSelector(".node .pod.ready");
    claim(true, "and the session can be repeated without it");
    await close();
  }
}
