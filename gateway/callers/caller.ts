import type { ListenerName } from "../catalogue/method.ts";

export type Caller = Readonly<{
  /** Key under which limits are counted: an address, a network or the name of an API key. Never shown to other callers. */
  key: string;
  listener: ListenerName;
  tierName: string;
}>;

export type CallerIdentity = Readonly<{ kind: "caller"; caller: Caller }> | RejectedIdentity;

/** Rejection of a request's caller. `retryAfterSeconds` means that the caller may retry, because its credentials could not be checked. */
export type RejectedIdentity = Readonly<{ kind: "rejected"; message: string; retryAfterSeconds?: number }>;
