import { describe, expect, it } from "vitest";
import { facilitatorSettings } from "#facilitator/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import { renderSettings } from "./rendered-settings.ts";

const text = `0x${"11".repeat(32)}`;
const key: DeploymentSecret = { kind: "secret", check: text, value: text };
const asset = { address: `0x${"aa".repeat(20)}`, name: "USDC", version: "2" };

describe("renderSettings", () => {
  it("renders variables for plain settings and a file for each secret", () => {
    const { environment, files, problems } = renderSettings(facilitatorSettings, {
      chain: { id: 5 },
      signer: { privateKey: key },
      assets: [asset],
    });
    expect(problems).toEqual([]);
    expect(environment).toEqual({
      GATEHOUSE_FACILITATOR_CHAIN_ID: "5",
      GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE: "/run/gatehouse/files/signer-privatekey",
      GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([asset]),
    });
    expect(files).toEqual([{ name: "signer-privatekey", content: text, secret: true }]);
  });

  it("renders a file for a secret among the stack's settings", () => {
    const { environment, files } = renderSettings(facilitatorSettings, {
      signer: { privateKey: text },
      assets: [asset],
    });
    expect(JSON.stringify(environment)).not.toContain(text);
    expect(files).toEqual([{ name: "signer-privatekey", content: text, secret: true }]);
  });

  it("delivers secrets as live files to a service that reloads them", () => {
    const token = "c".repeat(32);
    const hotRestart = { file: "settings.json5", fixed: [], withSecrets: true };
    const rendered = renderSettings(sidecarSettings, { upkeep: { controlToken: token } }, { hotRestart });
    expect(rendered.files).toEqual([]);
    expect(rendered.liveSecrets).toEqual([{ name: "upkeep-controltoken", content: token, secret: true }]);
    expect(rendered.environment["GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN_FILE"]).toBe(
      "/run/gatehouse/secrets/upkeep-controltoken",
    );
    expect(JSON.stringify([rendered.environment, rendered.liveFiles])).not.toContain(token);
  });

  it("delivers secrets as plain files to a service that reloads only settings", () => {
    const hotRestart = { file: "settings.json5", fixed: [], withSecrets: false };
    const rendered = renderSettings(
      facilitatorSettings,
      { signer: { privateKey: key }, assets: [asset] },
      { hotRestart },
    );
    expect(rendered.liveSecrets).toEqual([]);
    expect(rendered.files).toEqual([{ name: "signer-privatekey", content: key.value, secret: true }]);
    expect(JSON.stringify([rendered.environment, rendered.liveFiles])).not.toContain(key.value);
  });

  it("rejects invalid and missing values with the service's messages", () => {
    const { problems } = renderSettings(facilitatorSettings, { chain: { id: 0 }, assets: [asset] });
    expect(problems.map((problem) => problem.key)).toEqual([
      "settings.facilitator.chain.id",
      "settings.facilitator.signer.privateKey",
    ]);
    expect(problems[0]?.message).toContain("found 0; expected an EIP-155 chain id");
    expect(problems[1]?.message).toContain("missing");
  });

  it("rejects an unknown setting", () => {
    const { problems } = renderSettings(facilitatorSettings, {
      signer: { privateKey: key },
      assets: [asset],
      chain: { identifier: 1 },
    });
    expect(problems).toEqual([
      {
        key: "settings.facilitator.chain.identifier",
        message:
          'unknown setting of facilitator; "gatehouse facilitator --help --all" lists them. Correct the name or remove it.',
      },
    ]);
  });

  it("suggests the intended setting, and rejects an invalid maintenance window", () => {
    const { problems } = renderSettings(sidecarSettings, {
      restart: { maintenanceCron: "every night", maintenanceTimeZone: "Mars/Olympus", budgetPerHours: 1 },
    });
    expect(problems.map(({ key: name, message }) => `${name}: ${message}`)).toEqual([
      expect.stringContaining(
        "restart.budgetPerHours: unknown setting of sidecar; did you mean restart.budgetPerHour?",
      ),
      expect.stringMatching(/restart\.maintenanceCron: found "every night"; .*expected a cron expression/),
      expect.stringMatching(/restart\.maintenanceTimeZone: found "Mars\/Olympus"; expected a time zone/),
    ]);
  });

  it("masks an invalid secret in its problem", () => {
    const wrong: DeploymentSecret = { kind: "secret", check: "hunter2-hunter2", value: "hunter2-hunter2" };
    const rendered = renderSettings(facilitatorSettings, { signer: { privateKey: wrong }, assets: [asset] });
    expect(JSON.stringify(rendered.problems)).not.toContain("hunter2");
    expect(rendered.problems).toHaveLength(1);
  });
});
