import type { DatabaseSync } from "node:sqlite";
import type { PaymentPayload, SettleResponse } from "@x402/core/types";
import type { Facilitator } from "#facilitator/facilitator.ts";
import type { PaymentClaim } from "#resource-server/claims/payment-claim.ts";
import { readSettleState } from "#x402/payment-result.ts";
import { batchSettlement } from "#x402/batch-settlement.ts";
import { findCalled, findSent, type SignedOffer } from "./signed-offers.ts";
import { getChain, type VirtualChains } from "./virtual-chain.ts";
import { listCalls } from "./virtual-contracts.ts";
import type { VirtualProcess } from "./virtual-process.ts";
import type { World } from "./world.ts";

type Operations = Pick<Facilitator, "verify" | "settle">;

/** Checks invariants during a run, against the chains themselves. */
export type Watcher = Readonly<{
  /** Checks each response of a facilitator when it is sent. */
  watch: (operations: Operations) => Operations;
  noteCharge: (claim: PaymentClaim) => void;
  /** Records that the upstream starts to serve a payment; call the result when it is done. */
  beginWork: (offer: SignedOffer, process: VirtualProcess) => (isDone: boolean) => void;
  /** Payments that no transaction may charge any more, because a response has promised this. */
  failed: ReadonlySet<SignedOffer>;
}>;

/** Transfer of a payment in a block, and its depth: 1 in the latest block. */
export type FoundTransfer = Readonly<{ transaction: string; depth: number; amount: bigint }>;

/** Finds a payment's transfers on its canonical chain. */
export function findTransfers(chains: VirtualChains, { name, signing }: SignedOffer): readonly FoundTransfer[] {
  const { blocks } = getChain(chains, signing.chain);
  return blocks.flatMap(({ included }, index) =>
    included.flatMap(({ transaction: { hash }, calls }) =>
      calls.flatMap(({ call, revert }) => {
        const found = revert === undefined ? findCalled(call) : undefined;
        if (found?.offer.name !== name) return [];
        return [{ transaction: hash, depth: blocks.length - index, amount: found.amount }];
      }),
    ),
  );
}

/** Returns whether a reorg undid a confirmed transaction of a payment, so that no promise about the payment holds any more. */
export const isUndone = (chains: VirtualChains, { name, signing }: SignedOffer): boolean =>
  getChain(chains, signing.chain).undone.has(name);

