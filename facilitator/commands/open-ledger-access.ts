import { existsSync } from "node:fs";
import { findChainTraits } from "#daemon/chain-traits.ts";
import { systemClock } from "#daemon/clock.ts";
import { createLog } from "#daemon/log/log.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { nameSetting } from "../setting-name.ts";
import { section } from "#daemon/settings/section.ts";
import { privateKeys } from "#daemon/settings/types.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import type { z } from "zod";
import { connectToNode } from "../chain/batching-client.ts";
import { createChain, type Chain } from "../chain/chain.ts";
import { listNetworks, type NetworkOptions } from "../network-options.ts";
import { facilitatorSettings } from "../settings.ts";
import { defaultLedgerPath, openLedgerStore } from "../settlement/ledger/open-ledger.ts";

const { schema } = facilitatorSettings;

/** Facilitator's settings for commands on its ledger, which need neither its key nor its tokens. */
export const ledgerAccessSettings = {
  ...facilitatorSettings,
  schema: schema.extend({
    signer: section({ privateKey: privateKeys.optional() }),
    assets: schema.shape.assets.optional(),
  }),
};

export type LedgerAccessSettings = Readonly<z.output<typeof ledgerAccessSettings.schema>>;

export type LedgerChain = Readonly<{ chain: Chain; chargesGasLimit: boolean }>;

export type LedgerAccess = AsyncDisposable &
  Readonly<{
    store: SqlStore;
    networks: readonly NetworkOptions[];
    /** Names of the settings' sellers. */
    sellers: readonly string[];
    /** @throws {StartupError} when the node is on another chain. */
    connect: (network: NetworkOptions) => Promise<LedgerChain>;
  }>;

/**
 * Opens the ledger of a facilitator.
 *
 * @throws {StartupError} when the ledger does not exist or is in use.
 */
export async function openLedgerAccess({
  ledger,
  assets = [],
  ...settings
}: LedgerAccessSettings): Promise<LedgerAccess> {
  const { path = defaultLedgerPath, url } = ledger;
  if (url === undefined && !existsSync(path)) {
    throw new StartupError(
      `${path}: ledger not found; set ${nameSetting("ledger", "path")} or ${nameSetting("ledger", "url")} to the facilitator's value.`,
    );
  }
  const networks = listNetworks({ ...settings, assets });
  await using resources = new AsyncDisposableStack();
  const log = createLog({ service: "facilitator", level: "silent" });
  // Shared, as during a hot restart.
  const remedy = "stop the facilitator, or run it with --hot-restart";
  const { store } = await openLedgerStore({ ...ledger, isHandedOver: true, remedy }, { log });
  resources.use(store);
  const ownedResources = resources.move();
  const { monotonicMs } = systemClock;
  return {
    store,
    networks,
    sellers: settings.sellers.map(({ name }) => name),
    connect: async ({ chain: options }) => {
      const rpc = ownedResources.use(connectToNode(options, { observe: () => undefined, monotonicMs, log }));
      const chain = createChain({ rpc });
      const chainId = await chain.id();
      if (chainId === options.id)
        return { chain, chargesGasLimit: options.chargesGasLimit ?? findChainTraits(options.id).chargesGasLimit };
      const where = new URL(options.rpcUrl).origin;
      throw new StartupError(
        `the node at ${where} is on chain ${chainId}, but the settings have ${options.id}; correct its chain.rpcUrl or chain.id.`,
      );
    },
    [Symbol.asyncDispose]: () => ownedResources.disposeAsync(),
  };
}
