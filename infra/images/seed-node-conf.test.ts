import { spawnSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-seed-"));
const from = join(directory, "first.conf");
const to = join(directory, "bin/node.conf");
const program = join(import.meta.dirname, "seed-node-conf.ts");

/** Runs the program as an init container. */
function seed(hostIp = "", path = to, options: readonly string[] = []) {
  const env = { ...process.env, HOST_IP: hostIp };
  const command = [program, from, path, ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { env, encoding: "utf8" });
  return { status, said: stdout.trim(), stderr };
}

const conf = (hostIp: string) =>
  `{\n  // kept by hand\n  "chain": { "startup_config": { "init_config": { "host_ip": "${hostIp}" } } }\n}\n`;

beforeEach(() => {
  rmSync(join(directory, "bin"), { recursive: true, force: true });
  writeFileSync(from, conf("127.0.0.1"));
});
afterAll(() => rmSync(directory, { recursive: true }));

it("seeds a missing node.conf with HOST_IP", () => {
  expect(seed("10.0.0.7")).toMatchObject({ status: 0, said: `seeded ${to}` });
  expect(readFileSync(to, "utf8")).toBe(conf("10.0.0.7"));
});

it("updates only the address of an existing node.conf", () => {
  seed("10.0.0.7");
  const kept = readFileSync(to, "utf8").replace("by hand", "by the sidecar");
  writeFileSync(to, kept);
  expect(seed().said).toBe(`${to} exists; left unchanged`);
  expect(seed("10.0.0.7").said).toBe(`${to} exists; left unchanged`);
  expect(readFileSync(to, "utf8")).toBe(kept);
  expect(seed("10.0.0.8").said).toBe(`${to} exists; host_ip is now 10.0.0.8`);
  expect(readFileSync(to, "utf8")).toBe(kept.replace("10.0.0.7", "10.0.0.8"));
});

it("keeps a byte order mark, and adds a missing host_ip", () => {
  seed();
  writeFileSync(to, `\uFEFF${conf("10.0.0.7")}`);
  expect(seed("10.0.0.8").said).toBe(`${to} exists; host_ip is now 10.0.0.8`);
  expect(readFileSync(to, "utf8")).toBe(`\uFEFF${conf("10.0.0.8")}`);
  writeFileSync(to, '{\n  "chain": { "startup_config": {} } // mine\n}\n');
  seed("10.0.0.8");
  expect(readFileSync(to, "utf8")).toBe(
    '{\n  "chain": { "startup_config": {\n    "init_config": {\n      "host_ip": "10.0.0.8"\n    }\n  } } // mine\n}\n',
  );
});

it("leaves a node.conf unchanged that is not UTF-8", () => {
  seed();
  const kept = Buffer.from(conf("10.0.0.7").replace("by hand", "für den Knoten"), "latin1");
  writeFileSync(to, kept);
  expect(seed("10.0.0.8").said).toContain("is not JSON; left unchanged");
  expect(readFileSync(to).equals(kept)).toBe(true);
});

it("leaves an invalid node.conf unchanged", () => {
  seed();
  writeFileSync(to, "{");
  expect(seed("10.0.0.7").said).toContain("is not JSON; left unchanged");
  expect(readFileSync(to, "utf8")).toBe("{");
});

/** A configuration that specifies the paths of the data and a key. */
const named = (data: string, key = "/data/keys/domain.key") =>
  JSON.stringify({
    chain: { secret_config: { domain_key_path: key } },
    storage: { mygrid_env: { storage_data_path: data } },
  });

describe("seeding for an image whose binaries are copied", () => {
  const volume = join(directory, "volume");
  const image = join(directory, "image-bin");
  const bin = join(directory, "run-bin");
  const kept = join(volume, "conf/node.conf");
  const options = (programs = image) =>
    Object.entries({
      link: [join(bin, "node.conf")],
      programs: [programs],
      bin: ["/data/bin"],
      data: [join(volume, "data")],
      keys: ["/data/keys"],
    }).flatMap(([name, values]) => values.flatMap((value) => [`--${name}`, value]));
  const place = (hostIp = "", programs = image) => seed(hostIp, kept, options(programs));
  beforeEach(() => {
    for (const path of [volume, image, bin]) {
      rmSync(path, { recursive: true, force: true });
      mkdirSync(path);
    }
    writeFileSync(join(image, "node_cli"), "version 1", { mode: 0o755 });
    writeFileSync(join(image, "node.conf"), "the image's own sample");
  });

  it("copies the binaries, and links node.conf next to them", () => {
    expect(place("10.0.0.7")).toMatchObject({ status: 0 });
    expect(readFileSync(join(bin, "node_cli"), "utf8")).toBe("version 1");
    expect(statSync(join(bin, "node_cli")).mode & 0o777).toBe(0o755);
    expect(readlinkSync(join(bin, "node.conf"))).toBe(kept);
    expect(readFileSync(join(bin, "node.conf"), "utf8")).toBe(conf("10.0.0.7"));
    expect(lstatSync(join(volume, "data")).isDirectory()).toBe(true);
  });

  it("keeps existing binaries when the image changes", () => {
    place();
    writeFileSync(join(image, "node_cli"), "version 2");
    expect(place().said).toContain(`the image's binaries are in ${bin}`);
    expect(readFileSync(join(bin, "node_cli"), "utf8")).toBe("version 1");
  });

  it("repeats an interrupted copy", () => {
    place();
    rmSync(join(bin, ".gatehouse-copied"));
    writeFileSync(join(bin, "node_cli"), "vers");
    place();
    expect(readFileSync(join(bin, "node_cli"), "utf8")).toBe("version 1");
  });

  it("replaces a copied node.conf with its link", () => {
    writeFileSync(join(bin, "node.conf"), "the image's own sample");
    expect(seed("", kept, ["--link", join(bin, "node.conf")]).status).toBe(0);
    expect(readlinkSync(join(bin, "node.conf"))).toBe(kept);
  });

  it("rejects a node.conf whose data or key paths are not mounted", () => {
    writeFileSync(from, named("../elsewhere", "/data/secret.key"));
    const { status, stderr } = place();
    expect(status).toBe(1);
    expect(stderr).toContain(
      `storage.mygrid_env.storage_data_path is ../elsewhere; this deployment mounts ${join(volume, "data")}`,
    );
    expect(stderr).toContain(
      "chain.secret_config.domain_key_path is /data/secret.key; this deployment mounts /data/keys",
    );
    writeFileSync(kept, named("../elsewhere").replace('"chain"', "chain"));
    expect(place(), "JSON5, which is not edited").toMatchObject({ status: 1 });
    writeFileSync(kept, named(join(volume, "data/chain")));
    expect(place()).toMatchObject({ status: 0, stderr: "" });
  });
});

describe("seeding for an image with an entry point", () => {
  const workspace = join(directory, "workspace");
  const path = join(workspace, "node.conf");
  const data = join(workspace, "data");
  const mark = join(data, "meta_store");
  const key = join(workspace, "keys/domain.key");
  const options = ["--data", data, "--genesis-mark", mark, "--require", key];

  beforeEach(() => {
    rmSync(workspace, { recursive: true, force: true });
    mkdirSync(join(workspace, "keys"), { recursive: true });
    writeFileSync(key, "a key");
  });

  it("installs the stack's files with mode 0600 and replaces old versions", () => {
    const source = join(directory, "placed-0");
    const placed = join(workspace, "bin/VERSION");
    for (const text of ["the first", "the second"]) {
      writeFileSync(source, text);
      expect(seed("", path, [...options, "--place", `${source}=${placed}`])).toMatchObject({ status: 0 });
      expect(readFileSync(placed, "utf8")).toBe(text);
      expect(statSync(placed).mode & 0o777).toBe(0o600);
    }
  });

  it("rejects a missing or empty key, because the image would generate its own", () => {
    for (const lose of [() => writeFileSync(key, ""), () => rmSync(key)]) {
      lose();
      const { status, stderr } = seed("", path, options);
      expect([status, stderr]).toEqual([1, expect.stringContaining(`the node's keys are missing or empty: ${key}.`)]);
    }
  });

  it("marks restored data as initialized, but not an empty directory", () => {
    seed("", path, options);
    expect(lstatSync(mark, { throwIfNoEntry: false })).toBeUndefined();
    mkdirSync(join(data, "public"));
    expect(seed("", path, options).said).toContain(`${data} has data but no ${mark}`);
    expect(lstatSync(mark).isDirectory()).toBe(true);
    expect(seed("", path, options).said).not.toContain("meta_store");
  });
});

it("resolves a host name, and fails while it has no address", () => {
  expect(seed("localhost")).toMatchObject({ status: 0 });
  expect(readFileSync(to, "utf8")).toMatch(/"host_ip": "(127\.0\.0\.1|::1)"/);
  const { status, stderr } = seed("no-such-host.invalid");
  expect(status).not.toBe(0);
  expect(stderr).toContain("no-such-host.invalid");
});
