// The public API, asked with the key that this tab was given. The key is kept for the tab only, never in an address.

const KEPT = "evenmatch.key";

export const key = {
  get: () => sessionStorage.getItem(KEPT) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEPT, value) : sessionStorage.removeItem(KEPT)),
};

/** A "no" of the server's, or no answer at all (status 0). */
export class Refused extends Error {
  constructor(status, reason, detail) {
    super(detail);
    this.status = status;
    this.reason = reason;
  }
}

function headers() {
  return key.get() ? { authorization: `Bearer ${key.get()}` } : {};
}

/** An answer of the server's, opened; raises Refused. */
export async function opened(path, signal, how = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...how, headers: { ...headers(), ...how.headers }, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "no_answer", "the server does not answer");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
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
