// What came of something that was asked for: said where it is seen, wherever the page is scrolled to.

import { el, fill } from "./dom.js";

const GOOD_MS = 8000;
let timer = 0;

/** Take away what was said before: something else is done now. */
export function hush() {
  const place = document.getElementById("said");
  clearTimeout(timer);
  place.hidden = true;
  fill(place);
}

/** Say how it went; what went wrong stays until somebody takes it away. */
export function say(words, wrong = false) {
  const place = document.getElementById("said");
  clearTimeout(timer);
  place.hidden = false;
  place.className = wrong ? "toast wrong" : "toast";
  const close = () => { place.hidden = true; fill(place); };
  fill(place, el("span", {}, words), el("button", { type: "button", class: "quiet", onclick: close }, "Close"));
  if (!wrong) timer = setTimeout(close, GOOD_MS);
}
