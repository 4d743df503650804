import { expect, test } from "vitest";
import { listMethodShapes } from "../../testing/method-shapes.ts";
import { createMethodTable } from "./method-table.ts";

const anvil = { request: async () => Promise.reject(new Error("no chain")) };

test("the node has the specification's methods and no other", () => {
  const nothing = { account: "", contract: "", blockHash: "", blockNumber: "", transaction: "", signed: "" };
  const specified = [...listMethodShapes(nothing).map(([method]) => method), "eth_subscribe", "eth_unsubscribe"];
  expect([...createMethodTable({ anvil, version: "0.16.2" }).keys()].sort()).toEqual(specified.sort());
});
