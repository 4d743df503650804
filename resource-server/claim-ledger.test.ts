import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openClaimLedger } from "./claim-ledger.ts";
import type { NewClaim } from "./payment-claim.ts";
import { pendingAnswer, settledAnswer } from "./testing/facilitation-stub.ts";
import { offer, payload } from "./testing/payments.ts";

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

function ledgerFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "claims-"));
  folders.push(folder);
  return join(folder, "claims.sqlite");
}

const response = { status: 200, headers: [["content-type", "text/plain"]], body: new Uint8Array([7, 0, 255]) } as const;

function newClaim(nonce = "0x01"): NewClaim {
  return {
    key: { network: "eip155:1672", asset: "0xaa", payer: "0xbb", nonce },
    route: "GET /data",
    fingerprint: "request",
    digest: "digest",
    payload: payload(),
    requirements: offer,
    validBefore: 2_000,
  };
}

describe("claim ledger", () => {
  it("lets one of many claim a payment", async () => {
    using ledger = openClaimLedger(":memory:", { clock: Date.now });
    const claims = await Promise.all(Array.from({ length: 10 }, () => ledger.claim(newClaim())));
    expect(claims.filter(Boolean)).toHaveLength(1);
  });

  it("has what was written after it was opened again, at each state", async () => {
    const file = ledgerFile();
    const claim = newClaim();
    const states: string[] = [];
    const moves = [
      (ledger: ReturnType<typeof openClaimLedger>) => ledger.claim(claim),
      (ledger: ReturnType<typeof openClaimLedger>) => ledger.settling(claim.key, response),
      (ledger: ReturnType<typeof openClaimLedger>) => ledger.pending(claim.key, pendingAnswer),
      (ledger: ReturnType<typeof openClaimLedger>) => ledger.settled(claim.key, settledAnswer),
      (ledger: ReturnType<typeof openClaimLedger>) => ledger.delivered(claim.key),
    ];
    for (const move of moves) {
      {
        using ledger = openClaimLedger(file, { clock: Date.now });
        await move(ledger);
      }
      using again = openClaimLedger(file, { clock: Date.now });
      const found = await again.find(claim.key);
      states.push(found?.state ?? "none");
      if (found?.state === "settled") expect(found).toMatchObject({ response, settlement: settledAnswer });
    }
    expect(states).toEqual(["working", "settling", "settling", "settled", "delivered"]);
  });

  it("forgets the response and the signature when they are delivered", async () => {
    using ledger = openClaimLedger(":memory:", { clock: Date.now });
    const claim = newClaim();
    await ledger.claim(claim);
    await ledger.settling(claim.key, response);
    await ledger.settled(claim.key, settledAnswer);
    await ledger.delivered(claim.key);
    expect(await ledger.find(claim.key)).toMatchObject({ payload: undefined, response: undefined });
  });

  it("refuses a move that does not fit the state", async () => {
    using ledger = openClaimLedger(":memory:", { clock: Date.now });
    const claim = newClaim();
    await ledger.claim(claim);
    await expect(ledger.settled(claim.key, settledAnswer)).rejects.toThrow("can't become settled");
    await expect(ledger.delivered(claim.key)).rejects.toThrow("can't become delivered");
    await ledger.settling(claim.key, response);
    await ledger.settled(claim.key, settledAnswer);
    await expect(ledger.release(claim.key)).rejects.toThrow("can't become released");
  });

  it("releases what a process left that was working, and keeps what may have been charged", async () => {
    using ledger = openClaimLedger(":memory:", { clock: Date.now });
    await ledger.claim(newClaim("0x01"));
    await ledger.claim(newClaim("0x02"));
    await ledger.settling(newClaim("0x02").key, response);
    expect(await ledger.releaseWorking()).toBe(1);
    expect((await ledger.unsettled(10)).map(({ key }) => key.nonce)).toEqual(["0x02"]);
  });

  it("forgets ended claims when they are old and their payment has expired, not before", async () => {
    let now = 1_000_000;
    using ledger = openClaimLedger(":memory:", { clock: () => now });
    const claim = newClaim();
    await ledger.claim(claim);
    await ledger.settling(claim.key, response);
    expect(await ledger.forget(Number.MAX_SAFE_INTEGER)).toBe(0);
    await ledger.settled(claim.key, settledAnswer);
    expect(await ledger.forget(now + 1)).toBe(0);
    now = 2_001_000;
    expect(await ledger.forget(1_000_000)).toBe(0);
    expect(await ledger.forget(1_000_001)).toBe(1);
  });
});
