import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { extract } from "tar";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { runDoctor, facilitator, key, startServiceThat } from "./testing/doctor-fixture.ts";

test("writes a bundle with mode 0600 and without planted secrets, and overwrites no file", async () => {
  const folder = await makeTestDirectory();
  const log = join(folder, "facilitator.log");
  await writeFile(
    log,
    `${"x".repeat(99)}\n`.repeat(30_000) + `{"message":"sent","key":"${key}"}\nBearer planted-token-1\n`,
  );
  const url = await startServiceThat({
    service: "facilitator",
    checks: { chain: { ok: false, message: "https://user:planted-password@node.example/ is down" } },
  });
  const bundle = join(folder, "bundle.tgz");
  const env = facilitator("http://me:planted-pass@127.0.0.1:1/");
  const run = await runDoctor({ env, urls: { facilitator: url }, bundle, logs: [log] });
  expect(run.error).toContain(`${bundle} was written`);
  expect((await stat(bundle)).mode & 0o777).toBe(0o600);
  await extract({ file: bundle, cwd: folder });
  const read = (name: string) => readFile(join(folder, name), "utf8");
  expect(JSON.parse(await read("findings.json"))).toHaveLength(run.findings.length);
  expect(await read("facilitator/settings.json")).toContain('"[secret]"');
  expect(await read("facilitator/readyz.json")).toContain("node.example/ is down");
  const end = await read("log/facilitator.log");
  expect(end).toContain('"message":"sent"');
  expect(end.length).toBeLessThan(2_200_000);
  const names = ["README.txt", "findings.json", "versions.json", "log/facilitator.log"];
  const responses = ["settings.json", "configuration.json", "readyz.json", "metrics.txt"].map(
    (name) => `facilitator/${name}`,
  );
  const all = (await Promise.all([...names, ...responses].map(read))).join("\n");
  for (const secret of [key.slice(2), "planted-token", "planted-pass"]) expect(all).not.toContain(secret);
  const bundleBefore = await readFile(bundle);
  expect((await runDoctor({ env, bundle })).error).toContain("it already exists; specify another file");
  expect(await readFile(bundle)).toEqual(bundleBefore);
});
