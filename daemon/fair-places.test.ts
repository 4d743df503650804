import { expect, it } from "vitest";
import { FairSlots } from "./fair-places.ts";

it("says who has too many: the caller while some are free, all when none is", () => {
  const places = new FairSlots(20);
  const enter = (caller: string) => {
    const entry = places.enter(caller);
    return entry.ok ? entry.place : entry.full;
  };
  const first = Array.from({ length: 20 }, () => enter("a"));
  expect(first.filter((entry) => entry === "caller")).toHaveLength(4);
  expect(Array.from({ length: 6 }, () => enter("b")).slice(4)).toEqual(["all", "all"]);
  for (const entry of first) {
    if (typeof entry === "string") continue;
    entry[Symbol.dispose]();
    entry[Symbol.dispose]();
  }
  expect(Array.from({ length: 20 }, () => enter("c")).filter((entry) => typeof entry === "object")).toHaveLength(13);
});
