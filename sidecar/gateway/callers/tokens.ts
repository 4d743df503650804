import { createLocalJWKSet, createRemoteJWKSet, jwtVerify, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { Logger } from "#daemon/log.ts";
import { StartupError } from "#daemon/startup-error.ts";
import { readJson5File } from "#daemon/json5-file.ts";
import type { KeyHolder } from "./api-keys.ts";

/** How callers' tokens are verified. */
export type TokenOptions = Readonly<{
  jwksUrl?: string | undefined;
  jwksPath?: string | undefined;
  issuer?: string | undefined;
  audience?: string | undefined;
  tierClaim: string;
  /** Time in which a key set is not read again for a key that it lacks. */
  refetchMs: number;
  cacheEntries: number;
}>;

/** Verifies JSON Web Tokens (RFC 7519) and remembers those that were good until they expire. */
export type Tokens = Readonly<{ holderOf: (token: string) => KeyHolder | undefined | Promise<KeyHolder | undefined> }>;

/** Longest token that is looked at. */
const tokenLength = 8_192;
/** Time that the key set's server may take, and that its keys are kept. */
const fetchTimeoutMs = 5_000;
const keysKeptMs = 600_000;
const signatures = ["ES256", "ES384", "EdDSA", "RS256", "PS256"];

/**
 * Makes the verifier that settings ask for; undefined when they name no key set.
 *
 * @throws {StartupError} when the key set's file can't be used.
 */
export function makeTokens(
  options: TokenOptions,
  { log, wallClock }: Readonly<{ log: Logger; wallClock: () => number }>,
): Tokens | undefined {
  const keys = keySet(options);
  if (keys === undefined) return undefined;
  const known = new Map<string, Readonly<{ holder: KeyHolder; expiresAtMs: number }>>();
  const verify = async (token: string): Promise<KeyHolder | undefined> => {
    try {
      const { issuer, audience } = options;
      const { payload } = await jwtVerify(token, keys, {
        ...(issuer === undefined ? {} : { issuer }),
        ...(audience === undefined ? {} : { audience }),
        algorithms: signatures,
        requiredClaims: ["exp", "sub"],
      });
      const tier = payload[options.tierClaim];
      if (typeof tier !== "string" || payload.sub === undefined || payload.exp === undefined) return undefined;
      const holder = { name: payload.sub, tier };
      if (known.size >= options.cacheEntries) known.clear();
      known.set(token, { holder, expiresAtMs: payload.exp * 1_000 });
      return holder;
    } catch (error) {
      log.debug({ err: error }, "a token was refused");
      return undefined;
    }
  };
  return {
    holderOf: (token) => {
      if (token.length > tokenLength) return undefined;
      const before = known.get(token);
      if (before === undefined) return verify(token);
      if (wallClock() < before.expiresAtMs) return before.holder;
      known.delete(token);
      return undefined;
    },
  };
}

function keySet({ jwksUrl, jwksPath, refetchMs }: TokenOptions): JWTVerifyGetKey | undefined {
  if (jwksUrl !== undefined) {
    return createRemoteJWKSet(new URL(jwksUrl), {
      timeoutDuration: fetchTimeoutMs,
      cacheMaxAge: keysKeptMs,
      cooldownDuration: refetchMs,
    });
  }
  if (jwksPath === undefined) return undefined;
  const file = readJson5File(jwksPath);
  if (!file.ok) throw new StartupError(`gateway.jwt.jwksPath: ${jwksPath}: ${file.message}`);
  try {
    return createLocalJWKSet(file.value as JSONWebKeySet);
  } catch (cause) {
    throw new StartupError(`gateway.jwt.jwksPath: ${jwksPath}: no key set (${String(cause)}); expected { keys: […] }.`);
  }
}
