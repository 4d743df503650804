import { toAddressKey, type ClientAddress } from "#daemon/http/proxies/client-address.ts";
import { memoize } from "#daemon/memoize.ts";
import type { RequestFacts } from "./request-facts.ts";
import type { Rates, RateLimiter } from "../limits/rate-limiter.ts";
import type { PolicySource } from "../policy.ts";
import type { ApiKeys, KeyHolder } from "./api-keys.ts";
import type { CallerIdentity } from "./caller.ts";
import type { ListenerName } from "../catalogue/method.ts";
import type { ProxyNotice } from "./proxy-notice.ts";
import type { Tokens } from "./tokens.ts";

/** Identifies the caller of a request. */
export type Identify = (facts: RequestFacts) => CallerIdentity | Promise<CallerIdentity>;

/** Most identities that are kept for the next request, and the longest name that one is kept by; other ones are made each time. */
const kept = { most: 10_000, nameLength: 256 };

/** A list of nothing but IPv4 addresses, as far as its characters show. */
const plainList = /^[\d., ]+$/;

/** Identifies callers by their address alone and gives all of them one tier. */
export function identifyByAddress(
  listener: ListenerName,
  tierName: string,
  { client, notice }: Readonly<{ client: ClientAddress; notice?: ProxyNotice }>,
): Identify {
  const buildIdentity = (network: string): CallerIdentity => ({
    kind: "caller",
    caller: { key: `${listener} ${network}`, listener, tierName },
  });
  const identifyPeer = memoize(kept, (remoteAddress) =>
    buildIdentity(toAddressKey(client.of(remoteAddress, undefined))),
  );
  const readForwarded = (remoteAddress: string, forwarded: string) =>
    buildIdentity(toAddressKey(client.of(remoteAddress, forwarded)));
  // An address has no blank in it, so that the first one parts the two.
  const identifyForwarded = memoize(kept, (name) => {
    const blank = name.indexOf(" ");
    return readForwarded(name.slice(0, blank), name.slice(blank + 1));
  });
  return (facts) => {
    const { remoteAddress } = facts;
    const isTrusted = client.isTrusted(remoteAddress);
    const forwarded = client.forwardedBy(facts);
    if (isTrusted && forwarded !== undefined) {
      // IPv4 addresses are read sooner than they are looked up, and behind a proxy nearly each request may have another.
      if (plainList.test(forwarded)) return readForwarded(remoteAddress, forwarded);
      return identifyForwarded(`${remoteAddress} ${forwarded}`);
    }
    notice?.(isTrusted, facts);
    return identifyPeer(remoteAddress);
  };
}

/** Sources of keys and tokens. Keys change while the gateway runs, so they are read at each check. */
export type CredentialDependencies = Readonly<{
  apiKeys: () => ApiKeys | undefined;
  tokens: Pick<Tokens, "recall" | "verify"> | undefined;
  policy: PolicySource;
  /** Bounds verifications, by the address that a request comes from. */
  verifications: Pick<RateLimiter, "acquire">;
  addressOf: (facts: RequestFacts) => string;
}>;

/**
 * Rates at which tokens are verified for one address: whoever sends invalid ones costs the gateway a verification with each request, and must not
 * delay other callers' tokens. A verified token is known until it expires, so that an honest caller needs one.
 */
export const verificationRates: Rates = {
  requestsPerSecond: 200,
  requestBurst: 500,
  computeUnitsPerSecond: 200,
  computeUnitBurst: 500,
};

const refused: CallerIdentity = {
  kind: "refused",
  message: "an API key or a token is needed; send Authorization: Bearer and a key or token that is valid",
};

function refuseTokens(waitMs: number): CallerIdentity {
  const message = "this address sends more new tokens than are verified for one; send this one again later";
  return { kind: "refused", message, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
}

/** Identifies the private listener's callers by API key or token (RFC 6750, section 2.1). All failures look the same. */
export function identifyByCredential({
  apiKeys,
  tokens,
  policy,
  verifications,
  addressOf,
}: CredentialDependencies): Identify {
  const identity = (kind: "key" | "token", holder: KeyHolder | undefined): CallerIdentity => {
    if (holder === undefined || !policy().tiers.has(holder.tier)) return refused;
    const caller = { key: `${kind} ${holder.name}`, listener: "private" as const, tierName: holder.tier };
    return { kind: "caller", caller };
  };
  return (facts) => {
    const credential = /^Bearer +([\w.~+/=-]{1,8192})$/i.exec(facts.authorization ?? "")?.[1];
    if (credential === undefined) return refused;
    const keyHolder = apiKeys()?.holderOf(credential);
    if (keyHolder !== undefined) return identity("key", keyHolder);
    if (tokens === undefined || credential.split(".").length !== 3) return refused;
    const known = tokens.recall(credential);
    if (known !== undefined) return identity("token", known);
    // Put together, because a key that is only cut from a request's head would keep the head in memory.
    const waitMs = verifications.acquire(`address ${addressOf(facts)}`, 1, verificationRates);
    if (typeof waitMs === "number") return refuseTokens(waitMs);
    return tokens.verify(credential).then((holder) => identity("token", holder));
  };
}
