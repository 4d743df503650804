import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { facilitatorSettings } from "#facilitator/settings.ts";
import { dumpSettings, printConfigDump } from "./config-dump.ts";

test("shows each setting with its value and source, but no secrets", () => {
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-dump-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, keyFile] = [join(folder, "facilitator.json5"), join(folder, "key")];
  const address = `0x${"aa".repeat(20)}`;
  writeFileSync(
    file,
    `{\n  listen: { port: 3100 },\n  openToAnybody: true,\n  payees: ["${address}"],\n  assets: [{ address: "${address}", name: "USDC", version: "2" }],\n}`,
  );
  writeFileSync(keyFile, `0x${"11".repeat(32)}`);
  const env = {
    GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE: keyFile,
    GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: "https://user:long-password-1@rpc.example",
  };
  const mask = createMask();
  const dumpedSettings = dumpSettings(facilitatorSettings, { env, file }, { mask });
  const of = (key: string) => dumpedSettings.find((setting) => setting.key === key);
  expect(of("listen.port")).toEqual({ key: "listen.port", value: 3100, origin: `${file}: line 2: listen.port` });
  expect(of("listen.host")).toEqual({ key: "listen.host", value: "127.0.0.1", origin: "default" });
  expect(of("ledger.url")).toEqual({ key: "ledger.url", value: null, origin: "default" });
  expect(of("chain.rpcUrl")?.origin).toBe("GATEHOUSE_FACILITATOR_CHAIN_RPC_URL");
  expect(of("signer.privateKey")).toEqual({
    key: "signer.privateKey",
    value: "[secret]",
    origin: "GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE",
  });
  expect(mask.text(JSON.stringify(dumpedSettings))).not.toMatch(/1111111|long-password/);
});

test.each([
  ["none", {}, ["assets = null  # missing", "signer.privateKey = null  # missing"]],
  [
    "some",
    { GATEHOUSE_FACILITATOR_LISTEN_PORT: "3100", GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: `0x${"11".repeat(32)}` },
    [
      "assets = null  # missing",
      'signer.privateKey = "[secret]"  # GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY',
      "listen.port = 3100  # GATEHOUSE_FACILITATOR_LISTEN_PORT",
    ],
  ],
])("shows defaults and what is missing when %s of the required settings are given", async (_, env, expected) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const printed = { out: "", error: "" };
  const output = {
    out: (text: string) => void (printed.out += text),
    error: (text: string) => void (printed.error += text),
    isColored: false,
  };
  const options = { service: "facilitator", file: undefined, changed: false, json: false } as const;
  expect(await printConfigDump(options, { mask: createMask(), output })).toBe(1);
  const lines = printed.out.trim().split("\n");
  expect(lines).toEqual(
    expect.arrayContaining(['listen.host = "127.0.0.1"  # default', "ledger.url = null  # default"]),
  );
  expect(lines.filter((line) => !line.endsWith("  # default"))).toEqual(expected);
  expect(printed.error).toContain("GATEHOUSE_FACILITATOR_ASSETS: missing");
});
