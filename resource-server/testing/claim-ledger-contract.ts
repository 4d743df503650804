import { expect, it } from "vitest";
import type { ClaimLedger } from "../claims/claim-ledger.ts";
import type { NewClaim } from "../claims/payment-claim.ts";
import { pendingResponse, settledResponse } from "./facilitation-stub.ts";
import { offer, createPayload } from "./payments.ts";

/** Storage for one ledger. `open` creates a process that uses it; disposal ends the process. */
export type LedgerLocation = Readonly<{ open: (clock?: () => number) => Promise<AsyncDisposable & ClaimLedger> }>;

const response = { status: 200, headers: [["content-type", "text/plain"]], body: new Uint8Array([7, 0, 255]) } as const;

/** Creates a claim on a new payment. */
export function createClaim(nonce = "0x01"): NewClaim {
  return {
    key: { network: "eip155:1672", asset: "0xaa", payer: "0xbb", nonce },
    route: "GET /data",
    fingerprint: "request",
    digest: "digest",
    payload: createPayload(),
    requirements: offer,
    idempotencyKey: "a-key-of-this-claim",
    validBefore: 2_000,
    holder: "a buyer",
    identifier: undefined,
  };
}

/** Defines the tests that every claim ledger must pass, whatever its storage; `place` returns an empty one for each test. */
export function testClaimLedger(openLocation: () => Promise<LedgerLocation>): void {
  testMoves(openLocation);
  testKeptResponses(openLocation);
  testOwners(openLocation);
}

function testMoves(openLocation: () => Promise<LedgerLocation>): void {
  it("lets only one of ten concurrent calls claim a payment", async () => {
    await using ledger = await (await openLocation()).open();
    const claims = await Promise.all(Array.from({ length: 10 }, () => ledger.claim(createClaim())));
    expect(claims.filter(Boolean)).toHaveLength(1);
  });

  it("restores a claim in each state after its process exited", async () => {
    const { open } = await openLocation();
    const claim = createClaim();
    const states: string[] = [];
    const moves = [
      (ledger: ClaimLedger) => ledger.claim(claim),
      (ledger: ClaimLedger) => ledger.settling(claim.key, response, "10000"),
      (ledger: ClaimLedger) => ledger.pending(claim.key, pendingResponse),
      (ledger: ClaimLedger) => ledger.settled(claim.key, settledResponse),
      (ledger: ClaimLedger) => ledger.delivered(claim.key),
    ];
    for (const move of moves) {
      {
        await using ledger = await open();
        await ledger.acquire(claim.key);
        await move(ledger);
      }
      await using reopened = await open();
      const foundClaim = await reopened.find(claim.key);
      states.push(foundClaim?.state ?? "none");
      expect(foundClaim?.idempotencyKey).toBe(claim.idempotencyKey);
      if (foundClaim?.state !== "settled") continue;
      expect(foundClaim.settlement).toEqual(settledResponse);
      expect(foundClaim.responseBytes).toBe(3);
      const acquiredClaim = await reopened.acquire(claim.key);
      expect(acquiredClaim?.response).toMatchObject({ status: 200, headers: response.headers });
      expect([...(acquiredClaim?.response?.body ?? [])]).toEqual([7, 0, 255]);
    }
    expect(states).toEqual(["working", "settling", "settling", "settled", "delivered"]);
  });

  it("rejects an invalid state transition", async () => {
    await using ledger = await (await openLocation()).open();
    const claim = createClaim();
    await ledger.claim(claim);
    await expect(ledger.settled(claim.key, settledResponse)).rejects.toThrow("can't become settled");
    await expect(ledger.delivered(claim.key)).rejects.toThrow("can't become delivered");
    await ledger.settling(claim.key, response, "10000");
    await ledger.settled(claim.key, settledResponse);
    await expect(ledger.release(claim.key)).rejects.toThrow("can't become released");
  });
}

