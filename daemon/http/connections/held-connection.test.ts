import { expect, test } from "vitest";
import { type HeldConnection, chooseToShed } from "./held-connection.ts";

const held = (address: string, sinceMs: number) =>
  ({ address, activity: () => ({ kind: "kept", sinceMs }) }) as unknown as HeldConnection;

test("closes many connections at once from addresses over their share, and few from others", () => {
  const connections = [
    ...Array.from({ length: 40 }, (_, at) => held("greedy", at)),
    ...Array.from({ length: 3 }, (_, at) => held("other", at)),
  ];
  const options = { nowMs: 1_000, max: 2, greedyMax: 10 };
  const addresses = (isOverShare: (address: string) => boolean) =>
    chooseToShed(connections, { ...options, isOverShare }).map(({ address }) => address);
  expect(addresses((address) => address === "greedy")).toEqual(Array.from({ length: 10 }, () => "greedy"));
  expect(addresses((address) => address === "other")).toEqual(["other", "other", "other"]);
  expect(addresses(() => false)).toHaveLength(2);
});