export function createWatcher({ world, chains }: Readonly<{ world: World; chains: VirtualChains }>): Watcher {
  const { note, report, weather } = world;
  const failed = new Set<SignedOffer>();
  const working = new Map<string, VirtualProcess>();
  const isPending = ({ name, signing }: SignedOffer) => {
    const { pool, head } = getChain(chains, signing.chain);
    const offers = pool.values().flatMap((each) => listCalls(each).flatMap((call) => findCalled(call)?.offer ?? []));
    return offers.some((offer) => offer.name === name && offer.validBefore > head().timestamp);
  };
  const requireUncharged = (offer: SignedOffer, said: string) => {
    if (isUndone(chains, offer)) return;
    if (findTransfers(chains, offer).length > 0) report(`${said}, and ${offer.name} is charged`);
    else if (isPending(offer)) report(`${said}, and a transaction that charges ${offer.name} is pending`);
  };
  const requireCharged = (
    offer: SignedOffer,
    { transaction, amount }: Pick<SettleResponse, "transaction" | "amount">,
  ) => {
    const found = findTransfers(chains, offer).find((each) => each.transaction === transaction);
    const told = amount ?? String(offer.value);
    if (isUndone(chains, offer)) return;
    if (found === undefined) return report(`success, and the chain does not have the transfer of ${offer.name}`);
    if (String(found.amount) !== told) report(`success of ${told}, and ${found.amount} of ${offer.name} are charged`);
    if (found.depth < weather.confirmations)
      report(`success of ${offer.name} at depth ${found.depth} of ${weather.confirmations}`);
  };
  const calls = new Map<SignedOffer, { begun: number; open: number }>();
  /**
   * Records the start of a call of /settle. The returned function records its end, and returns whether no other replica may be settling the
   * payment for another call.
   */
  const beginCall = (offer: SignedOffer) => {
    const known = calls.get(offer) ?? { begun: 0, open: 0 };
    calls.set(offer, known);
    const isFirst = known.open === 0;
    const number = (known.begun += 1);
    known.open += 1;
    return () => {
      known.open -= 1;
      return weather.replicas === 1 || (isFirst && known.begun === number);
    };
  };
  const watchSeller = async ({ payload: { type } }: PaymentPayload, settle: () => Promise<SettleResponse>) => {
    try {
      const response = await settle();
      note(
        `/settle of a ${String(type)}: ${response.success ? `success ${response.amount ?? ""}` : response.errorReason}`,
      );
      return response;
    } catch (error) {
      note(`/settle of a ${String(type)} fails: ${explain(error)}`);
      throw error;
    }
  };
  return {
    failed,
    noteCharge: ({ payload, amount, requirements }) => {
      // Channels are charged in the seller's ledger.
      if (requirements.scheme === batchSettlement.name) return;
      const offer = requireOffer(payload);
      if (isUndone(chains, offer)) return;
      const charges = findTransfers(chains, offer).map((each) => String(each.amount));
      if (charges.join() !== (amount === "0" ? "" : amount))
        report(`the seller counts ${amount} of ${offer.name} as charged, and it is ${charges.join(" and ")}`);
    },
    beginWork: (offer, process) => {
      const { name } = offer;
      const other = working.get(name);
      if (other?.isAlive() === true) report(`the work for ${name} is done twice at once`);
      const isCharged = offer.channel === undefined && findTransfers(chains, offer).length > 0;
      if (isCharged) report(`the work for ${name} is done again after it was charged`);
      working.set(name, process);
      return () => working.delete(name);
    },
    watch: ({ verify, settle }) => ({
      verify,
      settle: async (request, caller) => {
        const sent = ("read" in request ? request.read.sent : request.paymentPayload) as PaymentPayload;
        const offer = findSent(sent);
        if (offer === undefined && sent.accepted.scheme === batchSettlement.name)
          return watchSeller(sent, () => settle(request, caller));
        if (offer === undefined) throw new TypeError("a payment that no buyer signed");
        const { name } = offer;
        const endCall = beginCall(offer);
        try {
          const response = await settle(request, caller);
          endCall();
          const state = readSettleState(response);
          note(`/settle of ${name}: ${response.success ? `success ${response.amount ?? ""}` : response.errorReason}`);
          if (state === "settled" && response.amount === "0") requireUncharged(offer, "/settle of nothing");
          else if (state === "settled") requireCharged(offer, response);
          if (state === "rejected" && response.errorReason !== "duplicate_settlement") {
            requireUncharged(offer, `/settle rejected with ${response.errorReason}`);
            if (response.transaction !== "") failed.add(offer);
          }
          return response;
        } catch (error) {
          const [code, isAlone] = [explain(error), endCall()];
          note(`/settle of ${name} fails: ${code}`);
          if (code === "chain_unavailable" && isAlone)
            requireUncharged(offer, `/settle failed with "${String(error)}"`);
          else if (!failures.has(code)) report(`/settle threw ${String(error)}`);
          throw error;
        }
      },
    }),
  };
}

/** Requires that the upstream serves no request for which the channel has already been charged. */
export function requireUncounted({ name, channel }: SignedOffer, database: DatabaseSync, { report }: World): void {
  if (channel === undefined) return;
  const found = database.prepare("SELECT charged FROM channels WHERE id = ?").get(channel.id);
  if (BigInt(String(found?.["charged"] ?? 0)) > channel.before)
    report(`the work for ${name} is done again after it was charged`);
}

/** Codes of the errors that /settle may throw. */
const failures = new Set(["chain_unavailable", "store_unavailable", "overloaded"]);

/** Names an error by its code, if it has one. */
const explain = (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error));

function requireOffer(sent: unknown): SignedOffer {
  const offer = findSent(sent as PaymentPayload);
  if (offer === undefined) throw new TypeError("a payment that no buyer signed");
  return offer;
}
