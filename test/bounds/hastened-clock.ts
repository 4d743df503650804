import { hastenWaits } from "../support/hastened-waits.ts";

/**
 * Loaded before a service (`--import`), with `clock`, `monotonic` and `waits` in its query: the wall clock, and the clock that measures how long something took, go so many times as
 * fast, and each wait of five seconds, which are those between two looks, ends so much sooner. What a service remembers of an hour or a day fills in seconds; all else is as it was.
 */
const { searchParams } = new URL(import.meta.url);
const times = (name: string) => Number(searchParams.get(name));
const [clock, monotonic, waits] = [times("clock"), times("monotonic"), times("waits")];

const now = Date.now;
const startedAtMs = now();
Date.now = () => startedAtMs + (now() - startedAtMs) * clock;

const passedMs = performance.now.bind(performance);
performance.now = () => passedMs() * monotonic;

hastenWaits({ waitsMs: [5_000], times: waits });
