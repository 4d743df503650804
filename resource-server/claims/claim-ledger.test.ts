import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createClaim, testClaimLedger } from "../testing/claim-ledger-contract.ts";
import { joinTestLedger, openTestLedger } from "../testing/claim-store.ts";

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

function ledgerFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "claims-"));
  folders.push(folder);
  return join(folder, "claims.sqlite");
}

describe("claim ledger in SQLite", () => {
  testClaimLedger(async () => {
    const file = ledgerFile();
    return { open: (clock) => openTestLedger(file, clock) };
  });

  it("is opened by one process at a time", async () => {
    const file = ledgerFile();
    await using _first = await openTestLedger(file);
    await expect(openTestLedger(file)).rejects.toThrow(/is in use; stop the other test, or set ledger.path/);
  });
});

describe("claim ledger in a SQLite file that two processes share for a while", () => {
  testClaimLedger(async () => {
    const file = ledgerFile();
    return { open: (clock) => joinTestLedger(file, clock) };
  });

  it("lets one of them claim a payment, and keeps the other from what it works on", async () => {
    const file = ledgerFile();
    await using old = await joinTestLedger(file);
    await using next = await joinTestLedger(file);
    expect([await old.claim(createClaim()), await next.claim(createClaim())]).toEqual([true, false]);
    const { key } = createClaim();
    expect(await next.acquire(key)).toBeUndefined();
    expect(await next.releaseAbandoned()).toBe(0);
    await expect(next.release(key)).rejects.toThrow("no longer this process's");
    expect(await old.owned(10)).toEqual([{ key, isWorking: true }]);
  });

  it("leaves what the first one owned to the second when it has ended", async () => {
    const file = ledgerFile();
    const old = await joinTestLedger(file);
    await using next = await joinTestLedger(file);
    await old.claim(createClaim());
    await old[Symbol.asyncDispose]();
    expect(await next.releaseAbandoned()).toBe(1);
  });

  it("takes up what a process left that had the file to itself", async () => {
    const file = ledgerFile();
    const sole = await openTestLedger(file);
    await sole.claim(createClaim());
    await expect(joinTestLedger(file)).rejects.toThrow(/is in use; stop the other test/);
    await sole[Symbol.asyncDispose]();
    await using shared = await joinTestLedger(file);
    expect(await shared.releaseAbandoned()).toBe(1);
  });
});
