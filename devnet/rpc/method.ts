import type { Anvil } from "../anvil/anvil.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** Dependencies of a method. */
export type Node = Readonly<{
  anvil: Pick<Anvil, "request">;
  /** The node's version, e.g. `0.16.2`. */
  version: string;
  /** Result of `web3_clientVersion`; the devnet's own by default. */
  clientVersion?: string | undefined;
  /** Commit that its programs were built from. If set, the node reports it instead of the version, with all numbers as quantities. */
  commit?: string | undefined;
  /** Format of numbers for which the specification shows no format; hexadecimal by default. */
  numbers?: "hexadecimal" | "decimal" | undefined;
}>;

/** Caller's context of a method call. */
export type CallContext = Readonly<{
  /** Subscriptions of the caller's connection; absent over HTTP. */
  subscriptions?: Subscriptions | undefined;
}>;

/** Handles one call. Throws {@link RpcError} or propagates the chain's own error. */
export type Method = (params: readonly unknown[], context: CallContext) => Promise<unknown>;

/** Every method of the node, by name. */
export type MethodTable = ReadonlyMap<string, Method>;

/** A part of the table. */
export type MethodGroup = Readonly<Record<string, Method>>;
