import type { Facilitator } from "#facilitator/facilitator.ts";
import type { PaymentClaim } from "#resource-server/claims/payment-claim.ts";
import { readSettleState } from "#x402/answer.ts";
import type { SignedOffer } from "./payments.ts";
import { namePayment, readTransferCall, type Block, type VirtualChain } from "./virtual-chain.ts";
import type { VirtualProcess } from "./virtual-process.ts";
import type { World } from "./world.ts";

type Operations = Pick<Facilitator, "verify" | "settle">;

/** Checks invariants while a run goes on, against the chain itself. */
export type Watcher = Readonly<{
  /** Checks each answer of a facilitator at the moment at which it leaves. */
  watch: (operations: Operations) => Operations;
  noteCharge: (claim: PaymentClaim) => void;
  /** Notes that the upstream begins a payment's work; call the result at its end. */
  beginWork: (offer: SignedOffer, process: VirtualProcess) => (isDone: boolean) => void;
  /** Payments that no transaction may charge any more, because an answer said so. */
  failed: ReadonlySet<string>;
}>;

/** Transfer of a payment that a block includes, and its depth: 1 in the newest block. */
export type FoundTransfer = Readonly<{ transaction: string; depth: number; isForeign: boolean }>;

/** Finds the transfers by a payment on the canonical chain. */
export function findTransfers({ blocks }: Pick<VirtualChain, "blocks">, name: string): readonly FoundTransfer[] {
  return blocks.flatMap(({ included }, index) =>
    included.flatMap(({ transaction: { hash, data, isForeign }, revert }) =>
      revert === undefined && nameTransfer(data) === name
        ? [{ transaction: hash, depth: blocks.length - index, isForeign }]
        : [],
    ),
  );
}

/** Names the payment whose transfer the call data is. */
export const nameTransfer = (data: Block["included"][number]["transaction"]["data"]): string | undefined =>
  data.startsWith("0xe3ee160e") ? namePayment(readTransferCall(data)) : undefined;

/** Shortens a payment's name for the list of steps. */
export const shorten = (name: string) => `${name.slice(0, 4)}…${name.slice(103)}`;

type Wire = Readonly<{
  payload: Readonly<{ authorization: Readonly<{ from: string; nonce: `0x${string}`; validBefore: string }> }>;
}>;

export function createWatcher({ world, chain }: Readonly<{ world: World; chain: VirtualChain }>): Watcher {
  const { note, report, weather } = world;
  const failed = new Set<string>();
  const working = new Map<string, VirtualProcess>();
  const isPending = (name: string) =>
    chain.pool
      .values()
      .some(
        ({ data }) =>
          nameTransfer(data) === name && readTransferCall(data).validBefore > BigInt(chain.head().timestamp),
      );
  const requireUncharged = (name: string, said: string) => {
    if (findTransfers(chain, name).length > 0) report(`${said}, and ${name} is charged`);
    else if (isPending(name)) report(`${said}, and a transaction that charges ${name} is pending`);
  };
  return {
    failed,
    noteCharge: ({ key: { payer, nonce }, validBefore }) => {
      const name = namePayment({ from: payer.slice(2), nonce: nonce as `0x${string}`, validBefore });
      if (findTransfers(chain, name).length === 0) report(`the seller counts ${name} as charged, and it is not`);
    },
    beginWork: (offer, process) => {
      const name = namePayment(offer);
      const other = working.get(name);
      if (other?.isAlive() === true) report(`the work for ${name} is done twice at once`);
      if (findTransfers(chain, name).length > 0) report(`the work for ${name} is done again after it was charged`);
      working.set(name, process);
      return () => working.delete(name);
    },
    watch: ({ verify, settle }) => ({
      verify,
      settle: async (request, caller) => {
        const name = nameSent(request);
        try {
          const answer = await settle(request, caller);
          const state = readSettleState(answer);
          note(`/settle of ${shorten(name)}: ${answer.success ? "success" : answer.errorReason}`);
          if (state === "settled") {
            const found = findTransfers(chain, name).find(({ transaction }) => transaction === answer.transaction);
            if (found === undefined) report(`success, and the chain does not have the transfer of ${name}`);
            else if (found.depth < weather.confirmations)
              report(`success of ${name} at depth ${found.depth} of ${weather.confirmations}`);
          }
          if (state === "refused" && answer.errorReason !== "duplicate_settlement") {
            requireUncharged(name, `/settle refused with ${answer.errorReason}`);
            if (answer.transaction !== "") failed.add(name);
          }
          return answer;
        } catch (error) {
          const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
          note(`/settle of ${shorten(name)} fails: ${code}`);
          if (code === "chain_unavailable") requireUncharged(name, `/settle failed with "${String(error)}"`);
          else if (code !== "store_unavailable" && code !== "overloaded") report(`/settle threw ${String(error)}`);
          throw error;
        }
      },
    }),
  };
}

/** Names the payment of a request. */
function nameSent(request: Parameters<Operations["settle"]>[0]): string {
  const sent = ("read" in request ? request.read.sent : request.paymentPayload) as unknown as Wire;
  const { from, ...rest } = sent.payload.authorization;
  return namePayment({ from: from.slice(2).toLowerCase(), ...rest });
}
