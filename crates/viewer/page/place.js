// The place in the fragment of the address: the entry, the run and the pane, next to other parts of the page.

const OWN = /^(i|run|tab)=/;

/** The fragment with another place; what does not belong to the place stays. */
export function placed(place) {
  const others = location.hash.slice(1).split("&").filter((part) => part && !OWN.test(part));
  return `#${[place, ...others].join("&")}`;
}
