import type { Anvil } from "../anvil/anvil.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** Dependencies of a method. */
export type Node = Readonly<{
  anvil: Pick<Anvil, "request">;
  /** The node's version, e.g. `0.16.2`. */
  version: string;
  /** Answer of `web3_clientVersion`; the devnet's own by default. */
  clientVersion?: string | undefined;
  /** Commit that its programs were built from, which it reports instead of the version, with quantities for all numbers. */
  commit?: string | undefined;
  /** Form of numbers for which the specification shows none; hexadecimal by default. */
  numbers?: "hexadecimal" | "decimal" | undefined;
}>;

/** Facts of the caller for a method. */
export type CallContext = Readonly<{
  /** Those of the caller's connection; absent over HTTP. */
  subscriptions?: Subscriptions | undefined;
}>;

/** Answers one call. Throws {@link RpcError} or lets the chain's own error pass. */
export type Method = (params: readonly unknown[], context: CallContext) => Promise<unknown>;

/** Every method that the node has, by name. */
export type MethodTable = ReadonlyMap<string, Method>;

/** A part of the table. */
export type MethodGroup = Readonly<Record<string, Method>>;
