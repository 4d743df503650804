import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { listChildren } from "../support/list-children.ts";
import { startService } from "../support/service-process.ts";

test("a hot-restarted service gets its own secrets, and no other service's", async () => {
  const directory = await makeTestDirectory();
  const settings = join(directory, "gateway.json5");
  await writeFile(settings, JSON.stringify({ node: { httpUrl: "http://127.0.0.1:9", chainId: 1672 } }));
  await using gateway = await startService(
    "gateway",
    {
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: "planted-token",
      GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: "planted-key",
    },
    { args: ["--settings", settings, "--hot-restart"] },
  );
  const [serving = 0] = await listChildren(gateway.pid);
  const environment = await readFile(`/proc/${serving}/environ`, "utf8");
  expect(environment).toContain("GATEHOUSE_GATEWAY_LISTEN_PORT=0");
  expect(environment).not.toContain("planted");
});
