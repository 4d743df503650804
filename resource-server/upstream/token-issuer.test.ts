import { generateKeyPairSync } from "node:crypto";
import { createLocalJWKSet, jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { Secret } from "#daemon/secrets/secret.ts";
import { route } from "../testing/payments.ts";
import { openTokenIssuer, type TokenIssuer } from "./token-issuer.ts";

const pem = (key: { export: (options: { type: "pkcs8"; format: "pem" }) => string | Buffer }) =>
  new Secret(String(key.export({ type: "pkcs8", format: "pem" })));

async function sell(issuer: TokenIssuer | undefined): Promise<string> {
  const { body } = await issuer!.issue("0xabcd", { tier: "paid", seconds: 60 });
  return (JSON.parse(new TextDecoder().decode(body)) as { token: string }).token;
}

describe("a token issuer", () => {
  it.each([
    ["ES256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["EdDSA", generateKeyPairSync("ed25519")],
  ])("signs %s tokens that its key set verifies", async (alg, { privateKey }) => {
    const options = { privateKey: pem(privateKey), issuer: "https://shop.test", audience: "rpc" };
    const issuer = await openTokenIssuer([], options, Date.now);
    const { headers, body } = await issuer!.issue("0xABcd", { tier: "paid", seconds: 60 });
    const { token, tier, expiresAt } = JSON.parse(new TextDecoder().decode(body)) as Record<string, string>;
    const { payload, protectedHeader } = await jwtVerify(token!, createLocalJWKSet(issuer!.keySet), {
      issuer: "https://shop.test",
      audience: "rpc",
    });
    expect(protectedHeader.alg).toBe(alg);
    expect([payload.sub, payload["tier"], tier]).toEqual(["0xabcd", "paid", "paid"]);
    expect(payload.exp! - payload.iat!).toBe(60);
    expect(Date.parse(expiresAt!)).toBe(payload.exp! * 1_000);
    expect(Object.fromEntries(headers)["cache-control"]).toBe("no-store");
    expect(JSON.stringify(issuer!.keySet)).not.toContain('"d"');
  });

  it("signs with the first key, and its key set still verifies tokens of the others", async () => {
    const [formerKey, nextKey] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ec", { namedCurve: "P-256" })];
    const open = (...keys: readonly (typeof formerKey)[]) => {
      const text = keys.map(({ privateKey }) => pem(privateKey).reveal()).join("");
      return openTokenIssuer([], { privateKey: new Secret(text) }, Date.now);
    };
    const rotatedIssuer = await open(nextKey, formerKey, formerKey);
    const keySet = createLocalJWKSet(rotatedIssuer!.keySet);
    expect((await jwtVerify(await sell(await open(formerKey)), keySet)).protectedHeader.alg).toBe("EdDSA");
    expect((await jwtVerify(await sell(rotatedIssuer), keySet)).protectedHeader.alg).toBe("ES256");
    await expect(
      openTokenIssuer(
        [],
        {
          privateKey: new Secret(
            `${pem(nextKey.privateKey).reveal()}${pem(generateKeyPairSync("x25519").privateKey).reveal()}`,
          ),
        },
        Date.now,
      ),
    ).rejects.toThrow("its type is x25519");
  });

  it("requires a key if a route sells tokens", async () => {
    const options = { privateKey: undefined, issuer: undefined, audience: undefined };
    const seller = { ...route, key: "POST /access", upstream: undefined, token: { tier: "paid", seconds: 60 } };
    expect(await openTokenIssuer([route], options, Date.now)).toBeUndefined();
    await expect(openTokenIssuer([route, seller], options, Date.now)).rejects.toThrow(
      /^POST \/access: sells a token, but GATEHOUSE_RESOURCE_SERVER_ACCESS_TOKENS_PRIVATE_KEY is not set/,
    );
  });

  it("rejects an invalid key without showing it", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-384" });
    const options = { issuer: undefined, audience: undefined };
    await expect(openTokenIssuer([], { ...options, privateKey: new Secret("my-secret") }, Date.now)).rejects.toThrow(
      /^GATEHOUSE_RESOURCE_SERVER_ACCESS_TOKENS_PRIVATE_KEY: it can't be read; expected a private key in PEM/,
    );
    await expect(openTokenIssuer([], { ...options, privateKey: pem(privateKey) }, Date.now)).rejects.toThrow(
      "its type is secp384r1",
    );
  });
});
