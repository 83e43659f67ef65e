// What a title says, for a mouse, a finger and a keyboard alike: browsers show titles to a mouse alone.

const ROOM = 6;

/** Shows the title of what is under the pointer, has the focus, or was tapped; a tap elsewhere, Escape or the end of either hides it. */
export function explainTitles() {
  const tip = document.createElement("div");
  Object.assign(tip, { id: "tip", className: "tip explained", hidden: true, role: "tooltip" });
  document.body.append(tip);
  let shown = null;
  const hide = () => {
    shown?.removeAttribute("aria-describedby");
    shown = null;
    tip.hidden = true;
  };
  const show = (target) => {
    const one = target.closest?.("[title],[data-tip]");
    if (one !== shown) hide();
    if (!one) return;
    // The browser must not show the title, too.
    if (one.title) {
      one.dataset.tip = one.title;
      one.removeAttribute("title");
    }
    shown = one;
    tip.textContent = one.dataset.tip;
    tip.hidden = tip.textContent === "";
    if (!tip.hidden) one.setAttribute("aria-describedby", tip.id);
    const at = one.getBoundingClientRect(), below = at.bottom + ROOM, isBelow = below + tip.offsetHeight <= innerHeight;
    tip.style.left = `${Math.max(ROOM, Math.min(at.left, innerWidth - tip.offsetWidth - ROOM))}px`;
    tip.style.top = `${Math.max(0, isBelow ? below : at.top - ROOM - tip.offsetHeight)}px`;
  };
  const isTouch = (event) => event.pointerType === "touch";
  addEventListener("pointerover", (event) => { if (!isTouch(event)) show(event.target); });
  addEventListener("pointerup", (event) => { if (isTouch(event)) show(event.target); });
  addEventListener("focusin", (event) => { if (event.target.matches(":focus-visible")) show(event.target); });
  addEventListener("focusout", (event) => { if (event.target === shown) hide(); });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, true);
}
