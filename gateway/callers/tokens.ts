import { jwtVerify } from "jose";
import type { WatchedFileDependencies } from "#daemon/files/watched-file.ts";
import type { SettingNames } from "../settings/names.ts";
import type { KeyHolder } from "./api-key-file.ts";
import { startKeySet, type KeySetOptions } from "./key-set.ts";

/** Rules for verifying callers' tokens. */
export type TokenOptions = KeySetOptions &
  Readonly<{ issuer?: string | undefined; audience?: string | undefined; tierClaim: string; cacheEntries: number }>;

/** `wallClock` returns milliseconds since 1970; it determines when cached tokens expire. */
export type TokenDependencies = WatchedFileDependencies &
  Readonly<{ settingNames: SettingNames; wallClock: () => number }>;

/** Verifies JSON Web Tokens (RFC 7519) and caches valid ones until they expire. */
export type Tokens = AsyncDisposable &
  Readonly<{
    /** Returns the holder of a token that was already verified and is still valid. */
    recall: (token: string) => KeyHolder | undefined;
    /** Verifies a token's signature and claims, which takes a few tenths of a millisecond of CPU. */
    verify: (token: string) => Promise<KeyHolder | undefined>;
  }>;

const signatures = ["ES256", "ES384", "EdDSA", "RS256", "PS256"];

/**
 * Creates the verifier that the settings configure; returns undefined if they specify no key set.
 *
 * @throws {StartupError} when the key set file can't be used.
 */
export async function createTokens(
  options: TokenOptions,
  { log, files, settingNames, wallClock }: TokenDependencies,
): Promise<Tokens | undefined> {
  const known = new Map<string, Readonly<{ holder: KeyHolder; expiresAtMs: number }>>();
  let generation = 0;
  const onChange = () => {
    // Removing a key invalidates the tokens it signed, including those still being verified.
    generation += 1;
    known.clear();
  };
  const keys = await startKeySet(options, { log, files, settingNames, changed: onChange });
  if (keys === undefined) return undefined;
  const verify = async (token: string): Promise<KeyHolder | undefined> => {
    try {
      const { issuer, audience } = options;
      const startGeneration = generation;
      const { payload } = await jwtVerify(token, keys.current(), {
        ...(issuer === undefined ? {} : { issuer }),
        ...(audience === undefined ? {} : { audience }),
        algorithms: signatures,
        requiredClaims: ["exp", "sub"],
      });
      const tier = payload[options.tierClaim];
      if (typeof tier !== "string" || payload.sub === undefined || payload.exp === undefined) return undefined;
      const holder = { name: payload.sub, tier };
      if (known.size >= options.cacheEntries) known.clear();
      if (startGeneration === generation) known.set(token, { holder, expiresAtMs: payload.exp * 1_000 });
      return holder;
    } catch (error) {
      log.debug({ err: error }, "a token was rejected");
      return undefined;
    }
  };
  return {
    recall: (token) => {
      const cached = known.get(token);
      if (cached === undefined || !keys.isFresh()) return undefined;
      if (wallClock() < cached.expiresAtMs) return cached.holder;
      known.delete(token);
      return undefined;
    },
    verify,
    [Symbol.asyncDispose]: () => keys[Symbol.asyncDispose](),
  };
}
