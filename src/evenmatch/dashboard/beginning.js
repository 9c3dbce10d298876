// What to do where nothing has happened yet.

import { key } from "./api.js";
import { box, el } from "./dom.js";

/** The first ticket, as a line for a shell, and the demonstration; `players`: how many a match takes. */
export function beginning(queue) {
  const address = `${location.origin}/v1/queues/${encodeURIComponent(queue)}/tickets`;
  const credential = key.get() ? "-H 'authorization: Bearer YOUR_KEY' " : "";
  const line = `curl ${address} ${credential}-H 'content-type: application/json' -d '{"players": [{"id": "ann", "rating": 1500}]}'`;
  const found = box("Nobody has come yet",
    el("p", {}, `A game sends tickets. To try it by hand, send the first one to ${queue}, then others with other ids until a match is full:`),
    el("pre", { class: "command" }, line),
    el("p", {}, "To see the page alive first, stop here and run ", el("code", {}, "evenmatch demo"),
      ": a server of its own with a simulated crowd. All of the API is in ", el("a", { href: "/docs" }, "/docs"), "."));
  found.classList.add("beginning");
  return found;
}

/** Has a queue never had anybody, as far as its card knows? */
export function untouched(card) {
  return card.waiting === 0 && card.wave === 0 && card.joins_a_minute === 0;
}
