// A question before something is done: what it is, whom it concerns, and, where the audit keeps one, the reason.

import { el } from "./dom.js";

/** Ask in a dialog of the page; null = no, else {why}. */
export function confirmed(question, about, { verb = "Do it", no = "Not now", reason = true } = {}) {
  return new Promise((answer) => {
    const why = el("input", { id: "why", autocomplete: "off", maxlength: 1000 });
    const dialog = el("dialog", { "aria-labelledby": "question" },
      el("form", { method: "dialog" },
        el("h2", { id: "question" }, question), about,
        reason ? el("p", {}, el("label", { for: "why" }, "Why, for the audit (may be left empty) "), why) : null,
        el("div", { class: "choices" }, el("button", { value: "yes", class: "strong" }, verb), el("button", { value: "no" }, no))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      answer(dialog.returnValue === "yes" ? { why: why.value.trim() } : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
