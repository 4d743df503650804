import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { Logger } from "#daemon/log.ts";
import type { SettingNames } from "../setting-names.ts";
import { watchFile } from "../policy/watched-file.ts";

/** Where the keys are that sign callers' tokens. */
export type KeySetOptions = Readonly<{
  jwksUrl?: string | undefined;
  jwksPath?: string | undefined;
  /** Time in which a key set is not fetched again for a key that it lacks. */
  refetchMs: number;
}>;

/** The keys in force (RFC 7517). */
export type KeySet = AsyncDisposable & Readonly<{ current: () => JWTVerifyGetKey }>;

/** Time that the key set's server may take, and that its keys are kept. */
const fetchTimeoutMs = 5_000;
const keysKeptMs = 600_000;

/**
 * Makes the key set that settings name; undefined when they name none. One of a file is read again whenever the file changes, and
 * `changed` is told.
 *
 * @throws {StartupError} when the key set's file can't be used.
 */
export function startKeySet(
  { jwksUrl, jwksPath, refetchMs }: KeySetOptions,
  { log, settingNames, changed }: Readonly<{ log: Logger; settingNames: SettingNames; changed: () => void }>,
): KeySet | undefined {
  if (jwksUrl !== undefined) {
    const remote = createRemoteJWKSet(new URL(jwksUrl), {
      timeoutDuration: fetchTimeoutMs,
      cacheMaxAge: keysKeptMs,
      cooldownDuration: refetchMs,
    });
    return { current: () => remote, [Symbol.asyncDispose]: async () => undefined };
  }
  if (jwksPath === undefined) return undefined;
  const state: { keys: JWTVerifyGetKey } = { keys: createLocalJWKSet({ keys: [] }) };
  const take = (keys: JWTVerifyGetKey) => {
    state.keys = keys;
    changed();
  };
  const watcher = watchFile(
    { path: jwksPath, setting: settingNames.key("jwt.jwksPath"), read: readKeySet, take },
    { log },
  );
  return { current: () => state.keys, [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose]() };
}

/** Reads the content of a key set's file; a string says what is wrong with it. */
function readKeySet(content: unknown): JWTVerifyGetKey | string {
  try {
    return createLocalJWKSet(content as JSONWebKeySet);
  } catch (cause) {
    return `no key set (${String(cause)}); expected { keys: […] }`;
  }
}
