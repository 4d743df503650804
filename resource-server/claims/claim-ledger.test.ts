import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { afterEach, describe, expect, it, vi } from "vitest";
import { settledResponse } from "../testing/facilitation-stub.ts";
import { createClaim, testClaimLedger } from "../testing/claim-ledger-contract.ts";
import { joinTestLedger, openTestLedger } from "../testing/claim-store.ts";

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** Adds delivered claims whose payments have expired, with their responses. */
function fillLedger(file: string, claims: number): void {
  using database = new DatabaseSync(file);
  database
    .prepare(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
    INSERT INTO claims (network, asset, payer, nonce, state, route, fingerprint, digest, requirements, valid_before, status, headers,
      body, updated_at_ms, idempotency_key)
    SELECT 'eip155:1672', '0xaa', '0xbb', hex(randomblob(32)), 'delivered', 'GET /data', hex(randomblob(32)), hex(randomblob(32)), '{}',
      n, 200, '[]', zeroblob(500), n, '' FROM numbers`)
    .run(claims);
}

/** Counts the rows that the largest change from now on affects, because a statement's time grows with their number. */
function watchChanges(): Readonly<{ stop: () => number }> {
  let largest = 0;
  const { run } = StatementSync.prototype;
  const spied = vi.spyOn(StatementSync.prototype, "run").mockImplementation(function (
    this: StatementSync,
    ...parameters: unknown[]
  ) {
    const result = Reflect.apply(run, this, parameters);
    largest = Math.max(largest, Number(result.changes));
    return result;
  });
  return { stop: () => (spied.mockRestore(), largest) };
}

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

  it("deletes 12,000 expired responses at most 50 at a time", async () => {
    const file = ledgerFile();
    await (await openTestLedger(file))[Symbol.asyncDispose]();
    fillLedger(file, 12_000);
    const changes = watchChanges();
    await using ledger = await openTestLedger(file);
    await ledger.trim(Number.MAX_SAFE_INTEGER);
    expect(await ledger.forget(Date.now())).toBeGreaterThan(0);
    expect(await ledger.count()).toEqual({ delivered: expect.any(Number) });
    expect(changes.stop()).toBe(50);
  });

  it("rejects a second process", async () => {
    const file = ledgerFile();
    await using _first = await openTestLedger(file);
    await expect(openTestLedger(file)).rejects.toThrow(/is in use; stop the other test, or set ledger.path/);
  });
});

describe("claim ledger in a SQLite file shared during a hot restart", () => {
  testClaimLedger(async () => {
    const file = ledgerFile();
    return { open: (clock) => joinTestLedger(file, clock) };
  });

  it("lets one of two processes claim a payment, and rejects transitions by the other", async () => {
    const file = ledgerFile();
    await using oldLedger = await joinTestLedger(file);
    await using nextLedger = await joinTestLedger(file);
    expect([await oldLedger.claim(createClaim()), await nextLedger.claim(createClaim())]).toEqual([true, false]);
    const { key } = createClaim();
    expect(await nextLedger.acquire(key)).toBeUndefined();
    expect(await nextLedger.releaseAbandoned()).toBe(0);
    await expect(nextLedger.release(key)).rejects.toThrow("no longer belongs to this process");
    expect(await oldLedger.owned(10)).toEqual([{ key, isWorking: true }]);
  });

  it("lets the second process release claims of the first after it exited", async () => {
    const file = ledgerFile();
    const oldLedger = await joinTestLedger(file);
    await using nextLedger = await joinTestLedger(file);
    await oldLedger.claim(createClaim());
    await oldLedger[Symbol.asyncDispose]();
    expect(await nextLedger.releaseAbandoned()).toBe(1);
  });

  it("releases claims of an earlier process that had locked the file", async () => {
    const file = ledgerFile();
    const sole = await openTestLedger(file);
    await sole.claim(createClaim());
    await expect(joinTestLedger(file)).rejects.toThrow(/is in use; stop the other test/);
    await sole[Symbol.asyncDispose]();
    await using sharedLedger = await joinTestLedger(file);
    expect(await sharedLedger.releaseAbandoned()).toBe(1);
  });
});

const response = { status: 200, headers: [], body: new Uint8Array(10) } as const;

it("evicts the oldest delivered responses at the limit, and is full while undelivered ones use all of it", async () => {
  let now = 1_000_000;
  await using ledger = await openTestLedger(":memory:", () => now, 40);
  const keep = async (nonce: string, isDelivered: boolean, payer = createClaim().key.payer) => {
    const { key, ...claim } = createClaim(nonce);
    const ownKey = { ...key, payer };
    await ledger.claim({ ...claim, key: ownKey });
    await ledger.settling(ownKey, response, "10000");
    await ledger.settled(ownKey, settledResponse);
    await (isDelivered ? ledger.delivered(ownKey) : ledger.disown(ownKey));
    now += 1_000;
  };
  const { payer } = createClaim().key;
  const look = async () => {
    await ledger.trim(Number.MAX_SAFE_INTEGER);
    return [await ledger.responseBytes(), ledger.hasRoom(payer), ledger.hasRoom("another")];
  };
  for (const nonce of ["0x01", "0x02"]) await keep(nonce, true);
  expect(await look()).toEqual([20, true, true]);
  for (const nonce of ["0x03", "0x04", "0x05"]) await keep(nonce, false);
  expect(await look()).toEqual([30, true, true]);
  await keep("0x06", false);
  expect(await look(), "one payer fills it").toEqual([40, false, true]);
  await keep("0x07", false, "another");
  expect(await look(), "completely full").toEqual([50, false, false]);
  now = 2_001_000;
  expect(await look()).toEqual([0, true, true]);
});
