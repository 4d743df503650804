import { existsSync } from "node:fs";
import { findChainTraits } from "#daemon/chain-traits.ts";
import { createLog } from "#daemon/log/log.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { secret } from "#daemon/secrets/secret.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { section } from "#daemon/settings/settings.ts";
import { privateKey } from "#daemon/settings/types.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import type { z } from "zod";
import { createBatchingClient, requestsInFlightMax } from "../chain/batching-client.ts";
import { createHttpTransport } from "../chain/http-transport.ts";
import { createChain, type Chain } from "../chain/chain.ts";
import { facilitatorSettings } from "../settings.ts";
import { defaultLedgerPath, openLedgerStore } from "../settlement/ledger/open-ledger.ts";

const { schema } = facilitatorSettings;

/** Facilitator's settings for commands on its ledger, which need neither its key nor its tokens. */
export const booksSettings = {
  ...facilitatorSettings,
  schema: schema.extend({
    signer: section({ privateKey: secret(privateKey).optional() }),
    assets: schema.shape.assets.optional(),
  }),
};

export type BooksSettings = Readonly<z.output<typeof booksSettings.schema>>;

/** A facilitator's ledger and chain, for a command next to it. */
export type Books = AsyncDisposable & Readonly<{ store: SqlStore; chain: Chain; chargesGasLimit: boolean }>;

/**
 * Opens the ledger and the chain of a facilitator.
 *
 * @throws {StartupError} when the ledger does not exist or is in use, or the node is on another chain.
 */
export async function openBooks({ ledger, chain: settings }: BooksSettings): Promise<Books> {
  const { path = defaultLedgerPath, url } = ledger;
  if (url === undefined && !existsSync(path)) {
    throw new StartupError(
      `${path}: no such ledger; set ${nameSetting("ledger", "path")} or ${nameSetting("ledger", "url")} as the facilitator has it.`,
    );
  }
  await using resources = new AsyncDisposableStack();
  const log = createLog({ service: "facilitator", level: "silent" });
  // Shared, as the ledger is with the next process in a hot restart.
  const { store } = await openLedgerStore({ ...ledger, isHandedOver: true }, { log });
  resources.use(store);
  const traits = findChainTraits(settings.id);
  const { id, rpcUrl, rpcTimeoutMs: timeoutMs, batchCallsMax = traits.batchCallsMax } = settings;
  const client = createBatchingClient(
    { timeoutMs, batchCallsMax },
    {
      transport: createHttpTransport({ url: rpcUrl, timeoutMs, connectionsMax: requestsInFlightMax }),
      observe: () => undefined,
    },
  );
  const chain = createChain({ rpc: resources.use(client) });
  const found = await chain.id();
  if (found !== id) {
    throw new StartupError(
      `${nameSetting("chain", "rpcUrl")} is on chain ${found}, ${nameSetting("chain", "id")} is ${id}; correct one of the two.`,
    );
  }
  const owned = resources.move();
  const { chargesGasLimit = traits.chargesGasLimit } = settings;
  return { store, chain, chargesGasLimit, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function nameSetting(...path: readonly string[]): string {
  return toEnvironmentName(facilitatorSettings.service, path);
}
