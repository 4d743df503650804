import { hastenWaits } from "../support/hastened-waits.ts";

/**
 * Loaded before a service (`--import`), with `clock` and `waits` in its query: the wall clock goes so many times as fast, and each wait of five seconds, which are those between
 * two looks, ends so much sooner. What a service remembers of an hour or a day fills in seconds; all else is as it was.
 */
const { searchParams } = new URL(import.meta.url);
const [clock, waits] = [Number(searchParams.get("clock")), Number(searchParams.get("waits"))];

const now = Date.now;
const startedAtMs = now();
Date.now = () => startedAtMs + (now() - startedAtMs) * clock;

hastenWaits({ waitsMs: [5_000], times: waits });