function testKeptResponses(openLocation: () => Promise<LedgerLocation>): void {
  it("deletes the signature on delivery, and the response five minutes later if the payment has expired", async () => {
    let now = 1_999_000;
    await using ledger = await (await openLocation()).open(() => now);
    const claim = createClaim();
    await ledger.claim(claim);
    await ledger.settling(claim.key, response, "10000");
    await ledger.settled(claim.key, settledResponse);
    await ledger.delivered(claim.key);
    expect(await ledger.find(claim.key)).toMatchObject({ payload: undefined, responseBytes: 3, hasResponse: true });
    expect(await ledger.acquire(claim.key)).toMatchObject({
      state: "delivered",
      settlement: settledResponse,
      holder: "a buyer",
    });
    await ledger.delivered(claim.key);
    expect([await ledger.forgetResponses("expired"), await ledger.responseBytes()]).toEqual([0, 3]);
    expect([...(await ledger.payersAbove(2)), ...(await ledger.payersAbove(3))]).toEqual([claim.key.payer]);
    now = 2_001_000;
    expect(await ledger.forgetResponses("expired"), "its delivery may just have failed unnoticed").toBe(0);
    now = 2_300_000;
    expect(await ledger.acquire(claim.key)).toBeDefined();
    expect(await ledger.forgetResponses("expired"), "it is being delivered").toBe(0);
    await ledger.disown(claim.key);
    expect([await ledger.forgetResponses("expired"), await ledger.responseBytes()]).toEqual([1, 0]);
    expect(await ledger.find(claim.key)).toMatchObject({ state: "delivered", responseBytes: 0, hasResponse: false });
    expect(await ledger.acquire(claim.key), "it is no longer needed").toBeUndefined();
  });

  it("deletes the oldest delivered responses first, and undelivered ones only after their payment expired", async () => {
    let now = 1_000_000;
    await using ledger = await (await openLocation()).open(() => now);
    for (const nonce of ["0x01", "0x02", "0x03"]) {
      const { key, ...claim } = createClaim(nonce);
      await ledger.claim({ ...claim, key });
      await ledger.settling(key, response, "10000");
      await ledger.settled(key, settledResponse);
      if (nonce === "0x03") await ledger.disown(key);
      else await ledger.delivered(key);
      now += 1_000;
    }
    const findKeptResponses = async () => {
      const foundClaims = await Promise.all(
        ["0x01", "0x02", "0x03"].map((nonce) => ledger.find(createClaim(nonce).key)),
      );
      return foundClaims.map((claim) => claim?.hasResponse);
    };
    expect([await ledger.forgetResponses("delivered", 1), await findKeptResponses()]).toEqual([1, [false, true, true]]);
    expect([await ledger.forgetResponses("delivered", 9), await findKeptResponses()]).toEqual([
      1,
      [false, false, true],
    ]);
    expect([await ledger.forgetResponses("untaken", 9), await findKeptResponses()]).toEqual([0, [false, false, true]]);
    now = 2_001_000;
    expect([await ledger.forgetResponses("untaken", 9), await findKeptResponses()]).toEqual([1, [false, false, false]]);
  });
}

function testOwners(openLocation: () => Promise<LedgerLocation>): void {
  it("rejects a transition of a claim that it disowned", async () => {
    await using ledger = await (await openLocation()).open();
    const claim = createClaim();
    await ledger.claim(claim);
    await ledger.disown(claim.key);
    await expect(ledger.settling(claim.key, response, "10000")).rejects.toThrow("no longer belongs to this process");
    expect(await ledger.owned(10)).toEqual([]);
    expect(await ledger.acquire(claim.key)).toMatchObject({ state: "working" });
    expect(await ledger.owned(10)).toEqual([{ key: claim.key, isWorking: true }]);
  });

  it("releases abandoned claims in state working, and keeps those in state settling", async () => {
    const { open } = await openLocation();
    {
      await using stoppedLedger = await open();
      await stoppedLedger.claim(createClaim("0x01"));
      await stoppedLedger.claim(createClaim("0x02"));
      await stoppedLedger.settling(createClaim("0x02").key, response, "10000");
    }
    await using ledger = await open();
    expect((await ledger.unsettled(10)).map(({ key }) => key.nonce)).toEqual(["0x02"]);
    expect(await ledger.releaseAbandoned()).toBe(1);
    expect(await ledger.count()).toEqual({ settling: 1 });
  });

  it("deletes finished claims only if they are old, unowned and expired", async () => {
    let now = 1_000_000;
    await using ledger = await (await openLocation()).open(() => now);
    const claim = createClaim();
    await ledger.claim(claim);
    await ledger.settling(claim.key, response, "10000");
    expect(await ledger.forget(Number.MAX_SAFE_INTEGER)).toBe(0);
    await ledger.settled(claim.key, settledResponse);
    expect(await ledger.forget(now + 1)).toBe(0);
    now = 2_001_000;
    expect(await ledger.forget(1_000_000)).toBe(0);
    expect(await ledger.forget(1_000_001), "it is being delivered").toBe(0);
    await ledger.disown(claim.key);
    expect(await ledger.forget(1_000_001)).toBe(1);
  });
}
