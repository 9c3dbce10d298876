// What was typed into the search, as the address of a view.

const PADDED = 12;
const KINDS = { t: "ticket", ticket: "ticket", m: "match", p: "match", match: "match", queue: "queue", player: "player" };

function id(letter, digits) {
  return `${letter}-${digits.padStart(PADDED, "0")}`;
}

/** A ticket's ("t") or match's ("m") id in full, whichever way it was typed; what is none stays as it is. */
export function wholeId(letter, typed) {
  const number = (letter === "m" ? /^[mp]-(\d{1,15})$/i : /^t-(\d{1,15})$/i).exec(typed);
  return number ? id(letter, number[1].replace(/^0+(?=\d)/, "")) : typed;
}

/** The parts of the address that some words lead to; null = nothing was typed. `queues`: the names of all queues. */
export function found(typed, queues) {
  const words = typed.trim();
  if (!words) return null;
  const asked = /^(ticket|match|queue|player):\s*(.+)$/i.exec(words);
  if (asked) {
    const kind = KINDS[asked[1].toLowerCase()];
    const number = /^(?:[tmp]-)?(\d+)$/i.exec(asked[2]);
    return [kind, number && (kind === "ticket" || kind === "match") ? id(kind[0], number[1]) : asked[2]];
  }
  const number = /^([tmp])-(\d+)$/i.exec(words);
  if (number) {
    const kind = KINDS[number[1].toLowerCase()];
    return [kind, id(kind[0], number[2])];
  }
  const queue = queues.find((name) => name === words) ?? queues.find((name) => name.toLowerCase() === words.toLowerCase());
  return queue === undefined ? ["player", words] : ["queue", queue];
}
