import { beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { openChainStore } from "./chain-store.ts";

let directory: string;
beforeEach(async () => {
  directory = await makeTestDirectory();
});

test("returns the journal in order after a restart", () => {
  {
    using store = openChainStore(directory);
    expect(store.snapshot()).toBeUndefined();
    store.addTransaction("0x01", "0xa");
    store.addBlock(7);
    store.addTransaction("0x02", "0xb");
  }
  using store = openChainStore(directory);
  expect(store.journal()).toEqual([
    { kind: "transaction", raw: "0x01", hash: "0xa" },
    { kind: "block", timestampSeconds: 7 },
    { kind: "transaction", raw: "0x02", hash: "0xb" },
  ]);
});

test("replaces the journal with a snapshot, except for pending transactions", () => {
  using store = openChainStore(directory);
  store.addTransaction("0x01", "0xa");
  store.addBlock(7);
  store.addTransaction("0x02", "0xb");
  store.saveSnapshot(Buffer.from("state"), new Set(["0xb"] as const));
  expect(Buffer.from(store.snapshot() ?? []).toString()).toBe("state");
  expect(store.journal()).toEqual([{ kind: "transaction", raw: "0x02", hash: "0xb" }]);
});
