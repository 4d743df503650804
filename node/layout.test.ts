import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { nodeFamilies, type NodeFamily } from "./families.ts";
import { formatArgument, findPathsDirectory, resolveNodeLayout, type NodeLayoutSettings } from "./layout.ts";
import { withRows } from "./testing/table-rows.ts";

let root: string;

beforeEach(async () => {
  root = await makeTestDirectory();
});

function put(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
}

function find(settings: NodeLayoutSettings = { workspace: root }) {
  const { family, binDirectory, opsDirectory, configPath, pathsDirectory } = resolveNodeLayout(settings);
  const show = (path: string) => path.replace(root, "~");
  return {
    family: family.name,
    bin: show(binDirectory),
    ops: show(opsDirectory),
    conf: show(configPath),
    from: show(pathsDirectory),
  };
}

const generic = { family: "generic", bin: "~/bin", ops: "~/bin", conf: "~/bin/node.conf", from: "~/bin" };
const pharos = { family: "pharos", bin: "~/bin", ops: "~", conf: "~/pharos.conf", from: "~/bin" };

describe("resolveNodeLayout", () => {
  it("returns the specification's layout if nothing indicates another family", () => {
    expect(find()).toEqual(generic);
    put("bin/node_cli", "bin/ops", "bin/node.conf");
    expect(find()).toEqual(generic);
  });

  it("detects the family by its programs", () => {
    put("bin/pharos_light");
    expect(find()).toEqual(pharos);
  });

  it("detects the family by its configuration file if its programs are missing", () => {
    put("conf/pharos.conf");
    expect(find()).toEqual({ ...pharos, conf: "~/conf/pharos.conf" });
    put("pharos.conf");
    expect(find()).toEqual(pharos);
  });

  it("prefers the configured family", () => {
    put("bin/pharos_light");
    expect(find({ workspace: root, family: "generic" })).toEqual(generic);
  });

  it("resolves relative paths against bin for the public family", () => {
    put("bin/pharos_cli", "conf/pharos.conf");
    expect(find().from).toBe("~/bin");
  });

  it.each([
    ["pharos.conf", pharos],
    ["conf/pharos.conf", { ...pharos, conf: "~/conf/pharos.conf" }],
    ["bin/node.conf", generic],
    [
      "elsewhere/node.conf",
      { ...generic, bin: "~/elsewhere", ops: "~/elsewhere", conf: "~/elsewhere/node.conf", from: "~/elsewhere" },
    ],
  ])("derives the layout from %s alone", (path, layout) => {
    put(path);
    expect(find({ configPath: join(root, path) })).toEqual(layout);
    expect(findPathsDirectory(join(root, path)).replace(root, "~")).toBe(layout.from);
  });

  it("detects the family in a configured bin directory", () => {
    put("programs/pharos_cli");
    expect(find({ workspace: root, binDirectory: join(root, "programs") })).toEqual({
      ...pharos,
      bin: "~/programs",
      from: "~/programs",
    });
  });

  it("detects a family that is only a new row in the table", () => {
    const [first] = nodeFamilies;
    const made: NodeFamily = {
      ...first,
      name: "made-up",
      programs: { tool: "made_cli", process: "made_node" },
      configPaths: ["etc/made.conf"],
      opsDirectory: "tools",
      pathsFrom: "bin-directory",
      nodeDirectory: "made",
    };
    put("bin/made_cli");
    const resolve = (settings: NodeLayoutSettings) =>
      withRows(nodeFamilies, [...nodeFamilies, made], () => resolveNodeLayout(settings));
    expect(resolve({ workspace: root })).toMatchObject({
      family: made,
      binDirectory: join(root, "bin"),
      opsDirectory: join(root, "tools"),
      configPath: join(root, "etc/made.conf"),
      pathsDirectory: join(root, "bin"),
    });
    expect(resolve({ workspace: root, family: "generic" }).family).toBe(first);
  });
});

it("formats a path below the directory as relative, and any other as absolute", () => {
  expect(formatArgument("/srv/n/pharos.conf", "/srv/n")).toBe("./pharos.conf");
  expect(formatArgument("/srv/n/conf/pharos.conf", "/srv/n")).toBe("./conf/pharos.conf");
  expect(formatArgument("/etc/pharos.conf", "/srv/n")).toBe("/etc/pharos.conf");
});
