// The pages of `coracle learn`: progress, the way from lesson to lesson, and the form for a change.

(() => {
  const KEY = "coracle.learn";
  const site = JSON.parse(document.getElementById("site").textContent);

  /** What the browser has stored: the state of each lesson by its name, `begun` or `done`. */
  const progress = () => {
    try {
      return JSON.parse(localStorage.getItem(KEY)) || {};
    } catch {
      return {};
    }
  };
  const store = (name, state) => {
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...progress(), [name]: state }));
    } catch {
      // Without storage there is no progress.
    }
  };

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  function list() {
    const known = progress(), items = [...document.querySelectorAll("[data-lesson]")];
    for (const item of items) {
      const state = known[item.dataset.lesson];
      item.querySelector(".state").textContent = state === "done" ? "✓ done" : state === "begun" ? "begun" : "";
      if (state === "done") item.classList.add("done");
    }
    const done = items.filter((item) => known[item.dataset.lesson] === "done").length;
    const next = items.find((item) => known[item.dataset.lesson] !== "done");
    const place = document.getElementById("progress");
    place.append(`${done} of ${items.length} done. `);
    if (next) {
      const link = next.querySelector("a");
      next.classList.add("next");
      place.append("Next: ", make("a", { href: link.href, id: "next" }, link.textContent));
    }
  }

  const cursor = () => Number(/i=(\d+)/.exec(location.hash)?.[1] ?? 0);

  function bar(...children) {
    const nav = make("nav", { className: "course", ariaLabel: "Lessons" }, make("a", { href: "../" }, "All lessons"), make("span", {}, `Lesson ${site.number} of ${site.of}`), ...children);
    document.body.prepend(nav);
    // The page of the run fills what is left of the window.
    new ResizeObserver(() => document.documentElement.style.setProperty("--above", `${nav.offsetHeight}px`)).observe(nav);
  }

  const choice = (name, label, options) => make("label", {}, label, make("select", { name }, ...options.map((option) => make("option", { value: option }, option))));
  const number = (name, label, value, max) => make("label", {}, label, make("input", { name, type: "number", min: "0", max, value }));

  /** The form for a change at the event under the cursor or at a step. */
  function change() {
    const { pods, parts, part, kinds, watchers, workloads, steps } = site.choices;
    const here = make("option", {}), beginning = make("option", { value: site.first }, `where the lesson begins (#${site.first})`);
    const at = make("select", { name: "at" }, here, beginning, ...steps.map((step) => make("option", { value: step.at }, `at the step “${step.name}” (#${step.at})`)));
    const wait = make("p", { role: "status" });
    const button = (value, text) => make("button", { name: "do", value }, text);
    const group = (title, ...fields) => make("fieldset", {}, make("legend", {}, title), ...fields);
    const form = make("form", { method: "get", action: `../change/${site.name}` },
      make("h2", {}, "What would have become of the run?"),
      make("p", {}, "The run happens again up to the event, then your change is made. Both runs are shown, from the first event that differs."),
      make("label", {}, "When", at),
      group("Delete a pod", choice("pod", "Pod", []), button("delete", "delete it")),
      group("Stop a controller or a node", choice("part", "What", parts), button("stop", "stop it"), button("kill", "kill it")),
      group("Delay a watch", choice("kind", "Events about", kinds), choice("watcher", "to", watchers), number("seconds", "by seconds", "5", "3600"), button("lag", "delay them")),
      ...(workloads.length ? [group("Edit replicas", choice("workload", "Of", []), number("replicas", "to", "5", "50"), button("scale", "scale it"))] : []),
      wait);
    /** What exists at the chosen event can be chosen. */
    const fill = (name, objects) => {
      const select = form.elements.namedItem(name), id = Number(at.value);
      if (!select) return;
      const there = objects.filter(({ from, to }) => from <= id && !(to <= id)), was = select.value;
      select.replaceChildren(...there.map((one) => make("option", { value: one.name }, one.name)));
      if (there.some((one) => one.name === was)) select.value = was;
      if (there.length === 0) select.append(make("option", { value: "" }, "none exists at this event"));
      select.closest("fieldset").disabled = there.length === 0;
    };
    form.elements.namedItem("part").value = part;
    const refill = () => {
      fill("pod", pods);
      fill("workload", workloads);
    };
    at.addEventListener("change", refill);
    const close = make("button", { type: "button" }, "close");
    const dialog = make("dialog", { className: "course" }, form, close);
    close.addEventListener("click", () => dialog.close());
    const lock = (isLocked) => {
      wait.textContent = isLocked ? "The run happens again; this takes a few seconds." : "";
      for (const one of form.querySelectorAll("button")) one.disabled = isLocked;
    };
    // A disabled button would be missing in the request, so it is disabled afterwards.
    form.addEventListener("submit", () => setTimeout(() => lock(true), 0));
    addEventListener("pageshow", () => lock(false));
    // Keys in the form must not move the cursor of the page.
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    document.body.append(dialog);
    return () => {
      const isOther = location.hash.includes("run=contrast");
      here.hidden = isOther;
      here.value = cursor();
      here.textContent = `after the event under the cursor (#${cursor()})`;
      // After the end of the lesson nothing more happens in its run.
      at.selectedIndex = isOther || cursor() >= site.last ? 1 : 0;
      refill();
      dialog.showModal();
    };
  }

  function lesson() {
    const open = change(), next = site.next;
    const act = make("button", { type: "button", id: "change", hidden: true }, "Change something");
    const on = next ? make("a", { href: next.name, id: "next", hidden: true }, `Next: ${next.title}`) : make("span", {});
    act.addEventListener("click", open);
    bar(act, on);
    const finish = () => {
      store(site.name, "done");
      act.hidden = on.hidden = false;
    };
    if (progress()[site.name] === "done") finish();
    else store(site.name, "begun");
    addEventListener("coracle-lesson-end", finish);
  }

  if (site.kind === "list") list();
  else if (site.kind === "lesson") lesson();
  else bar(make("a", { href: `../lesson/${site.name}` }, "Back to the lesson"));
})();
