import { expect, it } from "vitest";
import { settledResponse } from "../testing/facilitation-stub.ts";
import { createClaim } from "../testing/claim-ledger-contract.ts";
import { openTestLedger } from "../testing/claim-store.ts";
import { createRetainedResponses } from "./retained-responses.ts";

const response = { status: 200, headers: [], body: new Uint8Array(10) } as const;

it("evicts the oldest delivered responses at the limit, and has no room while undelivered ones fill it", async () => {
  let now = 1_000_000;
  await using ledger = await openTestLedger(":memory:", () => now);
  const responses = createRetainedResponses({ bytesMax: 40 }, ledger);
  const keep = async (nonce: string, isDelivered: boolean, payer = createClaim().key.payer) => {
    const { key, ...claim } = createClaim(nonce);
    const own = { ...key, payer };
    await ledger.claim({ ...claim, key: own });
    await ledger.settling(own, response, "10000");
    await ledger.settled(own, settledResponse);
    await (isDelivered ? ledger.delivered(own) : ledger.disown(own));
    now += 1_000;
  };
  const { payer } = createClaim().key;
  const look = async () => {
    await responses.trim();
    return [await ledger.responseBytes(), responses.hasRoom(payer), responses.hasRoom("another")];
  };
  for (const nonce of ["0x01", "0x02"]) await keep(nonce, true);
  expect(await look()).toEqual([20, true, true]);
  for (const nonce of ["0x03", "0x04", "0x05"]) await keep(nonce, false);
  expect(await look()).toEqual([30, true, true]);
  await keep("0x06", false);
  expect(await look(), "one payer fills it").toEqual([40, false, true]);
  await keep("0x07", false, "another");
  expect(await look(), "no room at all").toEqual([50, false, false]);
  now = 2_001_000;
  expect(await look()).toEqual([0, true, true]);
});
