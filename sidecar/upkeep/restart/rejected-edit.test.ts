import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { makeContext } from "../../testing/upkeep-context.ts";
import { readConfigFile } from "../config/config-file.ts";
import { createConfigVersions } from "../config/config-versions.ts";
import { explainRejectedEdit } from "./rejected-edit.ts";

/** Judges an edit of the node.conf that the sidecar has seen before. */
async function judge({ before, edit }: Readonly<{ before: string; edit: string }>) {
  const directory = await makeTestDirectory();
  const configPath = join(directory, "node.conf");
  await writeFile(configPath, edit);
  const reading = await readConfigFile(configPath, 65_536);
  if (!reading.ok) throw new Error(reading.problem.message);
  const { config } = makeContext();
  config.note({ lastUsable: { contentHash: "earlier", bytes: Buffer.from(before) } });
  const layout = resolveNodeLayout({ configPath });
  const context = makeContext({
    settings: { node: { httpUrl: "http://127.0.0.1:18100", webSocketUrl: "ws://127.0.0.1:18200" } },
    config,
    place: { layout: () => layout },
    versions: createConfigVersions(directory),
  });
  return await explainRejectedEdit(reading, undefined, context);
}

const withPorts = (http: string, ws: string) =>
  JSON.stringify({ chain: { startup_config: { init_config: { http_port: http, ws_port: ws } } } });

test("rejects a port on which the sidecar could not reach the node, and reports the setting to change first", async () => {
  const before = withPorts("18100", "18200");
  const moved = await judge({ before, edit: withPorts("18300", "18200") });
  expect(moved?.text).toMatch(
    /init_config\.http_port is 18300, but the sidecar queries the node on port 18100 \(node\.httpUrl\)/,
  );
  expect((await judge({ before, edit: withPorts("18100", "18400") }))?.text).toContain("node.webSocketUrl");
});

test("accepts a changed node port if ports are mapped between the sidecar and the node", async () => {
  const before = withPorts("8100", "8200");
  expect(await judge({ before, edit: withPorts("8101", "8201") })).toBeUndefined();
});

test.each(["monitor_config", "secret_config"])(
  "rejects a duplicate key in %s, which a healthy node would read either way",
  async (name) => {
    const writeSection = (section: string) => `{ "chain": { "${name}": ${section} } }`;
    const before = writeSection('{ "a": true }');
    const edit = writeSection('{ "a": false, "a": true }');
    expect((await judge({ before, edit }))?.text).toContain(
      `chain.${name}.a duplicate key in one object (first on line 1); parsers differ in which value they use. To fix it, remove one of the two.`,
    );
    expect(await judge({ before: edit, edit }), "the node already runs with it").toBeUndefined();
  },
);
