import { z } from "zod";
import type { Clock } from "#daemon/clock.ts";
import type { JsonRpcAnswer } from "#daemon/json-rpc.ts";
import type { Hex } from "#x402/hex.ts";
import { keepNewest } from "../payment/recent-verdicts.ts";
import type { Chain } from "./chain.ts";
import { ChainError } from "./chain-error.ts";

/** Most gas of one settlement, what its transaction gets beyond the estimate, in per cent, and how many estimates are remembered. */
export type GasLimitOptions = Readonly<{ gasLimit: number; gasMarginPercent: number; entriesMax: number }>;

/** Token transfer that a payment authorizes. */
type AuthorizedTransfer = Readonly<{ id: Hex; asset: Hex; payTo: Hex; callData: Hex }>;

/** Gas limits of payments' transactions, by what the node estimates. */
export type GasLimits = Readonly<{
  /**
   * Simulates a payment, and remembers the gas that it needs. An estimate takes a node several runs, so within a minute of one the payee's other
   * payments are called with its gas and half the margin; only what needs more than that is estimated. An error says that the payment would fail.
   */
  simulate: (transfer: AuthorizedTransfer, chain: Chain) => Promise<JsonRpcAnswer>;
  /** Estimates the gas of a payment, and remembers it. */
  estimate: (transfer: AuthorizedTransfer, chain: Chain) => Promise<JsonRpcAnswer>;
  /** Returns the limit for a payment's transaction: the estimate and the margin, never above `most`; undefined without an estimate. */
  find: (id: Hex) => bigint | undefined;
  /** Most gas that one settlement may use. */
  most: bigint;
}>;

/** Age of an estimate up to which a payee's other payments are tried with it. */
const estimateAgeMaxMs = 60_000;

const estimateSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,16}$/)
  .transform(BigInt);

/** Creates the limits for transactions of one signer. Estimates of the oldest payments are forgotten first. */
export function createGasLimits(
  { gasLimit, gasMarginPercent, entriesMax }: GasLimitOptions,
  { signer, monotonicMs }: Readonly<{ signer: Hex }> & Pick<Clock, "monotonicMs">,
): GasLimits {
  const most = BigInt(gasLimit);
  const byPayment = new Map<Hex, bigint>();
  const byPayee = new Map<string, Readonly<{ gas: bigint; atMs: number }>>();
  const addPercent = (gas: bigint, percent: number) => {
    const more = (gas * BigInt(100 + percent) + 99n) / 100n;
    return more < most ? more : most;
  };
  const estimate: GasLimits["estimate"] = async (transfer, chain) => {
    const { id, asset, callData } = transfer;
    const answer = await chain.estimateGas({ from: signer, to: asset, data: callData, gas: gasLimit });
    if (!answer.ok) return answer;
    const gas = estimateSchema.safeParse(answer.result);
    if (!gas.success)
      throw new ChainError("bad_answer", "the node's answer to eth_estimateGas is not an amount of gas");
    keepNewest(byPayment, id, gas.data, entriesMax);
    keepNewest(byPayee, namePayee(transfer), { gas: gas.data, atMs: monotonicMs() }, entriesMax);
    return answer;
  };
  return {
    most,
    estimate,
    simulate: async (transfer, chain) => {
      const known = byPayee.get(namePayee(transfer));
      if (known === undefined || monotonicMs() - known.atMs >= estimateAgeMaxMs) return estimate(transfer, chain);
      const { id, asset, callData } = transfer;
      const gas = Number(addPercent(known.gas, Math.floor(gasMarginPercent / 2)));
      const answer = await chain.simulate({ from: signer, to: asset, data: callData, gas });
      if (!answer.ok) return estimate(transfer, chain);
      keepNewest(byPayment, id, known.gas, entriesMax);
      return answer;
    },
    find: (id) => {
      const gas = byPayment.get(id);
      return gas === undefined ? undefined : addPercent(gas, gasMarginPercent);
    },
  };
}

function namePayee({ asset, payTo }: AuthorizedTransfer): string {
  return `${asset} ${payTo}`.toLowerCase();
}
