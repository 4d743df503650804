import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, it } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-seed-"));
const from = join(directory, "first.conf");
const to = join(directory, "bin/node.conf");
const program = join(import.meta.dirname, "seed-node-conf.ts");

/** Runs the program as an init container does. */
function seed(hostIp = "") {
  const env = { ...process.env, HOST_IP: hostIp };
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, from, to], { env, encoding: "utf8" });
  return { status, said: stdout.trim(), stderr };
}

const conf = (hostIp: string) =>
  `{\n  // kept by hand\n  "chain": { "startup_config": { "init_config": { "host_ip": "${hostIp}" } } }\n}\n`;

beforeEach(() => {
  rmSync(join(directory, "bin"), { recursive: true, force: true });
  writeFileSync(from, conf("127.0.0.1"));
});
afterAll(() => rmSync(directory, { recursive: true }));

it("puts the first configuration where there is none, with the address of the place", () => {
  expect(seed("10.0.0.7")).toMatchObject({ status: 0, said: `seeded ${to}` });
  expect(readFileSync(to, "utf8")).toBe(conf("10.0.0.7"));
});

it("leaves one that is there as it is, but for the address", () => {
  seed("10.0.0.7");
  const kept = readFileSync(to, "utf8").replace("by hand", "by the sidecar");
  writeFileSync(to, kept);
  expect(seed().said).toBe(`${to} is there; left as it is`);
  expect(seed("10.0.0.7").said).toBe(`${to} is there; left as it is`);
  expect(readFileSync(to, "utf8")).toBe(kept);
  expect(seed("10.0.0.8").said).toBe(`${to} is there; host_ip is now 10.0.0.8`);
  expect(readFileSync(to, "utf8")).toBe(kept.replace("10.0.0.7", "10.0.0.8"));
});

it("leaves one that is no JSON to the sidecar", () => {
  seed();
  writeFileSync(to, "{");
  expect(seed("10.0.0.7").said).toContain("is no JSON; left as it is");
  expect(readFileSync(to, "utf8")).toBe("{");
});
