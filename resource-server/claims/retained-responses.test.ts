import { expect, it } from "vitest";
import { settledAnswer } from "../testing/facilitation-stub.ts";
import { createClaim } from "../testing/claim-ledger-contract.ts";
import { openTestLedger } from "../testing/claim-store.ts";
import { keepResponses } from "./retained-responses.ts";

const response = { status: 200, headers: [], body: new Uint8Array(10) } as const;

it("keeps responses within the limit: of delivered ones the newest, and no room while charged ones fill it that may still be requested", async () => {
  let now = 1_000_000;
  await using ledger = await openTestLedger(":memory:", () => now);
  const responses = keepResponses({ bytesMax: 25 }, ledger);
  const keep = async (nonce: string, isDelivered: boolean) => {
    const claim = createClaim(nonce);
    await ledger.claim(claim);
    await ledger.settling(claim.key, response);
    await ledger.settled(claim.key, settledAnswer);
    await (isDelivered ? ledger.delivered(claim.key) : ledger.disown(claim.key));
    now += 1_000;
  };
  for (const nonce of ["0x01", "0x02"]) await keep(nonce, true);
  await responses.trim();
  expect([await ledger.responseBytes(), responses.hasRoom()]).toEqual([20, true]);
  for (const nonce of ["0x03", "0x04", "0x05"]) await keep(nonce, false);
  await responses.trim();
  expect([await ledger.responseBytes(), responses.hasRoom()]).toEqual([30, false]);
  now = 2_001_000;
  await responses.trim();
  expect([await ledger.responseBytes(), responses.hasRoom()]).toEqual([0, true]);
});
