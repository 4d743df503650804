import { describe } from "vitest";
import { contractMs, testLedger, type LedgerUnderTest } from "./ledger-contract.ts";
import { createMemoryDatabase, type Link } from "./memory-database.ts";
import { createMemoryLedger, openMemoryLedger } from "./memory-ledger.ts";
import { testNotes } from "./notes-contract.ts";
import { testSharedLedger } from "./shared-ledger-contract.ts";

const pass = async () => undefined;
const atOnce: Link = { replica: "this one", send: pass, goOn: pass, receive: pass, within: (work) => work };

const openOwn = async (): Promise<LedgerUnderTest> => {
  const database = createMemoryDatabase(() => contractMs);
  return {
    ledgerFor: (guard) => createMemoryLedger(database, atOnce, { guard, term: 0 }),
    ownership: openMemoryLedger(database, atOnce).ownership,
    [Symbol.asyncDispose]: async () => undefined,
  };
};

describe("settlement ledger in memory", () => {
  testLedger(openOwn);
  testNotes(openOwn);

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
