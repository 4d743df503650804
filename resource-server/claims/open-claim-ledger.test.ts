import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createClaim } from "../testing/claim-ledger-contract.ts";
import { settledResponse } from "../testing/facilitation-stub.ts";
import { resourceServerSettings } from "../settings.ts";
import { openClaimLedger } from "./open-claim-ledger.ts";

test("keeps a charged, undelivered response while the clock is a day ahead for a while", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "claims-"));
  const limits = resourceServerSettings.schema.shape.ledger.parse({ path: join(folder.path, "claims.sqlite") });
  const time = { wallMs: 1_000_000_000_000, monotonicMs: 0 };
  const clock = { wallMs: () => time.wallMs, monotonicMs: () => time.monotonicMs };
  await using claims = await openClaimLedger(limits, { clock, log: pino({ level: "silent" }), isHandedOver: false });
  const { ledger } = claims;
  const { key, ...claim } = createClaim();
  await ledger.claim({ ...claim, key });
  await ledger.settling(key, { status: 200, headers: [], body: new Uint8Array(10) }, "10000");
  await ledger.settled(key, settledResponse);
  await ledger.disown(key);
  const trimAfter = async (ms: number) => {
    time.monotonicMs += ms;
    time.wallMs += ms;
    await ledger.trim(limits.retentionSeconds * 1_000);
    return ledger.count();
  };
  time.wallMs += 100_000_000;
  expect(await trimAfter(2_000)).toEqual({ settled: 1 });
  time.wallMs -= 100_000_000;
  expect(await trimAfter(2_000)).toEqual({ settled: 1 });
  expect(await trimAfter(100_000_000), "a day later it is no longer needed").toEqual({});
});
