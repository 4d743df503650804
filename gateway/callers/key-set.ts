import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from "jose";
import { readText } from "#daemon/bytes.ts";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import type { SettingNames } from "../settings/names.ts";
import { watchFile, type FileReading, type WatchedFileDependencies } from "#daemon/files/watched-file.ts";

/** Source of the keys that verify callers' tokens, and how often they are fetched. */
export type KeySetOptions = Readonly<{
  jwksUrl?: string | undefined;
  jwksPath?: string | undefined;
  /** Min interval between refetches of a key set triggered by unknown keys, in ms. */
  refetchMs: number;
  /** Interval between fetches of the key set from a URL, in ms. */
  keysCheckMs: number;
  /** How long a fetched key set stays valid if it can't be refetched from its URL, in ms. */
  keysKeptMs: number;
}>;

/** The active keys (RFC 7517). */
export type KeySet = AsyncDisposable &
  Readonly<{
    current: () => JWTVerifyGetKey;
    /** Whether the keys are still valid. If not, verify the token again; this refetches the keys. */
    isFresh: () => boolean;
  }>;

const fetchTimeoutMs = 5_000;

/** Max size of a key set; a typical one is a few KiB. */
const keySetBytesMax = 1_048_576;

type KeySetDependencies = WatchedFileDependencies & Readonly<{ settingNames: SettingNames; changed: () => void }>;

/**
 * Starts the key set that the settings specify; returns undefined if they specify none. A file is hot-reloaded; a URL is fetched every
 * `keysCheckMs` after its first use.
 *
 * @throws {StartupError} when the key set file can't be used.
 */
export async function startKeySet(
  options: KeySetOptions,
  dependencies: KeySetDependencies,
): Promise<KeySet | undefined> {
  const { jwksUrl, jwksPath } = options;
  const { settingNames, changed } = dependencies;
  if (jwksUrl !== undefined) return startRemoteKeySet(jwksUrl, options, dependencies);
  if (jwksPath === undefined) return undefined;
  const state: { keys: JWTVerifyGetKey } = { keys: createLocalJWKSet({ keys: [] }) };
  const apply = (keys: JWTVerifyGetKey) => {
    state.keys = keys;
    changed();
  };
  const watcher = await watchFile(
    { path: jwksPath, setting: settingNames.key("jwt.jwksPath"), read: readKeySet, apply },
    dependencies,
  );
  return {
    current: () => state.keys,
    isFresh: () => true,
    [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose](),
  };
}

function startRemoteKeySet(
  jwksUrl: string,
  { refetchMs, keysCheckMs, keysKeptMs }: KeySetOptions,
  { log, settingNames, changed }: KeySetDependencies,
): KeySet {
  const { url, headers } = parseHttpEndpoint(jwksUrl);
  const remoteKeys = createRemoteJWKSet(new URL(url), {
    headers: { ...headers },
    [customFetch]: fetchKeySet,
    timeoutDuration: fetchTimeoutMs,
    cacheMaxAge: keysKeptMs,
    cooldownDuration: refetchMs,
  });
  let seen: string | undefined;
  const compare = () => {
    const now = JSON.stringify(remoteKeys.jwks());
    if (now === seen) return;
    const isFirst = seen === undefined;
    seen = now;
    if (!isFirst) changed();
  };
  const check = () => {
    // No token has been presented yet.
    if (remoteKeys.jwks() === undefined) return;
    remoteKeys.reload().then(compare, (error: unknown) => {
      const setting = settingNames.key("jwt.jwksUrl");
      log.warn(
        { event: "key-set-unreadable", err: error },
        `the key set of ${setting} can't be read; its cached keys remain valid for ${keysKeptMs} ms after the last read`,
      );
    });
  };
  const timer = setInterval(check, keysCheckMs).unref();
  const getCurrentKey: JWTVerifyGetKey = async (header, token) => {
    const key = await remoteKeys(header, token);
    // An unknown key triggers a fetch from the URL, and the fetched set may lack keys that were active.
    compare();
    return key;
  };
  return {
    current: () => getCurrentKey,
    isFresh: () => remoteKeys.fresh,
    [Symbol.asyncDispose]: async () => clearInterval(timer),
  };
}

/** Uses the process's own HTTP client, whose DNS lookups don't block other destinations, instead of the library's `fetch`. */
const fetchKeySet: FetchImplementation = async (url, { headers, method, signal }) => {
  const jwksResponse = await sendRequest({ url, method, headers: Object.fromEntries(headers), signal });
  const text = await readText(jwksResponse, keySetBytesMax);
  return new Response(text === "" ? null : text, { status: jwksResponse.statusCode ?? 502 });
};

function readKeySet(content: unknown): FileReading<JWTVerifyGetKey> {
  try {
    return { ok: true, value: createLocalJWKSet(content as JSONWebKeySet) };
  } catch (cause) {
    return { ok: false, problems: [`no key set (${String(cause)}); expected { keys: […] }.`] };
  }
}
