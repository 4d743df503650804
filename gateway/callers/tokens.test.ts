import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { createActiveFiles } from "#daemon/files/active-files.ts";
import { parseSettings } from "#daemon/testing/parse-settings.ts";
import { createLog } from "#daemon/log/log.ts";
import { createSettingNames } from "../settings/names.ts";
import { gatewaySection } from "../settings/sections.ts";
import { createTokens } from "./tokens.ts";

const folder = makeSharedDirectory();

it("caches verified tokens up to the limit, then clears the cache and verifies them again", async () => {
  const jwksPath = join(folder, "jwks.json");
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  writeFileSync(jwksPath, JSON.stringify({ keys: [await exportJWK(publicKey)] }));
  const { jwt } = parseSettings(gatewaySection, { jwt: { jwksPath, cacheEntries: 3 } });
  await using tokens = await createTokens(jwt, {
    log: createLog({ service: "test", level: "silent" }),
    files: createActiveFiles(new Registry()),
    settingNames: createSettingNames("sidecar", "gateway"),
    wallClock: Date.now,
  });
  const signToken = (subject: string) =>
    new SignJWT({ tier: "paid" })
      .setProtectedHeader({ alg: "ES256" })
      .setSubject(subject)
      .setExpirationTime("1h")
      .sign(privateKey);
  const all = await Promise.all(["a", "b", "c", "d"].map(signToken));
  /** Whether a token is recognized without verifying its signature. It is valid in any case. */
  const isKnown = async (token = "") => {
    const known = tokens?.recall(token);
    expect(known ?? (await tokens?.verify(token))).toMatchObject({ tier: "paid" });
    return known !== undefined;
  };
  const known = async () => {
    const found = [];
    for (const token of all) found.push(await isKnown(token));
    return found;
  };
  for (const token of all.slice(0, 3)) expect(await isKnown(token)).toBe(false);
  for (const token of all.slice(0, 3)) expect(await isKnown(token)).toBe(true);
  expect(await isKnown(all[3])).toBe(false);
  expect(await isKnown(all[3])).toBe(true);
  // The other three are verified again; the third exceeds the limit again.
  expect(await known()).toEqual([false, false, false, false]);
});
