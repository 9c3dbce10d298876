// The tab's key: tried before it is kept, and forgotten on request or when the server no longer takes it.

import { key, opened } from "./api.js";
import { el, fill } from "./dom.js";

/** Keep a key if the server grants `where` with it; raises Refused, and then nothing is kept. */
export async function useKey(value, where) {
  await opened(where, undefined, { key: value });
  key.set(value);
}

/** A form that asks for a key, and says beside it why one does not do; `then` is called once there is one. */
export function keyForm(id, where, then) {
  const field = el("input", { id, type: "password", autocomplete: "off", required: true });
  const wrong = el("p", { class: "refused", role: "alert" });
  const given = async (event) => {
    event.preventDefault();
    fill(wrong);
    try {
      await useKey(field.value.trim(), where);
    } catch (error) {
      fill(wrong, `This key is not used: ${error.message}.`);
      field.select();
      return;
    }
    then();
  };
  return el("form", { class: "choices", onsubmit: given },
    el("label", { for: id }, "API key"), field, el("button", { type: "submit" }, "Use it in this tab"), wrong);
}

/** Let a button forget the key; it is seen while there is one. */
export function forgetting(button, forgotten) {
  const shown = () => { button.hidden = !key.get(); };
  key.heard(shown);
  button.addEventListener("click", () => { key.set(""); forgotten(); });
  shown();
}
