import { execFile } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { NodeProfile } from "../node-profile.ts";
import { prepareSampleWorkspace, sampleConf } from "../testing/sample-workspace.ts";

const monitor = { jobName: "node-1", pushAddress: "127.0.0.1", pushPort: 9091, pushIntervalSeconds: 10 };

function prepare(version: string, place: Readonly<{ directory?: string; profile?: NodeProfile }> = {}) {
  return prepareSampleWorkspace(version, { ...place, conf: { ...sampleConf, monitor } });
}

async function conf(path: string) {
  return JSON.parse(await readFile(path, "utf8"));
}

test("writes the programs of v0.11 and later to bin/", async () => {
  const made = await prepare("0.16.2");
  expect(made.binDirectory).toBe(join(made.directory, "bin"));
  for (const name of ["node_cli", "ops"]) {
    expect((await stat(join(made.binDirectory, name))).mode & 0o777).toBe(0o755);
  }
  expect(await conf(made.configPath)).toEqual({
    chain: {
      monitor_config: {
        storage_enable_cetina: true,
        storage_cetina_job_name: "node-1",
        storage_cetina_push_address: "127.0.0.1",
        storage_cetina_push_interval: 10,
        storage_cetina_push_port: 9091,
      },
      secret_config: {
        domain_key_path: join(made.directory, "keys/domain.key"),
        stabilizing_key_path: join(made.directory, "keys/stabilizing.key"),
      },
      startup_config: {
        init_config: {
          meta_path: join(made.directory, "data/meta"),
          host_ip: "127.0.0.1",
          http_port: "18100",
          rpc_port: "20000",
          tcp_port: "19000",
          ws_port: "18200",
        },
      },
    },
    storage: { mygrid_conf: {}, mygrid_env: { storage_data_path: join(made.directory, "data") } },
  });
});

test("writes the public family's programs to bin/, its configuration and ops to the root", async () => {
  const made = await prepare("0.12.2", { profile: "pharos" });
  const at = (path: string) => join(made.directory, path);
  expect(made).toMatchObject({ configPath: at("pharos.conf"), opsDirectory: made.directory, binDirectory: at("bin") });
  for (const path of ["ops", "bin/pharos_cli", "bin/pharos_light"]) {
    expect((await stat(at(path))).mode & 0o777).toBe(0o755);
  }
  expect((await promisify(execFile)(at("bin/pharos_light"), ["--version"])).stdout).toBe("f301031a\n");
  expect(await conf(at("bin/VERSION"))).toMatchObject({ "Devnet-250101": { version: 1 } });
  expect((await stat(at(".password"))).mode & 0o777).toBe(0o600);
});

test("writes the programs before v0.11 to the node's own directory", async () => {
  const made = await prepare("0.10.3");
  expect(made.binDirectory).toBe(join(made.directory, "node/domain/client/bin"));
  const { chain } = await conf(made.configPath);
  expect(Object.keys(chain.monitor_config)).toContain("pamir_cetina_job_name");
});

test("keeps existing files and makes secrets readable only by their owner", async () => {
  const made = await prepare("0.16.2");
  await writeFile(made.configPath, "{ mine }");
  const key = join(made.keyDirectory, "domain.key");
  const before = await readFile(key, "utf8");
  await prepare("0.16.2", { directory: made.directory });
  expect(await readFile(made.configPath, "utf8")).toBe("{ mine }");
  expect(await readFile(key, "utf8")).toBe(before);
  for (const path of [key, made.parametersPath]) expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("copies node.conf to the new layout in an upgrade across v0.11", async () => {
  const old = await prepare("0.10.3");
  const text = `// kept\n${await readFile(old.configPath, "utf8")}`;
  await writeFile(old.configPath, text);
  const upgraded = await prepare("0.16.2", { directory: old.directory });
  expect(upgraded.configPath).not.toBe(old.configPath);
  expect(await readFile(upgraded.configPath, "utf8")).toBe(text);
});
