import { describe } from "vitest";
import { contractMs, testLedger } from "./ledger-contract.ts";
import { createMemoryDatabase, createMemoryLedger, openMemoryLedger } from "./memory-ledger.ts";
import { testSharedLedger } from "./shared-ledger-contract.ts";

const atOnce = { travel: async () => undefined };

describe("settlement ledger in memory", () => {
  testLedger(async () => {
    const database = createMemoryDatabase(() => contractMs);
    return {
      ledgerFor: (guard) => createMemoryLedger(database, atOnce, { guard, term: 0 }),
      ownership: openMemoryLedger(database, atOnce).ownership,
      [Symbol.asyncDispose]: async () => undefined,
    };
  });

  testSharedLedger(async () => {
    let nowMs = contractMs;
    const database = createMemoryDatabase(() => nowMs);
    return {
      connect: () => openMemoryLedger(database, atOnce),
      passTime: async (ms) => void (nowMs += ms),
      [Symbol.asyncDispose]: async () => undefined,
    };
  });
});
