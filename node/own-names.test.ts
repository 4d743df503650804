import { expect, test } from "vitest";
import { findFamily } from "./families.ts";
import { giveOwnNames } from "./own-names.ts";

const pharos = { family: findFamily("pharos"), configPath: "/srv/node/pharos.conf" };

test("texts have a node's own names, its paths and settings stay", () => {
  const said = {
    message: "node.conf is wrong (/other/node.conf, node.configPath); run node_cli prune --get, not ./node_cli.",
    steps: ["Correct node.conf.", "node.conf: one key renamed"],
    since: 7,
  };
  expect(giveOwnNames(said, pharos)).toEqual({
    message: "pharos.conf is wrong (/other/node.conf, node.configPath); run pharos_cli prune --get, not ./node_cli.",
    steps: ["Correct pharos.conf.", "pharos.conf: one key renamed"],
    since: 7,
  });
});

test("a node with the specification's names has its texts as they are", () => {
  const said = { message: "node.conf is wrong" };
  expect(giveOwnNames(said, { family: findFamily("generic"), configPath: "/srv/node/bin/node.conf" })).toBe(said);
});
