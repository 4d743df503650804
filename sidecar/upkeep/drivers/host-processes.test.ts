import { once } from "node:events";
import { mkdtempDisposable, truncate, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { findListeningSockets, readProcessStart } from "./host-processes.ts";

const heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const row = (local: string, state: string, inode: number) =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0 100 0 0 10 0`;
test("finds only the sockets listening on the given port", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "sockets-"));
  const table = join(directory.path, "tcp");
  const rows = [
    row("0100007F:2171", "0A", 11),
    row("00000000:0050", "0A", 12),
    row("00000000:2171", "0A", 13),
    row("0100007F:2171", "01", 14),
  ];
  await writeFile(table, `${[heading, ...rows].join("\n")}\n`);
  const found = await findListeningSockets(0x2171, [table, join(directory.path, "none")]);
  expect([...found]).toEqual(["socket:[11]", "socket:[13]"]);
});

test("does not read the connections, however many there are", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "sockets-"));
  const table = join(directory.path, "tcp");
  const rows = [row("0100007F:2171", "0A", 11), row("0100007F:2171", "06", 100)];
  await writeFile(table, `${[heading, ...rows].join("\n")}\n`);
  // The rest is too long for a string, so a function that read on would fail.
  await truncate(table, 2 ** 33);
  expect([...(await findListeningSockets(0x2171, [table]))]).toEqual(["socket:[11]"]);
});

test.skipIf(process.platform !== "linux")("finds a listening socket on this machine", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const found = await findListeningSockets(port);
  server.close();
  expect([...found]).toEqual([expect.stringMatching(/^socket:\[\d+\]$/)]);
});

/** How long this process is blocked at each event loop tick. */
const stallMs = 150;

/** Clock ticks, Linux's unit for a process's start and the machine's uptime. */
const precisionMs = 25;

test("never underestimates a process's age, however long this process stalls during the check", async () => {
  const child = spawn("sleep", ["60"]);
  try {
    await new Promise((resolve) => child.once("spawn", resolve));
    const begun = { wallMs: Date.now(), monotonicMs: performance.now() };
    const abortController = new AbortController();
    const asked = readProcessStart(child.pid ?? 0, systemClock).finally(() => abortController.abort());
    while (!abortController.signal.aborted) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stallMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const start = await asked;
    expect(start?.monotonicMs).toBeLessThan(begun.monotonicMs + precisionMs);
    expect(start?.monotonicMs).toBeGreaterThan(begun.monotonicMs - 20_000);
    expect(start?.wallMs).toBeLessThan(begun.wallMs + precisionMs);
  } finally {
    child.kill("SIGKILL");
  }
});

test("reports nothing for a process that has exited", async () => {
  const child = spawn("true");
  await new Promise((resolve) => child.once("exit", resolve));
  expect(await readProcessStart(child.pid ?? 0, systemClock)).toBeUndefined();
});
