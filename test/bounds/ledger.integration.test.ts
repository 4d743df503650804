import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { createLedger, type Ledger } from "#facilitator/settlement/ledger/ledger.ts";
import { noteLifeMs } from "#facilitator/settlement/ledger/retention.ts";
import { sqliteLedgerMigrations } from "#facilitator/settlement/ledger/schema.ts";
import { sampleAttempt, sampleSettlement } from "#facilitator/testing/sample-settlement.ts";
import type { Hex } from "#x402/hex.ts";
import { startRpcTap, type RpcTap } from "../support/facilitator/rpc-tap.ts";
import { buildFacilitatorEnvironment } from "../support/facilitator/running-facilitator.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";
import { startPaymentChain, type PaymentChain } from "../support/payments/payment-chain.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { ask } from "../support/gateway/raw-call.ts";
import { startSmallService } from "./small-service.ts";

const minuteMs = 60_000;

const resources = new AsyncDisposableStack();
let folder: string;
let chain: PaymentChain;
let tap: RpcTap;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gatehouse-bounds-"));
  resources.defer(() => rmSync(folder, { recursive: true }));
  chain = resources.use(await startPaymentChain());
  tap = resources.use(await startRpcTap(chain.url));
});
afterAll(() => resources.disposeAsync());

const idOf = (number: number): Hex => `0x${number.toString(16).padStart(64, "0")}`;
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => first + at);

async function fillLedger(
  path: string,
  count: number,
  more: (ledger: Ledger) => Promise<void> = async () => undefined,
) {
  const own = { path, migrations: sqliteLedgerMigrations, rival: "the facilitator", setting: "ledger.path" };
  await using store = openSqliteStore(own);
  const anHourEarly = Date.now() - minuteMs;
  const ledger = createLedger({ chainId: 1_672 }, { store, clock: () => anHourEarly, guard: async () => undefined });
  const begun = range(1, count).map((number) => ({
    settlement: {
      ...sampleSettlement,
      asset: chain.token,
      id: idOf(number),
      authorizationNonce: idOf(number),
      validBefore: 1n,
      begunAtMs: anHourEarly,
    },
    attempt: { ...sampleAttempt, hash: idOf(number), nonce: number, signedAtMs: anHourEarly },
  }));
  for (let at = 0; at < count; at += 100) await ledger.begin(begun.slice(at, at + 100));
  await more(ledger);
}

async function startSmall(
  name: string,
  fill: (ledgerPath: string) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
  options: Parameters<typeof startSmallService>[2] = {},
) {
  const own = join(folder, name);
  mkdirSync(own);
  const ledgerPath = join(own, "ledger.sqlite");
  await fill(ledgerPath);
  const place = { rpcUrl: tap.url, token: chain.token, ledgerPath, env };
  const service = await startSmallService("facilitator", buildFacilitatorEnvironment(place), options);
  const post = async (path: string) =>
    (await ask(`${service.urls["facilitator"]}${path}`, JSON.stringify(await signPayment(chain.token)))).text;
  return {
    ...service,
    settle: async () => expect(await post("/settle")).toContain('"success":true'),
    expectServing: async () => {
      expect(await post("/verify")).toContain('"isValid":true');
      service.expectWell();
    },
    metrics: async () => (await fetch(`${service.urls["facilitator-operations"]}/metrics`)).text(),
  };
}

/**
 * Adds records of verified but unsettled payments to a ledger: `count` of them, numbered from a start, last verified this long ago.
 */
async function recordVerified(
  path: string,
  notes: readonly Readonly<{ from: number; count: number; agoMs: number }>[],
) {
  const own = { path, migrations: sqliteLedgerMigrations, rival: "the facilitator", setting: "ledger.path" };
  await using store = openSqliteStore(own);
  for (const { from, count, agoMs } of notes) {
    await store.change(
      `WITH RECURSIVE numbers (number) AS (SELECT $1 UNION ALL SELECT number + 1 FROM numbers WHERE number < $2)
       INSERT INTO verification SELECT 1672, '0x' || number, 'a seller', 2, $3, '0x' || number FROM numbers`,
      [from, from + count - 1, Date.now() - agoMs],
    );
  }
}

const reported = (output: string, event: string) => output.split("\n").filter((line) => line.includes(`"${event}"`));

it("limits the facilitator's records of verified, unsettled payments", async () => {
  const [old, young] = [40_000, 1_000];
  const fill = (path: string) =>
    recordVerified(path, [
      { from: 1, count: old, agoMs: noteLifeMs + minuteMs },
      { from: old + 1, count: young, agoMs: noteLifeMs - 10 * minuteMs },
    ]);
  const settingsPath = join(folder, "facilitator.json");
  writeFileSync(settingsPath, "{}");
  // The ledger can be read while the facilitator is running.
  const args = ["--settings", settingsPath, "--hot-restart"];
  await using facilitator = await startSmall("notes", fill, {}, { args });
  using ledger = new DatabaseSync(join(folder, "notes", "ledger.sqlite"), { readOnly: true });
  const notes = () => ledger.prepare("SELECT count(*) AS notes FROM verification").get()?.["notes"];
  await facilitator.settle();
  await until("records older than an hour are removed", generousMs, () => Number(notes()) <= young);
  await facilitator.expectServing();
  expect(notes()).toBe(young);
});

/** The settlements whose receipts the comparison reads, in order, and the max at a time. */
function watchReceipts() {
  const asked: number[] = [];
  let most = 0;
  tap.rule((calls) => {
    const hashes = calls
      .filter(({ method }) => method === "eth_getTransactionReceipt")
      .map(({ params: [hash] }) => Number(hash));
    asked.push(...hashes);
    most = Math.max(most, hashes.length);
    return "forward";
  });
  return { asked, most: () => most };
}

const settle = (count: number) => async (ledger: Ledger) => {
  for (const number of range(1, count))
    await ledger.finish(new Map([[idOf(number), { state: "settled", transaction: idOf(number) }]]));
};

describe("a ledger whose settlements are missing from the chain", () => {
  let seen: ReturnType<typeof watchReceipts>;
  let facilitator: Awaited<ReturnType<typeof startSmall>>;

  beforeAll(async () => {
    seen = watchReceipts();
    facilitator = resources.use(
      await startSmall(
        "compared",
        (path) => fillLedger(path, 1_300, settle(1_300)),
        {},
        { constants: { "ledger.compareIntervalMs": 1_000 } },
      ),
    );
  });
  afterEach(() => facilitator.expectServing());

  it("limits the receipts per comparison of ledger and chain", async () => {
    await until("three comparisons were made", generousMs, () => seen.asked.length >= 500 + 600 + 400);
    expect(seen.asked.slice(0, 500)).toEqual(range(1, 500));
    // A hundred known mismatches, and the following ones of that hour.
    expect(seen.asked.slice(500, 1_100)).toEqual([...range(1, 100), ...range(501, 1_000)]);
    expect(seen.asked.slice(1_100, 1_500)).toEqual([...range(101, 200), ...range(1_001, 1_300)]);
    expect(seen.most()).toBe(20);
  });

  it("limits the stored mismatches of ledger and chain", async () => {
    await until("five comparisons were made", generousMs, () => seen.asked.length >= 500 + 600 + 400 + 600 + 600);
    expect(await facilitator.metrics()).toContain(
      'gatehouse_facilitator_ledger_mismatches{network="eip155:1672"} 1000\n',
    );
    expect(reported(facilitator.output(), "ledger-mismatch")).toHaveLength(1_000);
  });
});
