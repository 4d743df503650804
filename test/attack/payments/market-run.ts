import { setTimeout as delay } from "node:timers/promises";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { Agent, fetch } from "undici";
import { testAccount } from "../../support/payments/payment-chain.ts";
import { signOffer } from "../../support/payments/shop.ts";
import { runPhases, type AttackReport, type AttackOptions, type Phase } from "../attack-run.ts";
import { startPacedCallers, type Callers } from "../callers.ts";
import { startAttackers } from "../child-process.ts";
import type { Target } from "../attacks/attack.ts";
import { watchServices } from "../witness.ts";
import { paymentAttacks } from "./hostile-payments.ts";
import type { AttackedMarket } from "./market.ts";

/** Measured buyers, each with its own address and account, and the interval between two purchases of a buyer. */
const buyers = { count: 4, everyMs: 400, firstAccount: 3 } as const;
const control = { count: 2, everyMs: 100 } as const;
/** Max time that a buyer waits for one response. */
const answerTimeoutMs = 10_000;
const warmUpMs = 3_000;

/** Runs every attack on a facilitator and a resource server, one after the other, while honest buyers make purchases. */
export async function attackMarket(
  { seconds, only }: AttackOptions,
  market: AttackedMarket,
  report: (phase: Phase) => void,
): Promise<AttackReport> {
  await using stack = new AsyncDisposableStack();
  const { target } = market;
  const attackers = stack.use(startAttackers());
  const callers = stack.use(startBuyers(target));
  const asked = stack.use(startPacedCallers(control, () => askChain(target.market.chainUrl)));
  await delay(warmUpMs);
  const { sights } = stack.use(watchServices(market, async () => ({ changed: [], isCalledSlow: false })));
  const attacks = paymentAttacks.filter(({ name }) => only === undefined || only.includes(name));
  const phases = await runPhases({ attackers, target, callers, control: asked, sights }, { attacks, seconds }, report);
  return { ...phases, peakMiB: (await market.memory()).peakMiB, ends: await market.ends() };
}

function startBuyers(target: Target): Callers {
  const agents = Array.from(
    { length: buyers.count },
    (_, at) => new Agent({ connect: { localAddress: `127.0.2.${at + 1}` } }),
  );
  return startPacedCallers(buyers, (buyer) => buy(target, buyer, agents[buyer]));
}

/** Makes one purchase, as a client that doesn't know the offer yet; returns the fault, or undefined. */
async function buy({ host, port }: Target, buyer: number, dispatcher: Agent | undefined): Promise<string | undefined> {
  const url = `http://${host}:${port}/data`;
  const request = (headers: Readonly<Record<string, string>>) =>
    fetch(url, {
      headers,
      signal: AbortSignal.timeout(answerTimeoutMs),
      ...(dispatcher === undefined ? {} : { dispatcher }),
    });
  try {
    const unpaidRequest = await request({});
    const text = await unpaidRequest.text();
    if (unpaidRequest.status !== 402) return `unpaid: HTTP ${unpaidRequest.status}: ${text.slice(0, 200)}`;
    const [offer] = decodePaymentRequiredHeader(unpaidRequest.headers.get("PAYMENT-REQUIRED") ?? "").accepts;
    if (offer === undefined) return "no offer";
    const payment = await signOffer(offer, testAccount(buyers.firstAccount + buyer).account);
    const paid = await request({ "PAYMENT-SIGNATURE": payment });
    const body = await paid.text();
    return paid.status === 200 && body === '{"sold":true}'
      ? undefined
      : `paid: HTTP ${paid.status}: ${body.slice(0, 200)}`;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

async function askChain(url: string): Promise<string | undefined> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}';
  const { ok, status } = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return ok ? undefined : `HTTP ${status}`;
}
