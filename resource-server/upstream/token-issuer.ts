import { createPrivateKey, createPublicKey, randomUUID, type KeyObject } from "node:crypto";
import type { Secret } from "#daemon/secrets/secret.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { SoldResponse } from "../claims/payment-claim.ts";
import type { Route, TokenTerms } from "../routes/route.ts";
import { explainUnsignedTokens, tokenKey } from "../routes/sold-routes.ts";

type TokenIssuerOptions = Readonly<{
  privateKey?: Secret | undefined;
  issuer?: string | undefined;
  audience?: string | undefined;
}>;

export type TokenIssuer = Awaited<ReturnType<typeof createTokenIssuer>>;

/** Creates the token issuer if a route sells tokens or a key is set. @throws {StartupError} when the key is missing or can't sign tokens. */
export async function openTokenIssuer(
  routes: readonly Route[],
  options: TokenIssuerOptions,
  clock: () => number,
): Promise<TokenIssuer | undefined> {
  const { privateKey } = options;
  if (privateKey !== undefined) return createTokenIssuer(privateKey, options, clock);
  const unsignedTokens = explainUnsignedTokens(routes, options);
  if (unsignedTokens === undefined) return undefined;
  throw new StartupError(unsignedTokens);
}

async function createTokenIssuer(privateKey: Secret, { issuer, audience }: TokenIssuerOptions, clock: () => number) {
  const [key, ...formerKeys] = readKeys(privateKey);
  // Lazy import, only for token sales.
  const { calculateJwkThumbprint, exportJWK, SignJWT } = await import("jose");
  const publish = async (each: KeyObject) => {
    const alg = each.asymmetricKeyType === "ed25519" ? "EdDSA" : "ES256";
    const jwk = await exportJWK(createPublicKey(each));
    return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg, use: "sig" };
  };
  const signingKey = await publish(key);
  const { alg, kid } = signingKey;
  const publishedKeys = new Map((await Promise.all(formerKeys.map(publish))).map((each) => [each.kid, each]));
  const headers = [
    ["content-type", "application/json"],
    ["cache-control", "no-store"],
  ] as const;
  return {
    keySet: { keys: [...publishedKeys.set(kid, signingKey).values()] },
    issue: async (account: string, { tier, seconds }: TokenTerms): Promise<SoldResponse> => {
      const issuedAt = Math.floor(clock() / 1_000);
      const expiresAt = issuedAt + seconds;
      const token = new SignJWT({ tier })
        .setProtectedHeader({ alg, kid, typ: "JWT" })
        .setSubject(account.toLowerCase())
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .setJti(randomUUID());
      if (issuer !== undefined) token.setIssuer(issuer);
      if (audience !== undefined) token.setAudience(audience);
      const soldToken = { token: await token.sign(key), tier, expiresAt: new Date(expiresAt * 1_000).toISOString() };
      const body = new TextEncoder().encode(JSON.stringify(soldToken));
      return { status: 200, headers, body };
    },
  };
}

const pemBlock = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]+-----END [A-Z ]*PRIVATE KEY-----/g;

/** Reads the key that signs, and the former keys, whose tokens are still valid. */
function readKeys(privateKey: Secret): readonly [KeyObject, ...KeyObject[]] {
  const [firstBlock = "", ...otherBlocks] = privateKey.reveal().match(pemBlock) ?? [];
  return [readKey(firstBlock), ...otherBlocks.map(readKey)];
}

function readKey(pem: string): KeyObject {
  const key = parseKey(pem);
  const type = key?.asymmetricKeyDetails?.namedCurve ?? key?.asymmetricKeyType;
  if (key !== undefined && (type === "ed25519" || type === "prime256v1")) return key;
  const foundProblem = key === undefined ? "it can't be read" : `its type is ${type ?? "unknown"}`;
  throw new StartupError(`${tokenKey.setting}: ${foundProblem}; expected ${tokenKey.form}.`);
}

function parseKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    // The error's message may contain part of the key.
    return undefined;
  }
}
