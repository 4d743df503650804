import { hash } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callRpc } from "../../support/call-rpc.ts";
import { takeSlice } from "../../support/run-size.ts";
import { startService } from "../../support/service-process.ts";
import { readSettingsInForce, waitUntilInForce, waitUntilRejected } from "../../support/settings-in-force.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-kept-settings-"));
  path = join(folder, "settings.json5");
});
afterEach(() => rm(folder, { recursive: true }));

/** The node's URL has no listener: the gateway's report of that is enough here. */
const settingsWith = (more: object) =>
  JSON.stringify({
    node: { httpUrl: "http://127.0.0.1:9", chainId: 1672 },
    listen: { port: 0 },
    public: { port: 0 },
    ...more,
  });

const start = () =>
  startService(
    "gateway",
    { GATEHOUSE_GATEWAY_SETTINGS_PATH: path, XDG_STATE_HOME: join(folder, "state") },
    { args: ["--hand-over"] },
  );

describe("a gateway whose machine starts again while its settings can't be used", () => {
  const good = settingsWith({ log: { level: "warn" } });
  const bad = settingsWith({ log: { level: "loud" } });

  const unusable = [
    ["have a bad value", bad, "log.level"],
    ["were cut off", good.slice(0, 40), "settings.json5"],
  ] as const;
  it.each(takeSlice(unusable, 2))(
    "serves by those that last served, where they %s, until they are fixed",
    async (_, text, why) => {
      await writeFile(path, good);
      await (await start())[Symbol.asyncDispose]();
      await writeFile(path, text);
      await using gateway = await start();
      expect(await waitUntilRejected(gateway, path)).toContain(why);
      expect((await readSettingsInForce(gateway, path))?.sha256).toBe(hash("sha256", good));
      expect(await callRpc(gateway.urls["gateway"] ?? "", "eth_chainId", [])).toHaveProperty("jsonrpc", "2.0");
      const fixed = settingsWith({ log: { level: "error" } });
      await writeFile(path, fixed);
      await waitUntilInForce(gateway, path, fixed);
    },
  );

  it("does not start where none have served yet, and says why", async () => {
    await writeFile(path, bad);
    await expect(start()).rejects.toThrow(/ended with status 1:[^]*log\.level/);
  });

  it("takes nothing that was kept where its settings are good, and the start fails for another reason", async () => {
    await writeFile(path, good);
    await (await start())[Symbol.asyncDispose]();
    const taker = createServer().listen(0, "127.0.0.1");
    await once(taker, "listening");
    const { port } = taker.address() as AddressInfo;
    await writeFile(path, settingsWith({ public: { port } }));
    await expect(start()).rejects.toThrow(String(port));
    taker.close();
  });
});
