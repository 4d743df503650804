import { computeChannelId } from "../batch-settlement/channel.ts";
import type { ChannelPayload } from "../batch-settlement/payload.ts";
import type { Hex } from "../hex.ts";
import type { Order } from "../scheme.ts";

const account = (byte: string): Hex => `0x${byte.repeat(20)}`;

export const config = {
  payer: account("01"),
  payerAuthorizer: account("02"),
  receiver: account("03"),
  receiverAuthorizer: account("04"),
  token: account("05"),
  withdrawDelay: 900,
  salt: `0x${"00".repeat(32)}`,
} as const;

export const id = computeChannelId(config, 1_672);

const requirements = {
  scheme: "batch-settlement",
  network: "eip155:1672" as const,
  amount: "10",
  asset: config.token,
  payTo: config.receiver,
  maxTimeoutSeconds: 60,
};

/** Builds an order of the channel for 10 units. */
export function buildOrder<Payment extends ChannelPayload>(
  payment: Payment,
  extra: Readonly<Record<string, string>> = {},
): Order<Payment> {
  const required = { ...requirements, extra };
  return { payment, requirements: required, accepted: required, extensions: {} };
}
