import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { startFakeNode } from "#sidecar/testing/fake-node.ts";
import { startHeadsSocket } from "../support/node/heads-socket.ts";
import { askAlone, holdIdle } from "../support/held-idle.ts";
import { waitForReason } from "#sidecar/testing/sidecar-status.ts";
import { isLong } from "../support/run-size.ts";
import { startService } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/** Number of the sidecar's descriptors, and of idle connections. */
const descriptors = 160;
const idleConnections = 400;
/** Min number of edits that are corrected during a test, however slow the machine is. */
const corrections = isLong ? 3 : 1;
/** Min seconds for which the idle connections are kept open; minutes in `npm run test:long`. */
const seconds = Number(process.env["GATEHOUSE_TEST_DESCRIPTORS_SECONDS"] ?? 1);
/** Number of checks after which the lack of descriptors must be reported. */
const shortAfter = 3;

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}';

const right = '"storage_enable_cetina": true';
const wrong = '"storage_enable_cetina": false';

test.skipIf(!existsSync("/proc/self/fd"))(
  `at ${descriptors} descriptors and ${idleConnections} idle connections for ${seconds} s stays up, serves other clients, keeps its node healthy and reports the shortage`,
  { timeout: (seconds + 240) * 1_000 },
  async () => {
    await using node = await startFakeNode();
    await using heads = await startHeadsSocket();
    const environment = buildEnvironment(node, {
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: heads.url,
      GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
      GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "500",
    });
    await using sidecar = await startService("sidecar", environment, { descriptors });
    const { gateway = "", sidecar: operations = "" } = sidecar.urls;
    await until(
      "the sidecar is ready",
      generousMs,
      async () => (await askAlone(`${operations}/readyz`)).status === 200,
    );
    const isRight = async () => (await readFile(node.configPath, "utf8")).includes(right);
    await until("node.conf is correct", generousMs, isRight);

    const served: string[] = [];
    const ready: number[] = [];
    let corrected = 0;
    {
      using _ = holdIdle(gateway, idleConnections);
      const end = performance.now() + seconds * 1_000;
      for (let round = 0; performance.now() < end || corrected < corrections || round <= shortAfter; round += 1) {
        served.push((await askAlone(gateway, call).catch((error: unknown) => ({ text: String(error) }))).text);
        ready.push((await askAlone(`${operations}/readyz`)).status);
        if (round % 10 === 0) {
          // The file watch must detect this edit, and the sidecar must correct it.
          await writeFile(node.configPath, (await readFile(node.configPath, "utf8")).replace(right, wrong));
          await until("the edit is corrected", generousMs, isRight);
          corrected += 1;
        }
        if (round === shortAfter) {
          const short = await waitForReason(operations, "ConnectionsAvailable", "FileDescriptorsLow");
          expect(short?.message).toMatch(
            /\d+ of 160 file descriptors are open, \d+ of at most \d+ connections\. Idle .*ulimit -n/,
          );
        }
        await sleep(250);
      }
    }
    expect(corrected).toBeGreaterThanOrEqual(corrections);
    expect(new Set(ready)).toEqual(new Set([200]));
    expect(served.filter((text) => !text.includes('"result":"0x'))).toEqual([]);
    const { text: metrics } = await askAlone(`${operations}/metrics`);
    expect(metrics).toMatch(/gatehouse_connections_shed_total\{listener="public"\} [1-9]/);
    expect(metrics).toContain('gatehouse_condition{type="ConnectionsAvailable"} 0');

    // This takes half a minute; short runs leave it to the tests of `deriveDescriptorCondition`.
    if (isLong)
      await until("it has free descriptors again", 60_000, async () =>
        (await askAlone(`${operations}/metrics`)).text.includes('gatehouse_condition{type="ConnectionsAvailable"} 1'),
      );
    expect(await sidecar.end("SIGTERM")).toBe(0);
    expect(sidecar.output()).not.toContain("EMFILE");
  },
);
