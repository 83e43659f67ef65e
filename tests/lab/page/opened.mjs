// A page of the lab in a browser, and all that it says, asks for and is refused.

/** Opens pages of one site. */
export function opener(browser, link) {
  return async (hash = "", options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, ...options });
    const page = await context.newPage(), said = [], from = options.link ?? link;
    page.setDefaultTimeout(60_000);
    page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => said.push(error.stack));
    page.on("dialog", (dialog) => { said.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => { if (!request.url().startsWith(from) && !/^(data|blob):/.test(request.url())) said.push(`request: ${request.url()}`); });
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    await options.before?.(page);
    const begun = performance.now();
    await page.goto(from + hash);
    return { page, said, begun, close: () => context.close() };
  };
}

/** Waits until so many pods have a state in the picture. */
export const pods = (page, count, state = "ready") => page.waitForFunction(([many, kind]) => document.querySelectorAll(`.node .pod.${kind}`).length === many, [count, state]);

/** Opens an empty cluster and applies the text with which the editor begins, a Deployment with three replicas. */
export async function withThreePods(open, hash = "#lab=1&nodes=2&seed=1", options = {}) {
  const opened = await open(hash, options);
  await opened.page.waitForSelector(".editor");
  await opened.page.click(".editor .main");
  await pods(opened.page, 3);
  return opened;
}

/** Puts a text into the editor. */
export async function write(page, text) {
  await page.click("#pane-editor");
  await page.fill(".paper textarea", text);
}

/** Where the end of the log is: number, time and revision. */
export async function end(page) {
  await page.click('[aria-label="go to the end"]');
  return page.innerText(".cursor .at");
}
