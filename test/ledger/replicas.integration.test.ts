import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sendCopies, startPublishedSeller } from "../support/facilitator/published-seller.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import { explainMissingPostgres } from "../support/postgres.ts";
import { isLong } from "../support/run-size.ts";
import { createRandom } from "../support/seeded-random.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import {
  buyUntilKnown,
  openReplicatedMarket,
  price,
  type ReplicatedMarket,
} from "../support/payments/replicated-market.ts";

const missing = explainMissingPostgres();
/** Numbers of payments sent to both resource servers, and made while processes are killed. */
const [shown, bought] = isLong ? [200, 100] : [20, 20];
const [payer, payee] = [testAccount(1).address, testAccount(2).address];

describe.skipIf(missing !== undefined)(
  `replicas with PostgreSQL${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    let market: ReplicatedMarket;
    let before: Readonly<{ payer: bigint; payee: bigint }>;
    beforeAll(async () => {
      market = await openReplicatedMarket();
    });
    afterAll(() => market?.[Symbol.asyncDispose]());
    beforeEach(async () => {
      market.upstream.behave("data");
      before = { payer: await market.chain.balanceOf(payer), payee: await market.chain.balanceOf(payee) };
    });

    const rows = (text: string) => market.postgres.query(market.databaseUrl, text);

    /** Expects that every payment was charged once, and that the two ledgers and the chain agree. */
    async function expectChargedOnce(count: number): Promise<void> {
      const amount = BigInt(count) * price;
      expect((await market.chain.balanceOf(payee)) - before.payee).toBe(amount);
      expect(before.payer - (await market.chain.balanceOf(payer))).toBe(amount);
      await until("all deliveries are recorded", generousMs, async () => {
        const open = await rows("SELECT nonce FROM gatehouse_resource_server.claims WHERE state <> 'delivered'");
        return open.length === 0;
      });
      expect(await rows("SELECT id FROM gatehouse_facilitator.settlement WHERE state <> 'settled'")).toEqual([]);
    }

    /** Sends a payment to both resource servers concurrently, and counts how often it got the response. */
    async function buyAtBoth(header: string, deadlineMs: number): Promise<number> {
      const ends = await Promise.all(market.shops.map(({ url }) => buyUntilKnown(`${url}/data`, header, deadlineMs)));
      return ends.filter((end) => end === "bought").length;
    }

    test(`both resource servers deliver ${shown} payments that are sent to both, and charge each once`, async () => {
      const headers = await market.signPayments(shown);
      const ends = await Promise.all(headers.map((header) => buyAtBoth(header, 60_000)));
      expect(ends).toEqual(headers.map(() => 2));
      expect(market.upstream.hits()).toBe(shown);
      await expectChargedOnce(shown);
    });

    test("two published middlewares on different replicas deliver once for 100 copies of a payment", async () => {
      const { facilitators, chain } = market;
      const sellerAt = (index: number) =>
        startPublishedSeller({
          framework: index === 0 ? "hono" : "express",
          facilitatorUrl: facilitators[index]?.url ?? "",
          token: chain.token,
        });
      await using first = await sellerAt(0);
      await using second = await sellerAt(1);
      const header = await first.signPayment("/quick");
      const urls = [first, second].flatMap(({ urlOf }) => [urlOf("/quick"), urlOf("/slow")]);
      expect(await sendCopies(header, urls, 100)).toBe(1);
      await expectChargedOnce(1);
      expect(await sendCopies(header, urls, 4)).toBe(0);
    });

    const killed = isLong ? "each process" : "one process of each kind";
    test(`charges each payment once with ${killed} killed at random and PostgreSQL restarted`, async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const random = createRandom(seed);
      const headers = await market.signPayments(bought);
      const replicas = [...market.facilitators, ...market.shops];
      const oneOf = <One>(all: readonly One[]) => all.slice(random() * all.length).slice(0, 1);
      const strikes = isLong ? [...replicas, ...replicas] : [...oneOf(market.facilitators), ...oneOf(market.shops)];
      let isDone = false;
      // Payments continue until the last kill, so that each kill hits some at every stage.
      const buyingHeaders = Promise.all(
        headers.map(async (header, index) => {
          await until("its turn", 120_000, () => isDone || market.upstream.hits() >= index - 4);
          await sleep(random() * 400);
          return buyAtBoth(header, 120_000);
        }),
      );
      for (const replica of shuffled(strikes, random)) {
        await sleep(random() * 1_000);
        await replica.kill();
        await sleep(random() * 500);
        await replica.start();
      }
      await market.postgres.stop();
      await sleep(random() * (isLong ? 2_000 : 1_000));
      await market.postgres.start();
      isDone = true;
      const ends = await buyingHeaders;
      expect(Math.min(...ends), `seed ${seed}`).toBeGreaterThanOrEqual(1);
      expect(Math.max(...ends), `seed ${seed}`).toBeLessThanOrEqual(2);
      await expectChargedOnce(bought);
    }, 240_000);
  },
);

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => [random(), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}
