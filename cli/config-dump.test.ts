import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { facilitatorSettings } from "#facilitator/settings.ts";
import { dumpSettings } from "./config-dump.ts";

test("each setting has its value and says where that came from, and no secret is shown", () => {
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
  const dumped = dumpSettings(facilitatorSettings, { env, file }, { mask });
  const of = (key: string) => dumped.find((setting) => setting.key === key);
  expect(of("listen.port")).toEqual({ key: "listen.port", value: 3100, origin: `${file}: line 2: listen.port` });
  expect(of("listen.host")).toEqual({ key: "listen.host", value: "127.0.0.1", origin: "default" });
  expect(of("ledger.url")).toEqual({ key: "ledger.url", value: null, origin: "default" });
  expect(of("chain.rpcUrl")?.origin).toBe("GATEHOUSE_FACILITATOR_CHAIN_RPC_URL");
  expect(of("signer.privateKey")).toEqual({
    key: "signer.privateKey",
    value: "[secret]",
    origin: "GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE",
  });
  expect(mask.text(JSON.stringify(dumped))).not.toMatch(/1111111|long-password/);
});
