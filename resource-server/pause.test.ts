import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { pause } from "./pause.ts";

it("leaves no listener on the signal, however often it waits", async () => {
  const { signal } = new AbortController();
  for (let round = 0; round < 20; round += 1) await pause(1, signal);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("ends at once when the signal aborts, and when it has aborted before", async () => {
  const stop = new AbortController();
  const waiting = pause(3_600_000, stop.signal);
  stop.abort();
  await waiting;
  await pause(3_600_000, stop.signal);
});
