import { accelerateWaits } from "../support/accelerated-waits.ts";

/**
 * Loaded before a service (`--import`), with `clock`, `monotonic` and `waits` in its query: the factors by which the wall clock and the
 * monotonic clock run faster, and by which each wait of five seconds, e.g. between two checks, is shorter. What a service retains for an
 * hour or a day expires within seconds; everything else is unchanged.
 */
const { searchParams } = new URL(import.meta.url);
const times = (name: string) => Number(searchParams.get(name));
const [clock, monotonic, waits] = [times("clock"), times("monotonic"), times("waits")];

const now = Date.now;
const startedAtMs = now();
Date.now = () => startedAtMs + (now() - startedAtMs) * clock;

const passedMs = performance.now.bind(performance);
performance.now = () => passedMs() * monotonic;

accelerateWaits({ waitsMs: [5_000], times: waits });
