import { describe, expect, it } from "vitest";
import { parseConfig } from "../stack-config.ts";
import { findCapacityProblems } from "./host-capacity.ts";

const gibibyte = 1_073_741_824;
const real = { nodeImage: "registry.example/node:0.16.2", nodeUser: "1000", hostIp: "203.0.113.10" };
const family = { nodeImage: "registry.example/node:community_v0.12.2_f301031a_0422", hostIp: "203.0.113.10" };

/** Returns the problems on a host with these CPUs, memory, disk and open files. */
async function problemsOf(
  raw: Readonly<Record<string, string>>,
  { cpus = 16, memory = 64, disk = 500, openFiles = 10_000_000 } = {},
): Promise<readonly string[]> {
  const body = { NCPU: cpus, MemTotal: memory * gibibyte, DockerRootDir: "/var/lib/docker" };
  const requestEngine = async () => ({ status: 200, headers: {}, body });
  const host = { openFilesMax: async () => openFiles, freeBytes: async () => disk * gibibyte };
  const found = await findCapacityProblems(parseConfig(raw), { requestEngine, host });
  return found.map(({ key, message }) => `${key}: ${message}`);
}

describe("the capacity of a Docker host", () => {
  it("passes when sufficient, or when the engine does not report it", async () => {
    for (const raw of [{}, real, family]) expect(await problemsOf(raw)).toEqual([]);
    const silent = { requestEngine: async () => ({ status: 403, headers: {}, body: "no" }), host: undefined };
    expect(await findCapacityProblems(parseConfig(real), silent)).toEqual([]);
  });

  it("is compared with the explicit and default limits of each service", async () => {
    const small = { cpus: 4, memory: 16 };
    expect(await problemsOf({}, small)).toEqual([]);
    expect(await problemsOf(real, small)).toEqual([
      "limits.node: found 8 CPUs and 32768 MiB, but this Docker host has 4 CPUs and 16384 MiB. Lower both limits with `pulumi config set --path limits.node.cpus 4` and with `pulumi config set --path limits.node.memoryMebibytes 16384`, or use a larger host.",
    ]);
    const limits = JSON.stringify({
      node: { cpus: 3, memoryMebibytes: 9_000 },
      sidecar: { cpus: 5, memoryMebibytes: 512 },
    });
    expect(await problemsOf({ ...real, limits }, small)).toEqual([
      expect.stringMatching(/^limits\.sidecar: found 5 CPUs .* limits\.sidecar\.cpus 4`/),
    ]);
  });

  it("includes the open-files limit of the node's family or of nodeUlimits", async () => {
    const kernel = { openFiles: 1_048_576 };
    expect(await problemsOf(real, kernel)).toEqual([]);
    expect(await problemsOf(family, kernel)).toEqual([
      "nodeUlimits.nofile: found 10000000, but this host's fs.nr_open is 1048576, so the engine would not start the node. Raise it with `sudo sysctl -w fs.nr_open=10000000`, and in /etc/sysctl.d to persist it, or lower the limit with `pulumi config set --path nodeUlimits.nofile 1048576`.",
    ]);
    expect(await problemsOf({ ...family, nodeUlimits: '{"nofile": 1000000}' }, kernel)).toEqual([]);
  });

  it("includes 20 GiB of free disk only for a real node", async () => {
    expect(await problemsOf({}, { disk: 3 })).toEqual([]);
    expect(await problemsOf(real, { disk: 3 })).toEqual([
      expect.stringMatching(/^nodeImage: found 3 GiB free in \/var\/lib\/docker, .*expected 20 GiB or more/),
    ]);
  });
});
