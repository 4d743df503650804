import { hash, timingSafeEqual } from "node:crypto";
import { Secret } from "#daemon/secrets/secret.ts";
import { nameSetting } from "../setting-name.ts";
import { StartupError } from "#daemon/process/startup-error.ts";

export type ApiKeys = Readonly<{
  /** Returns the seller that owns a key: its name, or the key's SHA-256; undefined for an unknown key. */
  sellerOf: (key: string) => string | undefined;
  secrets: readonly Secret[];
}>;

const separators = /[\s,]+/;

/**
 * Reads keys from a list, separated by line breaks or commas; `settings.ts` defines its format. `<name>=<key>` is a key of the seller with
 * that name, if there is one; any other key identifies a seller of its own.
 *
 * @throws {StartupError} when a named seller has no key, or a too short one.
 */
export function readApiKeys(
  list: Secret | undefined,
  sellers: readonly Readonly<{ name: string }>[],
): ApiKeys | undefined {
  const names = new Set(sellers.map(({ name }) => name));
  const keys = (list?.reveal().split(separators) ?? []).filter(Boolean).map((text) => readKey(text, names));
  const sellerWithoutKey = sellers.find(({ name }) => !keys.some(({ seller }) => seller === name));
  if (sellerWithoutKey !== undefined) {
    throw new StartupError(
      `${nameSetting("sellers")} has ${sellerWithoutKey.name}, but ${nameSetting("apiKeys")} has no key for it; add ${sellerWithoutKey.name}=<key>, from "openssl rand -hex 32".`,
    );
  }
  if (list === undefined) return undefined;
  return {
    secrets: keys.map(({ key }) => key),
    sellerOf: (key) => {
      const digest = hashKey(key);
      // Compare with every key, each in constant time, so that timing reveals nothing about any of them.
      let match: KnownKey | undefined;
      for (const candidate of keys) if (timingSafeEqual(candidate.digest, digest)) match = candidate;
      return match && (match.seller ?? digest.toString("hex"));
    },
  };
}

const keyCharactersMin = 16;

type KnownKey = Readonly<{ seller: string | undefined; key: Secret; digest: Buffer }>;

function readKey(text: string, names: ReadonlySet<string>): KnownKey {
  const name = text.slice(0, Math.max(0, text.indexOf("=")));
  if (!names.has(name)) return { seller: undefined, key: new Secret(text), digest: hashKey(text) };
  const key = text.slice(name.length + 1);
  if (key.length >= keyCharactersMin) return { seller: name, key: new Secret(key), digest: hashKey(key) };
  throw new StartupError(
    `${nameSetting("apiKeys")}: the key of ${name} has fewer than ${keyCharactersMin} characters; use one from "openssl rand -hex 32".`,
  );
}

export type KnownSeller = Readonly<{ ok: true; seller: string | undefined } | { ok: false; key: "missing" | "wrong" }>;

/** Identifies the calling seller by `Authorization: Bearer <key>`, as documented for `createAuthHeaders` of `@x402/core`'s client, or by `X-API-Key: <key>`. */
export function identifySeller(
  apiKeys: ApiKeys | undefined,
  header: (name: string) => string | undefined,
): KnownSeller {
  if (apiKeys === undefined) return { ok: true, seller: undefined };
  const bearer = /^Bearer +(\S+) *$/i.exec(header("authorization") ?? "");
  const key = bearer?.[1] ?? header("x-api-key");
  if (key === undefined) return { ok: false, key: "missing" };
  const seller = apiKeys.sellerOf(key);
  return seller === undefined ? { ok: false, key: "wrong" } : { ok: true, seller };
}

function hashKey(key: string): Buffer {
  return hash("sha256", key, "buffer");
}
