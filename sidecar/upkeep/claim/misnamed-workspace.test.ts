import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readSettings } from "#daemon/settings/settings.ts";
import { sidecarSettings } from "../../settings.ts";
import { requireWorkspace } from "./misnamed-workspace.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-workspace-"));
});

afterEach(() => rm(root, { recursive: true }));

/** Creates files below the root, and checks a workspace. */
async function check(files: readonly string[], workspace: string, more: Readonly<Record<string, string>> = {}) {
  for (const file of files) {
    await mkdir(join(root, file, ".."), { recursive: true });
    await writeFile(join(root, file), "");
  }
  const env = { GATEHOUSE_SIDECAR_NODE_WORKSPACE: join(root, workspace), ...more };
  requireWorkspace(readSettings(sidecarSettings, { env }));
}

test.each([
  ["bin with the tool", ["bin/node_cli"], "bin", ""],
  ["bin with node.conf alone", ["bin/node.conf"], "bin", ""],
  ["bin of another family", ["bin/pharos_cli", "pharos.conf"], "bin", ""],
  ["bin of the layout before v0.11", ["node/domain/client/bin/node_cli"], "node/domain/client/bin", ""],
])("a workspace that names %s is told which one to set", async (_, files, workspace, meant) => {
  await expect(check(files, workspace)).rejects.toThrow(
    `node.workspace is ${join(root, workspace)}, the directory with the node's binaries; expected its parent: ` +
      `set GATEHOUSE_SIDECAR_NODE_WORKSPACE=${join(root, meant)}.`,
  );
});

test("a directory of programs that is not called bin is told both settings", async () => {
  await expect(check(["programs/node_cli"], "programs")).rejects.toThrow(
    `set GATEHOUSE_SIDECAR_NODE_BIN_DIRECTORY=${join(root, "programs")}, and node.workspace to its parent, ${root}.`,
  );
});

test.each([
  ["has its programs in bin", ["bin/node_cli", "node_cli"], ".", {}],
  ["is still empty", ["bin/other"], "bin", {}],
  ["has a file of its node, and its programs yet to come", ["pharos.conf", "ops"], ".", {}],
  ["is named with its programs", ["bin/node_cli"], "bin", { GATEHOUSE_SIDECAR_NODE_BIN_DIRECTORY: "/elsewhere" }],
])("a workspace that %s is taken as it is", async (_, files, workspace, more) => {
  await check(files, workspace, more);
});
