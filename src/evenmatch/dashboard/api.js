// The public API, asked with the key that this tab was given. The key is kept for the tab only, never in an address, and
// only for as long as the server takes it.

const KEPT = "evenmatch.key";
const listeners = [];

export const key = {
  get: () => sessionStorage.getItem(KEPT) ?? "",
  set(value, why = "") {
    if (value) sessionStorage.setItem(KEPT, value);
    else sessionStorage.removeItem(KEPT);
    for (const each of listeners) each(why);
  },
  /** Be told when the key changes, and why it was forgotten if the server did not take it. */
  heard: (listener) => listeners.push(listener),
};

/** A "no" of the server's, or no answer at all (status 0). */
export class Refused extends Error {
  constructor(status, reason, detail) {
    super(detail);
    this.status = status;
    this.reason = reason;
  }
}

/** An answer of the server's, opened; raises Refused. `how.key`: ask with this key, and leave the tab's own alone. */
export async function opened(path, signal, how = {}) {
  const { key: tried, headers, ...rest } = how;
  const used = tried ?? key.get();
  const credential = used ? { authorization: `Bearer ${used}` } : {};
  let answer;
  try {
    answer = await fetch(path, { ...rest, headers: { ...credential, ...headers }, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError && /header|ISO-8859-1|ByteString/i.test(error.message)) throw new Refused(401, "unauthenticated", "a key has plain letters and digits only");
    throw new Refused(0, "no_answer", "the server does not answer");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401 && used && tried === undefined) {
    if (key.get() === used) key.set("", said.detail ?? "it does not count");
    if (!rest.method || rest.method === "GET") return opened(path, signal, how);  // an open server answers without one
  }
  throw new Refused(answer.status, said.reason ?? "", said.detail ?? `the server answered ${answer.status}`);
}

/** A path of the API from its parts, each of them escaped. */
export function path(...parts) {
  return "/v1/" + parts.map(encodeURIComponent).join("/");
}

/** JSON at a path. */
export async function ask(where, signal) {
  return (await opened(where, signal)).json();
}

/** Of a ticket, match or player, by its name; one that no path can hold is nobody's, where the server would speak of the path. */
export async function askNamed(kind, where, signal) {
  try {
    return await ask(where, signal);
  } catch (error) {
    throw error instanceof Refused && error.reason === "not_found" ? new Refused(404, `unknown_${kind}`, `There is no such ${kind}`) : error;
  }
}

/** The same, or null where there is nothing. */
export async function askIfThere(where, signal) {
  try {
    return await ask(where, signal);
  } catch (error) {
    if (error instanceof Refused && [404, 409, 410, 422].includes(error.status)) return null;
    throw error;
  }
}

/** Ask for something to be done; the answer as JSON, or null where there is none. */
export async function send(method, where, body = null, more = {}) {
  const content = body === null ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const answer = await opened(where, undefined, { method, body: content.body, headers: { ...content.headers, ...more } });
  return answer.status === 204 ? null : answer.json();
}
