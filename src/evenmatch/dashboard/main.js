// The page: what the address asks for is shown, frames go to whoever shows them, and one line says how the link is.

import { key, Refused } from "./api.js";
import { el, fill } from "./dom.js";
import { found } from "./find.js";
import { clock, isolated, number, seconds } from "./format.js";
import { forgetting, keyForm } from "./keys.js";
import { Stream } from "./stream.js";
import { dress } from "./themes.js";
import { say } from "./toast.js";
import { overview } from "./overview.js";
import { queue } from "./queue.js";
import { operate } from "./operate.js";
import { waves, wave } from "./wave.js";
import { ticket } from "./ticket.js";
import { player } from "./player.js";
import { match } from "./match.js";

const main = document.getElementById("main");
const notice = document.getElementById("notice");
const state = document.getElementById("link");
let view = null;
let last = null;
let away = false;
let unseen = false;

/** Address -> the view that shows it; each gives {title, node, queue?, frame?, close?}. */
function viewOf(parts, asked) {
  const [kind, name, more, deeper] = parts;
  if (kind === undefined || kind === "") return overview();
  if (kind === "queue" && name && (more === "wave" || more === "waves") && deeper) return wave(name, deeper);
  if (kind === "queue" && name && more === "waves") return waves(name);
  if (kind === "queue" && name && more === "operate") return operate(name);
  if (kind === "queue" && name && !more) return queue(name, asked);
  if (kind === "ticket" && name) return ticket(name);
  if (kind === "player" && name) return player(name);
  if (kind === "match" && name) return match(name);
  return { title: "Nothing here", node: el("div", { class: "cards one" }, el("h1", {}, "Nothing here"),
    el("p", { class: "empty" }, "There is no such view. ", el("a", { href: "#/" }, "To the overview"))) };
}

function parts() {
  try {
    return location.hash.replace(/^#\/?/, "").replace(/\?.*$/, "").split("/").map(decodeURIComponent);
  } catch {
    return ["?"];
  }
}

function show() {
  view?.close?.();
  view = viewOf(parts(), new URLSearchParams(location.hash.replace(/^[^?]*/, "")));
  document.title = `${isolated(view.title)} · evenmatch`;
  document.getElementById("trail").textContent = view.title;
  fill(main, view.node);
  if (last && view.frame) view.frame(last);
  if (away) view.away?.(true);
  stream.watch(view.queue ?? null);
  window.scrollTo(0, 0);
}

/** How old what is shown is, while the server is away. */
function stale() {
  document.body.classList.add("stale");
  if (!last) return;
  const at = clock(last.at_ms);
  state.textContent = `not connected, as of ${at}`;
  fill(document.getElementById("health"), el("span", {}, "server ", el("b", {}, "not reachable")), el("span", {}, "all numbers as of ", el("b", {}, at)));
}

/** The server is there again: what can have changed is read at once, and a restart is told. */
function returned(frame) {
  away = false;
  document.body.classList.remove("stale");
  const before = last;
  const lived = before ? before.server.uptime_s + (frame.at_ms - before.at_ms) / 1000 : 0;
  if (frame.server.uptime_s < lived - 1) {
    view?.restarted?.();
    say(`The server was started again at ${clock(frame.at_ms - frame.server.uptime_s * 1000)}: charts, rates and waits of the last minutes begin anew there.`);
  }
  view?.returned?.();
}

function health(server) {
  const lag = server.journal_lag_s > 0.5 ? "warn" : null;
  const full = server.mailbox > server.mailbox_most / 2 ? "warn" : null;
  const part = (name, value, kind = null) => el("span", {}, `${name} `, el("b", { class: kind }, value));
  fill(document.getElementById("health"),
    part("server", server.ready ? "ready" : "not ready", server.ready ? null : "warn"),
    part("journal lag, worst of the last 20 s", seconds(server.journal_lag_s), lag),
    part("slowest commit of the last 20 s", seconds(server.commit_s)),
    part("mailbox", `${number(server.mailbox)} of ${number(server.mailbox_most)} orders`, full),
    part("open sockets and streams", number(server.sockets)),
    part("up", seconds(server.uptime_s)),
    part("journal at event", number(server.sequence)),
    part("version", server.version));
}

function linked(how, error) {
  if (error?.status === 404) { view?.missing?.(error.message); stream.watch(null); return; }  // the server is there, the queue is not
  state.dataset.state = how;
  if (how === "paused" || how === "returning") {  // nobody looks: nothing is wrong
    unseen = true;
    state.textContent = how === "paused" ? "paused while hidden" : "catching up";
    return;
  }
  state.textContent = how === "live" ? "live" : "not connected";
  if (how === "live") { notice.hidden = true; notice.dataset.why = ""; notice.replaceChildren(); return; }
  const refused = error instanceof Refused && (error.status === 401 || error.status === 403);
  if (!refused) {
    if (!away) { away = true; view?.away?.(true); }
    stale();
  }
  if (refused) view?.locked?.();
  if (!notice.hidden && notice.dataset.why === error.reason) return;
  notice.dataset.why = error.reason;
  notice.hidden = false;
  if (refused) fill(notice, error.status === 401 ? "This server shows its queues to those who have a key. Whoever runs it can make one that may look and change nothing: evenmatch keys add dashboard --role reader"
    : `The server does not show this: ${error.message}.`, keyForm("key", "/v1/queues", again));
  else fill(notice, `No connection: ${error.message}. What you see is how it was. Is the server running? The page tries again every few seconds.`);
}

/** Everything anew, with the key of now or without one: what was seen with another is not shown on. */
function again() {
  last = null;
  notice.hidden = true;
  notice.dataset.why = "";
  fill(document.getElementById("health"));
  stream.restart();
  show();
}

const stream = new Stream((frame) => {
  if (away || unseen) {
    const was = away;
    unseen = false;
    returned(frame);
    if (was) view?.away?.(false);
  }
  last = frame;
  health(frame.server);
  view?.frame?.(frame);
}, linked);

document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = document.getElementById("find-id");
  const where = found(field.value, (last?.queues ?? []).map((one) => one.queue));
  if (!where) return;
  location.hash = `#/${where.map(encodeURIComponent).join("/")}`;
  field.value = "";
});
key.heard((why) => { if (why) say(`The key was forgotten, for the server does not take it: ${why}.`, true); });
forgetting(document.getElementById("forget"), () => { again(); say("The key was forgotten."); });
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
window.addEventListener("hashchange", (event) => {
  if (view?.unsaved?.() && !window.confirm("What you typed is not applied, and would be lost. Leave all the same?")) {
    history.replaceState(null, "", event.oldURL);
    return;
  }
  show();
  main.focus();
});
window.addEventListener("beforeunload", (event) => { if (view?.unsaved?.()) event.preventDefault(); });
dress(document.getElementById("theme"), () => view?.redraw?.());
state.textContent = "connecting";
show();
