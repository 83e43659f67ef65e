// Where in the picture a guess is made, and where it is drawn: at the component that an answer names.

import { siteOfActor } from "./cluster.js";

/** Whether an actor is a component, or a part of it. */
export const isPartOf = (actor, component) => Boolean(actor) && (actor === component || actor.startsWith(`${component}/`));

/**
 * What can be clicked on while the question is open: `components` are those that the answers name, and `at(actor)` and `site(name)` are
 * what a click on a lane or on a box of the map does, if it is a guess. A place of several answers points at them.
 */
export function guessingOf({ answers, isGuessing, guessed, point }) {
  if (!isGuessing) return undefined;
  const components = [...new Set(answers.map(({ place }) => place?.component).filter((one) => one))];
  // One place for all answers would tell nothing from anything.
  if (components.length < 2) return undefined;
  const act = (isMeant) => {
    const meant = answers.flatMap(({ place }, k) => (place && isMeant(place.component) ? [k] : []));
    if (meant.length === 0) return undefined;
    return () => (meant.length === 1 ? guessed(meant[0]) : point(meant));
  };
  return { components, at: (actor) => act((component) => isPartOf(actor, component)), site: (name) => act((component) => isSiteOf(name, component)) };
}

/** Whether a box of the map stands for a component; a node stands for its kubelet. */
export const isSiteOf = (site, component) => (component === "kubelet" ? site.startsWith("node:") : site === siteOfActor(component));
