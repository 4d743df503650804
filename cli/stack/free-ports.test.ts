import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { announceService } from "#daemon/running-services.ts";
import { requireFreePorts } from "./free-ports.ts";

test("names the process to stop if a different stack uses the port", async () => {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-run-"));
  const env = { XDG_RUNTIME_DIR: directory, XDG_STATE_HOME: directory };
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const wanted = [{ host: "127.0.0.1", port, owner: "sidecar", setting: "GATEHOUSE_SIDECAR_LISTEN_PORT" }];
  const taken = `port ${port} on 127.0.0.1, needed by the sidecar, is in use; stop the process that uses it, or set GATEHOUSE_SIDECAR_LISTEN_PORT to another port.`;
  const problems = () => requireFreePorts(wanted, env).then(String, (error: unknown) => (error as Error).message);
  try {
    expect(await problems()).toBe(taken);
    const url = `http://127.0.0.1:${port}`;
    using _ = announceService({ service: "sidecar", pid: process.pid, stopPid: 4_321, url }, env);
    expect(await problems()).toBe(`${taken}\nGatehouse is already running here (sidecar): stop it with kill 4321.`);
  } finally {
    server.close();
    await rm(directory, { recursive: true });
  }
});
