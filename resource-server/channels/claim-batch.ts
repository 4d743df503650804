import type { SettleResponse } from "@x402/core/types";
import { hash } from "node:crypto";
import type { Logger } from "#daemon/log/log.ts";
import { readSettleState } from "#x402/payment-result.ts";
import type { Claim } from "#x402/batch-settlement/payload.ts";
import { readChainId } from "#x402/batch-settlement/voucher.ts";
import { zeroAddress } from "#x402/hex.ts";
import { reason } from "#x402/reason.ts";
import { FacilitationError, type Facilitation } from "../facilitators/facilitation.ts";
import type { ChannelMetrics } from "./channel-metrics.ts";
import type { Channel } from "../claims/channel-ledger.ts";
import { buildSellerRequest, formatClaims, type ChannelParts } from "./channel-terms.ts";

export type ClaimParts = Pick<ChannelParts, "ledger" | "authorizer"> &
  Readonly<{ facilitation: Pick<Facilitation, "settle">; metrics: ChannelMetrics; log: Logger }>;

/**
 * Max channels in one claim: one account must be able to pay the claim's gas, and larger claims save little (the base cost is 3 % of a
 * claim of 20).
 */
const claimsMax = 20;

const parallelMax = 4;

/** Max channels claimed separately per iteration, because their owners can slow each claim down. */
const separateClaimsMax = 50;

/** Rejections by the chain that one of the channels causes; other reasons concern the whole claim, e.g. that its amount is too small. */
const chainReasons: ReadonlySet<string> = new Set([reason.claimSimulation, reason.claimTransaction]);

/**
 * Claims the charges of channels in batches by `getBatchKey`, and those that could make a batch fail one by one afterwards. Returns the
 * claimed channels.
 */
export async function claimAll(
  channels: readonly Channel[],
  atMs: number,
  parts: ClaimParts,
): Promise<readonly Channel[]> {
  const sharedBatches = Map.groupBy(
    channels.filter((channel) => !isClaimedSeparately(channel)),
    getBatchKey,
  );
  const separate = channels.filter(isClaimedSeparately).slice(0, separateClaimsMax);
  const claimedChannels: Channel[] = [];
  for (const batches of [[...sharedBatches.values()].flatMap(splitBatches), separate.map((channel) => [channel])]) {
    const pendingBatches = batches.values();
    const worker = async () => {
      for (const batch of pendingBatches) claimedChannels.push(...(await claimBatch(batch, atMs, parts)));
    };
    await Promise.all(Array.from({ length: parallelMax }, worker));
  }
  return claimedChannels;
}

function getBatchKey({ network, config: { receiver, token, receiverAuthorizer } }: Channel): string {
  return [network, receiver, token, receiverAuthorizer].join(" ").toLowerCase();
}

/**
 * Returns whether a channel is claimed separately: it was rejected before, or its contract wallet could reject a whole claim or burn its
 * gas.
 */
function isClaimedSeparately({ config, isRejected }: Channel): boolean {
  return isRejected || config.payerAuthorizer === zeroAddress;
}

function splitBatches(channels: readonly Channel[]): readonly (readonly Channel[])[] {
  const count = Math.ceil(channels.length / claimsMax);
  return Array.from({ length: count }, (_, index) => channels.slice(index * claimsMax, (index + 1) * claimsMax));
}

/**
 * Claims channels together. If the chain rejects the claim, claims each half separately, so that one channel can't block the others.
 * Returns the claimed channels.
 */
async function claimBatch(channels: readonly Channel[], atMs: number, parts: ClaimParts): Promise<readonly Channel[]> {
  const { ledger, authorizer, log } = parts;
  const claims = channels.flatMap(buildClaim);
  const [firstChannel] = channels;
  if (firstChannel === undefined || claims.length === 0) return [];
  const signature = await authorizer.signClaims(claims, readChainId(firstChannel));
  const payload = { type: "claim", claims: formatClaims(claims), claimAuthorizerSignature: signature };
  const response = await sendSellerRequest(payload, firstChannel, parts);
  parts.metrics.countClaim(response);
  if (response === undefined) return [];
  if (response.success) {
    await Promise.all(channels.map(({ id, charged }) => ledger.claimed(id, charged, atMs)));
    const facts = { channels: claims.length, transaction: response.transaction };
    log.info({ event: "channels-claimed", ...facts }, "claimed the charges of channels");
    return channels;
  }
  const { errorReason, errorMessage } = response;
  const isOfChain = errorReason !== undefined && chainReasons.has(errorReason);
  if (isOfChain && channels.length > 1) {
    const halfLength = Math.ceil(channels.length / 2);
    const claimedHalf = await claimBatch(channels.slice(0, halfLength), atMs, parts);
    return [...claimedHalf, ...(await claimBatch(channels.slice(halfLength), atMs, parts))];
  }
  await Promise.all(channels.map(({ id }) => ledger.postpone(id, { isRejected: isOfChain })));
  const facts = { channel: firstChannel.id, channels: channels.length, reason: errorReason, cause: errorMessage };
  log.error(
    { event: "channel-not-claimed", ...facts },
    "the claim was rejected; its channels will be claimed again later",
  );
  return [];
}

function buildClaim({ config, voucher, charged }: Channel): readonly Claim[] {
  if (voucher === undefined) return [];
  const { max, signature } = voucher;
  return [{ voucher: { channel: config, maxClaimableAmount: max }, signature, totalClaimed: charged }];
}

/** Sends a seller's request about a channel, or about channels with the same terms; returns undefined if its outcome is unknown. */
export async function sendSellerRequest(
  payload: Record<string, unknown>,
  channel: Channel,
  { facilitation, log }: Pick<ClaimParts, "facilitation" | "log">,
): Promise<SettleResponse | undefined> {
  const { payment, terms } = buildSellerRequest(payload, channel);
  try {
    const response = await facilitation.settle(payment, terms, hash("sha256", JSON.stringify(payload)));
    return readSettleState(response) === "pending" ? undefined : response;
  } catch (error) {
    if (!(error instanceof FacilitationError)) throw error;
    log.warn(
      { event: "channels-not-claimed", cause: error.message },
      "the outcome of a claim is unknown; it will be retried",
    );
    return undefined;
  }
}
