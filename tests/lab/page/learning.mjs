// Lessons, exercises and scenarios.

export async function learning({ open, claim, Axe }) {
  const { page, said, close } = await open();
  await page.waitForSelector(".card.lesson");
  const { violations } = await new Axe({ page }).analyze();
  const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
  claim(serious.length === 0, "axe finds nothing serious: home", serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" ")}`).join("\n     "));

  await page.click('[data-lesson="a-pod-is-deleted"]');
  await page.waitForSelector(".answers button");
  claim((await page.innerText(".story")).includes("Until then the picture ends at the question"), "a lesson begins with its question");
  await page.click(".answers button >> nth=2");
  const answered = await page.innerText(".story");
  claim(answered.includes("your guess") && answered.includes("✓"), "a guess is answered", answered);
  for (;;) {
    const next = page.locator(".story .main >> nth=0");
    if ((await next.getAttribute("aria-disabled")) === "true") break;
    await next.click();
  }
  await page.click(".story .cross");
  await page.waitForFunction(() => document.querySelector(".story").textContent.includes("The contrast"));
  claim(page.url().includes("run=contrast") && page.url().includes("lab=1"), "the contrast is in the address, beside the lesson", page.url());
  await page.click(".brand");
  await page.waitForSelector(".home");
  claim((await page.innerText('[data-lesson="a-pod-is-deleted"] .sign')) === "✓", "the list shows that the lesson is done");
  await page.goBack();
  await page.waitForFunction(() => document.querySelector(".story")?.textContent.includes("The contrast"));
  claim(true, "the button back of the browser leads to the lesson");
  await page.click(".brand");

  await page.click('[data-scenario="delete-a-pod"] .ran');
  await page.waitForSelector(".outcome");
  claim((await page.innerText(".outcome")) === "✓ passed", "a scenario runs to its end");
  await page.click(".runbar .main");
  await page.waitForSelector(".both");
  claim((await page.locator(".parted").count()) === 2, "a step in addition gives two runs");
  await page.fill(".runbar input", "delte: {}");
  await page.click(".runbar .main");
  await page.waitForSelector(".problem");
  claim((await page.innerText(".problem")).includes("delete"), "a step that is misspelt is refused", await page.innerText(".problem"));
  await page.click(".brand");
  await page.click('[data-scenario="delete-a-pod"] .opened');
  await page.waitForSelector(".node .pod");
  claim(page.url().includes("scenario=delete-a-pod"), "a scenario opens as a cluster, and its steps run", page.url());
  await page.click(".brand");

  await page.click('[data-exercise="selector-typo"]');
  await page.waitForSelector(".exercise .verdict");
  await page.click(".exercise .verdict");
  await page.waitForSelector(".exercise .broke");
  claim((await page.innerText(".exercise")).includes("Not repaired yet"), "an exercise is not repaired at first");
  await page.click("#pane-editor");
  await page.fill(".paper textarea", "- patch:\n    resource: {apiVersion: v1, kind: Service, metadata: {name: shop}, spec: {selector: {app: shop}}}\n");
  await page.click(".editor .main");
  await page.click('.clock button:has-text("+10 s")');
  await page.click("#pane-exercise");
  await page.click(".exercise .verdict");
  await page.waitForFunction(() => document.querySelector(".exercise h3")?.textContent.includes("✓ Repaired"));
  claim(true, "and after its repair it is");
  claim(said.length === 0, "with nothing on the console", said.join("\n"));
  await close();
}
