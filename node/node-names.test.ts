import { expect, test } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { findFamily } from "./families.ts";
import { withNodeNames, withNodeNamesInLog } from "./node-names.ts";

const pharos = { family: findFamily("pharos"), configPath: "/srv/node/pharos.conf" };

test("replaces node.conf and node_cli in messages, but not in paths and setting names", () => {
  const said = {
    message: "node.conf is wrong (/other/node.conf, node.configPath); run node_cli prune --get, not ./node_cli.",
    steps: ["Correct node.conf.", "node.conf: one key renamed"],
    since: 7,
  };
  expect(withNodeNames(said, pharos)).toEqual({
    message: "pharos.conf is wrong (/other/node.conf, node.configPath); run pharos_cli prune --get, not ./node_cli.",
    steps: ["Correct pharos.conf.", "pharos.conf: one key renamed"],
    since: 7,
  });
});

test("returns messages unchanged for a node with the specification's names", () => {
  const said = { message: "node.conf is wrong" };
  expect(withNodeNames(said, { family: findFamily("generic"), configPath: "/srv/node/bin/node.conf" })).toBe(said);
});

test("replaces node.conf in log messages, but not in log fields", () => {
  const lines: string[] = [];
  const log = createLog({ service: "sidecar", level: "info" }, { write: (line) => void lines.push(line) });
  const named = withNodeNamesInLog(log, () => pharos);
  named.info("node.conf was read");
  named.info({ path: "node.conf" }, "node.conf was read again");
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { message: "pharos.conf was read" },
    { message: "pharos.conf was read again", gatehouse: { path: "node.conf" } },
  ]);
});
