import { afterAll, beforeAll, beforeEach } from "vitest";
import type { Hex } from "viem";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "../payments/payment-chain.ts";
import { startRpcTap, type RpcTap } from "./rpc-tap.ts";
import {
  createLedgerFolder,
  startFacilitator,
  startFacilitatorInProcess,
  type FacilitatorInProcess,
  type FacilitatorLocation,
} from "./running-facilitator.ts";

export type PooledTransaction = Readonly<{ hash: Hex; to: Hex; gas: Hex; maxFeePerGas: Hex; input: Hex }>;

type SceneOptions = Parameters<typeof startPaymentChain>[0] &
  Readonly<{
    /** Starts a facilitator in this process for all tests, on a ledger of this name. */
    ledger?: string;
    /** Prepares the chain, and returns that facilitator's settings. */
    env?: (chain: PaymentChain) => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
    constants?: FacilitatorLocation["constants"];
  }>;

/**
 * Starts a chain, a tap in front of its node and, if `ledger` is given, a facilitator for the tests of a file, and stops
 * them afterwards. Each test begins with a tap that forwards all calls and has counted none.
 */
export function useFacilitatorScene({ ledger, env, constants, ...chainOptions }: SceneOptions = {}) {
  const resources = new AsyncDisposableStack();
  const made = {} as {
    chain: PaymentChain;
    tap: RpcTap;
    ledgers: Awaited<ReturnType<typeof createLedgerFolder>>;
    facilitator: FacilitatorInProcess;
  };
  const place = (name: string, more: Partial<FacilitatorLocation> = {}): FacilitatorLocation => ({
    rpcUrl: made.tap.url,
    token: made.chain.token,
    ledgerPath: made.ledgers.path(name),
    ...more,
  });
  beforeAll(async () => {
    made.chain = resources.use(await startPaymentChain(chainOptions));
    made.tap = resources.use(await startRpcTap(made.chain.url));
    made.ledgers = resources.use(await createLedgerFolder());
    if (ledger === undefined) return;
    const shared = place(ledger, { env: (await env?.(made.chain)) ?? {}, ...(constants && { constants }) });
    made.facilitator = resources.use(await startFacilitatorInProcess(shared));
  });
  afterAll(() => resources.disposeAsync());
  beforeEach(() => {
    made.tap.rule(() => "forward");
    made.tap.counts.clear();
  });
  const countPooled = async () => Number((await made.chain.anvil.request<{ pending: Hex }>("txpool_status")).pending);
  return {
    get chain() {
      return made.chain;
    },
    get tap() {
      return made.tap;
    },
    get ledgers() {
      return made.ledgers;
    },
    get facilitator() {
      return made.facilitator;
    },
    place,
    start: (name: string, more: Readonly<Record<string, string>> = {}, other: Partial<FacilitatorLocation> = {}) =>
      startFacilitatorInProcess(place(name, { env: more, ...other })),
    /** Starts a facilitator that a test can kill. */
    startProcess: (
      name: string,
      more: Readonly<Record<string, string>> = {},
      other: Partial<FacilitatorLocation> = {},
    ) => startFacilitator(place(name, { env: more, ...other })),
    pooled: async (): Promise<readonly PooledTransaction[]> => {
      const { pending } = await made.chain.anvil.request<{
        pending: Record<string, Record<string, PooledTransaction>>;
      }>("txpool_content");
      const { address } = testAccount(0);
      return Object.values(pending[address] ?? pending[address.toLowerCase()] ?? {});
    },
    countPooled,
    poolHas: (transactions: number) =>
      until("they are in the pool", generousMs, async () => (await countPooled()) === transactions),
    /** Produces blocks until the promise settles. */
    mineUntil: async <T>(work: Promise<T>): Promise<T> => {
      let isDone = false;
      void work.finally(() => (isDone = true)).catch(() => undefined);
      await until("the work is done", generousMs, async () => {
        await made.chain.anvil.mine();
        return isDone;
      });
      return work;
    },
  };
}
