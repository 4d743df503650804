import { setTimeout as delay } from "node:timers/promises";
import {
  decodePaymentRequiredHeader,
  decodePaymentSignatureHeader,
  encodePaymentSignatureHeader,
} from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { createWalletClient, erc20Abi, http, toHex, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { testAccount } from "../../support/payments/payment-chain.ts";
import { signOffer } from "../../support/payments/shop.ts";
import { signPaymentHeader } from "../../support/payments/signed-payment.ts";
import type { Attack, Target } from "../attacks/attack.ts";
import { asMany, openAttackingSocket, postFrom, waitUntilClosed } from "../attacks/attacker.ts";

/** Account whose tokens are spent by some attackers. */
const rich = testAccount(1);
const randomHex = (bytes: number): Hex => toHex(crypto.getRandomValues(new Uint8Array(bytes)));

function findMarket({ market }: Target): NonNullable<Target["market"]> {
  if (market === undefined) throw new Error("an attack on the payment services needs a market");
  return market;
}

/** Reads the price of a route of the resource server. */
async function readOffer({ host, port }: Target, path: string): Promise<PaymentRequirements | undefined> {
  const { headers } = await fetch(`http://${host}:${port}${path}`, { method: path === "/notes" ? "POST" : "GET" });
  return decodePaymentRequiredHeader(headers.get("PAYMENT-REQUIRED") ?? "").accepts[0];
}

/** Runs an attack once it has the offer of a route, which may take a while because the server is under attack. */
function withOffer(
  path: string,
  run: (target: Target, signal: AbortSignal, offer: PaymentRequirements) => Promise<void>,
): Attack["run"] {
  return async (target, signal) => {
    let offer: PaymentRequirements | undefined;
    while (offer === undefined && !signal.aborted) {
      offer = await readOffer(target, path).catch(() => undefined);
      if (offer === undefined) await delay(200);
    }
    if (offer !== undefined) await run(target, signal, offer);
  };
}

/** Requests verification and settlement of a payment, as a caller that sells nothing. */
async function verifyAndSettle(target: Target, attacker: number, header: string, signal: AbortSignal): Promise<void> {
  const facilitator = { host: target.host, port: findMarket(target).facilitatorPort };
  const paymentPayload = decodePaymentSignatureHeader(header);
  const body = JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted });
  for (const path of ["/verify", "/settle"]) await postFrom(facilitator, path, attacker, body, signal);
}

