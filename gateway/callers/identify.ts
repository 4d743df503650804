import { toAddressKey, type ClientAddress } from "#daemon/http/proxies/client-address.ts";
import { memoize } from "#daemon/memoize.ts";
import type { PeerInfo, RequestInfo } from "./request-facts.ts";
import type { Rates, RateLimiter } from "../limits/rate-limiter.ts";
import type { PolicySource } from "../policy.ts";
import type { ApiKeys, KeyHolder } from "./api-key-file.ts";
import type { ListenerName } from "../catalogue/method.ts";
import type { Tokens } from "./tokens.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { SettingNames } from "../settings/names.ts";

export type Caller = Readonly<{
  /** Key under which limits are counted: an address, a network or the name of an API key. Never shown to other callers. */
  key: string;
  listener: ListenerName;
  tierName: string;
}>;

export type CallerIdentity = Readonly<{ kind: "caller"; caller: Caller }> | RejectedIdentity;

/** Rejection of a request's caller. `retryAfterSeconds` means that the caller may retry, because its credentials could not be checked. */
export type RejectedIdentity = Readonly<{ kind: "rejected"; message: string; retryAfterSeconds?: number }>;

export type Identify = (facts: RequestInfo) => CallerIdentity | Promise<CallerIdentity>;

/** Max number of cached identities, and max length of a cached name; others are computed on each request. */
const cacheLimits = { max: 10_000, nameLength: 256 };

/** Matches lists that consist only of characters of IPv4 addresses. */
const plainList = /^[\d., ]+$/;

/** Identifies callers only by address and assigns all of them the same tier. */
export function identifyByAddress(
  listener: ListenerName,
  tierName: string,
  { client, notice }: Readonly<{ client: ClientAddress; notice?: ProxyNotice }>,
): Identify {
  const buildIdentity = (network: string): CallerIdentity => ({
    kind: "caller",
    caller: { key: `${listener} ${network}`, listener, tierName },
  });
  const identifyPeer = memoize(cacheLimits, (remoteAddress) =>
    buildIdentity(toAddressKey(client.of(remoteAddress, undefined))),
  );
  const readForwarded = (remoteAddress: string, forwardedFor: string) =>
    buildIdentity(toAddressKey(client.of(remoteAddress, forwardedFor)));
  // Addresses contain no spaces, so the first space ends the peer's address.
  const identifyForwarded = memoize(cacheLimits, (name) => {
    const blank = name.indexOf(" ");
    return readForwarded(name.slice(0, blank), name.slice(blank + 1));
  });
  return (facts) => {
    const { remoteAddress, forwardedFor } = facts;
    const isTrusted = client.isTrusted(remoteAddress);
    if (isTrusted && forwardedFor !== undefined) {
      // Parsing IPv4 addresses is faster than a cache lookup, and behind a proxy nearly every request may have a different address.
      if (plainList.test(forwardedFor)) return readForwarded(remoteAddress, forwardedFor);
      return identifyForwarded(`${remoteAddress} ${forwardedFor}`);
    }
    notice?.(isTrusted, facts);
    return identifyPeer(remoteAddress);
  };
}

/** Sources of keys and tokens. Keys may change while the gateway runs, so they are read on every check. */
type CredentialDependencies = Readonly<{
  apiKeys: () => ApiKeys | undefined;
  tokens: Pick<Tokens, "recall" | "verify"> | undefined;
  policy: PolicySource;
  /** Limits token verifications per client address. */
  verifications: Pick<RateLimiter, "acquire">;
  addressOf: (facts: RequestInfo) => string;
}>;

/**
 * Max token verification rates per address: each invalid token costs the gateway a verification, which must not delay other callers'
 * tokens. A verified token is cached until it expires, so an honest caller needs only one verification.
 */
export const verificationRates: Rates = {
  requestsPerSecond: 200,
  requestBurst: 500,
  computeUnitsPerSecond: 200,
  computeUnitBurst: 500,
};

const rejectedIdentity: CallerIdentity = {
  kind: "rejected",
  message: "an API key or token is required; send Authorization: Bearer with a valid key or token",
};

function rejectTokens(waitMs: number): CallerIdentity {
  const message = "this address sends too many new tokens; resend this one later";
  return { kind: "rejected", message, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
}

/** Identifies callers of the private listener by API key or token (RFC 6750, section 2.1). All failures look identical. */
export function identifyByCredential({
  apiKeys,
  tokens,
  policy,
  verifications,
  addressOf,
}: CredentialDependencies): Identify {
  const identity = (kind: "key" | "token", holder: KeyHolder | undefined): CallerIdentity => {
    if (holder === undefined || !policy().tiers.has(holder.tier)) return rejectedIdentity;
    const caller = { key: `${kind} ${holder.name}`, listener: "private" as const, tierName: holder.tier };
    return { kind: "caller", caller };
  };
  return (facts) => {
    const credential = /^Bearer +([\w.~+/=-]{1,8192})$/i.exec(facts.authorization ?? "")?.[1];
    if (credential === undefined) return rejectedIdentity;
    const keyHolder = apiKeys()?.holderOf(credential);
    if (keyHolder !== undefined) return identity("key", keyHolder);
    if (tokens === undefined || credential.split(".").length !== 3) return rejectedIdentity;
    const known = tokens.recall(credential);
    if (known !== undefined) return identity("token", known);
    // Copied by concatenation: a key sliced from a request's head would keep the whole head in memory.
    const waitMs = verifications.acquire(`address ${addressOf(facts)}`, 1, verificationRates);
    if (typeof waitMs === "number") return rejectTokens(waitMs);
    return tokens.verify(credential).then((holder) => identity("token", holder));
  };
}

/** Called for a request that is counted by the address of its connection, whether or not that address belongs to a trusted proxy. */
type ProxyNotice = (isTrusted: boolean, facts: PeerInfo) => void;

/** Min interval between two log lines of the same kind: anyone can send such requests. */
const pauseMs = 3_600_000;

/**
 * Logs signs of a proxy that the settings don't match, because all its clients then share one client's limits: an untrusted peer
 * sends X-Forwarded-For, or a trusted proxy doesn't.
 */
export function logProxyNotices(
  { proxyProtocol }: Readonly<{ proxyProtocol: boolean }>,
  { log, settingNames, now }: Readonly<{ log: Logger; settingNames: SettingNames; now: () => number }>,
): ProxyNotice {
  const nextNoticeAt = { untrusted: 0, silent: 0 };
  const trustedSetting = settingNames.key("callers.trustedProxies");
  return (isTrusted, { remoteAddress, forwardedFor }) => {
    const kind = isTrusted ? "silent" : "untrusted";
    if (!isTrusted && forwardedFor === undefined) return;
    // A proxy that sends the client's address via the PROXY protocol sends none for its own requests, such as health checks.
    if (isTrusted && proxyProtocol) return;
    if (now() < nextNoticeAt[kind]) return;
    nextNoticeAt[kind] = now() + pauseMs;
    const what = isTrusted
      ? `the trusted proxy ${remoteAddress} sends requests without X-Forwarded-For: its clients share the limits of one address; make it send that header`
      : `${remoteAddress} sends X-Forwarded-For but is not trusted; if it is your proxy, its clients share the limits of one address: add it to ${trustedSetting}`;
    log.warn({ event: isTrusted ? "proxy-header-missing" : "proxy-not-trusted", remoteAddress }, what);
  };
}
