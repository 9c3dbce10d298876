// The page: what the address asks for is shown, frames go to whoever shows them, and one line says how the link is.

import { key, Refused } from "./api.js";
import { el, fill } from "./dom.js";
import { number, seconds } from "./format.js";
import { Stream } from "./stream.js";
import { dress } from "./themes.js";
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

/** Address -> the view that shows it; each gives {title, node, queue?, frame?, close?}. */
function viewOf(parts) {
  const [kind, name, more, deeper] = parts;
  if (kind === undefined || kind === "") return overview();
  if (kind === "queue" && name && more === "wave" && deeper) return wave(name, deeper);
  if (kind === "queue" && name && more === "waves") return waves(name);
  if (kind === "queue" && name && more === "operate") return operate(name);
  if (kind === "queue" && name) return queue(name);
  if (kind === "ticket" && name) return ticket(name);
  if (kind === "player" && name) return player(name);
  if (kind === "match" && name) return match(name);
  return { title: "Nothing here", node: el("div", { class: "cards one" }, el("h1", {}, "Nothing here"),
    el("p", { class: "empty" }, "There is no such view. ", el("a", { href: "#/" }, "To the overview"))) };
}

function parts() {
  try {
    return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  } catch {
    return ["?"];
  }
}

function show() {
  view?.close?.();
  view = viewOf(parts());
  document.title = `${view.title} · evenmatch`;
  document.getElementById("trail").textContent = view.title;
  fill(main, view.node);
  if (last && view.frame) view.frame(last);
  stream.watch(view.queue ?? null);
  window.scrollTo(0, 0);
}

function health(server) {
  const lag = server.journal_lag_s > 0.5 ? "warn" : null;
  const full = server.mailbox > server.mailbox_most / 2 ? "warn" : null;
  const part = (name, value, kind = null) => el("span", {}, `${name} `, el("b", { class: kind }, value));
  fill(document.getElementById("health"),
    part("server", server.ready ? "ready" : "not ready", server.ready ? null : "warn"),
    part("journal lag", seconds(server.journal_lag_s), lag),
    part("slowest commit", seconds(server.commit_s)),
    part("mailbox", `${number(server.mailbox)} of ${number(server.mailbox_most)} orders`, full),
    part("open lines", number(server.sockets)),
    part("up", seconds(server.uptime_s)),
    part("journal at", number(server.sequence)),
    part("version", server.version));
}

function linked(how, error) {
  if (error?.status === 404) { view?.missing?.(error.message); stream.watch(null); return; }  // the server is there, the queue is not
  state.dataset.state = how;
  state.textContent = how === "live" ? "live" : "not connected";
  if (how === "live") { notice.hidden = true; notice.replaceChildren(); return; }
  if (!notice.hidden && notice.dataset.why === error.reason) return;
  notice.dataset.why = error.reason;
  notice.hidden = false;
  const asked = error instanceof Refused && (error.status === 401 || error.status === 403);
  if (asked) fill(notice, `This server asks for a key: ${error.message}. A reader's is enough: evenmatch keys add dashboard --role reader`, keyForm());
  else fill(notice, `No connection: ${error.message}. What you see is how it was. Is the server running? The page tries again every second.`);
}

function keyForm() {
  const field = el("input", { id: "key", type: "password", autocomplete: "off", required: true });
  return el("form", { onsubmit: (event) => {
    event.preventDefault();
    key.set(field.value.trim());
    notice.dataset.why = "";
    stream.restart();
    show();
  } }, el("label", { for: "key" }, "API key"), field, el("button", { type: "submit" }, "Use it in this tab"));
}

const stream = new Stream((frame) => {
  last = frame;
  health(frame.server);
  view?.frame?.(frame);
}, linked);

document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = document.getElementById("find-id");
  const id = field.value.trim().replace(/^([tmp])-(\d+)$/, (_, kind, digits) => `${kind}-${digits.padStart(12, "0")}`);
  if (!id) return;
  const kind = /^t-\d+$/.test(id) ? "ticket" : /^[mp]-\d+$/.test(id) ? "match" : "player";
  location.hash = `#/${kind}/${encodeURIComponent(id.replace(/^p-(\d+)$/, "m-$1"))}`;
  field.value = "";
});
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
window.addEventListener("hashchange", () => { show(); main.focus(); });
dress(document.getElementById("theme"), () => view?.redraw?.());
state.textContent = "connecting";
show();
