import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buyUntilKnown } from "../../support/payments/replicated-market.ts";
import { isLong, seed } from "../../support/run-size.ts";
import { createRandom } from "../../support/seeded-random.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { signPaymentFor } from "../../support/payments/shop.ts";
import { startBuyers } from "../../support/payments/buyers.ts";
import { watchPayments, type ChargedPayments } from "./charged-payments.ts";
import { listChildren } from "../../support/list-children.ts";
import {
  openSelfSupervisedMarket,
  openSupervisedMarket,
  type Supervised,
  type SupervisedMarket,
} from "./supervised-market.ts";

let market: SupervisedMarket;
let payments: ChargedPayments;

const inForce = ({ isInForce }: Supervised) => until("the settings are active", generousMs, isInForce);

/** Time between two purchases. */
const everyMs = isLong ? 60 : 100;

/** Header of clients without keep-alive connections: a draining process would wait for those. */
const closing = { Connection: "close" };

const buy = (payment: string) =>
  fetch(`${market.shop.url}/data`, { headers: { ...closing, "PAYMENT-SIGNATURE": payment } });

const sign = () => signPaymentFor(`${market.shop.url}/data`, { headers: closing });

const servingPid = async ({ supervisor }: Supervised) => (await listChildren(supervisor()?.pid ?? 0)).toString();

it("a self-settling resource server hot-restarts without failing a purchase", async () => {
  await using own = await openSelfSupervisedMarket();
  const { shop, chain } = own;
  const charged = await watchPayments(own);
  const buyers = startBuyers(shop.url, chain.token, { everyMs });
  for (const level of isLong ? ["warn", "error"] : ["warn"]) {
    await shop.write({ log: { level } });
    await inForce(shop);
  }
  await until(
    "some purchases are complete",
    generousMs,
    () => buyers.bought.length >= (isLong ? 30 : 10) || buyers.failures.length > 0,
  );
  await buyers.end();
  expect(buyers.failures.slice(0, 10)).toEqual([]);
  await charged.expectChargedOnce(buyers.bought.length);
});

