import { expect, test } from "vitest";
import type { NodeIdentity } from "../state/node-identity.ts";
import { findNodeDifferences } from "./claim-state.ts";

const node: NodeIdentity = {
  configPath: "/srv/a/bin/node.conf",
  namedPath: "/srv/a/bin/node.conf",
  dataPath: "/srv/a/data",
  chainId: 1_672,
  host: { kind: "machine", name: "one" },
};

const facts = { layouts: [], entryExists: () => true };

test.each<[string, Partial<NodeIdentity>, Partial<NodeIdentity>, string]>([
  ["a different chain", {}, { chainId: 1 }, "chain"],
  ["a different data path behind the same node.conf", {}, { dataPath: "/srv/b/data" }, "data path"],
  ["a different node.conf", {}, { configPath: "/srv/b/node.conf", namedPath: "/srv/b/node.conf" }, "node.conf"],
  [
    "a different node.conf with an unknown data path",
    {},
    { configPath: "/srv/b/node.conf", namedPath: "/srv/b/node.conf", dataPath: undefined },
    "node.conf",
  ],
  [
    "a neighbouring StatefulSet pod",
    { host: { kind: "pod", name: "node-0" } },
    { host: { kind: "pod", name: "node-1" } },
    "host",
  ],
  [
    "a different container on the same paths",
    { host: { kind: "container", name: "a-node" } },
    { host: { kind: "container", name: "b-node" } },
    "host",
  ],
])("%s is a different node", (_, before, change, what) => {
  const storedIdentity = { ...node, ...before };
  const found = { ...storedIdentity, ...change };
  expect(findNodeDifferences(storedIdentity, found, facts)).toEqual([what]);
});

test.each<[string, Partial<NodeIdentity>, Partial<NodeIdentity>, Partial<typeof facts>]>([
  ["itself", {}, {}, {}],
  ["with a new container host name", {}, { host: { kind: "machine", name: "f3a9" } }, {}],
  [
    "in a new Deployment pod",
    { host: { kind: "pod", name: "node-7d9c-24567" } },
    { host: { kind: "pod", name: "node-7d9c-99245" } },
    {},
  ],
  ["behind a link that now points elsewhere", {}, { configPath: "/srv/a-2/bin/node.conf" }, {}],
  [
    "with a moved node.conf and unmoved data",
    {},
    { configPath: "/etc/node.conf", namedPath: "/etc/node.conf" },
    { entryExists: () => false },
  ],
  [
    "at a new path, if its node.conf was never found before",
    { dataPath: undefined },
    { configPath: "/srv/b/node.conf", namedPath: "/srv/b/node.conf", dataPath: "/srv/b/data" },
    {},
  ],
  ["with a node.conf that is currently unreadable", {}, { dataPath: undefined }, {}],
  ["after its expected chain was misconfigured at first", { answeredChainId: 7 }, { chainId: 7 }, {}],
])("recognizes the same node: %s", (_, before, change, more) => {
  const storedIdentity = { ...node, ...before };
  expect(findNodeDifferences(storedIdentity, { ...storedIdentity, ...change }, { ...facts, ...more })).toEqual([]);
});

test("recognizes the node in the layout of a different version of the same workspace", () => {
  const legacy = "/srv/a/node/domain/client/bin/node.conf";
  const storedIdentity = { ...node, configPath: legacy, namedPath: legacy };
  expect(findNodeDifferences(storedIdentity, node, { ...facts, layouts: [legacy, node.configPath] })).toEqual([]);
  expect(findNodeDifferences(storedIdentity, node, facts)).toEqual(["node.conf"]);
});

test("finds and reports two simultaneous changes together", () => {
  const found = { ...node, chainId: 7, dataPath: "/srv/b/data" };
  expect(findNodeDifferences(node, found, facts)).toEqual(["chain", "data path"]);
});
