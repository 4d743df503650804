import { createServer } from "node:net";
import { expect, test } from "vitest";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { announceService } from "#daemon/running-services.ts";
import { requireFreePorts } from "./free-ports.ts";

test("names the process to stop if a different stack uses the port", async () => {
  const directory = await makeTestDirectory();
  const env = { XDG_RUNTIME_DIR: directory, XDG_STATE_HOME: directory };
  await using server = await listenLocally(createServer());
  const { port } = server;
  const requestedPorts = [{ host: "127.0.0.1", port, owner: "sidecar", setting: "GATEHOUSE_SIDECAR_LISTEN_PORT" }];
  const taken = `port ${port} on 127.0.0.1, needed by the sidecar, is in use; stop the process that uses it, or set GATEHOUSE_SIDECAR_LISTEN_PORT to another port.`;
  const problems = () =>
    requireFreePorts(requestedPorts, env).then(String, (error: unknown) => (error as Error).message);
  expect(await problems()).toBe(taken);
  const url = `http://127.0.0.1:${port}`;
  using _ = announceService({ service: "sidecar", pid: process.pid, stopPid: 4_321, url }, env);
  expect(await problems()).toBe(`${taken}\nGatehouse is already running here (sidecar): stop it with kill 4321.`);
});

test("names both settings that request the same port", async () => {
  const requestedPorts = [
    { host: "127.0.0.1", port: 9_601, owner: "node", setting: "GATEHOUSE_DEVNET_NODE_HTTP_PORT" },
    { host: "0.0.0.0", port: 9_601, owner: "sidecar", setting: "GATEHOUSE_SIDECAR_LISTEN_PORT" },
  ];
  await expect(requireFreePorts(requestedPorts, {})).rejects.toThrow(
    "GATEHOUSE_DEVNET_NODE_HTTP_PORT and GATEHOUSE_SIDECAR_LISTEN_PORT are both set to 9601; change one.",
  );
});
