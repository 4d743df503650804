import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { sidecarSettings } from "../settings.ts";
import { runPlanCommand } from "./plan-command.ts";
import { planDocument } from "./plan/plan-document.ts";

const settings = readSettings(sidecarSettings, { env: {} });
const driftedConfig = `{
  "chain": {
    "monitor_config": { "enable_pamir_cetina": true, "pamir_cetina_push_address": "10.0.0.1" } // ours
  }
}
`;

let directory: string;
let configPath: string;
let printedText: string;
let errors: string;
const output = {
  out: (text: string) => void (printedText += text),
  error: (text: string) => void (errors += text),
  isColored: false,
};

beforeEach(async () => {
  directory = await makeTestDirectory();
  configPath = join(directory, "node.conf");
  await writeFile(configPath, driftedConfig);
  [printedText, errors] = ["", ""];
});

const options = () => ({ configPath, nodeVersion: "0.16.2", stateDirectories: [], json: false, write: false });

test("gatehouse config plan prints a diff and a reason for each change, and exits with 2", async () => {
  expect(await runPlanCommand(options(), settings, output)).toBe(2);
  expect(printedText).toContain(`--- a${configPath}\n+++ b${configPath}\n`);
  expect(printedText).toContain(
    '+    "monitor_config": { "storage_enable_cetina": true, "storage_cetina_push_address": "10.0.0.1",',
  );
  expect(printedText).toContain(
    "enable_pamir_cetina renamed to storage_enable_cetina (node 0.16.2 reads the storage_* names",
  );
  expect(printedText).toMatch(/\nTo apply this, add --write, or let the sidecar do it\.\n$/);
  expect(await readFile(configPath, "utf8")).toBe(driftedConfig);
});

test("gatehouse config plan prints no key or password, even inline next to a change", async () => {
  const inline = {
    domain_key: "Mig/7b+T".repeat(8),
    stabilizing_key: "0x4002ab",
    key_passwd: "hunter2",
    pwd: "s",
    key_pwd: 1234,
  };
  await writeFile(
    configPath,
    driftedConfig.replace('  "chain": {', `  "chain": {\n    "secret_config": ${JSON.stringify(inline)},`),
  );
  expect(await runPlanCommand(options(), settings, output)).toBe(2);
  expect(await runPlanCommand({ ...options(), json: true }, settings, output)).toBe(2);
  expect(printedText).toContain('"key_passwd":[secret],"pwd":[secret],"key_pwd":"[secret]"');
  for (const secret of ["Mig/", "0x4002ab", "hunter2", "1234"]) expect(printedText + errors).not.toContain(secret);
});

test("gatehouse config plan prints no secrets from the lines around a change, in text or JSON", async () => {
  const key = `0x${"ab".repeat(32)}`;
  const text = driftedConfig
    .replace("10.0.0.1", "http://bob:hunter2@10.0.0.1")
    .replace(" // ours", ' // ours; was "api_key": "k3y-of-ours"')
    .replace('  "chain": {', `  "chain": {\n    "secret_config": { "domain_key_path": "${key}" },`);
  await writeFile(configPath, text);
  expect(await runPlanCommand(options(), settings, output)).toBe(2);
  expect(await runPlanCommand({ ...options(), json: true }, settings, output)).toBe(2);
  expect(printedText).toContain('"domain_key_path": "[secret]"');
  for (const secret of [key, "hunter2", "k3y-of-ours"]) expect(printedText + errors).not.toContain(secret);
});

test("gatehouse config plan --write corrects the file, leaves no other files behind, and then finds nothing to do", async () => {
  expect(await runPlanCommand({ ...options(), write: true }, settings, output)).toBe(0);
  expect(printedText).toMatch(/\nWritten\. If no sidecar runs, restart the node: .*\n$/);
  expect(await readdir(directory)).toEqual(["node.conf"]);
  expect(await readFile(configPath, "utf8")).toContain("} // ours");
  printedText = "";
  expect(await runPlanCommand(options(), settings, output)).toBe(0);
  expect(printedText).toBe(`${configPath}: no changes.\n`);
});

test("gatehouse config plan --json prints one document", async () => {
  expect(await runPlanCommand({ ...options(), json: true }, settings, output)).toBe(2);
  expect(JSON.parse(printedText)).toMatchObject({
    drift: true,
    problems: [],
    diff: expect.stringContaining("@@") as string,
  });
});

test("gatehouse config plan reports what it can't do, and exits with 1", async () => {
  expect(await runPlanCommand({ ...options(), nodeVersion: "new" }, settings, output)).toBe(1);
  expect(errors).toBe('plan: --node-version "new" is not a version; expected one such as 0.16.2.\n');
  await writeFile(configPath, "{");
  expect(await runPlanCommand(options(), settings, output)).toBe(1);
  expect(errors).toContain(`plan: ${configPath}:1:2 is incomplete JSON`);
});

test("gatehouse config plan --json reports an unreadable file, and what --write did", async () => {
  const json = { ...options(), json: true };
  expect(await runPlanCommand({ ...json, configPath: join(directory, "none") }, settings, output)).toBe(1);
  expect(planDocument.parse(JSON.parse(printedText))).toEqual({
    configPath: join(directory, "none"),
    nodeVersion: "0.16.2",
    drift: null,
    written: false,
    changes: [],
    problems: [{ reason: "FileMissing", message: `${join(directory, "none")} does not exist; correct --config.` }],
    diff: "",
  });
  printedText = "";
  expect(await runPlanCommand({ ...json, write: true }, settings, output)).toBe(0);
  expect(planDocument.parse(JSON.parse(printedText))).toMatchObject({ drift: true, written: true });
});

test("gatehouse config plan --json prints valid JSON without secrets, whatever is in place of a value", async () => {
  const odd = `{ "password": "hunter22", "note": "token: 'abc d1'", "to": "bob:hunter2@push" }`;
  await writeFile(configPath, driftedConfig.replace('"10.0.0.1"', odd));
  expect(await runPlanCommand({ ...options(), json: true }, settings, output)).toBe(1);
  const document = planDocument.parse(JSON.parse(printedText));
  expect(document.problems).toHaveLength(1);
  expect(document.drift).toBe(true);
  for (const secret of ["hunter2", "abc d1"]) expect(printedText + errors).not.toContain(secret);
});
