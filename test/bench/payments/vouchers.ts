import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { encodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { Registry } from "prom-client";
import secp256k1 from "secp256k1";
import { privateKeyToAddress } from "viem/accounts";
import { createLog } from "#daemon/log/log.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { createChannelLedger } from "#resource-server/claims/channel-ledger.ts";
import { sqliteClaimMigrations } from "#resource-server/claims/claim-schema.ts";
import { createChannelAuthorizer } from "#resource-server/channels/channel-authorizer.ts";
import { createChannelMetrics } from "#resource-server/channels/channel-metrics.ts";
import { facilitateChannels } from "#resource-server/channels/channel-facilitation.ts";
import type { Facilitation } from "#resource-server/facilitators/facilitation.ts";
import { readPayment } from "#resource-server/sale/payment-header.ts";
import { computeChannelId, computeVoucherDigest } from "#x402/batch-settlement/channel.ts";
import type { ChannelConfig } from "#x402/batch-settlement/payload.ts";
import type { Hex } from "#x402/hex.ts";
import { print } from "../gateway/table.ts";
import { quantile } from "../measurement.ts";
import type { PaymentLines } from "./setup.ts";

const channelsCount = 1_000;
const vouchersEach = 10;
const atOnce = 64;
const price = 1_000n;
const chainId = 1_672;
const key = Buffer.alloc(32, 0x59);
const payer = privateKeyToAddress(`0x${key.toString("hex")}`);
const authorizer = createChannelAuthorizer(new Secret(`0x${"11".repeat(32)}`));
const log = createLog({ service: "bench", level: "silent" });
const offer: PaymentRequirements = {
  scheme: "batch-settlement",
  network: `eip155:${chainId}`,
  asset: `0x${"22".repeat(20)}`,
  payTo: `0x${"33".repeat(20)}`,
  amount: String(price),
  maxTimeoutSeconds: 60,
  extra: { receiverAuthorizer: authorizer.address, withdrawDelay: 86_400, name: "USDC", version: "2" },
};

type OpenChannel = Readonly<{ id: Hex; config: ChannelConfig }>;

function createChannel(index: number): OpenChannel {
  const config: ChannelConfig = {
    payer,
    payerAuthorizer: payer,
    receiver: offer.payTo as Hex,
    receiverAuthorizer: authorizer.address,
    token: offer.asset as Hex,
    withdrawDelay: 86_400,
    salt: `0x${index.toString(16).padStart(64, "0")}`,
  };
  return { id: computeChannelId(config, chainId), config };
}

function signVoucher({ id, config }: OpenChannel, max: bigint): string {
  const { signature, recid } = secp256k1.ecdsaSign(computeVoucherDigest(id, max, chainId), key);
  const hex = `0x${Buffer.from(signature).toString("hex")}${(27 + recid).toString(16)}`;
  const voucher = { channelId: id, maxClaimableAmount: String(max), signature: hex };
  const payload = { type: "voucher", channelConfig: config, voucher };
  return encodePaymentSignatureHeader({ x402Version: 2, accepted: offer, payload });
}

/** A facilitator that must not be called: vouchers need no facilitator, and therefore no RPC call. */
const reject = () => Promise.reject(new Error("a voucher called the facilitator"));
const nobody: Facilitation = {
  verify: reject,
  settle: reject,
  readiness: () => ({ ok: true, message: "" }),
  supported: () => ({ kinds: [], extensions: [] }),
  isSettlingPaused: () => false,
  [Symbol.asyncDispose]: async () => undefined,
};

/**
 * Reads, verifies and charges vouchers of all channels, and writes each charge to disk; returns their number per CPU second and per second.
 */
async function measureVouchers(path: string): Promise<Readonly<{ perCpuSecond: number; perSecond: number }>> {
  await using store = openSqliteStore({ path, migrations: sqliteClaimMigrations, rival: "", setting: "" });
  const ledger = createChannelLedger({ store, clock: Date.now, log });
  const channels = Array.from({ length: channelsCount }, (_, index) => createChannel(index));
  const state = { balance: 1_000_000n, totalClaimed: 0n, withdrawRequestedAt: 0, refundNonce: 0n };
  await Promise.all(channels.map((channel) => ledger.observe({ ...channel, network: offer.network }, state)));
  const headers = Array.from({ length: vouchersEach }, (_, sale) =>
    channels.map((channel) => signVoucher(channel, price * BigInt(sale + 1))),
  ).flat();
  const metrics = createChannelMetrics(new Registry());
  const parts = { ledger, authorizer, metrics, clock: Date.now, withdrawDelaySeconds: 86_400 };
  const desk = facilitateChannels(nobody, parts);
  const waiting = headers[Symbol.iterator]();
  const buyer = async () => {
    for (const header of waiting) {
      const reading = readPayment(header);
      if (!reading.ok) throw new Error(reading.message);
      const { read } = reading.payment;
      const { isValid, invalidReason } = await desk.verify(read, offer);
      if (!isValid) throw new Error(invalidReason);
      const { success, errorReason } = await desk.settle(read, offer, randomUUID());
      if (!success) throw new Error(errorReason);
    }
  };
  const [cpu, began] = [process.cpuUsage(), performance.now()];
  await Promise.all(Array.from({ length: atOnce }, buyer));
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perCpuSecond: (headers.length / (user + system)) * 1_000_000, perSecond: headers.length / seconds };
}

/** Measures vouchers over 1,000 channels, in this process alone. */
export const voucherLines: PaymentLines = {
  name: "vouchers",
  measure: async ({ place, rounds }) => {
    const results: Awaited<ReturnType<typeof measureVouchers>>[] = [];
    for (let round = 0; round < rounds; round += 1)
      results.push(await measureVouchers(join(place.folder, `vouchers-${round}.sqlite`)));
    const median = (figure: (result: (typeof results)[number]) => number) =>
      Math.round(quantile(results.map(figure), 0.5));
    const perCpuSecond = median((result) => result.perCpuSecond);
    const perSecond = median((result) => result.perSecond);
    print(`${channelsCount} channels, ${vouchersEach} vouchers each, ${atOnce} at once`, [
      { "a second of CPU": perCpuSecond, "a second": perSecond },
    ]);
    return [
      {
        what: "vouchers over 1,000 channels, verified and on disk, a second of CPU",
        figure: perCpuSecond,
        target: { least: 3_000 },
      },
    ];
  },
};