/** Request bodies with a made-up payment, to a path without a route and to a route whose offer the payment matches. */
const unpaidBodies: Attack = {
  name: "bodies of made-up payments",
  what: "800 connections from 1 address with a made-up payment and 900 kB of a body of 1 MB that never ends, half of them for no route",
  attackers: 800,
  run: withOffer("/notes", async (target, signal, accepted) => {
    const part = Buffer.alloc(900_000, " ");
    const send = async (connection: number) => {
      await delay((connection % 100) * 20, undefined, { signal });
      const socket = await openAttackingSocket(target, 0, signal);
      socket.resume();
      const authorization = {
        from: randomHex(20),
        to: accepted.payTo,
        value: accepted.amount,
        validAfter: "0",
        nonce: randomHex(32),
        validBefore: String(Math.floor(Date.now() / 1_000) + 200),
      };
      const payment = { x402Version: 2, accepted, payload: { signature: randomHex(65), authorization } };
      const path = connection % 2 === 0 ? "/nothing" : "/notes";
      const header = `PAYMENT-SIGNATURE: ${encodePaymentSignatureHeader(payment)}`;
      socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\n${header}\r\nContent-Length: 1000000\r\n\r\n`);
      socket.write(part);
      await waitUntilClosed(socket, 10_000);
      socket.destroy();
    };
    await asMany(unpaidBodies.attackers, signal, send, 2_000);
  }),
};

/** Worthless transfers, to an account that the facilitator serves. */
const worthlessTransfers: Attack = {
  name: "worthless transfers",
  what: "20 connections from 4 addresses that request verification and settlement of transfers of 0 and of one smallest unit",
  attackers: 20,
  run: withOffer("/data", async (target, signal, offer) => {
    const send = async (attacker: number) => {
      const amount = attacker % 2 === 0 ? "0" : "1";
      const signer = attacker % 4 < 2 ? privateKeyToAccount(generatePrivateKey()) : rich.account;
      await verifyAndSettle(target, attacker, await signOffer({ ...offer, amount }, signer), signal);
    };
    await asMany(worthlessTransfers.attackers, signal, send, 100);
  }),
};

/** Many concurrent payments from an account that can afford one. */
const overdrawnAccount: Attack = {
  name: "one balance, many payments",
  what: "100 payments at once, from 4 addresses, from an account that can afford one and is refilled every other second",
  attackers: 1,
  run: withOffer("/data", async (target, signal, offer) => {
    const { token, chainUrl } = findMarket(target);
    const funding = createWalletClient({ account: testAccount(8).account, transport: http(chainUrl) });
    const overdraw = async () => {
      const poor = privateKeyToAccount(generatePrivateKey());
      const args = [poor.address, BigInt(offer.amount)] as const;
      await funding.writeContract({ address: token, abi: erc20Abi, functionName: "transfer", args, chain: null });
      const payments = await Promise.all(Array.from({ length: 100 }, () => signOffer(offer, poor)));
      await Promise.all(
        payments.map((header, at) => verifyAndSettle(target, at % 4, header, signal).catch(() => undefined)),
      );
    };
    await asMany(overdrawnAccount.attackers, signal, overdraw, 2_000);
  }),
};

/** Purchases of long responses that nobody reads. */
const leftResponses: Attack = {
  name: "responses that nobody reads",
  what: "6 connections from 3 addresses that buy 2 MB, read the head and disconnect, every other one with a payment that never expires",
  attackers: 6,
  run: withOffer("/long", async (target, signal, offer) => {
    const leave = async (attacker: number) => {
      const validBefore = attacker % 2 === 0 ? {} : { validBefore: 2n ** 256n - 1n };
      const header = await signPaymentHeader(offer, validBefore);
      const socket = await openAttackingSocket(target, attacker % 3, signal);
      socket.write(`GET /long HTTP/1.1\r\nHost: a\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`);
      socket.once("data", () => socket.destroy());
      await waitUntilClosed(socket, 10_000);
      socket.destroy();
    };
    await asMany(leftResponses.attackers, signal, leave, 500);
  }),
};

/** Headers that make an upstream mistake one client for another, and endless payment identifiers. */
const forgedNames: Attack = {
  name: "forged names",
  what: "20 connections from 4 addresses: purchases with headers that forge the client's address, and one payment with ever new payment identifiers",
  attackers: 20,
  run: withOffer("/data", async (target, signal, offer) => {
    const free = decodePaymentSignatureHeader(await signOffer(offer, privateKeyToAccount(generatePrivateKey())));
    const forged = ["X_Forwarded_For", "X_Real_IP", "Proxy", "True-Client-IP", "CF-Connecting-IP", "X-Original-URL"];
    const send = async (attacker: number) => {
      if (attacker > 1) {
        const extensions = { "payment-identifier": { info: { id: randomHex(32) } } };
        return verifyAndSettle(target, attacker, encodePaymentSignatureHeader({ ...free, extensions }), signal);
      }
      const socket = await openAttackingSocket(target, attacker, signal);
      const lines = [
        `PAYMENT-SIGNATURE: ${await signPaymentHeader(offer)}`,
        ...forged.map((name) => `${name}: ${forgedAddress}`),
      ];
      socket.end(`GET /data HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines.join("\r\n")}\r\n\r\n`);
      socket.resume();
      return waitUntilClosed(socket, 10_000);
    };
    await asMany(forgedNames.attackers, signal, send, 200);
  }),
};

/** Forged address, which no upstream may see. */
export const forgedAddress = "6.6.6.6";

/** Every attack on a facilitator and a resource server. */
export const paymentAttacks: readonly Attack[] = [
  unpaidBodies,
  worthlessTransfers,
  overdrawnAccount,
  leftResponses,
  forgedNames,
];
