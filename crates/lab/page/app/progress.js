// Which lessons and exercises were begun or done, in the storage of the browser.

const KEY = "coracle.learn";

/** The progress by name: `begun` or `done`. A browser that stores nothing has none. */
export function progress() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return stored && typeof stored === "object" ? stored : {};
  } catch {
    return {};
  }
}

/** Stores how far a lesson is; what is done stays done. */
export function marked(name, state) {
  const now = progress();
  if (now[name] === "done") return;
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...now, [name]: state }));
  } catch {
    // A browser may refuse to store anything: the lessons work without.
  }
}