/** The services must keep serving in all of these tests. */
describe("a facilitator and a resource server", () => {
  beforeAll(async () => {
    market = await openSupervisedMarket();
  });
  afterAll(() => market[Symbol.asyncDispose]());
  // Waits until each service has one process, and starts counting payments.
  beforeEach(async () => {
    market.upstream.behave("data");
    await until("no process is draining", generousMs, async () => {
      const servingPids = await Promise.all([market.shop, market.facilitator].map(servingPid));
      return servingPids.every((pids) => /^\d+$/.test(pids));
    });
    payments = await watchPayments(market);
  });

  const most = isLong ? 100 : 20;
  it(`hot-restart without failing any of ${most} payments`, { timeout: 240_000 }, async () => {
    const { shop, facilitator, upstream, chain } = market;
    const old = [await servingPid(shop), await servingPid(facilitator)];
    const buyers = startBuyers(shop.url, chain.token, { everyMs });
    const changes: readonly (readonly [Supervised, object])[] = [
      [facilitator, { settlement: { inFlightMax: 500 } }],
      [shop, { log: { level: "warn" } }],
      [facilitator, { log: { level: "warn" } }],
      [shop, { upstream: { timeoutMs: 20_000 } }],
    ];
    for (const [service, more] of isLong ? changes : []) {
      await service.write(more);
      await inForce(service);
    }
    // Both services hot-restart at the same time.
    await Promise.all([shop, facilitator].map((service) => service.write({ log: { level: "error" } })));
    await Promise.all([inForce(shop), inForce(facilitator)]);
    await until(
      "enough purchases are complete",
      generousMs,
      () => buyers.bought.length >= most || buyers.failures.length > 0,
    );
    await buyers.end();
    expect(buyers.failures.slice(0, 10)).toEqual([]);
    // The upstream returns a different response to each request.
    expect(new Set(buyers.bought).size).toBe(buyers.bought.length);
    expect(upstream.hits()).toBe(buyers.bought.length);
    await payments.expectChargedOnce(buyers.bought.length);
    payments.expectSettled(buyers.bought.length);
    await payments.expectLogged(buyers.bought.length);
    await until(
      "the last old processes have exited",
      generousMs,
      async () => (await servingPid(shop)).split(",").length === 1,
    );
    expect([await servingPid(shop), await servingPid(facilitator)]).not.toEqual(old);
  });

  it("keep the previous facilitator process serving purchases after invalid settings", async () => {
    const { shop, facilitator, chain } = market;
    const buyers = startBuyers(shop.url, chain.token, { everyMs: 100 });
    await facilitator.write({ assets: [{ address: chain.token, name: "USDC", version: "9" }] });
    expect(await until("they are rejected", generousMs, facilitator.rejection)).toContain(
      "does not have the EIP-712 domain",
    );
    const bought = buyers.bought.length;
    await until(
      "purchases continue",
      generousMs,
      () => buyers.bought.length > bought + 5 || buyers.failures.length > 0,
    );
    await buyers.end();
    expect(buyers.failures).toEqual([]);
    await payments.expectChargedOnce(buyers.bought.length);
    await facilitator.write({});
    await inForce(facilitator);
  });

  describe("a purchase with a slow upstream", () => {
    it("is completed by the old process, and delays the next hot restart", async () => {
      const { shop, upstream } = market;
      upstream.behave("held");
      const payment = await sign();
      const pendingPurchase = buy(payment);
      await until("the upstream is processing the request", generousMs, () => upstream.hits() === 1);
      const old = await servingPid(shop);
      await shop.write({ log: { level: "warn" } });
      await inForce(shop);
      expect((await buy(payment)).status, "the new process leaves the claim alone").toBe(409);
      await shop.write({ log: { level: "error" } });
      upstream.letGo();
      expect((await pendingPurchase).status).toBe(200);
      await inForce(shop);
      expect((await servingPid(shop)).split(",")).not.toContain(old);
      expect(upstream.hits()).toBe(1);
      await payments.expectChargedOnce(1);
    });

    it("is cut off after the grace period, and completes on retry with the same payment", async () => {
      const { shop, upstream } = market;
      await shop.write({ shutdown: { graceMs: 1_000 } });
      await inForce(shop);
      upstream.behave("hang");
      const payment = await sign();
      const pendingPurchase = buy(payment).then(
        ({ status }) => status,
        () => "cut off",
      );
      await until("the upstream is processing the request", generousMs, () => upstream.hits() === 1);
      await shop.write({ shutdown: { graceMs: 1_000 }, log: { level: "warn" } });
      await inForce(shop);
      expect(await shop.supervisor()?.end("SIGTERM", generousMs)).toBe(0);
      expect(await pendingPurchase).not.toBe(200);
      upstream.behave("data");
      await until("it starts again", generousMs, async () => shop.start().then(() => true));
      expect(await buyUntilKnown(`${shop.url}/data`, payment, generousMs)).toBe("bought");
      await payments.expectChargedOnce(1);
    });
  });

  describe("kill -9 around hot restarts", () => {
    /** Six rounds kill each process of each service once. */
    const rounds = isLong ? 30 : 1;
    const first = isLong ? 0 : seed % 6;
    const whom = ["the old process", "the new process", "the process that hands over"] as const;

    it(
      `${isLong ? `${rounds} times, at random moments` : "once, at a random moment"}: every payment is charged and delivered once`,
      { timeout: 60_000 + rounds * 30_000 },
      async () => {
        const random = createRandom(seed);
        const ends: Promise<string>[] = [];
        const state = { isDone: false };
        const buying = (async () => {
          while (!state.isDone) {
            const signedError = await sign().catch(() => undefined);
            if (signedError !== undefined) ends.push(buyUntilKnown(`${market.shop.url}/data`, signedError, 90_000));
            await sleep(150);
          }
        })();
        for (let round = first; round < first + rounds; round += 1) {
          const service = round % 2 === 0 ? market.facilitator : market.shop;
          await strike(service, whom[round % whom.length] ?? whom[0], { round, random });
        }
        await Promise.all([inForce(market.facilitator), inForce(market.shop)]);
        state.isDone = true;
        await buying;
        const known = await Promise.all(ends);
        expect(known.length, `seed ${seed}`).toBeGreaterThan(rounds);
        expect(new Set(known), `seed ${seed}`).toEqual(new Set(["bought"]));
        // The kill may have prevented the record of a delivery; the same payment would get the response again.
        await payments.expectChargedOnce(known.length, ["delivered", "settled"]);
        payments.expectSettled(known.length);
      },
    );

    /** Hot-restarts a service, and kills one of its processes during the restart. */
    async function strike(
      service: Supervised,
      victim: (typeof whom)[number],
      { round, random }: Readonly<{ round: number; random: () => number }>,
    ): Promise<void> {
      const supervisor = service.supervisor();
      if (supervisor === undefined) throw new Error("no process is handing over");
      const [old] = await listChildren(supervisor.pid);
      await service.write({ log: { level: round % 2 === 0 ? "warn" : "error" }, shutdown: { graceMs: 9_000 + round } });
      const next = await until("the new process is running", generousMs, async () =>
        (await listChildren(supervisor.pid)).find((pid) => pid !== old),
      );
      await sleep(random() * 2_500);
      const pid = { "the old process": old, "the new process": next, "the process that hands over": supervisor.pid }[
        victim
      ];
      kill(pid ?? 0);
      // Once the new process serves, the supervisor exits when it does.
      await until("it serves, or has exited", generousMs, async () => supervisor.hasEnded() || service.isInForce());
      if (victim === "the process that hands over") await until("it has exited", generousMs, supervisor.hasEnded);
      // Its child processes may still be exiting, and may hold its ports.
      if (supervisor.hasEnded())
        await until("it starts again", generousMs, async () => service.start().then(() => true));
      await inForce(service);
    }
  });
});

/** Kills a process, unless it has exited by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
