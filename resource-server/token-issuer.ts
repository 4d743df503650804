import { createPrivateKey, createPublicKey, randomUUID, type KeyObject } from "node:crypto";
import type { JSONWebKeySet } from "jose";
import type { Secret } from "#daemon/secrets/secret.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { Route, TokenTerms } from "./routes/route.ts";
import type { SoldResponse } from "./claims/payment-claim.ts";

const keyName = "GATEHOUSE_RESOURCE_SERVER_ACCESS_TOKENS_PRIVATE_KEY";
const keyForm = 'a private key in PEM (PKCS #8), P-256 or Ed25519, e.g. of "openssl genpkey -algorithm ed25519"';

export type TokenIssuerOptions = Readonly<{
  /** Private key, PEM (PKCS #8): P-256 or Ed25519. */
  privateKey?: Secret | undefined;
  issuer?: string | undefined;
  audience?: string | undefined;
}>;

/** Signer of sold tokens (specification, Authentication, 4: a short-lived JSON Web Token after payment). */
export type TokenIssuer = Readonly<{
  /** Creates a response with a token for an account, valid from now for the time in the terms. */
  issue: (account: string, terms: TokenTerms) => Promise<SoldResponse>;
  /** Public key for verifying tokens (RFC 7517). */
  keySet: JSONWebKeySet;
}>;

/**
 * Opens the issuer if a route sells tokens or a token key is configured.
 *
 * @throws {StartupError} when a route sells tokens and there is no key, or the key can't sign tokens.
 */
export async function openTokenIssuer(
  routes: readonly Route[],
  options: TokenIssuerOptions,
  { clock }: Readonly<{ clock: () => number }>,
): Promise<TokenIssuer | undefined> {
  const { privateKey } = options;
  if (privateKey !== undefined) return createTokenIssuer({ ...options, privateKey }, { clock });
  const unsigned = explainUnsignedTokens(routes, options);
  if (unsigned === undefined) return undefined;
  throw new StartupError(unsigned);
}

/** Describes the error if a route sells tokens without a key to sign them; undefined otherwise. */
export function explainUnsignedTokens(
  routes: readonly Route[],
  { privateKey }: Pick<TokenIssuerOptions, "privateKey">,
): string | undefined {
  const seller = routes.find(({ token }) => token !== undefined);
  if (privateKey !== undefined || seller === undefined) return undefined;
  return `${seller.key}: sells a token, but ${keyName} is not set; set it to ${keyForm}.`;
}

async function createTokenIssuer(
  { privateKey, issuer, audience }: TokenIssuerOptions & Readonly<{ privateKey: Secret }>,
  { clock }: Readonly<{ clock: () => number }>,
): Promise<TokenIssuer> {
  const key = readKey(privateKey);
  // Lazy import, only for token sales.
  const { calculateJwkThumbprint, exportJWK, SignJWT } = await import("jose");
  const alg = key.asymmetricKeyType === "ed25519" ? "EdDSA" : "ES256";
  const jwk = await exportJWK(createPublicKey(key));
  const kid = await calculateJwkThumbprint(jwk);
  return {
    keySet: { keys: [{ ...jwk, kid, alg, use: "sig" }] },
    issue: async (account, { tier, seconds }) => {
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
      const body = { token: await token.sign(key), tier, expiresAt: new Date(expiresAt * 1_000).toISOString() };
      return {
        status: 200,
        headers: [
          ["content-type", "application/json"],
          ["cache-control", "no-store"],
        ],
        body: new TextEncoder().encode(JSON.stringify(body)),
      };
    },
  };
}

function readKey(privateKey: Secret): KeyObject {
  const key = parseKey(privateKey.reveal());
  const type = key?.asymmetricKeyDetails?.namedCurve ?? key?.asymmetricKeyType;
  if (key !== undefined && (type === "ed25519" || type === "prime256v1")) return key;
  const found = key === undefined ? "it can't be read" : `its type is ${type ?? "unknown"}`;
  throw new StartupError(`${keyName}: ${found}; expected ${keyForm}.`);
}

function parseKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    // The error's message may contain part of the key.
    return undefined;
  }
}
