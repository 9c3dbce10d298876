// The page's one stream, /v1/watch: read by fetch, so that the key goes into a header; opened again whenever it breaks.
// A browser holds six lines to a server, for all tabs together: so a tab that nobody sees gives its line back once it has
// something to show, and opens it again when it is looked at.

import { opened, Refused } from "./api.js";

const AGAIN_MS = 1000;
const AGAIN_MOST_MS = 5000;
const REFUSED_MS = 30_000;
const SILENT_MS = 8000;

/** Watches the server for as long as the page is open. */
export class Stream {
  constructor(onFrame, onState) {
    this.onFrame = onFrame;
    this.onState = onState;
    this.queue = null;
    this.run = null;
    this.told = false;
    document.addEventListener("visibilitychange", () => this.seen());
  }

  /** Shown or hidden: a hidden tab keeps the line only until it has heard what it shows. */
  seen() {
    if (document.visibilityState !== "hidden") { if (!this.run) { this.onState("returning", null); this.restart(); } }
    else if (this.told) this.pause();
  }

  /** Give the line back until somebody looks. */
  pause() {
    this.run?.abort();
    this.run = null;
    this.onState("paused", null);
  }

  /** Watch, with a picture of this queue; null = of none. */
  watch(queue) {
    if (this.run && this.queue === queue) return;
    this.queue = queue;
    this.restart();
  }

  /** Open the stream anew. */
  restart() {
    this.run?.abort();
    this.run = new AbortController();
    this.told = false;
    this.keepUp(this.run.signal);
  }

  async keepUp(signal) {
    let wait = AGAIN_MS;
    while (!signal.aborted) {
      try {
        await this.read(signal);
        wait = AGAIN_MS;
        if (!signal.aborted) this.onState("lost", new Refused(0, "ended", "the server closed the line"));
      } catch (error) {
        if (signal.aborted) return;
        this.onState("lost", error);
        if (error.status === 401 || error.status === 403) wait = REFUSED_MS;  // a key opens it anew at once
      }
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(wait * 2, AGAIN_MOST_MS);
    }
  }

  async read(signal) {
    const line = new AbortController();
    const end = () => line.abort();
    signal.addEventListener("abort", end);
    let alarm = setTimeout(end, SILENT_MS);
    try {
      const query = this.queue === null ? "" : `?queue=${encodeURIComponent(this.queue)}`;
      const answer = await opened(`/v1/watch${query}`, line.signal);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(alarm);
        alarm = setTimeout(end, SILENT_MS);
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) if (!signal.aborted) this.heard(part);
      }
    } catch (error) {
      if (error.name === "AbortError" && !signal.aborted) throw new Refused(0, "silent", "the server says nothing");
      if (error instanceof Refused || signal.aborted) throw error;
      throw new Refused(0, "broken", "the line broke");
    } finally {
      clearTimeout(alarm);
      signal.removeEventListener("abort", end);
    }
  }

  heard(part) {
    const line = part.split("\n").find((text) => text.startsWith("data: "));
    if (!line) return;
    this.onState("live", null);
    this.onFrame(JSON.parse(line.slice(6)));
    this.told = true;
    if (document.visibilityState === "hidden") this.pause();
  }
}
