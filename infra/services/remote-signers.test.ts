import { expect, it } from "vitest";
import { deploymentSecret } from "../config/pulumi-config.ts";
import { findMissingValues } from "../preflight/preflight.ts";
import { parseConfig } from "../stack-config.ts";
import { buildSignerOutput } from "../stack-outputs.ts";
import { buildServices, findServiceProblems } from "./built-stack.ts";
import { deriveGrafanaPassword } from "./observability/observability-args.ts";
import { recordStack } from "../testing/deployed-stack.ts";
import { onKubernetes } from "../testing/stack-configs.ts";
import { deriveAccessTokens } from "./access-tokens.ts";
import { describeTarget } from "./stack-context.ts";

const prefix = "gh";
const stackSecret = "5f".repeat(32);
const common = {
  payTo: `0x${"02".repeat(20)}`,
  tokenAddress: `0x${"03".repeat(20)}`,
  observability: JSON.stringify({ prometheus: { retentionDays: 15 }, grafana: { port: 3000 } }),
};
const settings = JSON.stringify({ facilitator: { signer: { kmsKeys: ["alias/signer"] } } });
const read = (raw: Readonly<Record<string, string>>) => parseConfig({ ...common, ...raw });

/** The keys and addresses that a stack derives from its secret. */
function derive(raw: Readonly<Record<string, string>>) {
  const config = read(raw);
  const { privateKey } = deriveAccessTokens(config, {
    prefix,
    ...describeTarget(config, prefix),
    secret: deploymentSecret,
  });
  return [privateKey?.check, deriveGrafanaPassword(config, prefix)];
}

it("a stack with only KMS signers requires a stackSecret, and builds with it", () => {
  const missing = findMissingValues(read({ settings })).filter(
    ({ key }) => key.endsWith("Secret") || key.includes("signer"),
  );
  expect(missing.map(({ message }) => message)).toEqual([
    expect.stringMatching(/openssl rand -hex 32.*`pulumi config set --secret stackSecret …`/),
  ]);
  const config = read({ settings, stackSecret });
  expect(findMissingValues(config).map(({ key }) => key)).not.toContain("stackSecret");
  expect(findServiceProblems(config, prefix)).toEqual([]);
  const context = { prefix, ...describeTarget(config, prefix), secret: deploymentSecret };
  const { facilitator } = buildServices(config, context);
  expect(facilitator?.problems).toEqual([]);
  expect(JSON.stringify(facilitator?.spec)).toContain("alias/signer");
  expect(JSON.stringify(facilitator?.spec)).not.toMatch(/signer-privatekey/i);
  expect(facilitator?.spec.edges).toContainEqual({ to: "internet" });
  expect(buildSignerOutput(config)).toEqual({ howToFund: expect.stringContaining("/supported lists them") });
});

it("a stackSecret keeps tokens and Grafana's password across a signer change", () => {
  const [one, other] = ["17", "18"].map((digits) => ({ signerPrivateKey: `0x${digits.repeat(32)}` }));
  expect(derive({ ...other, stackSecret })).toEqual(derive({ ...one, stackSecret }));
  expect(derive({ settings, stackSecret })).toEqual(derive({ ...one, stackSecret }));
  expect(derive({ ...other })).not.toEqual(derive({ ...one }));
  expect(derive({ stackSecret: one?.signerPrivateKey ?? "" }), "with the former signer's key as the secret").toEqual(
    derive({ ...one }),
  );
});

it("a formerStackSecret keeps sold tokens valid: its key follows the one that signs", () => {
  const [signer, replaced] = [{ signerPrivateKey: `0x${"17".repeat(32)}` }, "60".repeat(32)];
  const [key] = derive({ stackSecret: replaced });
  for (const [before, formerStackSecret] of [
    [{ stackSecret }, stackSecret],
    [signer, signer.signerPrivateKey],
  ] as const)
    expect(derive({ stackSecret: replaced, formerStackSecret })[0]).toBe(`${key}${derive(before)[0]}`);
});

async function readChecksumKey(secret: string): Promise<unknown> {
  const recorded = await recordStack({ ...onKubernetes, ...common, settings, stackSecret: secret }, { preview: false });
  return recorded.find(({ type }) => type === "pulumi:index:Stash")?.inputs["input"];
}

it("a stack with only KMS signers derives the key of its pods' checksums from its stackSecret", async () => {
  const [one, other] = [await readChecksumKey(stackSecret), await readChecksumKey("60".repeat(32))];
  expect(one).toBeDefined();
  expect(other).not.toEqual(one);
});
