import type { Registry } from "prom-client";
import type { Logger } from "#daemon/log/log.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { batchSettlement } from "#x402/batch-settlement.ts";
import type { Facilitation } from "../facilitators/facilitation.ts";
import { nameSetting, type ResourceServerSettings } from "../settings.ts";
import type { SoldRoutes } from "../routes/sold-routes.ts";
import { createChannelAuthorizer, type ChannelAuthorizer } from "./channel-authorizer.ts";
import { facilitateChannels } from "./channel-facilitation.ts";
import { createChannelMetrics } from "./channel-metrics.ts";
import { listOwed, type Channel, type ChannelLedger } from "../claims/channel-ledger.ts";
import { claimChannels } from "./claim-loop.ts";

/** How long one of the facilitator's nodes may lag behind the others. */
const nodeLagMs = 60_000;

const keySetting = nameSetting("channels", "privateKey");

/**
 * Opens a seller's channels if a route is sold through them, or if channels of earlier routes have unclaimed charges. Returns the
 * facilitation for its sales. Disposal stops claiming; it does not dispose of the given facilitation.
 *
 * @throws {StartupError} when no key that authorizes claims is set, or unclaimed charges need a different one.
 */
export async function openChannels(
  { channels, settlement, payment, ledger: { retentionSeconds } }: ResourceServerSettings,
  { kinds }: Pick<SoldRoutes, "kinds">,
  facilitation: Facilitation,
  { registry, ...parts }: Readonly<{ ledger: ChannelLedger; clock: () => number; log: Logger; registry: Registry }>,
): Promise<Facilitation> {
  const { ledger } = parts;
  const metrics = createChannelMetrics(registry);
  const isSold = kinds.some(({ scheme }) => scheme === batchSettlement.name);
  const [owedChannel] = await ledger.owed(1);
  if (!isSold && owedChannel === undefined) return { ...facilitation, [Symbol.asyncDispose]: async () => undefined };
  const [privateKey, ...oldKeys] = channels.privateKey ?? settlement.privateKey ?? [];
  if (privateKey === undefined) throw owedChannel === undefined ? explainNoKey() : explainMissingKey(owedChannel);
  const { withdrawDelaySeconds, claimWithinSeconds } = channels;
  const claimWithinMs = Math.min(claimWithinSeconds, withdrawDelaySeconds / 3) * 1_000;
  const authorizer = createChannelAuthorizer(privateKey, oldKeys);
  await requireKeys(ledger, authorizer);
  const claimParts = { ...parts, facilitation, metrics, authorizer, withdrawDelaySeconds };
  const claims = claimChannels(
    {
      intervalMs: Math.max(payment.resumeIntervalMs, claimWithinMs / 100),
      claimWithinMs,
      nodeLagMs,
      retentionMs: retentionSeconds * 1_000,
    },
    claimParts,
  );
  return {
    ...(isSold ? facilitateChannels(facilitation, claimParts) : facilitation),
    [Symbol.asyncDispose]: () => claims[Symbol.asyncDispose](),
  };
}

/** Requires the keys of all channels with unclaimed charges. @throws {StartupError} with the authorizer whose key is missing. */
export async function requireKeys(
  ledger: Pick<ChannelLedger, "owed">,
  authorizer: Pick<ChannelAuthorizer, "hasKey">,
): Promise<void> {
  for await (const page of listOwed(ledger)) {
    const channelWithoutKey = page.find(
      ({ config, charged, state }) => charged > state.totalClaimed && !authorizer.hasKey(config),
    );
    if (channelWithoutKey !== undefined) throw explainMissingKey(channelWithoutKey);
  }
}

function explainNoKey(): StartupError {
  return new StartupError(
    `a route is sold with "${batchSettlement.name}", which needs ${keySetting}: a private key that authorizes claims. Set it to a new key.`,
  );
}

function explainMissingKey({ config: { receiverAuthorizer } }: Channel): StartupError {
  const address = receiverAuthorizer.toLowerCase();
  return new StartupError(
    `the ledger has channels with charges that only the key of ${address} can claim, and ${keySetting} does not have it. Add that key ` +
      `after the new one, separated by a comma; remove it once gatehouse_channels_unclaimed_units is 0. If the key is lost, so are these ` +
      `charges; run this in the ledger: DELETE FROM channels WHERE lower(config) LIKE '%"receiverauthorizer":"${address}"%'`,
  );
}
